"""Runs of other systems in our table: order kept, strangers named, round trips exact; and scores of a user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import kg2rag
from kg2rag import Corpus, KnowledgeBase, Passage, Query, Ranking, ScoreFunction
from kg2rag.retrievers.adapters import Recorded, trec
from kg2rag.testing.promises import scores_by_formula
from kg2rag.types import corpus_of

CORPUS = Corpus.from_passages(
    Passage(id_, "", text, id_, 0)
    for id_, text in (("a", "xx"), ("b", "xxx"), ("c", "yy"))
)
RUN = {"q1": [("c", 3.0), ("a", 1.0)], "q2": [("b", 0.5), ("a", 0.5)]}
BOTH = [Query("q1", "?"), Query("q2", "?")]


def ids(system: Recorded, k: int = 10) -> list[list[str]]:
    return [ranking.passage_ids for ranking in system.retrieve_batch(BOTH, k)]


def frame_of(rankings: Sequence[Ranking]) -> pd.DataFrame:
    rows = [
        (one.query_id, *hit)
        for one in rankings
        for hit in zip(one.passage_ids, one.scores, strict=True)
    ]
    return pd.DataFrame(rows, columns=["query_id", "passage_id", "score"])


def test_the_order_is_the_runs_own_and_scores_of_another_order_become_one_over_the_rank():
    # equal scores: not the corpus's order
    assert ids(Recorded(CORPUS, RUN)) == [["c", "a"], ["b", "a"]]
    assert ids(Recorded(CORPUS, RUN), 1) == [["c"], ["b"]]
    scores = [
        ranking.scores.tolist()
        for ranking in Recorded(CORPUS, RUN).retrieve_batch(BOTH, 5)
    ]
    assert scores == [[3.0, 1.0], [1.0, 0.5]]


@pytest.mark.parametrize(
    ("hits", "scores"),
    [
        ([("c", 7.0), ("a", 3.0), ("b", 3.0)], [7.0, 3.0, 3.0]),  # the corpus's order
        ([("c", 7.0), ("b", 3.0), ("a", 3.0)], [1, 1 / 2, 1 / 3]),
        ([("b", 3.0), ("a", 7.0), ("c", 1.0)], [1, 1 / 2, 1 / 3]),
        ([("b", 3.0000001), ("a", 3.0)], [3.0000001, 3.0]),
    ],
)
def test_equal_scores_stay_where_the_order_of_the_corpus_is_that_of_the_run(
    hits: list[tuple[str, float]], scores: list[float]
) -> None:
    ranking = Recorded(CORPUS, {"q": hits}).retrieve(Query("q", "?"), 5)
    assert ranking.passage_ids == [passage_id for passage_id, _ in hits]
    assert ranking.scores.tolist() == scores


def test_a_query_that_the_run_lacks_is_an_error_unless_it_was_answered_with_nothing():
    with pytest.raises(ValueError, match=r"'run' .*1 of 2 .*'q3'"):
        Recorded(CORPUS, RUN).retrieve_batch([BOTH[0], Query("q3", "?")], 5)
    assert (
        len(Recorded(CORPUS, RUN, empty=frozenset({"q3"})).retrieve(Query("q3", "?")))
        == 0
    )
    named = Recorded.of(RUN, CORPUS, queries=["q1", "q3"])
    assert (named.empty, named.remark[-2:]) == ({"q3"}, " 1")
    with pytest.raises(ValueError, match=r"'q1' .*'other'"):
        Recorded.of(RUN, CORPUS, queries=["other"])


@pytest.mark.parametrize(
    ("hits", "message"),
    [
        ([("a", 1.0), ("x", 0.5)], "'x' .*1 of 2"),
        ([("a", 1.0), ("a", 0.5)], "'a' is ranked twice"),
    ],
)
def test_a_passage_of_another_corpus_or_one_twice_is_named(
    hits: list[tuple[str, float]], message: str
) -> None:
    with pytest.raises(ValueError, match=f"query 'q1': passage {message}"):
        Recorded(CORPUS, {"q1": hits})


def test_every_form_of_a_run_comes_back_as_the_system_that_wrote_it(
    tmp_path: Path,
) -> None:
    rankings = Recorded(CORPUS, RUN).retrieve_batch(BOTH, 5)
    (tmp_path / "theirs.trec").write_text(trec.dump(rankings, "theirs"))
    scores: Mapping[str, dict[str, float]] = {
        one.query_id: dict(zip(one.passage_ids, one.scores.tolist(), strict=True))
        for one in rankings
    }
    systems = [
        Recorded.of(one, CORPUS)
        for one in (tmp_path / "theirs.trec", frame_of(rankings), scores)
    ]
    assert [system.name for system in systems] == ["theirs", "run", "run"]
    assert [ids(system) for system in systems] == [[["c", "a"], ["b", "a"]]] * 3
    with pytest.raises(ValueError, match="'score'"):
        Recorded.of(frame_of(rankings).drop(columns="score"), CORPUS)


HITS = {
    "query_id": ["q1", "q1", "q1"],
    "passage_id": ["a", "c", "b"],
    "score": [0.1, 0.9, 0.5],
}


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(HITS),
        pl.DataFrame(HITS),
        pl.LazyFrame(HITS),
        pd.DataFrame(HITS).rename(columns={"query_id": "qid", "passage_id": "docno"}),
        pd.DataFrame(HITS | {"score": ["0.1", "0.9", "0.5"]}),
        pd.DataFrame(HITS | {"rank": [0, 0, 0]}),
        pd.DataFrame(HITS | {"rank": ["10", "2", "3"]}),
        # PyTerrier.
        pd.DataFrame(HITS | {"docid": [0, 1, 2], "rank": [2, 0, 1]}).rename(
            columns={"passage_id": "docno"}
        ),
        # Answers of rerankers, whose index is the position before.
        pd.DataFrame(HITS | {"index": [0, 1, 2]}).rename(
            columns={"passage_id": "document_id", "score": "relevance_score"}
        ),
        pd.DataFrame(HITS).rename(
            columns={"query_id": "question_id", "score": "rerank_score"}
        ),
        pd.DataFrame(HITS | {"document_id": ["d", "d", "d"]}).rename(
            columns={"passage_id": "chunk_id"}
        ),
    ],
)
def test_a_frame_of_any_library_is_ordered_by_rank_or_by_score(frame: object) -> None:
    assert Recorded.of(frame, CORPUS).run == {
        "q1": [("c", 0.9), ("b", 0.5), ("a", 0.1)]
    }


def test_two_columns_of_scores_are_refused() -> None:
    frame = pd.DataFrame(HITS | {"dense_score": [1, 2, 3]}).rename(
        columns={"score": "bm25_score"}
    )
    with pytest.raises(ValueError, match="'score'"):
        Recorded.of(frame, CORPUS)


def test_of_two_equal_columns_of_one_name_one_counts_and_others_are_refused() -> None:
    frame = pd.DataFrame(HITS)
    joined = pd.concat([frame[["query_id"]], frame], axis=1)
    assert Recorded.of(joined, CORPUS).run == Recorded.of(frame, CORPUS).run
    other = pd.concat([frame, frame[["score"]] + 1], axis=1)
    with pytest.raises(ValueError, match="'score'"):
        Recorded.of(other, CORPUS)


def test_ids_that_a_table_has_as_numbers_are_those_of_the_corpus() -> None:
    frame = pd.DataFrame({"qid": [1.0, 1.0], "docno": [7.0, 8.0], "score": [0.1, 0.9]})
    corpus = corpus_of([{"id": 7, "text": "a"}, {"id": 8, "text": "b"}])
    assert (
        Recorded.of(frame, corpus).run
        == Recorded.of({1: {8.0: 0.9, 7.0: 0.1}}, corpus).run
    )
    assert Recorded.of(frame, corpus).run == {"1": [("8", 0.9), ("7", 0.1)]}


def test_pairs_are_lists_or_tuples_and_an_id_is_no_score() -> None:
    assert Recorded.of({"q1": [["c", 0.9], ("b", 0.5)]}, CORPUS).run == {
        "q1": [("c", 0.9), ("b", 0.5)]
    }
    numbered = corpus_of([{"id": 2, "text": "a"}, {"id": 3, "text": "b"}])
    with pytest.raises(TypeError, match="'3'"):
        Recorded.of({"q1": [(2.0, "3")]}, numbered)
    records = [
        {"qid": "q1", "docno": "b", "score": 0.5},
        {"qid": "q1", "docno": "c", "score": 0.9},
    ]
    assert Recorded.of(records, CORPUS).run == {"q1": [("c", 0.9), ("b", 0.5)]}


@pytest.mark.parametrize("column", ["score", "rank"])
@pytest.mark.parametrize("value", [None, float("nan"), "first"])
def test_a_score_or_rank_that_is_no_number_names_its_query_and_passage(
    column: str, value: object
) -> None:
    frame = pd.DataFrame(HITS | {"rank": [3, 1, 2]}).astype({column: object})
    frame.loc[1, column] = value
    with pytest.raises(ValueError, match=f"'q1'.*'c'.*{column}"):
        Recorded.of(frame, CORPUS)
    with pytest.raises(ValueError, match="'c'"):
        Recorded.of({"q1": {"a": 0.1, "c": float("nan")}}, CORPUS)


def test_a_recorded_run_stands_beside_ours_with_the_same_scores(tmp_path: Path) -> None:
    bundled = kg2rag.load("bundled")
    bm25 = kg2rag.BM25(KnowledgeBase.build(bundled.corpus))
    recorded = Recorded.of(
        frame_of(bm25.retrieve_batch(bundled.queries, 100)), bundled.corpus
    )
    result = kg2rag.compare(
        {"bm25": bm25, "again": recorded}, bundled, metrics=["recall@5", "mrr@10"]
    )
    table = result.to_frame()[["recall@5", "mrr@10"]]
    assert table.loc["again"].equals(table.loc["bm25"])
    result.save(tmp_path)  # with the gold that judges it again
    judged = [
        line.split() for line in (tmp_path / "qrels.trec").read_text().splitlines()
    ]
    gold = [
        (id_, passage, str(grade))
        for id_, grades in bundled.qrels.items()
        for passage, grade in grades.items()
    ]
    assert sorted(
        (query, passage, grade) for query, _, passage, grade in judged
    ) == sorted(gold)


def test_a_score_of_ones_own_orders_all_passages_or_the_candidates_ties_by_the_corpus():
    kb = KnowledgeBase.build(CORPUS)
    longest = ScoreFunction(kb, lambda _, passage: len(passage.text), name="longest")
    ranking = longest.retrieve("q", 3)
    assert (ranking.passage_ids, longest.retrieve("q", 2).passage_ids) == (
        ["b", "a", "c"],
        ["b", "a"],
    )
    assert longest.retrieve(Query("q", "q", ("c", "a")), 3).passage_ids == ["a", "c"]
    assert scores_by_formula(ranking).tolist() == ranking.scores.tolist() == [3, 2, 2]
    assert ranking.hit(1).stage == "longest"
    assert ScoreFunction(
        kb, lambda text, passage: float(text in passage.text)
    ).retrieve("y", 1).passage_ids == ["c"]
    with pytest.raises(ValueError, match="'b'"):
        ScoreFunction(
            kb, lambda _, passage: float("nan") if passage.id == "b" else 1.0
        ).retrieve("q", 1)


@pytest.mark.parametrize(
    "passages",
    [
        [("D1-0", "D1-0"), ("D1-1", "D1-1"), ("D2-0", "D2-0")],
        [("x", "D1"), ("y", "D1"), ("z", "D2")],
        [("a.trec#D1#0", "a.trec#D1"), ("a.trec#D1#1", "a.trec#D1"), ("b", "a#D2")],
    ],
)
def test_a_hit_of_a_run_that_names_a_document_is_its_first_passage(
    tmp_path: Path, passages: list[tuple[str, str]]
) -> None:
    corpus = Corpus.from_passages(
        [Passage(id_, "", "Text.", document, 0) for id_, document in passages]
    )
    file = tmp_path / "bm25.trec"
    file.write_text("q1 Q0 D2 1 9.5 bm25\nq1 Q0 D1 2 8.5 bm25\n")
    run = Recorded.of(file, corpus)
    assert run.retrieve(Query("q1", "?"), 5).passage_ids == [
        passages[2][0],
        passages[0][0],
    ]
    assert run.remark.endswith(": 2")
    with pytest.raises(ValueError, match="'D3'"):
        Recorded.of({"q1": ["D1", "D3"]}, corpus)
