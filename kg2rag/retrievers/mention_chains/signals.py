"""Candidates -> the signals that the fitted models read.

`Evidence` has the signals of single candidates. `step_signals` are those of a candidate that continues
a set of passages: they measure what it adds to the set. All but the BM25 score are bounded or
relative to the question. Ours, after MaxSim (ColBERT) and the condensed query of Baleen (Khattab et
al., NeurIPS 2021).
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

LEAST_GAP = -10.0  # the minimum of the signal `walk_gap`
LINKED = 10  # the number of likeliest candidates whose links give the signal `linked`
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
    """The names of the signals that a model reads, for an encoder with token vectors or without."""
    return tuple(name for name in MODELS[model] if tokens or name not in OF_TOKENS)


@dataclass(frozen=True)
class Evidence:
    """The signals of the m candidates of one question.

    Attributes
    ----------
    rows : (m,) corpus rows, ascending.
    single : name -> the signal of each candidate by itself, (m,); the names are `START` and `SINGLE`.
    phrase_cosines : (n_phrases, m) the cosines of sub-phrases with candidates. A question without sub-phrases is its
        only phrase.
    shared_word, title_words : (m, m), see `NamingWords.shared`.
    titles : see `title_share`.
    max_sim : (m, t) the highest cosine of each wordpiece of the question, see `TokenVectors.max_sim`.
    weights : (t,) the weights of the wordpieces. Without token vectors, `max_sim` and `weights` are None.
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
        """The signals of the gate, `titles` and `linked`, each in [0, 1].

        `linked` : for each of the `LINKED` likeliest candidates, the maximum of `title_words` from another of them;
        the mean of these. `start` : (m,) the log-odds of each candidate.
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
    """The evidence of a question about its candidates.

    `tokens` : the wordpieces of the question; None without token vectors.
    """
    rows = candidates.rows
    cosine, *phrase_cosines = candidates.cosines
    shared_word, title_words = naming_index(kb).shared(text, rows)
    single = {
        "bm25": relative(candidates.bm25, searches.bm25.best),
        "walk_gap": walk_gap(candidates.walk, searches.walk.best),
        "dense_rank": reciprocal_rank(cosine, searches.dense.scores),
        "bm25_score": candidates.bm25,
        "cosine": cosine,
    }
    phrases = np.array(phrase_cosines or [cosine])
    titles = title_share(kb, text, rows)
    without_tokens = Evidence(rows, single, phrases, shared_word, title_words, titles)
    index = token_index(kb)
    if tokens is None or index is None:
        return without_tokens
    similarities = index.max_sim(tokens, rows)
    single["tokens"] = weighted(similarities, tokens.weights)
    return replace(without_tokens, max_sim=similarities, weights=tokens.weights)


def title_share(kb: KnowledgeBase, text: str, rows: IntArray) -> float:
    """The number of titles in a text that have a page in `rows`, at most 2, divided by 2.

    A title is in the text if its capitals agree.
    """
    n_titles = 0
    for key in {key for key, _ in kb.mentions.lexicon.find(text)}:
        if np.isin(kb.mentions.pages_of(key), rows).any():
            n_titles += 1
    return min(n_titles, 2) / 2


def relative(scores: FloatArray, highest: float) -> FloatArray:
    """(m,) the scores divided by the highest score, in [0, 1]; all 0 if that is 0."""
    return scores / highest if highest > 0 else np.zeros(len(scores))


def walk_gap(shares: FloatArray, largest: float) -> FloatArray:
    """(m,) ln(share / largest share of the walk), at least `LEAST_GAP`; all 0 if that share is 0."""
    if largest <= 0:
        return np.zeros(len(shares))
    return np.asarray(
        np.maximum(np.log(np.maximum(shares, 1e-9)) - np.log(largest), LEAST_GAP)
    )


def reciprocal_rank(cosines: FloatArray, nearest: FloatArray) -> FloatArray:
    """(m,) 1 / rank of each cosine among `nearest`, with ranks from 1.

    `nearest` : (n,) the highest cosines, descending. Equal cosines share the better rank; cosines below
    all of them have rank n + 1.
    """
    n_higher = np.searchsorted(-nearest, -cosines)
    return np.reciprocal(1.0 + n_higher.astype(np.float64))


def weighted(similarities: FloatArray, weights: FloatArray) -> FloatArray:
    """The sum over wordpieces of weight · similarity: (..., t) -> (...)."""
    return np.asarray(np.einsum("...t,t->...", similarities, weights))


def step_signals(
    evidence: Evidence, start: FloatArray, sets: IntArray, temperature: float
) -> dict[str, FloatArray]:
    """The signals of every candidate as a continuation of each set, (n_sets, m) each.

    - start: the log-odds of the candidate.
    - shared_word, title_words: the maximum over members of the set, from the member to the candidate.
    - phrase_gain: the soft maximum over phrases of the gain, which is the cosine of the candidate minus the highest
      cosine of a member: temperature · ln mean exp(gain / temperature).
    - tokens_joint: MaxSim of set and candidate as one passage.

    Parameters
    ----------
    start : (m,) the log-odds of each candidate.
    sets : (n_sets, size) the indices of the members of each set among the candidates.
    temperature : the temperature of the soft maximum, in units of cosine.
    """
    cosines = evidence.phrase_cosines
    member_cosines = cosines[:, sets].max(axis=2)
    gains = (cosines[:, None, :] - member_cosines[:, :, None]) / temperature
    highest = gains.max(axis=0)  # subtracted, so that exp does not overflow
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
