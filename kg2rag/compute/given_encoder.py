"""What a user has -> an `Embedder`: a name, a function, a model, a matrix of vectors, or an endpoint paid by token."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.compute.encoder import PROBE, Embedder, Role, SentenceEncoder, unit, weights_checksum, well_formed
from kg2rag.compute.llm import endpoint_of
from kg2rag.compute.llm.client import api_key, openai_library
from kg2rag.compute.models import loading
from kg2rag.compute.store import Store
from kg2rag.compute.vectors import VectorCache
from kg2rag.types import Corpus, Matrix, ParameterError, component, fits, refused

if TYPE_CHECKING:
    from model2vec import StaticModel

BATCH = 128  # texts of one request
PREFIX, ENDPOINT = "static:", "endpoint:"
LONG = " ".join(f"word {number}" for number in range(3000))  # a probe that shows where an encoder cuts its texts
WANTED = (
    "the name of a sentence-transformers model, 'static:NAME', 'endpoint:MODEL@BASE_URL', a function list[str] -> "
    "array, an object with encode such as a SentenceTransformer, or (ids, matrix, what encodes questions)"
)


def embedder_of(given: object, corpus: Corpus) -> Embedder:
    """An embedder of what the user has, see `WANTED`; the default one for None. ParameterError for anything else."""
    if given is None or isinstance(given, str):
        return SentenceEncoder() if given is None else embedder_named(given)
    if isinstance(given, Mapping):
        return GivenVectors.of(list(given), np.stack([np.asarray(one) for one in given.values()]), corpus)
    if isinstance(given, tuple) and len(given) in (2, 3):
        return GivenVectors.of(list(given[0]), given[1], corpus, *(embedder_of(one, corpus) for one in given[2:]))
    if isinstance(given, type) or not (fits(given, Embedder) or callable(given) or hasattr(given, "encode")):
        raise refused("embedder", given, WANTED)
    return given if fits(given, Embedder) else GivenEncoder(given)  # type: ignore[return-value]


def embedder_named(
    name: str,
    *,
    dtype: str | None = None,
    device: str = "cpu",
    query_prompt: str | None = None,
    passage_prompt: str | None = None,
) -> Embedder:
    """The encoder of a name: a sentence-transformers model, "static:MODEL" of model2vec, "endpoint:MODEL@BASE_URL".

    The options are those of `SentenceEncoder`, None for its own. ParameterError: no model is named, or a dtype, device
    or prompt for static vectors, which have none.
    """
    prompts = {"query_prompt": query_prompt, "passage_prompt": passage_prompt}
    given = {option: value for option, value in {"dtype": dtype, **prompts}.items() if value is not None}
    if name.startswith(ENDPOINT):
        model, base_url, key = endpoint_of(name.removeprefix(ENDPOINT), f"{ENDPOINT}MODEL@BASE_URL")
        given.pop("dtype", None)
        return EndpointEncoder(base_url, model, key, **given)  # type: ignore[arg-type]
    if "://" in name:
        raise ParameterError(f"{name!r} is an address. Name the model, too: {ENDPOINT}MODEL@{name}.")
    if not name.startswith(PREFIX):
        return SentenceEncoder(name, device=device, **given)  # type: ignore[arg-type]
    model = name.removeprefix(PREFIX)
    if not model or model.startswith(PREFIX):
        raise ParameterError(f"{name!r} names no model. Write such as {PREFIX}minishlab/potion-base-8M.")
    if given.pop("dtype", "auto") not in ("auto", "float32") or device not in ("auto", "cpu") or given:
        raise ParameterError(f"{name!r} has float32 vectors of each text alone, on the CPU: leave the options out.")
    return StaticEncoder(model)


@component
class GivenEncoder:
    """A function from texts to vectors, or an object with `encode`, as an `Embedder`; the store keeps its vectors.

    Parameters
    ----------
    encoder : a function list[str] -> (n_texts, dim), or an object that has it as `encode`, or as `encode_query` and
        `encode_document`.
    name : says which vectors the store has of it, together with the weights where it has any (`state_dict`), else with
        the vectors of a few probe texts. Give another name where neither tells two encoders apart.
    query_prompt, passage_prompt : what stands before each query and each passage.
    """

    encoder: Any = field(repr=False)
    name: str = ""
    query_prompt: str = ""
    passage_prompt: str = ""

    def __post_init__(self) -> None:
        named = self.encoder if hasattr(self.encoder, "__qualname__") else type(self.encoder)
        object.__setattr__(self, "name", self.name or f"{named.__module__}.{named.__qualname__}")

    def fingerprint(self, store: Store) -> str:  # noqa: ARG002
        """A hash of the name, the prompts, and the weights or the probes' vectors."""
        return self._known[0]

    def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:
        """(n_texts, dim) rows of norm 1; only texts that the store lacks are encoded."""
        prompt, method = self.query_prompt if role == "query" else self.passage_prompt, self._method(role)
        cache = VectorCache(store, *self._known, f"{getattr(method, '__name__', '')}\0{prompt}")
        return cache.of(list(map(well_formed, texts)), lambda shard: self._vectors(method, [prompt + t for t in shard]))

    def _method(self, role: Role) -> Any:
        own = getattr(self.encoder, "encode_query" if role == "query" else "encode_document", None)
        return own or getattr(self.encoder, "encode", None) or self.encoder

    def _vectors(self, method: Callable[[list[str]], Any], texts: list[str]) -> Matrix:
        found = method(texts)
        found = found.detach().float().cpu().numpy() if hasattr(found, "detach") else found
        return checked_vectors(found, len(texts), self.name)

    @cached_property
    def _known(self) -> tuple[str, int]:
        """The fingerprint and the number of dimensions."""
        probed = self._vectors(self._method("passage"), [*PROBE, LONG])
        weights = weights_checksum(self.encoder) if hasattr(self.encoder, "state_dict") else probed.round(3).tolist()
        limit = str(getattr(self.encoder, "max_seq_length", ""))
        return _hash(self.name, self.query_prompt, self.passage_prompt, limit, weights), probed.shape[1]


@dataclass(frozen=True, eq=False)
class GivenVectors:
    """Vectors that were computed elsewhere, by text, as an `Embedder`; `other` encodes the texts that have none."""

    rows: Mapping[str, int] = field(repr=False)
    matrix: Matrix = field(repr=False)
    other: Embedder | None = None

    @classmethod
    def of(cls, ids: Sequence[object], matrix: Any, corpus: Corpus, other: Embedder | None = None) -> GivenVectors:
        """Vectors (n, dim) of passages, given by their ids, and of other texts, such as questions, by the texts."""
        found = checked_vectors(matrix, len(ids), "the matrix")
        names, known = [str(one) for one in ids], frozenset(corpus.ids)
        if known.isdisjoint(names):
            raise ParameterError(f"None of the {len(ids)} ids, such as {names[:1]}, is one of the corpus's.")
        rows = {corpus.contents[corpus.row(one)] if one in known else one: at for at, one in enumerate(names)}
        return cls(rows, found, other)

    def fingerprint(self, store: Store) -> str:
        """A hash of the texts, the matrix and the other embedder."""
        digest = hashlib.sha256(json.dumps([*self.rows]).encode() + np.ascontiguousarray(self.matrix).tobytes())
        digest.update(self.other.fingerprint(store).encode() if self.other else b"")
        return digest.hexdigest()[:16]

    def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:
        """(n_texts, dim); ValueError for a text without a vector where nothing else encodes it."""
        places = np.fromiter((self.rows.get(text, -1) for text in texts), dtype=np.int64, count=len(texts))
        found, lacking = self.matrix[places], [text for text in texts if text not in self.rows]
        if lacking and self.other is None:
            raise ValueError(
                f"No vector is given for {lacking[0]!r:.80} ({len(lacking):,} of {len(texts):,} texts). "
                "Add it by its text, or say what encodes other texts: embedder=(ids, matrix, function or model name)."
            )
        if lacking and self.other is not None:
            vectors, dim = self.other.encode(lacking, store, role), found.shape[1]
            if vectors.shape[1] != dim:
                raise ValueError(f"The matrix has {dim} columns, vectors of {self.other!r} {vectors.shape[1]}.")
            found[places < 0] = vectors
        return found


@component
class StaticEncoder:
    """A model2vec model (Tulkens & van Dongen): a text's vector is the mean of one vector a token, or zeros for none.

    Some hundred times as fast as a transformer on one core, at a price in quality. `model` : a folder, or a hub name.
    """

    model: str

    @cached_property
    def table(self) -> StaticModel:
        """The model, loaded on first use."""
        from huggingface_hub import snapshot_download
        from model2vec import StaticModel

        with loading(self.model) as local:
            folder = self.model
            if not Path(folder).is_dir():
                files = ["*.json", "*.safetensors", "README.md"]
                folder = snapshot_download(self.model, allow_patterns=files, local_files_only=local)
            return StaticModel.from_pretrained(folder)

    def describe(self, store: Store) -> dict[str, Any]:  # noqa: ARG002
        """The model's name, dimensions, and the checksum of its vectors and tokenizer."""
        table, digest = self.table, hashlib.sha256()
        for part in (table.embedding, table.weights, table.token_mapping):
            digest.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
        digest.update(f"{table.tokenizer.to_str()}{table.max_length}".encode())
        return {"model": self.model, "dim": int(table.dim), "sha256": digest.hexdigest()}

    def fingerprint(self, store: Store) -> str:
        """The first digits of the checksum."""
        return str(self.describe(store)["sha256"][:16])

    def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:  # noqa: ARG002
        """(n_texts, dim) float32, rows of norm 1, in the given order; nothing is stored."""
        if not texts:
            return np.empty((0, self.table.dim), dtype=np.float32)
        found = self.table.encode(list(map(well_formed, texts)), use_multiprocessing=False)
        return unit(found.astype(np.float32))

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model}


@component
class EndpointEncoder:
    """An OpenAI-compatible endpoint as an `Embedder`; the store keeps every vector, so that it is paid once.

    Such as "https://api.openai.com/v1" and "text-embedding-3-small". `price` : of a million tokens, for `plan`.
    """

    base_url: str
    model: str
    api_key_env: str | None = None
    query_prompt: str = ""
    passage_prompt: str = ""
    price: float | None = field(default=None, repr=False)

    def fingerprint(self, store: Store) -> str:  # noqa: ARG002
        """A hash of address, model and prompts: an endpoint shows no weights."""
        return _hash(self.base_url, self.model, self.query_prompt, self.passage_prompt)

    def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:
        """(n_texts, dim) rows of norm 1; only texts that the store lacks are sent."""
        prompt = self.query_prompt if role == "query" else self.passage_prompt

        def write_dim(folder: Path) -> None:
            (folder / "dim").write_text(str(self._ask(["dimensions"]).shape[1]))

        known = store.entry("encoder", {"endpoint": self.fingerprint(store)}, write_dim)
        cache = VectorCache(store, self.fingerprint(store), int((known / "dim").read_text()), prompt)
        return cache.of(list(map(well_formed, texts)), lambda shard: self._ask([prompt + text for text in shard]))

    def plan(self, texts: Sequence[str], store: Store) -> dict[str, float | int | None]:
        """What encoding passages would send and cost: texts, lacking, tokens (a quarter of the characters), cost."""
        cache = VectorCache(store, self.fingerprint(store), 0, self.passage_prompt)
        lacking = cache.lacking(list(map(well_formed, texts)))
        tokens = sum(len(self.passage_prompt + text) for text in lacking) // 4
        cost = None if self.price is None else tokens * self.price / 1e6
        return {"texts": len(texts), "lacking": len(lacking), "tokens": tokens, "cost": cost}

    def _ask(self, texts: list[str]) -> Matrix:
        key, found = api_key(self.api_key_env, self.base_url), list[list[float]]()
        client = openai_library().OpenAI(base_url=self.base_url, api_key=key, max_retries=5)
        for start in range(0, len(texts), BATCH):
            shard = texts[start : start + BATCH]
            reply = client.embeddings.create(input=shard, encoding_format="float", model=self.model)
            found += [one.embedding for one in sorted(reply.data, key=lambda one: one.index)]
        return checked_vectors(found, len(texts), f"{self.model} at {self.base_url}")


def _hash(*about: object) -> str:
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]


def checked_vectors(found: Any, n_texts: int, name: str) -> Matrix:
    """Vectors as unit rows; ValueError where there are not as many as texts, or a number is not finite."""
    vectors = np.asarray(found, dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != n_texts:
        raise ValueError(f"{name}: vectors of shape {vectors.shape} for {n_texts} texts; needed: ({n_texts}, dim).")
    if len(bad := np.flatnonzero(~np.isfinite(vectors).all(axis=1))):
        raise ValueError(f"{name}: the vector of text {bad[0]} is not finite.")
    return unit(vectors)
