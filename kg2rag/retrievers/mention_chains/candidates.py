"""Queries -> the passages to rank, about 60 each, and the signals that the fitted models read.

Candidates are the first of a walk, of the cosines and of BM25; the walk is that of `mention_ppr`,
started also at the passages nearest to the question's sub-phrases. Signals are those of a single
candidate, and `step_signals` of one that continues a set of passages, which ask what that set
leaves open; but for the score of BM25 they are relative to the question or bounded. Ours, after
MaxSim (ColBERT) and the condensed query of Baleen (Khattab et al., NeurIPS 2021).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.pagerank import NodeWeights
from kg2rag.retrievers.mention_chains.words import (
    QuestionTokens,
    naming_index,
    token_index,
)
from kg2rag.text.normalisation import FUNCTION_WORDS
from kg2rag.types import FloatArray, IntArray, canonical_order, top_with_ties

_TOKEN = re.compile(r"[\w’'\-\.&]+|[,;:()\"“”?!]")
_PUNCTUATION = re.compile(r"[,;:()\"“”?!]")
_POSSESSIVE = re.compile(r"['’]s$")
CHARACTERS = 5_000
"""The maximum of all phrases of a question together: real questions have up to 3,300, and each phrase is encoded."""
_BOUNDARY = FUNCTION_WORDS | set(
    "s t d whose whom be being am 's does did do done than out off down how many much".split()
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


def sub_phrases(question: str, most: int) -> list[str]:
    """At most `most` spans of two or more words, each once, those with the fewest runs first.

    A run is a sequence of content words; function words, punctuation and a possessive end it. A
    span begins and ends with a run, may hold function words between runs, and is not the whole
    question. Of a text so long that its phrases have more than `CHARACTERS`, those that fit, and
    none of more runs than the first that does not.
    """
    words, runs = _runs(question)
    phrases: dict[str, None] = {}
    room = CHARACTERS
    for length in range(1, len(runs) + 1):
        full = False
        for (start, _), (_, end) in zip(runs, runs[length - 1 :], strict=False):
            if end - start < 2 or (start == 0 and end == len(words)):
                continue
            phrase = _POSSESSIVE.sub("", " ".join(words[start:end]))
            if phrase in phrases:
                continue
            if len(phrases) == most:
                return list(phrases)
            if len(phrase) > room:
                full = True
                continue
            phrases[phrase] = None
            room -= len(phrase)
        if full:
            break
    return list(phrases)


def _runs(question: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The words of a question, and the (start, end) of each run of content words among them."""
    words: list[str] = []
    runs: list[tuple[int, int]] = []
    inside = False
    for token in _TOKEN.findall(question):
        bare = token.strip(".'’-").lower()
        if not bare or _PUNCTUATION.fullmatch(token):
            inside = inside and not _PUNCTUATION.fullmatch(token)
            continue
        words.append(token.strip("?.,"))
        content = bare not in _BOUNDARY
        if content:
            start = runs.pop()[0] if inside else len(words) - 1
            runs.append((start, len(words)))
        inside = content and not bare.endswith(("'s", "’s"))
    return words, runs


class Hits(NamedTuple):
    """The rows of a search, best first, ties by row, and their scores."""

    rows: IntArray
    scores: FloatArray

    @property
    def best(self) -> float:
        """The highest score; 0 without a hit."""
        return float(self.scores[0]) if len(self.scores) else 0.0


def best_hits(rows: IntArray, scores: FloatArray, k: int) -> Hits:
    """The first `k` of some scored rows."""
    first = top_with_ties(scores, k)
    order = first[np.lexsort((rows[first], -scores[first]))][:k]
    return Hits(rows[order], scores[order])


class Pool(NamedTuple):
    """Passages near to a question, best first.

    Attributes
    ----------
    rows : (n,) corpus rows.
    cosines : (1 + n_phrases, n) with the question and with its sub-phrases.
    """

    rows: IntArray
    cosines: FloatArray

    @classmethod
    def of(cls, rows: IntArray, cosines: FloatArray) -> Pool:
        """The pool of some rows in any order."""
        order = canonical_order(rows, cosines[0])
        return cls(rows[order], cosines[:, order])

    def first(self, k: int) -> Hits:
        """The first by cosine with the question."""
        return Hits(self.rows[:k], self.cosines[0, :k])


@dataclass(frozen=True)
class Searches:
    """The first hits of three searches for one query, among the passages that it may return.

    Attributes
    ----------
    walk, bm25 : by the share of the walk and by BM25; only hits above 0.
    dense : by cosine with the question.
    """

    walk: Hits
    dense: Hits
    bm25: Hits

    def candidates(
        self, walk: int, dense: int, bm25: int
    ) -> tuple[IntArray, NDArray[np.bool_]]:
        """The rows of each search's first hits, ascending; (m,) whether only the walk has it."""
        texts = np.concatenate([self.bm25.rows[:bm25], self.dense.rows[:dense]])
        rows = np.unique(np.concatenate([self.walk.rows[:walk], texts]))
        return rows, ~np.isin(rows, texts)


def phrase_restart(
    rows: IntArray,
    cosines: FloatArray,
    *,
    seeds: int,
    weight: float,
    temperature: float,
    fit_temperature: float,
) -> NodeWeights:
    """The restart weights that the sub-phrases of a question add to its walk.

    The `seeds` passages nearest to a phrase share weight · exp((best cosine - 1) / fit_temperature) by softmax of their
    cosines / temperature. `cosines` : (n_phrases, n_rows), of each phrase with the passages in `rows`.
    """
    nodes = [np.empty(0, dtype=np.int64)]
    weights = [np.empty(0)]
    for phrase_cosines in cosines:
        nearest = best_hits(rows, phrase_cosines, seeds)
        if len(nearest.rows):
            share = np.exp((nearest.scores - nearest.best) / temperature)
            nodes.append(nearest.rows)
            weights.append(
                weight
                * np.exp((nearest.best - 1) / fit_temperature)
                * share
                / share.sum()
            )
    return NodeWeights.of(np.concatenate(nodes), np.concatenate(weights))


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


@dataclass(frozen=True)
class Candidates:
    """The m candidates of one question with their scores by each search, (m,) each.

    Attributes
    ----------
    rows : corpus rows, ascending.
    walk, bm25 : the share of the walk, and BM25.
    cosines : (1 + n_phrases, m) with the question and with its sub-phrases.
    """

    rows: IntArray
    walk: FloatArray
    bm25: FloatArray
    cosines: FloatArray


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
