"""The question sets that this project fits on and reports on, in the folder that holds them all; see `domains.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import kg2rag
from kg2rag.compute import SentenceEncoder
from kg2rag.types import Corpus, QADataset

ENCODER = SentenceEncoder(dtype="float32")  # every processor has it


def table(role: str) -> dict[str, dict[str, Any]]:
    """Name -> what `domains.toml` says of each set of a role, "train" or "reported"."""
    found: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("domains.toml").read_text("utf-8"))[role]
    return found


def load_set(data: Path, name: str, role: str = "reported") -> QADataset:
    """A set by its name in `domains.toml`."""
    given = table(role)[name]["load"]
    return kg2rag.load(**{**given, "path": data / given["path"]})


def sampled(data: Path, name: str, questions: int) -> QADataset:
    """So many questions of a training set; of one whose questions have paragraphs of their own, over these alone."""
    given = table("train")[name]["load"]
    own = given.get("setting") == "pooled"
    found = kg2rag.load(**{**given, "path": data / given["path"], **({"setting": "distractor"} if own else {})})
    found = found.sample(questions)
    if not own:
        return found
    rows = sorted({row for one in found.questions for row in found.corpus.rows(one.candidates or ()).tolist()})
    alone = tuple(replace(one, candidates=None) for one in found.questions)
    return replace(
        found, corpus=Corpus.from_passages([found.corpus[row] for row in rows]), questions=alone, setting="pooled"
    )
