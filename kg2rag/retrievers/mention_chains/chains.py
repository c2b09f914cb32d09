"""Evidence -> chains of passages, each continuing what those before it leave open, and what they say of each passage.

A beam over sets of two, three and four passages, as beam retrieval and PropRAG search chains, with two linear models in
place of a trained encoder. Ours; see [1] Zhang et al., "End-to-End Beam Retrieval", NAACL 2024, [2] Wang & Han,
"PropRAG", EMNLP 2025.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kg2rag.retrievers.mention_chains.ranker import Ranker
from kg2rag.retrievers.mention_chains.signals import Evidence, step_signals
from kg2rag.types import FloatArray, IntArray

LEAST = 5  # candidates: as many as the longest chain and one to continue it
NO_SOURCE = -30.0  # second of the only source, which continues none


@dataclass(frozen=True)
class Beam:
    """How wide chains are searched: see `MentionChains`."""

    sources: int
    width: int
    temperature: float
    bonus: float
    gain_temperature: float


@dataclass(frozen=True)
class Sets:
    """The best sets of a size: (n_sets, size) positions of candidates, ascending; (n_sets,) log-values, best first."""

    members: IntArray
    values: FloatArray

    def shares(self, temperature: float) -> FloatArray:
        """Softmax of value / temperature."""
        share = np.exp((self.values - self.values[0]) / temperature)
        shares: FloatArray = share / share.sum()
        return shares


@dataclass(frozen=True)
class Chains:
    """What the chains say of m candidates.

    Attributes
    ----------
    levels : second, third and fourth, (m,) each: how well a candidate continues one, two, three others.
    source : (m,) the position of the passage that it continues best as a second one; -1 for none.
    step : the step signals of that continuation, (m,) each.
    pairs : the best pairs.
    """

    levels: dict[str, FloatArray]
    source: IntArray
    step: dict[str, FloatArray]
    pairs: Sets


def chains_of(evidence: Evidence, start: FloatArray, ranker: Ranker, beam: Beam) -> Chains:
    """The chains among the candidates of one question, `LEAST` or more, whose log-odds alone are `start`, (m,).

    - pair(i, j) = ln sigmoid(start(i)) + step({i} -> j), i one of the likeliest; second(j) = its maximum over i.
    - The best unordered pairs, at most `width`, share 1 by softmax of pair / temperature.
    - third(k) = sum over pairs of share · step(pair -> k); a member has the pair's best other step + `bonus`.
    - fourth: likewise from the best triples, whose value is pair + step.
    """
    first = np.argsort(-start, kind="stable")[: beam.sources]
    signals = step_signals(evidence, start, first[:, None], beam.gain_temperature)
    pair = -np.logaddexp(0, -start)[first][:, None] + ranker.step(signals)
    pair[np.arange(len(first)), first] = -np.inf
    best, places = pair.argmax(axis=0), np.arange(len(start))
    second = pair[best, places]
    pairs = _best_sets(pair, first[:, None], 3 * beam.width, beam.width)
    third, triples = _continued(evidence, start, ranker, beam, pairs)
    fourth, _ = _continued(evidence, start, ranker, beam, triples)
    continues = np.isfinite(second)
    return Chains(
        {"second": np.where(continues, second, NO_SOURCE), "third": third, "fourth": fourth},
        np.where(continues, first[best], -1),
        {name: column[best, places] for name, column in signals.items() if name != "start"},
        pairs,
    )


def _best_sets(values: FloatArray, sets: IntArray, cells: int, width: int) -> Sets:
    """The best distinct sets one larger, of the `cells` best cells of `values`, (n_sets, m); each by its best cell."""
    best: dict[tuple[int, ...], float] = {}
    order: Iterable[int] = np.argsort(-values, axis=None, kind="stable")[:cells].tolist()
    for row, column in (divmod(flat, values.shape[1]) for flat in order):
        if np.isfinite(values[row, column]):
            best.setdefault(tuple(sorted((*sets[row].tolist(), column))), float(values[row, column]))
    return Sets(np.array(list(best)[:width]), np.array(list(best.values())[:width]))


def _continued(
    evidence: Evidence, start: FloatArray, ranker: Ranker, beam: Beam, sets: Sets
) -> tuple[FloatArray, Sets]:
    """(m,) how well each candidate continues the sets, by their shares; and the best sets one larger."""
    step = ranker.step(step_signals(evidence, start, sets.members, beam.gain_temperature))
    inside = np.arange(len(sets.members))[:, None]
    step[inside, sets.members] = -np.inf
    larger = _best_sets(sets.values[:, None] + step, sets.members, 4 * beam.width, beam.width)
    step[inside, sets.members] = step.max(axis=1, keepdims=True) + beam.bonus
    level: FloatArray = np.einsum("s,sm->m", sets.shares(beam.temperature), step)
    return level, larger
