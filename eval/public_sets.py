"""The question sets that this project fits on and reports on, in the folder that holds them all; see `domains.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import kg2rag
from kg2rag.compute import SentenceEncoder
from kg2rag.types import QADataset

ENCODER = SentenceEncoder(dtype="float32")  # every processor has it


def table(role: str) -> dict[str, dict[str, Any]]:
    """Name -> what `domains.toml` says of each set of a role, "train" or "reported"."""
    found: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("domains.toml").read_text("utf-8"))[role]
    return found


def load_set(data: Path, name: str, role: str = "reported") -> QADataset:
    """A set by its name in `domains.toml`."""
    given = table(role)[name]["load"]
    return kg2rag.load(**{**given, "path": data / given["path"]})
