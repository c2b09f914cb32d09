"""Small changes of a definition, each worked out by hand, that no other test would notice."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import kg2rag
from kg2rag.evaluation import compare
from kg2rag.evaluation.metrics import evaluate
from kg2rag.evaluation.overlap import rank_biased_overlap
from kg2rag.evaluation.scored_runs import ScoredRuns
from kg2rag.evaluation.significance import p_of_best
from kg2rag.evaluation.statistics import in_units, interval_of_sum
from kg2rag.evaluation.verdict import Verdict
from kg2rag.types import Corpus, Passage, QADataset, Question, Ranking


def test_values_are_counted_in_the_largest_unit_that_divides_them() -> None:
    assert in_units(np.array([0.5, 1.0, -0.5])).tolist() == [1, 2, -1]
    assert in_units(np.array([2 / 3, -1 / 3])).tolist() == [2, -1]


def test_a_difference_of_means_takes_the_other_end_of_the_mean_that_is_subtracted():
    # .5 in (.4, .7) less .4 in (.35, .6): down sqrt(.1^2 + .2^2) = .2236, up sqrt(.2^2 + .05^2) =
    # .2062.
    means, low, high = np.array([0.5, 0.4]), np.array([0.4, 0.35]), np.array([0.7, 0.6])
    ends = interval_of_sum(means, low, high, np.array([1.0, -1.0]))
    assert [float(end) for end in ends] == pytest.approx(
        [0.1 - 0.05**0.5, 0.1 + 0.0425**0.5]
    )


def test_the_p_of_the_best_is_corrected_over_all_pairs_not_only_over_its_pairs():
    # Holm over .01, .02, .03: .03, .04, .04; the pairs of a have .03 and .04. Over its two pairs it
    # would be .02.
    scores = {
        name: np.full((4, 1), mean)
        for name, mean in {"a": 0.9, "b": 0.5, "c": 0.4}.items()
    }
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    assert p_of_best(scores, pairs, np.array([[0.01], [0.02], [0.03]])) == [
        ("a", pytest.approx(0.04))
    ]


def test_199_of_200_gold_passages_are_not_all() -> None:
    passages = [Passage(f"p{i}", "", f"text {i}", f"d{i}", 0) for i in range(200)]
    corpus = Corpus.from_passages(passages)
    data = QADataset(
        "many",
        corpus,
        (Question("q", "Which?", {passage.id: 1 for passage in passages}),),
    )
    ranking = Ranking.from_scores(
        "q", np.arange(199), 1 / np.arange(1, 200), corpus.ids
    )
    scores = evaluate([ranking], data, ["recall@200", "all_recall@200"]).iloc[0]
    assert scores.tolist() == [0.995, 0]


def test_overlap_is_extrapolated_beyond_the_shorter_ranking() -> None:
    # Both agree at depths 1 and 2; what the longer one goes on with is unknown in the other.
    assert rank_biased_overlap("ab", "abcd") == pytest.approx(1)
    # Depth 1: 0, depth 2: 1/2, extrapolated .5: .5 * .81 + .1 / .9 * .5 * .81 = .45
    assert rank_biased_overlap("ab", "bcd") == pytest.approx(0.45)


@dataclass(frozen=True)
class Answers(kg2rag.Retriever):
    """Finds the gold of every question, or of none."""

    finds: bool
    source: str = "text"
    name: str = ""

    def retrieve_batch(self, queries: Any, k: int) -> list[Ranking]:
        ids, notes = [f"p{i}" for i in range(11)], kg2rag.types.Notes("1", self.source)
        rows = [int(query.id[1:]) if self.finds else 10 for query in queries]
        return [
            Ranking.from_scores(
                query.id, [row], [1.0], ids, stages=("one",), notes=notes
            ).top(k)
            for query, row in zip(queries, rows, strict=True)
        ]


def compared(**systems: Any) -> ScoredRuns:
    corpus = Corpus.from_passages(
        [Passage(f"p{i}", "", f"text {i}", f"d{i}", 0) for i in range(11)]
    )
    questions = tuple(Question(f"q{i}", f"{i}?", {f"p{i}": 1}) for i in range(10))
    return compare(
        systems, QADataset("ten", corpus, questions), metrics=["recall@5"], k=5
    )


def test_p_and_the_lower_end_are_corrected_for_the_number_of_graph_systems() -> None:
    # Ten wins of ten: p = 2 / 2^10 for one graph system; of four, four times as much. The share of
    # questions that may
    # not have been seen is 1 - (.05 / 4 / 2)^(1/10), and all of them may have lost.
    graphs = {
        f"g{i}": Answers(finds=True, source="graph", name=str(i)) for i in range(4)
    }
    found = compared(text=Answers(finds=False), **graphs).verdict()
    assert found.p == pytest.approx(4 * 2 / 2**10)
    assert found.low == pytest.approx(1 - 2 * (1 - 0.00625**0.1), abs=1e-6)


def test_the_upper_end_is_corrected_for_the_number_of_plain_systems() -> None:
    # All ten lost: of the share that may not have been seen all may have won. With three plain
    # systems to choose from
    # it is 1 - (.05 / 3 / 2)^(1/10).
    plains = {f"t{i}": Answers(finds=True, name=str(i)) for i in range(3)}
    found = compared(graph=Answers(finds=False, source="graph"), **plains).verdict()
    assert (len(found.graph_systems), len(found.plain_systems)) == (1, 3)
    assert found.high == pytest.approx(-1 + 2 * (1 - (0.05 / 6) ** 0.1), abs=1e-6)


def test_no_comes_before_yes() -> None:
    found = Verdict(
        compared(text=Answers(finds=False), graph=Answers(finds=True, source="graph")),
        "recall@5",
        1.5,
    )
    assert (found.p < 0.05, found.low > 0, found.answer) == (True, True, "no")


@dataclass(frozen=True)
class Ticking(kg2rag.Retriever):
    """Builds something while it answers for the first time: a hundred ticks of the clock."""

    kb: kg2rag.KnowledgeBase
    clock: Any

    def retrieve_batch(self, queries: Any, k: int) -> list[Ranking]:
        if not self.clock.built:
            self.clock.built = [next(self.clock.ticks) for _ in range(100)]
        ids = self.kb.corpus.ids
        return [
            Ranking.from_scores(query.id, [0], [1.0], ids).top(k) for query in queries
        ]

    def prepare(self, queries: Any) -> None:
        """It knows nothing to build."""


class Clock:
    def __init__(self) -> None:
        self.ticks, self.built = itertools.count(), []


def test_the_batch_that_warms_a_system_up_is_not_timed(
    kb_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb, clock = kb_of(("Ada", "Ada wrote notes.")), Clock()
    data = kg2rag.from_frames(
        kb.corpus, [{"id": "q", "question": "Who?", "gold": ["p0"]}]
    )
    kb.embedder  # noqa: B018 - opened before the clock is replaced
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock.ticks)))
    result = compare({"ticking": Ticking(kb, clock)}, data, metrics=["mrr"], k=1)
    assert len(clock.built) == 100
    # One tick for the one question.
    assert result.ms_per_query["ticking"] == pytest.approx(1000)
