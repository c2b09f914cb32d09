"""The question sets that this project fits on and reports on, as `domains.toml` describes them."""

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
    """Name of each set of a role, "train" or "reported" -> its entry in `domains.toml`."""
    text = Path(__file__).with_name("domains.toml").read_text("utf-8")
    entries: dict[str, dict[str, Any]] = tomllib.loads(text)[role]
    return entries


def load_set(
    data: Path, name: str, role: str = "reported", **options: object
) -> QADataset:
    """A set by its name in `domains.toml`; `options` replace those of the file."""
    entry = table(role)[name]["load"]
    return kg2rag.load(**{**entry, "path": data / entry["path"], **options})


def training_set(data: Path, name: str, questions: int = 0) -> QADataset:
    """A training set, or a sample of its questions.

    If each question has its paragraphs, the corpus of a sample is the paragraphs of the sampled
    questions.
    """
    if not questions:
        return load_set(data, name, "train")
    if table("train")[name]["load"].get("setting") != "pooled":
        return load_set(data, name, "train").sample(questions)
    sample = load_set(data, name, "train", setting="distractor").sample(questions)
    ids = {
        passage_id
        for question in sample.questions
        for passage_id in question.candidates or ()
    }
    corpus = Corpus.from_passages(
        [passage for passage in sample.corpus if passage.id in ids]
    )
    pooled = tuple(replace(question, candidates=None) for question in sample.questions)
    return replace(sample, corpus=corpus, questions=pooled, setting="pooled")
