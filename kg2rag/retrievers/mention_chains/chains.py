"""Candidates -> the best sets of two and three, and how well each candidate continues them."""

from __future__ import annotations

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

LEAST = (
    4  # the minimum of candidates for chains: those of the longest chain, and another
)
NO_SOURCE = -30.0  # the level `second` of a candidate that continues no source


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
    """The best sets of candidates of one size, best first.

    `members` : (n_sets, size) indices of candidates, ascending. `values` : (n_sets,) the log-odds of each.
    """

    members: IntArray
    values: FloatArray

    def shares(self, temperature: float) -> FloatArray:
        """(n_sets,) the share of each set, by softmax of value / temperature."""
        share = np.exp((self.values - self.values[0]) / temperature)
        return np.asarray(share / share.sum())


@dataclass(frozen=True)
class Chains:
    """The chains among the m candidates of a question.

    Attributes
    ----------
    levels : the signals of the candidates in chains, (m,) each: `second` and `third`, see `chains_of`; `walk_named`,
        the product of `walk_gap` and `titles`.
    source : (m,) the index of the candidate that each candidate continues best; -1 if it continues none.
    step : the signals of that continuation, (m,) each; see `step_signals`.
    pairs : the best pairs of candidates.
    """

    levels: dict[str, FloatArray]
    source: IntArray
    step: dict[str, FloatArray]
    pairs: Sets


def chains_of(
    evidence: Evidence, start: FloatArray, ranker: Ranker, beam: Beam
) -> Chains:
    """The chains among the candidates of one question, at least `LEAST` candidates.

    `start` : (m,) the log-odds that each candidate is needed, by itself.

    - The sources are the candidates with the highest `start`.
    - pair(i, j) = ln sigmoid(start(i)) + step({i} -> j), for a source i; second(j) is its maximum over i.
    - The best unordered pairs, at most `width`, share 1 by softmax of pair / temperature.
    - third(k) is the sum over pairs of share · step(pair -> k); the step to a member of the pair counts as the pair's
      best step to another candidate, plus `bonus`.
    """
    sources = np.argsort(-start, kind="stable")[: beam.sources]
    signals = step_signals(evidence, start, sources[:, None], beam.gain_temperature)
    pair_values = -np.logaddexp(0, -start)[sources][:, None] + ranker.step(signals)
    # No source continues itself.
    pair_values[np.arange(len(sources)), sources] = -np.inf
    best = pair_values.argmax(axis=0)
    columns = np.arange(len(start))
    second = pair_values[best, columns]
    pairs = _best_pairs(pair_values, sources, beam.width)
    has_source = np.isfinite(second)
    levels = {
        "second": np.where(has_source, second, NO_SOURCE),
        "third": _mean_step(evidence, start, ranker, beam, pairs),
        "walk_named": evidence.single["walk_gap"] * evidence.titles,
    }
    step = {
        name: signal[best, columns]
        for name, signal in signals.items()
        if name != "start"
    }
    return Chains(levels, np.where(has_source, sources[best], -1), step, pairs)


def _best_pairs(values: FloatArray, sources: IntArray, width: int) -> Sets:
    """The `width` best unordered pairs of a source and a candidate, each with its best value.

    `values` : (n_sources, m). Only the 3 · `width` best are read.
    """
    value_of: dict[tuple[int, ...], float] = {}
    order = np.argsort(-values, axis=None, kind="stable")[: 3 * width]
    for flat in order.tolist():
        row, column = divmod(flat, values.shape[1])
        if np.isfinite(values[row, column]):
            pair = tuple(sorted((int(sources[row]), column)))
            value_of.setdefault(pair, float(values[row, column]))
    members = np.array(list(value_of)[:width])
    return Sets(members, np.array(list(value_of.values())[:width]))


def _mean_step(
    evidence: Evidence, start: FloatArray, ranker: Ranker, beam: Beam, sets: Sets
) -> FloatArray:
    """(m,) the mean over sets of the step from a set to each candidate, weighted by their shares."""
    steps = ranker.step(
        step_signals(evidence, start, sets.members, beam.gain_temperature)
    )
    set_rows = np.arange(len(sets.members))[:, None]
    steps[set_rows, sets.members] = -np.inf
    steps[set_rows, sets.members] = steps.max(axis=1, keepdims=True) + beam.bonus
    return np.asarray(np.einsum("s,sm->m", sets.shares(beam.temperature), steps))
