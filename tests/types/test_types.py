"""Passages, triples, hits and rankings, and the one place where hits are put in order."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.types import Corpus, Notes, Passage, QADataset, Query, Ranking, Triple, top_with_ties

IDS = [f"p{i}" for i in range(10)]
FACT = Triple("Ed Wood", "directed by", "Tim Burton", "p1")
PASSAGE = Passage("p1", "Ed Wood", "A film.", "d1", 0)


@pytest.fixture
def ranking() -> Ranking:
    """p4 (0.9), p1 and p7 (both 0.5), p0 (0.1); p1 came by a fact of the graph."""
    return Ranking.of(
        "q",
        np.array([7, 0, 4, 1]),
        np.array([0.5, 0.1, 0.9, 0.5]),
        IDS,
        stages=("dense", "graph"),
        stage_codes=np.array([0, 0, 0, 1]),
        score_parts={"cosine": np.array([0.5, 0.1, 0.9, np.nan]), "fact": np.array([np.nan, np.nan, np.nan, 0.5])},
        paths={1: (FACT,)},
        notes=Notes(warning="by hand"),
    ).top(10)


def test_hits_are_ordered_by_score_and_equal_scores_by_corpus_position(ranking: Ranking) -> None:
    assert ranking.passage_ids == ["p4", "p1", "p7", "p0"]
    assert ranking.scores.tolist() == [0.9, 0.5, 0.5, 0.1]


def test_a_hit_carries_its_own_stage_path_and_parts(ranking: Ranking) -> None:
    first, second, third, last = ranking
    assert (first.stage, first.path, first.score_parts) == ("dense", (), {"cosine": 0.9})
    assert (second.stage, second.path, second.score_parts) == ("graph", (FACT,), {"fact": 0.5})
    assert (third.stage, third.score_parts) == ("dense", {"cosine": 0.5})
    assert (last.passage_id, last.score) == ("p0", 0.1)


def test_a_ranking_is_indexed_as_a_list_of_its_hits(ranking: Ranking) -> None:
    assert [ranking[0], ranking[-1]] == [ranking.hit(1), ranking.hit(4)]
    assert list(ranking[1:3]) == [ranking.hit(2), ranking.hit(3)]
    assert ranking[:2].passage_ids == ["p4", "p1"]
    with pytest.raises(IndexError):
        ranking[4]
    with pytest.raises(ValueError, match="would turn it round"):
        ranking[::-1]


def test_a_hit_has_the_text_of_its_passage() -> None:
    corpus = Corpus.from_passages([PASSAGE, Passage("p2", "", "Another.", "d2", 0)])
    found = Ranking.of("q", np.array([1, 0]), np.array([2.0, 1.0]), corpus.ids)
    assert [(hit.title, hit.text) for hit in found] == [("", "Another."), ("Ed Wood", "A film.")]
    assert found[1].passage == PASSAGE
    assert repr(corpus) not in repr(found[0])


def test_a_hit_of_a_ranking_without_a_corpus_says_where_its_text_is(ranking: Ranking) -> None:
    with pytest.raises(ValueError, match=r"'p4' is of a ranking that was read from a file: .* data\.corpus\["):
        ranking[0].text  # noqa: B018


def test_a_ranking_that_is_pickled_or_copied_leaves_the_corpus_behind() -> None:
    corpus = Corpus.from_passages([PASSAGE])
    found = Ranking.of("q", np.array([0]), np.array([1.0]), corpus.ids)
    for again in (pickle.loads(pickle.dumps(found)), deepcopy(found)):
        assert type(again.ids) is list
        assert again.passage_ids == ["p1"]


@pytest.mark.parametrize("at", [0, 5, -1])
def test_a_rank_that_no_hit_has_is_refused_by_name(ranking: Ranking, at: int) -> None:
    with pytest.raises(IndexError, match=f"'q': rank {at} of a ranking with 4 hits"):
        ranking.hit(at)


def test_the_top_is_a_prefix_with_everything_its_hits_carry(ranking: Ranking) -> None:
    top = ranking.top(2)
    assert list(top) == list(ranking)[:2]
    assert top.notes.warning == "by hand"
    assert ranking.top(4) is ranking.top(99) is ranking


def test_a_k_below_one_is_refused(ranking: Ranking) -> None:
    for asked in (
        lambda: ranking.top(0),
        lambda: Ranking.of("q", [1], [1.0], IDS).top(0),
        lambda: top_with_ties(np.array([1.0]), -1),
    ):
        with pytest.raises(ValueError, match="k must be"):
            asked()


def test_rank_keeps_the_first_k_and_of_equal_scores_the_earlier_passages() -> None:
    assert Ranking.of("q", np.array([3, 1, 2]), np.array([1.0, 1.0, 2.0]), IDS).top(2).passage_ids == ["p2", "p1"]
    assert Ranking.of("q", np.arange(10)[::-1], np.zeros(10), IDS).top(3).passage_ids == ["p0", "p1", "p2"]
    assert list(Ranking.of("q", np.empty(0, dtype=np.int64), np.empty(0), IDS).top(3)) == []


@pytest.mark.parametrize(
    ("rows", "scores", "named"),
    [
        ([1, 2], [1.0, np.nan], "p2"),
        ([1, 2], [1.0, -np.inf], "p2"),
        ([3, 1, 3], [1.0, 2.0, 3.0], "p3"),
        ([1, 10], [1.0, 2.0], "row 10"),
        ([-1, 3], [1.0, 2.0], "row -1"),
        ([1, 2], [1.0], "2 rows but 1 scores"),
    ],
)
def test_rank_refuses_what_is_no_ranking_and_names_query_and_passage(
    rows: list[int], scores: list[float], named: str
) -> None:
    with pytest.raises(ValueError, match=f"'q'.*{named}"):
        Ranking.of("q", np.array(rows), np.array(scores), IDS)


few_scores = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]) | st.floats(-1e6, 1e6), max_size=30)


@given(few_scores, st.integers(1, 35))
def test_best_then_rank_equals_sorting_everything(scores: list[float], k: int) -> None:
    ids = [f"p{i}" for i in range(len(scores))]
    values = np.array(scores)
    rows = top_with_ties(values, k)
    expected = sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:k]
    assert Ranking.of("q", rows, values[rows], ids).top(k).rows.tolist() == expected


@given(few_scores, st.integers(1, 35), st.integers(1, 35))
def test_a_smaller_k_is_a_prefix_of_a_larger(scores: list[float], one: int, other: int) -> None:
    ids, rows, values = [f"p{i}" for i in range(len(scores))], np.arange(len(scores)), np.array(scores)
    small, large = sorted((one, other))
    deep = Ranking.of("q", rows, values, ids).top(large).passage_ids
    assert Ranking.of("q", rows, values, ids).top(small).passage_ids == deep[:small]


def test_best_keeps_every_score_equal_to_the_last_one_kept() -> None:
    assert top_with_ties(np.array([1.0, 3.0, 1.0, 2.0, 1.0, 0.0]), 3).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"strength": 0.0}, r"strength 0.0 is outside \(0, 10\]"),
        ({"strength": 10.1}, "strength 10.1"),
        ({"strength": float("nan")}, "strength nan"),
        ({"confidence": 0.0}, r"confidence 0.0 is outside \(0, 1\]"),
        ({"confidence": 1.5}, "confidence 1.5"),
    ],
)
def test_a_triple_refuses_weights_outside_their_range(weights: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Triple("a", "r", "b", "p1", **weights)


def test_how_passages_and_triples_read() -> None:
    assert Passage("p", "Ed Wood", "A film.", "d", 0).contents == "Ed Wood\nA film."
    assert Passage("p", "", "A film.", "d", 0).contents == "A film."
    assert str(FACT) == "Ed Wood -[directed by]-> Tim Burton"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Query("q", None), r"id and a text, both strings, not 'q' and None"),  # type: ignore[arg-type]
        (lambda: Query(7, "Who?"), r"both strings, not 7 and 'Who\?'"),  # type: ignore[arg-type]
        (lambda: Query("q", "Who?", "p1"), r"such as \('p1',\), not one string"),  # type: ignore[arg-type]
        (lambda: Triple("a", "r", "b", "p1", strength="5"), r"are numbers, not '5' and 1\.0"),  # type: ignore[arg-type]
        (lambda: Corpus([PASSAGE]), r"not of a list\. Of passages, make one with Corpus\.from_passages"),
        (lambda: Corpus.from_passages(["A film."]), "Passage objects, not of 'A film.'"),  # type: ignore[list-item]
        (lambda: QADataset("x", [PASSAGE], ()), r"x: corpus is a list, not a Corpus"),  # type: ignore[arg-type]
        (lambda: QADataset("x", Corpus.from_passages([PASSAGE]), ("Who?",)), r"x: questions are Question objects"),  # type: ignore[arg-type]
    ],
)
def test_a_value_of_the_wrong_type_is_refused_at_once_with_what_to_give(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def test_a_table_without_a_column_is_refused_by_its_name() -> None:
    table = Corpus.from_passages([PASSAGE]).table.drop_columns("doc_id")
    with pytest.raises(ValueError, match=r"no column 'doc_id'\. A corpus needs: id, title, text, doc_id"):
        Corpus(table)


def test_scores_that_differ_by_less_than_a_millionth_tie_and_are_ordered_by_corpus_position() -> None:
    scores = np.array([0.5, 0.50000004, 0.49999, 0.5 - 4e-8, -2.0])
    assert Ranking.of("q", np.arange(5), scores, list("abcde")).rows.tolist() == [0, 1, 3, 2, 4]
    assert Ranking.of("q", np.arange(5), 1e-9 * scores, list("abcde")).rows.tolist() == [0, 1, 3, 2, 4]
