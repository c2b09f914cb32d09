"""Does a graph help here: yes, no and inconclusive, by hand, by simulation, and on real questions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp

import kg2rag
from kg2rag.evaluation.power import questions_needed
from kg2rag.evaluation.result import Comparison
from kg2rag.evaluation.statistics import interval_of_difference, p_values
from kg2rag.types import Corpus, Passage, QADataset, Question, Ranking

N = 200


@dataclasses.dataclass(frozen=True)
class Sometimes(kg2rag.Retriever):
    """Finds the gold of a share of the questions, drawn by a seed; it may read a graph."""

    share: float
    seed: int
    source: str = "text"

    def retrieve_batch(self, queries: Any, k: int) -> list[Ranking]:
        found = np.random.default_rng(self.seed).random(N) < self.share
        ids, notes = (
            [f"p{i}" for i in range(N + 1)],
            kg2rag.types.Notes("1", self.source),
        )
        rows = [
            at if found[at] else N for at in (int(query.id[1:]) for query in queries)
        ]
        return [
            Ranking.from_scores(
                query.id, np.array([row]), np.ones(1), ids, stages=("one",), notes=notes
            ).top(k)
            for query, row in zip(queries, rows, strict=True)
        ]


def compared(n: int = N, **systems: Any) -> Comparison:
    corpus = Corpus.from_passages(
        [Passage(f"p{i}", "", f"text {i}", f"d{i}", 0) for i in range(N + 1)]
    )
    questions = tuple(
        Question(f"q{i}", f"{i}?", {f"p{i}": 1}, type="ab"[i % 2]) for i in range(n)
    )
    options: dict[str, Any] = {"metrics": ["recall@5"], "k": 5}
    return kg2rag.compare(systems, QADataset("drawn", corpus, questions), **options)


TEXT, WORSE = Sometimes(0.5, 1), Sometimes(0.3, 2)


@pytest.mark.parametrize(
    ("share", "seed", "n", "answer"),
    [
        (0.9, 3, N, "yes"),
        (0.2, 4, N, "no"),
        (0.6, 5, 10, "inconclusive"),
        (0.5, 1, N, "no"),  # ties alone, and enough of them
        (0.5, 1, 10, "inconclusive"),  # ten ties say nothing
        (0.5, 1, 70, "inconclusive"),
        # .95^72 < .025: they rule out that one question in twenty gains.
        (
            0.5,
            1,
            72,
            "no",
        ),
    ],
)
def test_the_best_graph_system_is_judged_against_the_best_plain_one(
    share: float, seed: int, n: int, answer: str
) -> None:
    # of few questions the worse one happens to find more
    worse = {"worse": WORSE} if n == N else {}
    result = compared(n, **worse, text=TEXT, graph=Sometimes(share, seed, "graph"))
    found = result.verdict()
    assert (found.answer, found.take) == (
        answer,
        "graph" if answer == "yes" else "text",
    )
    means = result.to_frame()["recall@5"]
    assert found.plain == means.drop("graph").idxmax()
    assert found.gain == pytest.approx(means["graph"] - means[found.plain])
    assert found.low <= found.gain <= found.high
    assert (found.more is None) == (answer != "inconclusive")
    assert found.kinds["questions"].tolist() == [n / 2, n / 2]
    assert found.kinds["gain"].mean() == pytest.approx(found.gain)


@pytest.mark.parametrize(("n", "answer"), [(10, "yes"), (4, "inconclusive")])
def test_questions_that_all_agree_are_enough_where_an_honest_interval_leaves_out_0(
    n: int, answer: str
) -> None:
    found = compared(
        n, text=Sometimes(0.0, 1), graph=Sometimes(1.0, 1, "graph")
    ).verdict()
    unseen = 1 - 0.025 ** (1 / n)  # of all questions, which may all have lost
    assert (found.gain, found.high, found.answer) == (1.0, 1.0, answer)
    assert found.low == pytest.approx(1 - 2 * unseen, abs=1e-4)
    assert found.p == 2 * 0.5**n


def test_a_gain_that_is_significant_but_not_worth_a_graph_is_no() -> None:
    result = compared(text=Sometimes(0.5, 1), graph=Sometimes(0.9, 3, "graph"))
    found = result.verdict(min_gain=0.9)
    assert (found.p < 0.05, found.low > 0, found.answer) == (True, True, "no")


@pytest.mark.parametrize("n", [5, 10, 40])
def test_the_interval_covers_the_mean_where_few_questions_differ(n: int) -> None:
    rng, covered = np.random.default_rng(n), 0
    for _ in range(200):  # the t interval covers it in 16 to 71 %
        low, high = interval_of_difference(rng.choice([-1.0, 0.5], n, p=[0.03, 0.97]))
        covered += low <= 0.455 <= high
    assert covered >= 185


def test_it_is_shown_as_text_and_as_html_above_the_scores(tmp_path: Path) -> None:
    result = compared(10, text=TEXT, graph=Sometimes(0.6, 5, "graph"))
    found = result.verdict()
    assert found.more is not None
    assert f"{found.more[0]:,} to {found.more[1]:,} more questions" in repr(found)
    assert "Take text" in repr(found)
    assert found.word in found._repr_html_()
    page = result.to_html()
    assert page.index(found.word) < page.index("<h2>Scores")
    result.save(tmp_path)
    # systems that read a graph are known without their rankings' stages
    again = Comparison.load(tmp_path).verdict()
    assert (again.word, again.gain, again.p) == (
        found.word,
        pytest.approx(found.gain),
        pytest.approx(found.p),
    )


def test_without_two_sides_there_is_no_verdict_and_the_page_has_none() -> None:
    for present, needed in (
        ({"text": TEXT}, "graph_augmented"),
        ({"graph": Sometimes(0.6, 5, "graph")}, "hybrid"),
    ):
        result = compared(10, **present)
        with pytest.raises(ValueError, match=needed):
            result.verdict()
        assert "Does a graph help" not in result.to_html()
    with pytest.raises(ValueError, match="min_gain"):
        compared(10, text=TEXT, graph=Sometimes(0.6, 5, "graph")).verdict(min_gain=0)


def test_where_a_shuffled_graph_gains_as_much_it_is_not_the_graph() -> None:
    shuffled = [Sometimes(0.9, seed, "graph") for seed in (11, 12, 13)]
    result = compared(
        **{
            "text": TEXT,
            "walk.g": Sometimes(0.9, 3, "graph"),
            "walk.g-shuffled": shuffled,
        }
    )
    found = result.verdict(min_gain=0.1)
    assert (found.graph, found.p < 0.05, bool(found.placebo)) == ("walk.g", True, True)
    assert found.answer != "yes"
    blind = [Sometimes(0.4, seed, "graph") for seed in (11, 12, 13)]
    result = compared(
        **{"text": TEXT, "walk.g": Sometimes(0.9, 3, "graph"), "walk.g-shuffled": blind}
    )
    assert result.verdict().answer == "yes"


def test_choosing_among_graph_systems_that_gain_nothing_finds_a_gain_in_at_most_5_per_cent():
    yes = 0
    for seed in range(7, 147, 7):
        graphs = {f"g{i}": Sometimes(0.5, seed + i, "graph") for i in range(1, 5)}
        yes += (
            compared(60, text=Sometimes(0.5, seed), **graphs).verdict().answer == "yes"
        )
    assert yes <= 3  # of 20 at .05 more are found once in sixty times


@pytest.mark.parametrize("shift", [-0.4, 0.0, 0.13, 0.5])
def test_the_interval_leaves_out_what_the_test_rejects(shift: float) -> None:
    values = np.random.default_rng(5).normal(0.2, 0.7, 60)
    low, high = interval_of_difference(values)
    assert (low <= shift <= high) == (p_values(values - shift) >= 0.05)
    assert (low, high) == pytest.approx(
        tuple(ttest_1samp(values, 0).confidence_interval()), abs=0.02
    )


def test_the_number_of_questions_by_hand() -> None:
    # sd 1, gain .5: ((1.95996 + .84162) / .5)^2 = 31.396. The 80 % interval of an sd of 10 values:
    # chi-square with 9
    # degrees has the quantiles 4.16816 and 14.68366, so 31.396 * 9 / 14.68366 = 19.24 and 31.396 *
    # 9 / 4.16816 = 67.79.
    values = np.array([0.0, 2.0] * 5) * 0.9**0.5
    assert values.std(ddof=1) == pytest.approx(1)
    assert questions_needed(values, 0.5) == (20, 68)
    # Ties only: Wilson's interval of 0 of n leaves out .05 from 3.8415 * .95 / .05 = 72.99
    # questions on.
    assert questions_needed([0.0] * 10, 0.05) == (73, 73)


def test_of_fewer_than_ten_questions_the_spread_says_nothing_about_how_many_are_needed():
    assert questions_needed(np.arange(9.0), 0.5) is None
    found = compared(9, text=TEXT, graph=Sometimes(0.6, 5, "graph")).verdict()
    assert (found.answer, found.more) == ("inconclusive", None)


def test_the_advice_on_more_questions_does_not_depend_on_the_gain_observed() -> None:
    # Differences of equal spread around another mean: the observed gain was plugged in before.
    values = np.array([0.0, 1.0] * 10)
    assert questions_needed(values, 0.05) == questions_needed(values - 0.4, 0.05)


@pytest.mark.realdata
@pytest.mark.full
def test_on_musique_yes_over_a_shuffled_graph_no_and_on_ten_questions_inconclusive(
    shared_data: Path,
) -> None:
    data = kg2rag.load("musique", path=shared_data / "musique-100")
    kb = kg2rag.KnowledgeBase.build(data.corpus)
    build: Callable[..., Any] = kg2rag.systems.build_all
    plain, walks = (
        build(kb, ["bm25", "dense", "hybrid"]),
        build(kb, ["mention_ppr", "mention_chains"]),
    )
    asked: dict[str, Any] = {"metrics": ["recall@5"]}

    shuffled = build(kb.placebo(0), ["mention_ppr"])
    few = replace(data, questions=data.questions[:10])
    runs = ((walks, data), (shuffled, data), (walks, few))
    found, no, open_ = (
        kg2rag.compare({**plain, **systems}, on, **asked).verdict()
        for systems, on in runs
    )
    assert (found.word, found.take) == ("yes", "mention_chains")
    assert found.reach["gold"] > 2 * found.reach["passages"]
    assert (no.word, open_.answer) == ("no", "inconclusive")
    low, high = open_.more
    assert 10 < low < high
