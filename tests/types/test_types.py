"""Passages, triples, hits and rankings, and the one place where hits are put in order."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.types import (
    Corpus,
    Notes,
    Passage,
    QADataset,
    Query,
    Ranking,
    Triple,
    first_of,
    rescored,
    top_with_ties,
)

IDS = [f"p{i}" for i in range(10)]
FACT = Triple("Ed Wood", "directed by", "Tim Burton", "p1")
PASSAGE = Passage("p1", "Ed Wood", "A film.", "d1", 0)


@pytest.fixture
def ranking() -> Ranking:
    """p4 (0.9), p1 and p7 (both 0.5), p0 (0.1); p1 came by a fact of the graph."""
    return Ranking.from_scores(
        "q",
        np.array([7, 0, 4, 1]),
        np.array([0.5, 0.1, 0.9, 0.5]),
        IDS,
        stages=("dense", "graph"),
        stage_codes=np.array([0, 0, 0, 1]),
        score_parts={
            "cosine": np.array([0.5, 0.1, 0.9, np.nan]),
            "fact": np.array([np.nan, np.nan, np.nan, 0.5]),
        },
        paths={1: (FACT,)},
        notes=Notes(warning="by hand"),
    ).top(10)


def test_hits_are_in_order_and_carry_their_own_stage_path_and_parts(
    ranking: Ranking,
) -> None:
    # Of equal scores, by corpus position.
    assert ranking.passage_ids == [
        "p4",
        "p1",
        "p7",
        "p0",
    ]
    assert ranking.scores.tolist() == [0.9, 0.5, 0.5, 0.1]
    assert [hit.stage for hit in ranking] == ["dense", "graph", "dense", "dense"]
    assert [hit.path for hit in ranking] == [(), (FACT,), (), ()]
    assert [hit.score_parts for hit in ranking] == [
        {"cosine": 0.9},
        {"fact": 0.5},
        {"cosine": 0.5},
        {"cosine": 0.1},
    ]


def test_a_ranking_is_indexed_as_a_list_of_its_hits(ranking: Ranking) -> None:
    assert [ranking[0], ranking[-1]] == [ranking.hit(1), ranking.hit(4)]
    assert list(ranking[1:3]) == [ranking.hit(2), ranking.hit(3)]
    assert ranking[:2].passage_ids == ["p4", "p1"]
    with pytest.raises(IndexError):
        ranking[4]
    with pytest.raises(ValueError, match=r"slice\(None, None, -1\)"):
        ranking[::-1]


def test_a_notebook_aligns_the_texts_of_a_ranking_left_and_its_numbers_right() -> None:
    corpus = Corpus.from_passages([PASSAGE, Passage("p2", "", "Another.", "d2", 0)])
    found = Ranking.from_scores("q", np.array([1, 0]), np.array([2.0, 1.0]), corpus.ids)
    html = found._repr_html_()
    columns = re.findall("<th>(.*?)</th>", html)
    right = re.findall(r"nth-child\((\d+)\) { text-align: right !important; }", html)
    assert columns == ["rank", "passage", "title", "text", "score", "path"]
    assert [columns[int(place) - 1] for place in right] == ["rank", "score"]
    assert re.search(r":is\(th, td\) { text-align: left !important; }", html)


def test_a_hit_has_the_text_of_its_passage_where_its_ranking_was_not_read_from_a_file():
    corpus = Corpus.from_passages([PASSAGE, Passage("p2", "", "Another.", "d2", 0)])
    found = Ranking.from_scores("q", np.array([1, 0]), np.array([2.0, 1.0]), corpus.ids)
    assert [(hit.title, hit.text) for hit in found] == [
        ("", "Another."),
        ("Ed Wood", "A film."),
    ]
    assert found[1].passage == PASSAGE
    assert repr(corpus) not in repr(found[0])
    assert "<td>A film.</td>" in found._repr_html_()
    # these leave the corpus behind
    for again in (pickle.loads(pickle.dumps(found)), deepcopy(found)):
        assert type(again.ids) is list
        assert again.passage_ids == ["p2", "p1"]
        with pytest.raises(ValueError, match=r"'p2' .*data\.corpus\["):
            again[0].text  # noqa: B018


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
        lambda: Ranking.from_scores("q", [1], [1.0], IDS).top(0),
        lambda: top_with_ties(np.array([1.0]), -1),
    ):
        with pytest.raises(ValueError, match=r"\bk\b"):
            asked()


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
        Ranking.from_scores("q", np.array(rows), np.array(scores), IDS)


few_scores = st.lists(
    st.sampled_from([-1.0, 0.0, 0.5, 1.0]) | st.floats(-1e6, 1e6), max_size=30
)


@given(few_scores, st.integers(1, 35))
def test_best_then_rank_equals_sorting_everything(scores: list[float], k: int) -> None:
    ids = [f"p{i}" for i in range(len(scores))]
    values = np.array(scores)
    rows = top_with_ties(values, k)
    expected = sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:k]
    assert (
        Ranking.from_scores("q", rows, values[rows], ids).top(k).rows.tolist()
        == expected
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [*(("strength", x) for x in (0.0, 10.1, np.nan)), ("confidence", 1.5)],
)
def test_a_triple_refuses_weights_outside_their_range(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} {value}"):
        Triple("a", "r", "b", "p1", **{name: value})


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Query("q", None), "'q' and None"),  # type: ignore[arg-type]
        (lambda: Query("q", "Who?", "p1"), r"\('p1',\)"),  # type: ignore[arg-type]
        (lambda: Triple("a", "r", "b", "p1", strength="5"), "'5'"),  # type: ignore[arg-type]
        (lambda: Corpus([PASSAGE]), r"list.*Corpus\.from_passages"),
        (lambda: Corpus.from_passages(["A film."]), "'A film.'"),  # type: ignore[list-item]
        (lambda: QADataset("x", [PASSAGE], ()), "corpus must be .*Corpus"),  # type: ignore[arg-type]
        (
            lambda: QADataset("x", Corpus.from_passages([PASSAGE]), ("Who?",)),
            "questions must be .*Question",
        ),  # type: ignore[arg-type]
    ],
)
def test_a_value_of_the_wrong_type_is_refused_at_once_with_what_to_give(
    make: Callable[[], object], named: str
):
    with pytest.raises(TypeError, match=named):
        make()


def test_scores_that_differ_by_less_than_a_millionth_tie_and_are_ordered_by_corpus_position():
    scores = np.array([0.5, 0.50000004, 0.49999, 0.5 - 4e-8, -2.0])
    assert Ranking.from_scores(
        "q", np.arange(5), scores, list("abcde")
    ).rows.tolist() == [
        0,
        1,
        3,
        2,
        4,
    ]
    assert Ranking.from_scores(
        "q", np.arange(5), 1e-9 * scores, list("abcde")
    ).rows.tolist() == [
        0,
        1,
        3,
        2,
        4,
    ]


STEP, OTHER = Triple("a", "r", "b", "p2"), Triple("c", "r", "d", "p0")


def test_of_several_paths_to_a_passage_the_first_counts() -> None:
    paths = first_of({2: (STEP,), 0: ()}, {}, {0: (OTHER,), 2: (OTHER,)})
    assert [paths.get(row) for row in (2, 0, 7)] == [(STEP,), (OTHER,), ()]


def rescorable() -> Ranking:
    """p2 by the graph, then p0 and p3 by their text."""
    return Ranking.from_scores(
        "q",
        np.array([0, 2, 3]),
        np.array([0.5, 0.9, 0.1]),
        ["p0", "p1", "p2", "p3"],
        stages=("dense", "graph"),
        stage_codes=np.array([0, 1, 0]),
        score_parts={"cosine": np.array([0.5, np.nan, 0.1])},
        paths={2: (STEP,)},
        notes=Notes("cosine", "dense", warning="first"),
    )


def test_a_hit_keeps_stage_path_and_parts_under_its_new_score() -> None:
    new = rescored(
        rescorable(),
        np.array([0, 2]),
        np.array([2.0, 1.0]),
        9,
        formula="new",
        score_parts={"new": np.array([2.0, 1.0])},
        paths={0: (OTHER,)},
    )
    first, second = new
    assert (first.passage_id, first.stage, first.path, first.score_parts) == (
        "p0",
        "dense",
        (OTHER,),
        {"cosine": 0.5, "new": 2},
    )
    assert (second.passage_id, second.stage, second.path, second.score_parts) == (
        "p2",
        "graph",
        (STEP,),
        {"new": 1},
    )
    assert (new.notes.formula, new.notes.source, new.notes.warnings) == (
        "new",
        "dense",
        ("first",),
    )
