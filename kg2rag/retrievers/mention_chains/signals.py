"""Candidates -> the signals that the fitted models read.

Signals are those of a single candidate, and `step_signals` of one that continues a set of passages,
which ask what that set leaves open; but for the score of BM25 they are relative to the question or
bounded. Ours, after MaxSim (ColBERT) and the condensed query of Baleen (Khattab et al., NeurIPS
2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.mention_chains.candidates import Candidates, Searches
from kg2rag.retrievers.mention_chains.naming_words import naming_index
from kg2rag.retrievers.mention_chains.token_index import QuestionTokens, token_index
from kg2rag.types import (
    FloatArray,
    IntArray,
)

LEAST_GAP = -10.0
LINKED = 10  # likeliest candidates whose links give the signal `linked`
START = ("bm25", "walk_gap", "dense_rank", "tokens")
STEP = ("start", "shared_word", "phrase_gain", "title_words", "tokens_joint")
SINGLE = ("bm25_score", "cosine", "tokens")
GATE = ("titles", "linked")
CHAIN = ("second", "third", "walk_named")
MODELS: Mapping[str, tuple[str, ...]] = {
    "start": START,
    "step": STEP,
    "single": SINGLE,
    "chain": CHAIN,
    "gate": GATE,
}
"""Model -> its signals."""
OF_TOKENS = ("tokens", "tokens_joint")
"""Signals that need an encoder's token vectors."""
Signals = Mapping[str, FloatArray]


def names_of(model: str, *, tokens: bool) -> tuple[str, ...]:
    """The signals that a model reads."""
    return tuple(name for name in MODELS[model] if tokens or name not in OF_TOKENS)


@dataclass(frozen=True)
class Evidence:
    """The signals of the m candidates of one question.

    Attributes
    ----------
    rows : (m,) corpus rows, ascending.
    single : the signals of a candidate by itself, `START` and `SINGLE`, (m,) each.
    phrase_cosines : (p, m) of the sub-phrases with the candidates; of the question itself where it has no sub-phrase.
    shared_word, title_words : (m, m), see `NamingWords.shared`.
    titles : min(number, 2) / 2 of the candidates' titles that the question names, with their capitals.
    max_sim, weights : (m, t) and (t,), see `tokens`; None where the encoder gives no token vectors.
    """

    rows: IntArray
    single: Signals
    phrase_cosines: FloatArray
    shared_word: FloatArray
    title_words: FloatArray
    titles: float
    max_sim: FloatArray | None = None
    weights: FloatArray | None = None

    def gate(self, start: FloatArray) -> dict[str, float]:
        """The signals of the gate, each in [0, 1]: `titles`, and how the candidates are linked.

        - linked: over the `LINKED` likeliest, the mean of the highest `title_words` from another of them.
        """
        first = np.argsort(-start, kind="stable")[:LINKED]
        shares = self.title_words[np.ix_(first, first)]
        np.fill_diagonal(shares, 0.0)
        return {"titles": self.titles, "linked": float(shares.max(0).mean())}


def find_evidence(
    kb: KnowledgeBase,
    text: str,
    candidates: Candidates,
    searches: Searches,
    tokens: QuestionTokens | None,
) -> Evidence:
    """The evidence of one question about its candidates."""
    rows = candidates.rows
    cosine, *phrase_cosines = candidates.cosines
    shared, title = naming_index(kb).shared(text, rows)
    single = {
        "bm25": relative(candidates.bm25, searches.bm25.best),
        "walk_gap": walk_gap(candidates.walk, searches.walk.best),
        "dense_rank": reciprocal_rank(cosine, searches.dense.scores),
        "bm25_score": candidates.bm25,
        "cosine": cosine,
    }
    phrases = np.array(phrase_cosines or [cosine])
    without_tokens = Evidence(
        rows, single, phrases, shared, title, named(kb, text, rows)
    )
    index = token_index(kb)
    if tokens is None or index is None:
        return without_tokens
    similarities = index.max_sim(tokens, rows)
    single["tokens"] = weighted(similarities, tokens.weights)
    return replace(without_tokens, max_sim=similarities, weights=tokens.weights)


def named(kb: KnowledgeBase, text: str, rows: IntArray) -> float:
    """min(number, 2) / 2 of the named titles with a passage in `rows`; capitals must agree."""
    keys = {key for key, _ in kb.mentions.lexicon.find(text)}
    return (
        min(
            sum(bool(np.isin(kb.mentions.pages_of(key), rows).any()) for key in keys), 2
        )
        / 2
    )


def relative(scores: FloatArray, highest: float) -> FloatArray:
    """The scores, divided by the highest: in [0, 1]; 0 if that is 0."""
    return scores / highest if highest > 0 else np.zeros(len(scores))


def walk_gap(shares: FloatArray, largest: float) -> FloatArray:
    """ln(share / largest share of the walk), at least `LEAST_GAP`; 0 if nothing was reached."""
    if largest <= 0:
        return np.zeros(len(shares))
    return np.asarray(
        np.maximum(np.log(np.maximum(shares, 1e-9)) - np.log(largest), LEAST_GAP)
    )


def reciprocal_rank(cosines: FloatArray, nearest: FloatArray) -> FloatArray:
    """1 / rank by cosine, from 1; equal cosines share the better rank.

    `nearest` : the highest cosines, falling; all below them have the rank that follows the last of these.
    """
    above = np.searchsorted(-nearest, -cosines)
    return np.reciprocal(1.0 + above.astype(np.float64))


def weighted(similarities: FloatArray, weights: FloatArray) -> FloatArray:
    """The sum over wordpieces of weight · similarity, (..., t) -> (...); see `compute.cosines`."""
    return np.asarray(np.einsum("...t,t->...", similarities, weights))


def step_signals(
    evidence: Evidence, start: FloatArray, sets: IntArray, temperature: float
) -> dict[str, FloatArray]:
    """The signals of every candidate as a continuation of each set, (n_sets, m) each.

    - start: its log-odds by the start model.
    - shared_word, title_words: the highest from a member of the set.
    - phrase_gain: temperature · ln mean over phrases exp((cosine - highest cosine of a member) / temperature): how much
      better it fits a phrase that the set leaves open.
    - tokens_joint: MaxSim of set and candidate taken as one passage.

    Parameters
    ----------
    start : (m,). sets : (n_sets, size) positions of candidates.
    """
    cosines = evidence.phrase_cosines
    covered = cosines[:, sets].max(axis=2)
    gains = (cosines[:, None, :] - covered[:, :, None]) / temperature
    highest = gains.max(axis=0)
    signals = {
        "start": np.broadcast_to(start, highest.shape),
        "shared_word": evidence.shared_word[sets].max(axis=1),
        "phrase_gain": temperature
        * (highest + np.log(np.exp(gains - highest).mean(axis=0))),
        "title_words": evidence.title_words[sets].max(axis=1),
    }
    if evidence.max_sim is not None and evidence.weights is not None:
        similarities = evidence.max_sim[sets].max(axis=1)
        signals["tokens_joint"] = weighted(
            np.maximum(evidence.max_sim, similarities[:, None]), evidence.weights
        )
    return signals
