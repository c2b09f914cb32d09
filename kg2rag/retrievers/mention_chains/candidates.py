"""Queries -> the passages that are worth ranking, about 60 each, and the signals that the fitted models read of them.

Candidates are the first of a walk, of the cosines and of BM25; the walk is that of `mention_ppr`, started also at the
passages nearest to the question's sub-phrases. Signals are those of a single candidate, and `step_signals` of one that
continues a set of passages, which ask what that set leaves open; but for the score of BM25 they are relative to the
question or bounded. Ours, after MaxSim (ColBERT) and the condensed query of Baleen (Khattab et al., NeurIPS 2021).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.pagerank import NodeWeights
from kg2rag.knowledge.indexes.dense import cosines as all_cosines
from kg2rag.retrievers.mention_chains.words import QuestionTokens, naming_index, token_index
from kg2rag.text.normalisation import FUNCTION_WORDS
from kg2rag.types import FloatArray, IntArray, Matrix, top_with_ties

_TOKEN = re.compile(r"[\w’'\-\.&]+|[,;:()\"“”?!]")
_PUNCTUATION = re.compile(r"[,;:()\"“”?!]")
_POSSESSIVE = re.compile(r"['’]s$")
CHARACTERS = 5_000
"""Of all phrases of a question together: questions that people ask have up to 3,300, and each is encoded."""
_BOUNDARY = FUNCTION_WORDS | set(
    "s t d whose whom be being am 's does did do done than out off down how many much".split()
)
LEAST_GAP = -10.0
LINKED = 10  # likeliest candidates whose links say how far a question's candidates are linked
START = ("bm25", "walk_gap", "dense_rank", "tokens")
STEP = ("start", "shared_word", "phrase_gain", "title_words", "tokens_joint")
SINGLE = ("bm25_score", "cosine", "tokens")
GATE = ("titles", "linked")
CHAIN = ("second", "third", "walk_named")
MODELS: Mapping[str, tuple[str, ...]] = {"start": START, "step": STEP, "single": SINGLE, "chain": CHAIN, "gate": GATE}
"""Model -> its signals."""
OF_TOKENS = ("tokens", "tokens_joint")
"""Signals that need an encoder's token vectors."""
Signals = Mapping[str, FloatArray]


def names_of(model: str, *, tokens: bool) -> tuple[str, ...]:
    """The signals that a model reads."""
    return tuple(name for name in MODELS[model] if tokens or name not in OF_TOKENS)


def sub_phrases(question: str, most: int) -> list[str]:
    """At most `most` spans of two words or more, each once, those of fewest runs first.

    A run is a sequence of content words; function words, punctuation and a possessive end it. A span begins and ends
    with a run, may hold function words between runs, and is not the whole question. Of a text so long that its phrases
    have more than `CHARACTERS`, those that fit, and none of more runs than the first that does not.
    """
    words, runs = _runs(question)
    found: dict[str, None] = {}
    room = CHARACTERS
    for length in range(1, len(runs) + 1):
        full = False
        for (start, _), (_, end) in zip(runs, runs[length - 1 :], strict=False):
            if end - start < 2 or (start == 0 and end == len(words)):
                continue
            phrase = _POSSESSIVE.sub("", " ".join(words[start:end]))
            if phrase in found:
                continue
            if len(found) == most:
                return list(found)
            if len(phrase) > room:
                full = True
                continue
            found[phrase] = None
            room -= len(phrase)
        if full:
            break
    return list(found)


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


@dataclass(frozen=True)
class Searches:
    """What three searches found for one query; (n_passages,) each. Only `allowed` ones count.

    Attributes
    ----------
    allowed : corpus rows that the query may return, ascending.
    walk, cosine, bm25 : share of the walk, cosine with the question, BM25.
    phrases : (n_phrases, dim) the vectors of its sub-phrases.
    """

    allowed: IntArray
    walk: FloatArray
    cosine: FloatArray
    bm25: FloatArray
    phrases: Matrix

    def candidates(self, walk: int, dense: int, bm25: int) -> tuple[IntArray, NDArray[np.bool_]]:
        """The first so many rows of each search, ascending, each once; and (m,) which of them only the walk found.

        None that walk or BM25 gives 0.
        """
        walked, worded = (
            rows[scores[rows] > 0]
            for scores, k in ((self.walk, walk), (self.bm25, bm25))
            for rows in [self.first(scores, k)]
        )
        texts = np.concatenate([worded, self.first(self.cosine, dense)])
        rows = np.unique(np.concatenate([walked, texts]))
        return rows, ~np.isin(rows, texts)

    def first(self, scores: FloatArray, k: int) -> IntArray:
        """The `k` best allowed rows, equal scores by row."""
        rows = self.allowed[top_with_ties(scores[self.allowed], k)]
        return rows[np.lexsort((rows, -scores[rows]))][:k]


def phrase_restarts(
    kb: KnowledgeBase,
    vectors: Sequence[Matrix],
    masks: Sequence[IntArray | None],
    *,
    seeds: int,
    weight: float,
    temperature: float,
    fit_temperature: float,
) -> list[NodeWeights]:
    """What sub-phrases add to where each walk starts.

    The `seeds` passages nearest to a phrase share weight · exp((best cosine - 1) / fit_temperature) by softmax of their
    cosines / temperature.

    Parameters
    ----------
    vectors : (n_phrases, dim) of each query's phrases. masks : the rows that each query may return.
    """
    starts: list[list[tuple[IntArray, FloatArray]]] = [[] for _ in vectors]
    owner = np.repeat(np.arange(len(vectors)), [len(each) for each in vectors])
    masked = [masks[i] for i in owner.tolist()]
    nearest = kb.dense.search(np.concatenate(vectors), seeds, masked) if len(owner) else []
    for i, (rows, cosines) in zip(owner.tolist(), nearest, strict=True):
        if len(rows):
            share = np.exp((cosines - cosines[0]) / temperature)
            starts[i].append((rows, weight * np.exp((cosines[0] - 1) / fit_temperature) * share / share.sum()))
    nothing = (np.empty(0, dtype=np.int64), np.empty(0))
    return [NodeWeights.of(*map(np.concatenate, zip(nothing, *found, strict=True))) for found in starts]


@dataclass(frozen=True)
class Evidence:
    """What is known of the m candidates of one question.

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
        """The signals of how far chains are to be trusted, each in [0, 1]: `titles`, and how candidates are linked.

        - linked: over the `LINKED` likeliest, the mean of the highest `title_words` from another of them.
        """
        first = np.argsort(-start, kind="stable")[:LINKED]
        shares = self.title_words[np.ix_(first, first)]
        np.fill_diagonal(shares, 0.0)
        return {"titles": self.titles, "linked": float(shares.max(0).mean())}


def evidence(
    kb: KnowledgeBase, text: str, vector: Matrix, found: Searches, rows: IntArray, tokens: QuestionTokens | None
) -> Evidence:
    """The evidence of one question, whose vector is (dim,), about the candidates in `rows`."""
    phrases = found.phrases if len(found.phrases) else vector[None]
    shared, title = naming_index(kb).shared(text, rows)
    single = {
        "bm25": relative(found.bm25, rows, found.allowed),
        "walk_gap": walk_gap(found.walk, rows),
        "dense_rank": reciprocal_rank(found.cosine, rows, found.allowed),
        "bm25_score": found.bm25[rows],
        "cosine": found.cosine[rows].astype(np.float64),
    }
    cosines, index = all_cosines(phrases, kb.vectors[rows]), token_index(kb)
    known = Evidence(rows, single, cosines, shared, title, named(kb, text, rows))
    if tokens is None or index is None:
        return known
    similarities = index.max_sim(tokens, rows)
    single["tokens"] = weighted(similarities, tokens.weights)
    return replace(known, max_sim=similarities, weights=tokens.weights)


def named(kb: KnowledgeBase, text: str, rows: IntArray) -> float:
    """min(number, 2) / 2 of the titles with a passage in `rows` that a question names, with their capitals."""
    keys = {key for key, _ in kb.mentions.lexicon.find(text)}
    return min(sum(bool(np.isin(kb.mentions.pages_of(key), rows).any()) for key in keys), 2) / 2


def relative(scores: FloatArray, rows: IntArray, allowed: IntArray) -> FloatArray:
    """The score, divided by the highest allowed one: in [0, 1]; 0 where that is 0."""
    highest = float(scores[allowed].max())
    return scores[rows] / highest if highest > 0 else np.zeros(len(rows))


def walk_gap(walk: FloatArray, rows: IntArray) -> FloatArray:
    """ln(share of the walk / the largest share), at least `LEAST_GAP`; 0 where the walk reached nothing."""
    largest = float(walk.max())
    if largest <= 0:
        return np.zeros(len(rows))
    gap: FloatArray = np.maximum(np.log(np.maximum(walk[rows], 1e-9)) - np.log(largest), LEAST_GAP)
    return gap


def reciprocal_rank(cosine: FloatArray, rows: IntArray, allowed: IntArray) -> FloatArray:
    """1 / rank by cosine among the allowed passages, from 1; equal cosines share the better rank."""
    above = np.searchsorted(np.sort(-cosine[allowed]), -cosine[rows])
    return np.reciprocal(1.0 + above.astype(np.float64))


def weighted(similarities: FloatArray, weights: FloatArray) -> FloatArray:
    """Sum over wordpieces of weight · similarity, (..., t) -> (...); not by BLAS, see `compute.cosines`."""
    found: FloatArray = np.einsum("...t,t->...", similarities, weights)
    return found


def step_signals(evidence: Evidence, start: FloatArray, sets: IntArray, temperature: float) -> dict[str, FloatArray]:
    """How every candidate continues each set of passages, (n_sets, m) each.

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
        "phrase_gain": temperature * (highest + np.log(np.exp(gains - highest).mean(axis=0))),
        "title_words": evidence.title_words[sets].max(axis=1),
    }
    if evidence.max_sim is not None and evidence.weights is not None:
        seen = evidence.max_sim[sets].max(axis=1)
        signals["tokens_joint"] = weighted(np.maximum(evidence.max_sim, seen[:, None]), evidence.weights)
    return signals
