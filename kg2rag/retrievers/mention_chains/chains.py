"""Candidates -> the best sets of two and three, and how well each candidate continues them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kg2rag.retrievers.mention_chains.coefficients import Ranker
from kg2rag.retrievers.mention_chains.signals import (
    Evidence,
    step_signals,
)
from kg2rag.types import (
    FloatArray,
    IntArray,
)

LEAST = 4  # the minimum of candidates: the longest chain and one more
NO_SOURCE = -30.0  # the level `second` of a source that continues no other


@dataclass(frozen=True)
class Beam:
    """The parameters of the beam search: see `MentionChains`."""

    sources: int
    width: int
    temperature: float
    bonus: float
    gain_temperature: float


@dataclass(frozen=True)
class Sets:
    """The best sets of one size and their log-values, best first.

    `members` : (n_sets, size) positions of candidates, ascending. `values` : (n_sets,).
    """

    members: IntArray
    values: FloatArray

    def shares(self, temperature: float) -> FloatArray:
        """Softmax of value / temperature."""
        share = np.exp((self.values - self.values[0]) / temperature)
        return np.asarray(share / share.sum())


@dataclass(frozen=True)
class Chains:
    """The levels of m candidates in the chains.

    Attributes
    ----------
    levels : (m,) each: second and third, how well a candidate continues one and two others; walk_named, its share of
        the walk where the question names titles, `walk_gap` · `titles`.
    source : (m,) the position of the passage that it continues best as a second one; -1 for none.
    step : the step signals of that continuation, (m,) each.
    pairs : the best pairs.
    """

    levels: dict[str, FloatArray]
    source: IntArray
    step: dict[str, FloatArray]
    pairs: Sets


def chains_of(
    evidence: Evidence, start: FloatArray, ranker: Ranker, beam: Beam
) -> Chains:
    """The chains among the candidates of one question, at least `LEAST`.

    `start` : (m,) the log-odds of each candidate by itself.

    - pair(i, j) = ln sigmoid(start(i)) + step({i} -> j), i one of the likeliest; second(j) = its maximum over i.
    - The best unordered pairs, at most `width`, share 1 by softmax of pair / temperature.
    - third(k) = sum over pairs of share · step(pair -> k); a member has the pair's best other step + `bonus`.
    """
    first = np.argsort(-start, kind="stable")[: beam.sources]
    signals = step_signals(evidence, start, first[:, None], beam.gain_temperature)
    pair = -np.logaddexp(0, -start)[first][:, None] + ranker.step(signals)
    pair[np.arange(len(first)), first] = -np.inf
    best = pair.argmax(axis=0)
    places = np.arange(len(start))
    second = pair[best, places]
    pairs = _best_sets(pair, first[:, None], 3 * beam.width, beam.width)
    continues = np.isfinite(second)
    levels = {
        "second": np.where(continues, second, NO_SOURCE),
        "third": _continued(evidence, start, ranker, beam, pairs),
        "walk_named": evidence.single["walk_gap"] * evidence.titles,
    }
    return Chains(
        levels,
        np.where(continues, first[best], -1),
        {
            name: column[best, places]
            for name, column in signals.items()
            if name != "start"
        },
        pairs,
    )


def _best_sets(values: FloatArray, sets: IntArray, cells: int, width: int) -> Sets:
    """The best distinct sets that add a candidate to one of `sets`, each with its best value.

    Only the `cells` best entries of `values`, (n_sets, m), are read.
    """
    best: dict[tuple[int, ...], float] = {}
    order: Iterable[int] = np.argsort(-values, axis=None, kind="stable")[
        :cells
    ].tolist()
    for flat in order:
        row, column = divmod(flat, values.shape[1])
        if np.isfinite(values[row, column]):
            members = tuple(sorted((*sets[row].tolist(), column)))
            best.setdefault(members, float(values[row, column]))
    return Sets(np.array(list(best)[:width]), np.array(list(best.values())[:width]))


def _continued(
    evidence: Evidence, start: FloatArray, ranker: Ranker, beam: Beam, sets: Sets
) -> FloatArray:
    """(m,) the mean step of each candidate after the sets, weighted by their shares."""
    step = ranker.step(
        step_signals(evidence, start, sets.members, beam.gain_temperature)
    )
    inside = np.arange(len(sets.members))[:, None]
    step[inside, sets.members] = -np.inf
    step[inside, sets.members] = step.max(axis=1, keepdims=True) + beam.bonus
    return np.asarray(np.einsum("s,sm->m", sets.shares(beam.temperature), step))
