"""The first hits that are kept, and that they explain as the comparison did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import kg2rag
from kg2rag.evaluation.comparison import Comparison
from kg2rag.evaluation.first_hits import FILE, KEPT, FirstHits, dump
from kg2rag.report.question_explanation import explain_rankings
from kg2rag.retrievers.contract import Retriever
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Passage, QADataset, Query, Question, Ranking, Triple, rank
from kg2rag.types.notes import Notes

N = KEPT + 3
DOCUMENTS = Corpus.from_passages([Passage(f"p{i}", "", f"Text {i}", f"d{i // 2}", i % 2) for i in range(N + 2)])


def data() -> QADataset:
    """A question whose gold is two documents, of two passages each."""
    return QADataset("two", DOCUMENTS, (Question("q", "Who?", {"d0": 1, "d7": 1}, ("Ada",)),), unit="document")


def ranking() -> Ranking:
    """All but the last passages, the second half by the graph and over a path; a tie, and a part that some lack."""
    rows = np.arange(N)
    scores = np.array([1.0, 1.0, *(1 / (i + 1) for i in range(2, N))])
    return rank(
        "q",
        rows,
        scores,
        DOCUMENTS.ids,
        N,
        stages=("dense", "graph"),
        stage_codes=(rows > 5).astype(int),
        score_parts={"cosine": scores, "strength": np.where(rows > 5, 7.0, np.nan)},
        paths={8: (Triple("Ada", "wrote", "Notes", "p8", 8.0, 0.5, "Ada wrote the Notes."),)},
        notes=Notes({"dense": "cosine", "graph": "cosine · strength / 10"}, "graph", other={"n": 2}),
    )


@dataclass(frozen=True)
class Told(Retriever):
    """Returns the ranking for every question."""

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        return [ranking().top(k) for _ in queries]


@pytest.fixture
def kept(tmp_path: Path) -> tuple[FirstHits, Comparison]:
    kg2rag.compare({"told": Told()}, data(), metrics=["recall@5"], k=N, progress=False).save(tmp_path)
    return FirstHits.load(tmp_path / FILE), Comparison.load(tmp_path)


def test_a_loaded_ranking_is_explained_as_the_fresh_one(kept: tuple[FirstHits, Comparison]) -> None:
    first, loaded = kept
    fresh = explain_rankings({"told": ranking()}, data(), data().questions[0], k=KEPT)
    again = first.explained({"told": loaded.rankings["told"][0]}, "Who?")
    assert again._repr_html_() == fresh._repr_html_()
    assert repr(again) == repr(fresh)


def test_gold_documents_count_by_their_passages_wherever_they_rank(kept: tuple[FirstHits, Comparison]) -> None:
    assert kept[0].gold("told") == {"q": frozenset({"p0", "p1"})}  # p14 and p15 of d7 are not in the ranking


def test_the_same_rankings_give_the_same_bytes() -> None:
    assert dump({"told": [ranking()]}, data()) == dump({"told": [ranking()]}, data())


def test_a_run_with_other_first_hits_is_refused(kept: tuple[FirstHits, Comparison]) -> None:
    first, loaded = kept
    with pytest.raises(DataError, match="and the run of 'told' differ at 'q'"):
        first.explained({"told": loaded.rankings["told"][0][::1].select(np.array([1, 0, *range(2, N)]))}, "Who?")


def test_another_parquet_file_is_refused(tmp_path: Path) -> None:
    import pandas as pd

    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / FILE)
    with pytest.raises(DataError, match="its columns are not those of first hits"):
        FirstHits.load(tmp_path / FILE)
