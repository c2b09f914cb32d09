"""The beam over pairs and thirds: a toy by hand, and a plain reference on random evidence."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.retrievers.mention_chains.chains import NO_SOURCE, Beam, chains_of
from kg2rag.retrievers.mention_chains.ranker import Linear, Ranker
from kg2rag.retrievers.mention_chains.signals import START, STEP, Evidence

ORDER = Linear({"second": 0.5, "third": 0.5})


def toy(shared: list[list[float]], start: list[float]) -> Evidence:
    """Candidates whose start is `start` and whose step is the shared word, under `PLAIN`."""
    m = len(start)
    none = np.zeros((m, m))
    return Evidence(np.arange(m), {"bm25": np.array(start)}, np.zeros((1, m)), np.array(shared), none)


PLAIN = Ranker(Linear({"bm25": 1.0}), Linear({"shared_word": 1.0}), ORDER)


def likely(x: float) -> float:
    return float(-np.log1p(np.exp(-x)))


def test_a_beam_by_hand() -> None:
    # 0 names 1, 1 names 2; 3 is named by nobody.
    shared = [[0, 3, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    found = chains_of(toy(shared, [2.0, 0.0, 0.0, 1.0]), PLAIN, Beam(2, 1, 2.0, 1.0, 0.05))
    zero, three = likely(2.0), likely(1.0)  # the two likeliest, 0 and 3, may be first
    assert found.source.tolist() == [3, 0, 0, 0]
    assert found.second.tolist() == pytest.approx([three, zero + 3, zero, zero])
    assert found.pairs.tolist() == [[0, 1]]
    assert found.shares.tolist() == [1.0]
    # 2 continues the pair by 2; its members have the best continuation, 2, and the bonus, 1.
    assert found.third.tolist() == pytest.approx([3, 3, 2, 0])


def test_pairs_share_by_softmax_and_an_unordered_pair_counts_once() -> None:
    shared = [[0, 4, 1], [4, 0, 0], [1, 0, 0]]
    found = chains_of(toy(shared, [0.0, 0.0, 0.0]), PLAIN, Beam(3, 2, 2.0, 1.0, 0.05))
    assert found.pairs.tolist() == [[0, 1], [0, 2]]
    first = 1 / (1 + np.exp(-3 / 2))
    assert found.shares.tolist() == pytest.approx([first, 1 - first])


def test_one_candidate_has_no_chain() -> None:
    found = chains_of(toy([[0.0]], [1.0]), PLAIN, Beam(8, 8, 2.0, 1.0, 0.05))
    assert found.source.tolist() == [-1]
    assert found.second.tolist() == found.third.tolist() == [NO_SOURCE]


def test_two_candidates_have_no_third() -> None:
    found = chains_of(toy([[0, 1], [1, 0]], [1.0, 0.0]), PLAIN, Beam(8, 8, 2.0, 1.5, 0.05))
    assert found.third.tolist() == [1.5, 1.5]


def slowly(evidence: Evidence, ranker: Ranker, beam: Beam) -> tuple[list[float], list[float]]:
    """Second and third of every candidate, pair by pair and phrase by phrase."""
    m = len(evidence.rows)
    start = [float(ranker.start({name: column[[p]] for name, column in evidence.alone.items()})[0]) for p in range(m)]

    def step(members: tuple[int, ...], p: int) -> float:
        gains = [
            np.exp((row[p] - max(row[a] for a in members)) / beam.gain_temperature) for row in evidence.phrase_cosines
        ]
        joint = [
            w * max(evidence.max_sim[one, t] for one in (*members, p))  # type: ignore[index]
            for t, w in enumerate(evidence.weights)  # type: ignore[arg-type]
        ]
        signals = {
            "start": start[p],
            "shared_word": max(evidence.shared_word[a, p] for a in members),
            "phrase_gain": beam.gain_temperature * np.log(np.mean(gains)),
            "title_words": max(evidence.title_words[a, p] for a in members),
            "tokens_joint": sum(joint),
        }
        return ranker.step.intercept + sum(c * signals[name] for name, c in ranker.step.coefficients.items())

    first = sorted(range(m), key=lambda p: (-start[p], p))[: beam.sources]
    cells = {(i, j): likely(start[i]) + step((i,), j) for i, j in product(first, range(m)) if i != j}
    second = [max((v for (_, j), v in cells.items() if j == p), default=NO_SOURCE) for p in range(m)]
    pairs: dict[tuple[int, ...], float] = {}
    for cell in sorted(cells, key=lambda cell: -cells[cell])[: 3 * beam.width]:
        pairs.setdefault(tuple(sorted(cell)), cells[cell])
    kept = list(pairs.items())[: beam.width]
    shares = np.exp([v / beam.temperature for _, v in kept])
    third = np.zeros(m)
    for (pair, _), share in zip(kept, shares / shares.sum(), strict=True):
        steps = {p: step(pair, p) for p in range(m) if p not in pair}
        inside = max(steps.values(), default=0.0) + beam.bonus
        third += [share * steps.get(p, inside) for p in range(m)]
    return second, third.tolist() if kept else [NO_SOURCE] * m


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 12), sources=st.integers(1, 8), width=st.integers(1, 8))
def test_the_chains_equal_a_plain_reference(seed: int, m: int, sources: int, width: int) -> None:
    random = np.random.default_rng(seed)
    alone = {name: random.normal(size=m) for name in START}
    square = random.random((2, m, m))
    evidence = Evidence(
        np.arange(m), alone, random.random((3, m)), square[0], square[1], random.random((m, 4)), np.full(4, 0.25)
    )
    models = [Linear(dict(zip(names, random.normal(size=len(names)), strict=True)), 0.3) for names in (START, STEP)]
    ranker, beam = Ranker(models[0], models[1], ORDER), Beam(sources, width, 2.0, 1.0, 0.05)
    found, (second, third) = chains_of(evidence, ranker, beam), slowly(evidence, ranker, beam)
    assert found.second.tolist() == pytest.approx(second)
    assert found.third.tolist() == pytest.approx(third)
