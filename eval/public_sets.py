"""The public sets that results are reported on, and the training sets, in the folder that holds them all."""

from __future__ import annotations

from pathlib import Path

import kg2rag
from kg2rag.compute import SentenceEncoder
from kg2rag.types import QADataset

REPORTED = {
    "musique-100": {"name": "musique"},
    "hotpotqa-300": {"name": "hotpotqa", "setting": "pooled"},
    "2wiki-1000": {"name": "2wiki"},
    "2wiki-kg-500": {"name": "2wiki-kg", "split": "all"},
    "cosqa-500": {"name": "cosqa"},
}
TRAINING = ("musique", "hotpotqa", "2wiki")
ENCODER = SentenceEncoder(dtype="float32")  # every processor has it


def reported(data: Path, folder: str) -> QADataset:
    """A set that results are reported on, by the name of its folder."""
    return kg2rag.load(**REPORTED[folder], path=data / folder)


def training(data: Path, name: str) -> QADataset:
    """A set of training questions, pooled."""
    return kg2rag.load(name, path=data / "train" / name / f"{name}_train.jsonl", setting="pooled")
