"""A model name, function, model, matrix of vectors or paid endpoint -> an `Embedder`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kg2rag.compute.embedder import Embedder
from kg2rag.compute.endpoint import endpoint_of
from kg2rag.compute.endpoint_encoder import EndpointEncoder
from kg2rag.compute.sentence_encoder import SentenceEncoder
from kg2rag.compute.static_encoder import StaticEncoder
from kg2rag.compute.user_encoder import GivenEncoder, GivenVectors, method_of
from kg2rag.types import Corpus, ParameterError, fits, refused

STATIC, ENDPOINT = "static:", "endpoint:"
ALLOWED = (
    "the name of a sentence-transformers model, 'static:NAME', 'endpoint:MODEL@BASE_URL', a function list[str] -> "
    "array, an object with encode such as a SentenceTransformer, embeddings of LangChain, LlamaIndex or fastembed, or "
    "(ids, matrix, what encodes questions)"
)
# The number of passages whose stored vectors are compared with new ones of the user's encoder.
SAMPLE_TEXTS = 8


def embedder_of(encoder: object, corpus: Corpus) -> Embedder:
    """The embedder of a user's encoder, see `ALLOWED`; None means the default encoder.

    ParameterError: any other object.
    """
    if encoder is None:
        return SentenceEncoder()
    if isinstance(encoder, str):
        return embedder_named(encoder)
    if isinstance(encoder, Mapping):
        return GivenVectors.of(list(encoder), np.stack(list(encoder.values())), corpus)
    if isinstance(encoder, tuple) and len(encoder) in (2, 3):
        ids, matrix = encoder[:2]
        other = embedder_of(encoder[2], corpus) if len(encoder) == 3 else None
        return GivenVectors.of(list(ids), matrix, corpus, other)
    return _embedder_of_model(encoder, corpus)


def _embedder_of_model(model: object, corpus: Corpus) -> Embedder:
    """The embedder of a model: itself, or a wrapper of a function or of an object with `encode`."""
    if not isinstance(model, type):
        if fits(model, Embedder):
            return model  # type: ignore[return-value]
        if callable(model) or method_of(model, "query"):
            return GivenEncoder(model, sample=_sample(corpus))
    raise refused("embedder", model, ALLOWED)


def _sample(corpus: Corpus) -> tuple[str, ...]:
    """The contents of `SAMPLE_TEXTS` passages, evenly spaced in a corpus."""
    rows = np.linspace(0, len(corpus) - 1, min(SAMPLE_TEXTS, len(corpus)), dtype=int)
    return tuple(corpus.contents[row] for row in rows.tolist())


def embedder_named(
    name: str,
    *,
    dtype: str | None = None,
    device: str = "cpu",
    query_prompt: str | None = None,
    passage_prompt: str | None = None,
) -> Embedder:
    """The embedder of "MODEL" (sentence-transformers), "static:MODEL" or "endpoint:MODEL@BASE_URL".

    Static models are those of model2vec. The options are those of `SentenceEncoder`; None keeps the
    model's default. ParameterError: no model is named, or an option is given that static vectors
    (dtype, device, prompts) or endpoints (dtype, device) do not have.
    """
    prompts = {"query_prompt": query_prompt, "passage_prompt": passage_prompt}
    options: dict[str, Any] = {
        option: prompt for option, prompt in prompts.items() if prompt is not None
    }
    is_default = dtype in (None, "auto", "float32") and device in ("auto", "cpu")
    if name.startswith((STATIC, ENDPOINT)) and not is_default:
        raise ParameterError(
            f"{name!r}: endpoints and static vectors have no dtype and no device. Leave them out."
        )
    if name.startswith(ENDPOINT):
        usage = f"{ENDPOINT}MODEL@BASE_URL"
        model, base_url = endpoint_of(
            name.removeprefix(ENDPOINT), usage, "nomic-embed-text"
        )
        return EndpointEncoder(base_url, model, **options)
    if "://" in name:
        raise ParameterError(
            f"{name!r} is an address. Name the model, too: {ENDPOINT}MODEL@{name}."
        )
    if name.startswith(STATIC):
        return _static_encoder(name, options)
    if dtype is not None:
        options["dtype"] = dtype
    return SentenceEncoder(name, device=device, **options)


def _static_encoder(name: str, prompts: Mapping[str, str]) -> StaticEncoder:
    """The embedder of "static:MODEL"; ParameterError: no model, or a prompt."""
    if prompts:
        raise ParameterError(
            f"{name!r}: static vectors have no prompts. Leave them out."
        )
    model = name.removeprefix(STATIC)
    if not model or model.startswith(STATIC):
        raise ParameterError(
            f"{name!r} names no model. Write a name such as {STATIC}minishlab/potion-base-8M."
        )
    return StaticEncoder(model)
