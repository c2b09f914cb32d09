"""Passages and questions -> token vectors for MaxSim.

MaxSim is that of [1], over the token vectors of the encoder that is in use anyway, projected on 64
axes and rounded to a byte each; the weights of wordpieces by rarity are ours. The vectors are built
once a corpus and memory-mapped from the store.

[1] Khattab & Zaharia, "ColBERT", SIGIR 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path

import numba
import numpy as np
from numpy.typing import NDArray

from kg2rag.compute import CPU, SentenceEncoder, save_rows
from kg2rag.compute.atomic_write import mapped
from kg2rag.knowledge import KnowledgeBase, Workload
from kg2rag.retrievers.mention_chains.naming_words import rarity
from kg2rag.types import (
    FloatArray,
    IntArray,
    Matrix,
)

VERSION = 4  # of the stored data
AXES = 64
SAMPLE = 256  # passages whose token vectors determine the axes
SCALE = 127
QUESTIONS = 10_000  # whose wordpieces stay in memory, about 50 MB
WIDTH = 8  # wordpieces of a question side by side
STRIDE = 4  # axes summed at once
WINDOWS = 4  # of a long passage, whose tokens are compared with the question's
BLOCK_PASSAGES = 4_096  # passages whose vectors are in memory together
Bytes = NDArray[np.int8]
WindowTokens = tuple[IntArray, Bytes]
"""The numbers of the wordpieces of a window, (n_tokens,), and their vectors, (n_tokens, 64)."""


@dataclass(frozen=True)
class QuestionTokens:
    """The wordpieces of a question: `vectors` (t, 64) of norm 1, `weights` (t,) with sum 1."""

    vectors: Matrix
    weights: FloatArray


@dataclass(frozen=True)
class TokenVectors:
    """The token vectors of a corpus.

    Attributes
    ----------
    axes : (dim, 64) on which the token vectors of the corpus vary most, less where they have fewer dimensions.
    vectors : (n_tokens, 64) rounded to bytes, 127 times their size. indptr : (n_windows + 1,) where each window begins.
    sums : (n_windows, 64) see `window_sums`.
    windows : (n_passages + 1,) where the windows of each passage begin: one, or more where the encoder cuts it.
    rarity : (n_wordpieces,) see `rarity`.
    """

    axes: Matrix
    vectors: Bytes
    indptr: IntArray
    sums: NDArray[np.int32]
    windows: IntArray
    rarity: FloatArray

    def max_sim(self, question: QuestionTokens, rows: IntArray) -> FloatArray:
        """(m, t) the highest cosine of each wordpiece with one of the passage's best window, or 0.

        The best window is one of the `WINDOWS` whose token vectors, added up, lie nearest to the
        question's.
        """
        scaled = question.vectors / np.float32(SCALE)
        return np.asarray(
            _max_sim(
                self.vectors,
                self.indptr,
                self.sums,
                self.windows,
                rows,
                scaled,
                question.weights,
            )
        )


def token_index(kb: KnowledgeBase) -> TokenVectors | None:
    """The token vectors of a knowledge base's passages; None where the embedder gives none."""
    return kb.cached("token_vectors", lambda: _open(kb))


def question_tokens(
    kb: KnowledgeBase, texts: Sequence[str]
) -> Sequence[QuestionTokens | None]:
    """The wordpieces of some questions; None without `token_index`.

    The last `QUESTIONS` questions stay in memory.
    """
    index = token_index(kb)
    encoder = kb.embedder
    if index is None or not isinstance(encoder, SentenceEncoder):
        return [None] * len(texts)
    tokens_of: dict[str, QuestionTokens] = kb.cached("question_tokens", dict)
    new = [text for text in dict.fromkeys(texts) if text not in tokens_of]
    if new:
        encoded = encoder.encode_tokens(
            new, kb.store, "query", reduce=partial(projected, axes=index.axes)
        )
        for text, (pieces, vectors) in zip(new, encoded, strict=True):
            weights = index.rarity[pieces]
            tokens_of[text] = QuestionTokens(vectors, weights / (weights.sum() or 1.0))
    tokens = [tokens_of[text] for text in texts]
    for text in list(tokens_of)[: max(len(tokens_of) - QUESTIONS, 0)]:
        del tokens_of[text]
    return tokens


def projected(vectors: Matrix, axes: Matrix) -> Matrix:
    """Token vectors on the axes, scaled to norm 1: (n, dim) -> (n, 64)."""
    small = vectors @ axes
    norms: Matrix = np.linalg.norm(small, axis=1, keepdims=True)
    return np.asarray(small / (norms + np.float32(1e-9)), dtype=np.float32)


def _open(kb: KnowledgeBase) -> TokenVectors | None:
    encoder, store, corpus = kb.embedder, kb.store, kb.corpus
    if not isinstance(encoder, SentenceEncoder):
        return None
    folder = store.entry(
        "tokens", _key(kb), lambda folder: TokenWriter(encoder, kb).write(folder)
    )
    names = ("axes", "indptr", "windows", "frequency")
    axes, indptr, windows, frequency = (
        np.load(folder / f"{name}.npy") for name in names
    )
    vectors = mapped(folder / "vectors.npy")
    blocks = (
        window_sums(vectors, indptr[start : start + BLOCK_PASSAGES + 1])
        for start in range(0, len(indptr) - 1, BLOCK_PASSAGES)
    )
    sums = store.entry(
        "token_sums", _key(kb), lambda folder: save_rows(folder / "sums.npy", blocks)
    )
    return TokenVectors(
        axes,
        vectors,
        indptr,
        mapped(sums / "sums.npy"),
        windows,
        rarity(len(corpus), frequency),
    )


def window_sums(vectors: Bytes, indptr: IntArray) -> NDArray[np.int32]:
    """(n_windows, dim) the sums of the token vectors of each window.

    Windows begin at `indptr`, (n_windows + 1,).
    """
    windows = pairwise(indptr.tolist())
    return np.array(
        [vectors[start:end].sum(axis=0, dtype=np.int32) for start, end in windows]
    )


def _key(kb: KnowledgeBase) -> dict[str, object]:
    """The inputs of the token vectors of a knowledge base."""
    return {
        "corpus": kb.corpus.fingerprint,
        "encoder": kb.embedder.fingerprint(kb.store),
        "version": VERSION,
    }


def token_workload(kb: KnowledgeBase) -> Workload:
    """The workload of encoding the passages' tokens; empty if the store has the token vectors."""
    encoder = kb.embedder
    if not isinstance(encoder, SentenceEncoder) or kb.store.find("tokens", _key(kb)):
        return Workload("passages", (), list)

    def encode(contents: Sequence[str]) -> None:
        windows = list(chain.from_iterable(encoder.windows(contents, kb.store)))
        encoder.encode_tokens(windows, kb.store, reduce=np.asarray)

    return Workload(
        "passages and their tokens",
        kb.corpus.streamed_contents,
        encode,
        includes="passages",
        on_processor=encoder.device == CPU,
    )


class TokenWriter:
    """Encodes the tokens of a corpus block by block, every window once, and saves them.

    The axes are those of a sample of first windows, whose tokens are kept.

    Attributes
    ----------
    axes : see `TokenVectors`.
    frequency : (n_wordpieces,) passages so far that have each wordpiece.
    window_lengths, window_counts : tokens of each window, and windows of each passage, so far.
    """

    def __init__(self, encoder: SentenceEncoder, kb: KnowledgeBase) -> None:
        self.encoder = encoder
        self.store = kb.store
        self.contents = kb.corpus.streamed_contents
        self.frequency = np.zeros(len(encoder.network.tokenizer), dtype=np.int64)
        self.window_lengths: list[int] = []
        self.window_counts: list[int] = []
        rows = range(0, len(self.contents), -(-len(self.contents) // SAMPLE))
        sample = encoder.encode_tokens(
            self.contents[:: rows.step], self.store, reduce=np.asarray
        )
        self.axes = principal_axes([vectors for _, vectors in sample])
        self._first_windows: dict[int, WindowTokens] = {}
        for row, (pieces, vectors) in zip(rows, sample, strict=True):
            self._first_windows[row] = (pieces, self._as_bytes(vectors))

    def write(self, folder: Path) -> None:
        """Save the vectors, and the arrays that `TokenVectors` is made of."""
        save_rows(folder / "vectors.npy", self._vectors())
        np.save(folder / "axes.npy", self.axes)
        np.save(folder / "indptr.npy", _boundaries(self.window_lengths))
        np.save(folder / "windows.npy", _boundaries(self.window_counts))
        np.save(folder / "frequency.npy", self.frequency)

    def _vectors(self) -> Iterator[Bytes]:
        """The token vectors of each block of passages; counts their windows and wordpieces."""
        for start in range(0, len(self.contents), BLOCK_PASSAGES):
            vectors: list[Bytes] = []
            for windows in self._encoded(start):
                pieces = np.concatenate([pieces for pieces, _ in windows])
                self.frequency[np.unique(pieces)] += 1
                self.window_lengths += [len(pieces) for pieces, _ in windows]
                self.window_counts.append(len(windows))
                vectors += [window for _, window in windows]
            yield np.concatenate(vectors)

    def _encoded(self, start: int) -> Iterator[list[WindowTokens]]:
        """The tokens of each passage's windows, for a block of passages."""
        contents = self.contents[start : start + BLOCK_PASSAGES]
        texts_of = dict(enumerate(self.encoder.windows(contents, self.store), start))
        unencoded: list[str] = []
        for row, texts in texts_of.items():
            unencoded += texts[1:] if row in self._first_windows else texts
        encoded = iter(
            self.encoder.encode_tokens(unencoded, self.store, reduce=self._as_bytes)
        )
        for row, texts in texts_of.items():
            windows = []
            if row in self._first_windows:
                windows.append(self._first_windows[row])
            windows += islice(encoded, len(texts) - len(windows))
            yield windows

    def _as_bytes(self, vectors: Matrix) -> Bytes:
        rounded: Bytes = np.rint(SCALE * projected(vectors, self.axes)).astype(np.int8)
        return rounded


def _boundaries(lengths: Sequence[int]) -> IntArray:
    """(n + 1,) where consecutive parts of these lengths begin, and the end of the last."""
    return np.cumsum([0, *lengths], dtype=np.int64)


def principal_axes(passages: Sequence[Matrix]) -> Matrix:
    """The uncentred principal axes of the token vectors of some passages: (dim, `AXES`).

    `passages` : (n, dim) each.
    """
    moment = np.sum(
        [vectors.T @ vectors for vectors in passages], axis=0, dtype=np.float64
    )
    return np.ascontiguousarray(
        np.linalg.eigh(moment)[1][:, ::-1][:, :AXES], dtype=np.float32
    )


@numba.njit(cache=True)
def _max_sim(
    vectors: Bytes,
    indptr: IntArray,
    sums: NDArray[np.int32],
    windows: IntArray,
    rows: IntArray,
    question: Matrix,
    weights: FloatArray,
) -> FloatArray:
    """See `TokenVectors.max_sim`; `question` is (t, dim), dim a multiple of `STRIDE`.

    Each cosine is summed axis by axis, whatever the batch and the width.
    """
    n_question, dim = question.shape
    width = -(-n_question // WIDTH) * WIDTH
    turned = np.zeros((dim, width), dtype=np.float32)
    turned[:, :n_question] = question.T
    mean = np.zeros(dim)
    for piece in range(n_question):
        mean += weights[piece] * question[piece]
    best_windows = np.zeros((rows.shape[0], n_question))
    best = np.empty(width, dtype=np.float32)
    cosines = np.empty(width, dtype=np.float32)
    for i in range(rows.shape[0]):
        highest = -np.inf
        for window in _nearest_windows(
            sums, windows[rows[i]], windows[rows[i] + 1], mean
        ):
            best[:] = -np.inf
            for token in range(indptr[window], indptr[window + 1]):
                cosines[:] = 0.0
                for axis in range(0, dim, STRIDE):
                    a, b = (
                        np.float32(vectors[token, axis]),
                        np.float32(vectors[token, axis + 1]),
                    )
                    c, d = (
                        np.float32(vectors[token, axis + 2]),
                        np.float32(vectors[token, axis + 3]),
                    )
                    for piece in range(width):
                        two = (cosines[piece] + a * turned[axis, piece]) + b * turned[
                            axis + 1, piece
                        ]
                        cosines[piece] = (
                            two + c * turned[axis + 2, piece]
                        ) + d * turned[axis + 3, piece]
                for piece in range(width):
                    best[piece] = max(best[piece], cosines[piece])
            total = 0.0
            for piece in range(n_question):
                total += weights[piece] * best[piece]
            if total > highest:
                highest = total
                best_windows[i] = best[:n_question]
    return best_windows


@numba.njit(cache=True)
def _nearest_windows(
    sums: NDArray[np.int32], first: int, end: int, question: FloatArray
) -> IntArray:
    """At most `WINDOWS` windows whose summed token vectors are nearest to `question`, (dim,)."""
    if end - first <= WINDOWS:
        return np.arange(first, end)
    cosines = np.empty(end - first)
    for window in range(first, end):
        product = 0.0
        square = 1.0
        for axis in range(question.shape[0]):
            total = float(sums[window, axis])
            product += total * question[axis]
            square += total * total
        cosines[window - first] = product / np.sqrt(square)
    return first + np.argsort(-cosines, kind="mergesort")[:WINDOWS]
