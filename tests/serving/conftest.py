"""A folder of saved comparisons and a sweep: small, made once, never changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from starlette.testclient import TestClient
from word_embedder import WordEmbedder

import kg2rag
from kg2rag.compute import Store
from kg2rag.evaluation.comparison import Comparison
from kg2rag.experiments.sweep import Sweep
from kg2rag.retrievers.contract import Retriever
from kg2rag.serving.app import application
from kg2rag.types import Corpus, Passage, QADataset, Query, Question, Ranking, Triple, rank
from kg2rag.types.notes import arithmetic

IDS = [f"p{i}" for i in range(12)]
PATH = (Triple("Ada", "wrote", "Engine Notes", "p7", strength=8), Triple("Engine Notes", "names", "Bernoulli", "p7"))
LEFT = {"q1": (0, 1), "q2": (2, 3, 0), "q3": (4,), "q4": (5, 6)}
RIGHT = {"q1": (1, 0), "q2": (0, 7), "q3": (4,), "q4": (8, 9, 10, 0)}


@dataclass(frozen=True)
class Told(Retriever):
    """Returns for each question the rows it is told; row 7 over a path."""

    rows: dict[str, tuple[int, ...]]

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        return [self._rank(query.id, np.array(self.rows.get(query.id, (11,))), k) for query in queries]

    def _rank(self, id_: str, rows: np.ndarray, k: int) -> Ranking:
        share = 1.0 / np.arange(2, len(rows) + 2)
        about = {**arithmetic("share", "graph"), "entities": ["Ada"], "trees": np.int64(3)}
        parts = {"score_parts": {"share": share}, "paths": {7: PATH}, "metadata": about}
        return rank(id_, rows, share, IDS, k, stages=("told",), **parts)


def questions() -> QADataset:
    """Twelve passages and four questions, the gold of each p0: two types, one or two hops."""
    corpus = Corpus.from_passages([Passage(id_, f"Title {id_}", f"Text of {id_}.", id_, 0) for id_ in IDS])
    words = ["Who wrote it?", "Which engine was it?", "Who painted it?", "Where is it?"]
    kinds = ["bridge", "bridge", "comparison", "comparison"]
    asked = [
        Question(f"q{i}", word, {"p0": 1}, ("Ada",), type=kind, hops=1 + i % 2)
        for i, (word, kind) in enumerate(zip(words, kinds, strict=True), start=1)
    ]
    return QADataset("tiny", corpus, tuple(asked))


def compared(systems: dict[str, Retriever], data: QADataset, baseline: str) -> Comparison:
    return kg2rag.compare(systems, data, metrics=["recall@2", "mrr@5"], baseline=baseline, progress=False)


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """first: systems left and right; group/second: left and other; sweeps/tiny: three configurations of bm25."""
    folder, data = tmp_path_factory.mktemp("saved"), questions()
    compared({"left": Told(LEFT), "right": Told(RIGHT)}, data, "left").save(folder / "first")
    compared({"left": Told(RIGHT), "other": Told({})}, data, "other").save(folder / "group" / "second")
    store = Store(tmp_path_factory.mktemp("store"))
    options = {"encoders": {"words": WordEmbedder()}, "metrics": ["recall@2"], "k": 5, "store": store}
    sweep = Sweep(data, systems={"bm25": {"k1": [0.5, 0.9, 1.5]}}, name="tiny sweep", **options)
    sweep.run(folder / "sweeps" / "tiny", jobs=1).save_report(folder / "sweeps" / "tiny")
    return folder


@pytest.fixture
def copied(saved: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may damage."""
    return copytree(saved, tmp_path / "copied")


@pytest.fixture
def opened() -> Callable[[Path], TestClient]:
    """A client of the pages of a folder."""

    def client(folder: Path) -> TestClient:
        return TestClient(application(folder), base_url="http://127.0.0.1:8765")

    return client


@pytest.fixture(scope="session")
def pages(saved: Path) -> TestClient:
    """A client of the saved folder."""
    return TestClient(application(saved), base_url="http://127.0.0.1:8765")
