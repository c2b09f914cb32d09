"""The beam over pairs and triples: a toy by hand, and a plain reference on random evidence."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.retrievers.mention_chains.chains import NO_SOURCE, Beam, chains_of
from kg2rag.retrievers.mention_chains.coefficients import Linear, Ranker
from kg2rag.retrievers.mention_chains.signals import STEP, Evidence


def ranker_of(step: Linear) -> Ranker:
    """Models in which only the step has coefficients."""
    return Ranker(*([Linear({}), step] + [Linear({})] * 3))


def toy(
    shared: list[list[float]], start: list[float]
) -> tuple[Evidence, np.ndarray, Ranker]:
    """Candidates whose step is the shared word, with their own log-odds."""
    m = len(start)
    evidence = Evidence(
        np.arange(m),
        {"walk_gap": np.arange(m) - 4.0},
        np.zeros((1, m)),
        np.array(shared),
        np.zeros((m, m)),
        0.5,
    )
    return evidence, np.array(start), ranker_of(Linear({"shared_word": 1.0}))


def likely(x: float) -> float:
    return float(-np.log1p(np.exp(-x)))


NOBODY = [0.0] * 5


def test_a_beam_by_hand() -> None:
    # 0 names 1, 1 names 2; 3 and 4 are named by nobody.
    shared = [[0, 3, 0, 0, 0], [0, 0, 2, 0, 0], NOBODY, NOBODY, NOBODY]
    found = chains_of(
        *toy(shared, [2.0, 0.0, 0.0, 1.0, -5.0]), Beam(2, 1, 2.0, 1.0, 0.05)
    )
    zero, three = likely(2.0), likely(1.0)  # the two likeliest, 0 and 3, may be first
    assert found.source.tolist() == [3, 0, 0, 0, 0]
    assert found.levels["second"].tolist() == pytest.approx(
        [three, zero + 3, zero, zero, zero]
    )
    assert (found.pairs.members.tolist(), found.pairs.values.tolist()) == (
        [[0, 1]],
        [pytest.approx(zero + 3)],
    )
    # 2 continues the pair by 2; its members have the best continuation, 2, and the bonus, 1.
    assert found.levels["third"].tolist() == pytest.approx([3, 3, 2, 0, 0])
    assert found.levels["walk_named"].tolist() == [-2, -1.5, -1, -0.5, 0]


def test_pairs_share_by_softmax_and_an_unordered_pair_counts_once() -> None:
    shared = [[0, 4, 1, 0, 0], [4, 0, 0, 0, 0], [1, 0, 0, 0, 0], NOBODY, NOBODY]
    found = chains_of(*toy(shared, [0.0] * 5), Beam(3, 2, 2.0, 1.0, 0.05))
    assert found.pairs.members.tolist() == [[0, 1], [0, 2]]
    first = 1 / (1 + np.exp(-3 / 2))
    assert found.pairs.shares(2.0).tolist() == pytest.approx([first, 1 - first])


def test_the_only_source_continues_nothing() -> None:
    found = chains_of(
        *toy([NOBODY] * 5, [1.0, 0.0, 0.0, 0.0, 0.0]), Beam(1, 8, 2.0, 1.0, 0.05)
    )
    assert found.source.tolist() == [-1, 0, 0, 0, 0]
    assert found.levels["second"].tolist() == pytest.approx(
        [NO_SOURCE, *[likely(1.0)] * 4]
    )


def slowly(
    evidence: Evidence, start: np.ndarray, ranker: Ranker, beam: Beam
) -> dict[str, list[float]]:
    """The levels, set by set, candidate by candidate and phrase by phrase."""
    m = len(start)

    def step(members: tuple[int, ...], p: int) -> float:
        assert evidence.max_sim is not None
        assert evidence.weights is not None
        best = [
            max(evidence.max_sim[one, t] for one in (*members, p))
            for t in range(len(evidence.weights))
        ]
        gains = [
            row[p] - max(row[a] for a in members) for row in evidence.phrase_cosines
        ]
        signals = {
            "start": start[p],
            "shared_word": max(evidence.shared_word[a, p] for a in members),
            "phrase_gain": beam.gain_temperature
            * np.log(np.mean(np.exp(np.array(gains) / beam.gain_temperature))),
            "title_words": max(evidence.title_words[a, p] for a in members),
            "tokens_joint": sum(
                weight * one for weight, one in zip(evidence.weights, best, strict=True)
            ),
        }
        return ranker.step.intercept + sum(
            c * signals[name] for name, c in ranker.step.coefficients.items()
        )

    def best_of(
        cells: dict[tuple[tuple[int, ...], int], float], limit: int
    ) -> dict[tuple[int, ...], float]:
        best: dict[tuple[int, ...], float] = {}
        for members, p in sorted(cells, key=lambda cell: -cells[cell])[:limit]:
            best.setdefault(tuple(sorted((*members, p))), cells[members, p])
        return dict(list(best.items())[: beam.width])

    first = sorted(range(m), key=lambda p: (-start[p], p))[: beam.sources]
    cells = {
        ((i,), j): likely(start[i]) + step((i,), j)
        for i, j in product(first, range(m))
        if i != j
    }
    levels = {
        "second": [
            max((v for (_, j), v in cells.items() if j == p), default=NO_SOURCE)
            for p in range(m)
        ]
    }
    sets = best_of(cells, 3 * beam.width)
    shares, level = (
        np.exp([value / beam.temperature for value in sets.values()]),
        np.zeros(m),
    )
    for members, share in zip(sets, shares / shares.sum(), strict=True):
        steps = {p: step(members, p) for p in range(m) if p not in members}
        inside = max(steps.values()) + beam.bonus
        level += [share * steps.get(p, inside) for p in range(m)]
    walk_named = [gap * evidence.titles for gap in evidence.single["walk_gap"].tolist()]
    return {**levels, "third": level.tolist(), "walk_named": walk_named}


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    m=st.integers(5, 12),
    sources=st.integers(1, 8),
    width=st.integers(1, 8),
)
def test_the_chains_equal_a_plain_reference(
    seed: int, m: int, sources: int, width: int
) -> None:
    random = np.random.default_rng(seed)
    square = random.random((2, m, m))
    phrases, similar = random.random((3, m)), random.random((m, 4))
    gap = random.uniform(-9, 0, m)
    evidence = Evidence(
        np.arange(m),
        {"walk_gap": gap},
        phrases,
        square[0],
        square[1],
        0.5,
        similar,
        np.full(4, 0.25),
    )
    model = Linear(
        dict(zip(STEP, random.normal(size=len(STEP)).tolist(), strict=True)), 0.3
    )
    start, ranker, beam = (
        random.normal(size=m),
        ranker_of(model),
        Beam(sources, width, 2.0, 1.0, 0.05),
    )
    found, by_hand = (
        chains_of(evidence, start, ranker, beam).levels,
        slowly(evidence, start, ranker, beam),
    )
    assert {name: level.tolist() for name, level in found.items()} == {
        name: pytest.approx(level) for name, level in by_hand.items()
    }
