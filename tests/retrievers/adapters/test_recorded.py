"""Runs of other systems in our table: order kept, strangers named, round trips exact."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

import kg2rag
from kg2rag import Corpus, Passage, Query, Ranking
from kg2rag.retrievers.adapters import Recorded, trec

CORPUS = Corpus.from_passages(Passage(id_, "", f"text of {id_}", id_, 0) for id_ in ("a", "b", "c"))
RUN = {"q1": [("c", 3.0), ("a", 1.0)], "q2": [("b", 0.5), ("a", 0.5)]}


def ids(system: Recorded, query: str, k: int = 10) -> list[str]:
    return system.retrieve(Query(query, "?"), k).passage_ids


def test_the_order_is_the_runs_own() -> None:
    system = Recorded(CORPUS, RUN)
    assert ids(system, "q1") == ["c", "a"]
    assert ids(system, "q2") == ["b", "a"]  # equal scores: the run's order, not the corpus's


def test_scores_that_do_not_fall_become_one_over_the_rank() -> None:
    assert Recorded(CORPUS, RUN).retrieve(Query("q2", "?"), 5).scores.tolist() == [1.0, 0.5]
    assert Recorded(CORPUS, RUN).retrieve(Query("q1", "?"), 5).scores.tolist() == [3.0, 1.0]


def test_fewer_hits_are_a_prefix_of_more() -> None:
    assert ids(Recorded(CORPUS, RUN), "q1", 1) == ["c"]


def test_a_query_that_the_run_lacks_is_an_error_and_no_empty_ranking() -> None:
    with pytest.raises(ValueError, match=r"run 'run' lacks 1 of 2 queries \(first: 'q3'\)"):
        Recorded(CORPUS, RUN).retrieve_batch([Query("q1", "?"), Query("q3", "?")], 5)


def test_a_query_that_was_answered_with_nothing_may_say_so() -> None:
    assert ids(Recorded(CORPUS, RUN, empty=frozenset({"q3"})), "q3") == []


def test_passages_of_another_corpus_are_named() -> None:
    with pytest.raises(ValueError, match=r"query 'q1': passage 'x' is not in the corpus \(1 of 2 are not\)"):
        Recorded(CORPUS, {"q1": [("a", 1.0), ("x", 0.5)]})


def test_a_passage_that_stands_twice_is_named() -> None:
    with pytest.raises(ValueError, match="passage 'a' is ranked twice"):
        Recorded(CORPUS, {"q1": [("a", 1.0), ("a", 0.5)]})


def test_a_run_file_comes_back_as_the_system_that_wrote_it(tmp_path: Path) -> None:
    rankings = Recorded(CORPUS, RUN).retrieve_batch([Query("q1", "?"), Query("q2", "?")], 5)
    (tmp_path / "theirs.trec").write_text(trec.dump(rankings, "theirs"))
    system = Recorded.from_trec(tmp_path / "theirs.trec", CORPUS)
    assert system.name == "theirs"
    assert [ids(system, query) for query in ("q1", "q2")] == [["c", "a"], ["b", "a"]]


def frame_of(rankings: Sequence[Ranking]) -> pd.DataFrame:
    rows = [(one.query_id, *hit) for one in rankings for hit in zip(one.passage_ids, one.scores, strict=True)]
    return pd.DataFrame(rows, columns=["query_id", "passage_id", "score"])


def test_a_frame_and_a_ranx_run_round_trip() -> None:
    import ranx

    rankings = Recorded(CORPUS, RUN).retrieve_batch([Query("q1", "?"), Query("q2", "?")], 5)
    theirs = {one.query_id: dict(zip(one.passage_ids, one.scores.tolist(), strict=True)) for one in rankings}
    for system in (
        Recorded.from_frame(frame_of(rankings), CORPUS),
        Recorded.from_ranx(ranx.Run(theirs, name="theirs"), CORPUS),
    ):
        assert [ids(system, query) for query in ("q1", "q2")] == [["c", "a"], ["b", "a"]]


def test_a_frame_without_a_column_names_it() -> None:
    with pytest.raises(ValueError, match="lacks the column 'score'"):
        Recorded.from_frame(pd.DataFrame({"query_id": ["q1"], "passage_id": ["a"]}), CORPUS)


def test_a_recorded_run_stands_beside_ours_with_the_same_scores(bundled: kg2rag.QADataset) -> None:
    kb = kg2rag.KnowledgeBase.build(bundled.corpus)
    bm25 = kg2rag.BM25(kb)
    run = frame_of(bm25.retrieve_batch(bundled.queries, 100))
    recorded = Recorded.from_frame(run, bundled.corpus, "again")
    result = kg2rag.compare({"bm25": bm25, "again": recorded}, bundled, metrics=["recall@5", "mrr@10"])
    assert (
        result.to_frame()
        .loc["again", ["recall@5", "mrr@10"]]
        .equals(result.to_frame().loc["bm25", ["recall@5", "mrr@10"]])
    )


def test_a_saved_comparison_holds_the_gold_that_judges_it_again(bundled: kg2rag.QADataset, tmp_path: Path) -> None:
    bm25 = kg2rag.BM25(kg2rag.KnowledgeBase.build(bundled.corpus))
    kg2rag.compare({"bm25": bm25}, bundled, metrics=["recall@5"]).save(tmp_path)
    assert trec.load_qrels(tmp_path / "qrels.trec") == {id_: dict(gold) for id_, gold in bundled.qrels.items()}
