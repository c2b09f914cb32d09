"""Evidence -> chains of passages, each continuing what those before it leave open, and what they say of each passage.

A beam over pairs and third passages, as beam retrieval and PropRAG search chains, with two linear models in place of a
trained encoder. Ours; see [1] Zhang et al., "End-to-End Beam Retrieval", NAACL 2024, [2] Wang & Han, "PropRAG", 2025.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kg2rag.retrievers.mention_chains.ranker import Ranker
from kg2rag.retrievers.mention_chains.signals import Evidence, step_signals
from kg2rag.types.arrays import FloatArray, IntArray

NO_SOURCE = -30.0  # log-probability and step of a passage that continues nothing, such as a single candidate


@dataclass(frozen=True)
class Beam:
    """How wide chains are searched: see `MentionChains`."""

    sources: int
    width: int
    temperature: float
    bonus: float
    gain_temperature: float


@dataclass(frozen=True)
class Chains:
    """What the chains say of m candidates.

    Attributes
    ----------
    start : (m,) log-odds that a candidate is needed, by itself.
    source, second : (m,) the position of the first passage that it continues best (-1 for none), and how well.
    third : (m,) how well it continues the best pairs.
    step : the step signals of the continuation of `source`, (m,) each.
    pairs, shares : (n_pairs, 2) the best pairs, and their softmax shares, best first.
    """

    start: FloatArray
    source: IntArray
    second: FloatArray
    third: FloatArray
    step: dict[str, FloatArray]
    pairs: IntArray
    shares: FloatArray


def chains_of(evidence: Evidence, ranker: Ranker, beam: Beam) -> Chains:
    """The chains among the candidates of one question.

    - pair(i, j) = ln sigmoid(start(i)) + step({i} -> j), i one of the likeliest; second(j) = its maximum over i.
    - The best unordered pairs, at most `width`, share 1 by softmax of pair / temperature.
    - third(k) = sum over pairs of share · step(pair -> k); a member has the pair's best other step + `bonus`.
    """
    start = ranker.start(evidence.alone)
    first = np.argsort(-start, kind="stable")[: beam.sources]
    signals = step_signals(evidence, start, first[:, None], beam.gain_temperature)
    pair = -np.logaddexp(0, -start)[first][:, None] + ranker.step(signals)
    pair[np.arange(len(first)), first] = -np.inf
    best, places = pair.argmax(axis=0), np.arange(len(start))
    second = pair[best, places]
    continues = np.isfinite(second)
    pairs, values = _best_pairs(pair, first, beam.width)
    shares = np.exp((values - values[:1]) / beam.temperature)
    shares = shares / shares.sum() if len(shares) else shares
    return Chains(
        start,
        np.where(continues, first[best], -1),
        np.where(continues, second, NO_SOURCE),
        _thirds(evidence, start, ranker, beam, pairs, shares),
        {name: column[best, places] for name, column in signals.items() if name != "start"},
        pairs,
        shares,
    )


def _best_pairs(pair: FloatArray, first: IntArray, width: int) -> tuple[IntArray, FloatArray]:
    """The best unordered pairs among the 3 · width best cells, and the values of their better directions."""
    best: dict[tuple[int, int], float] = {}
    for flat in np.argsort(-pair, axis=None, kind="stable")[: 3 * width].tolist():
        source, target = divmod(flat, pair.shape[1])
        if np.isfinite(pair[source, target]):
            a, b = sorted((int(first[source]), target))
            best.setdefault((a, b), float(pair[source, target]))
    pairs = np.array(list(best)[:width], dtype=np.int64).reshape(-1, 2)
    return pairs, np.array(list(best.values())[:width])


def _thirds(
    evidence: Evidence, start: FloatArray, ranker: Ranker, beam: Beam, pairs: IntArray, shares: FloatArray
) -> FloatArray:
    """(m,) see `chains_of`; `NO_SOURCE` where there is no pair."""
    if not len(pairs):
        return np.full(len(start), NO_SOURCE)
    step = ranker.step(step_signals(evidence, start, pairs, beam.gain_temperature))
    inside = np.arange(len(pairs))[:, None]
    step[inside, pairs] = -np.inf
    others = step.max(axis=1, keepdims=True)
    step[inside, pairs] = np.where(np.isfinite(others), others, 0.0) + beam.bonus
    third: FloatArray = np.einsum("s,sm->m", shares, step)
    return third
