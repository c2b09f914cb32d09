"""A small world to sweep over: no encoder, so that a configuration takes milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from word_embedder import WordEmbedder

from kg2rag.compute import Store
from kg2rag.experiments.sweep import Sweep
from kg2rag.testing import worlds
from kg2rag.types import QADataset, Question


@pytest.fixture(scope="session")
def data() -> QADataset:
    """Forty questions over the random world: each names the two passages that it was made of; two types."""
    corpus = worlds.corpus()
    questions = tuple(
        Question(
            id=f"q{i}",
            text=f"{corpus[i].text.split('.')[0]} {corpus[i + 60].title}",
            gold={corpus.ids[i]: 1, corpus.ids[i + 60]: 1},
            type="even" if i % 2 == 0 else "odd",
        )
        for i in range(40)
    )
    return QADataset("world", corpus, questions)


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the store of all sweeps of the session lies."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def sweep(data: QADataset, root: Path) -> Callable[..., Sweep]:
    """A sweep over the world; by default, twelve configurations of bm25."""

    def make(**changes: Any) -> Sweep:
        options: dict[str, Any] = {
            "systems": {"bm25": {"k1": [0.5, 0.9, 1.5], "b": [0.0, 0.4, 0.75, 1.0]}},
            "encoder": WordEmbedder(),
            "metrics": ["recall@5", "mrr@10"],
            "k": 10,
            "store": Store(root),
        }
        return Sweep(data, **{**options, **changes})

    return make
