"""Passages and questions -> token vectors for MaxSim.

MaxSim is that of [1], over the token vectors of the knowledge base's encoder, which are projected on
64 axes and rounded to a byte each. The weights of wordpieces by rarity are ours. The vectors are
built once for a corpus and memory-mapped from the store.

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
AXES = 64  # the dimension of the stored vectors
SAMPLE = 256  # passages whose token vectors determine the axes
SCALE = 127  # a stored component is the byte nearest to SCALE · component
QUESTIONS = 10_000  # questions whose wordpieces stay in memory, about 50 MB
WIDTH = (
    8  # the wordpieces of a question are padded to a multiple, for vector instructions
)
STRIDE = 4  # axes that are summed in one pass over the wordpieces
WINDOWS = 4  # windows of a long passage whose tokens are compared with a question
BLOCK_PASSAGES = 4_096  # passages whose vectors are in memory together
Bytes = NDArray[np.int8]
WindowTokens = tuple[IntArray, Bytes]
"""The codes of the wordpieces of a window, (n_tokens,), and their vectors, (n_tokens, 64)."""


@dataclass(frozen=True)
class QuestionTokens:
    """The wordpieces of a question: their `vectors`, (t, 64), of norm 1; `weights`, (t,), of sum 1."""

    vectors: Matrix
    weights: FloatArray


@dataclass(frozen=True)
class TokenVectors:
    """The token vectors of a corpus; a passage longer than the encoder's limit has several windows.

    Attributes
    ----------
    axes : (dim, 64) the principal axes of the token vectors; fewer than 64 if dim is less.
    vectors : (n_tokens, 64) the projected vectors of norm 1, times 127, rounded to bytes.
    indptr : (n_windows + 1,) the tokens of window `i` are `indptr[i]` to `indptr[i + 1] - 1`.
    sums : (n_windows, 64) see `window_sums`.
    windows : (n_passages + 1,) the windows of passage `i` are `windows[i]` to `windows[i + 1] - 1`.
    rarity : (n_wordpieces,) the `rarity` of each wordpiece of the tokenizer.
    """

    axes: Matrix
    vectors: Bytes
    indptr: IntArray
    sums: NDArray[np.int32]
    windows: IntArray
    rarity: FloatArray

    def max_sim(self, question: QuestionTokens, rows: IntArray) -> FloatArray:
        """(m, t) the highest cosine of each wordpiece with a token of the passage's best window.

        The best window has the highest weighted sum of these cosines, among the `WINDOWS` windows whose
        summed token vectors are nearest to those of the question. `rows` : (m,) corpus rows. A passage
        without windows has 0.
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
    """The token vectors of a knowledge base's passages; None if its embedder has no token vectors."""
    return kb.cached("token_vectors", lambda: _open(kb))


def question_tokens(
    kb: KnowledgeBase, texts: Sequence[str]
) -> Sequence[QuestionTokens | None]:
    """The wordpieces of each question; None without `token_index`.

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
    """Token vectors projected on the axes and scaled to norm 1: (n, dim) -> (n, 64)."""
    components = vectors @ axes
    norms: Matrix = np.linalg.norm(components, axis=1, keepdims=True)
    # A vector of zeros stays one.
    return np.asarray(components / (norms + np.float32(1e-9)), dtype=np.float32)


def _open(kb: KnowledgeBase) -> TokenVectors | None:
    """The stored token vectors, which are computed first if the store has none."""
    encoder = kb.embedder
    store = kb.store
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
        rarity(len(kb.corpus), frequency),
    )


def window_sums(vectors: Bytes, indptr: IntArray) -> NDArray[np.int32]:
    """(n_windows, dim) the sum of the token vectors of each window; see `TokenVectors` for `indptr`."""
    windows = pairwise(indptr.tolist())
    return np.array(
        [vectors[start:end].sum(axis=0, dtype=np.int32) for start, end in windows]
    )


def _key(kb: KnowledgeBase) -> dict[str, object]:
    """The store key of a knowledge base's token vectors: all that they depend on."""
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

    The axes are computed from the first windows of a sample of passages. These windows are not encoded
    again.

    Attributes
    ----------
    axes : see `TokenVectors`.
    frequency : (n_wordpieces,) the number of passages with each wordpiece, among those encoded so far.
    window_lengths : the number of tokens of each window so far.
    window_counts : the number of windows of each passage so far.
    """

    def __init__(self, encoder: SentenceEncoder, kb: KnowledgeBase) -> None:
        self.encoder = encoder
        self.store = kb.store
        self.contents = kb.corpus.streamed_contents
        self.frequency = np.zeros(len(encoder.network.tokenizer), dtype=np.int64)
        self.window_lengths: list[int] = []
        self.window_counts: list[int] = []
        # Every n-th passage, n rounded up, so that there are at most SAMPLE.
        rows = range(0, len(self.contents), -(-len(self.contents) // SAMPLE))
        sample = encoder.encode_tokens(
            self.contents[:: rows.step], self.store, reduce=np.asarray
        )
        self.axes = principal_axes([vectors for _, vectors in sample])
        self._first_windows: dict[int, WindowTokens] = {}
        for row, (pieces, vectors) in zip(rows, sample, strict=True):
            self._first_windows[row] = (pieces, self._as_bytes(vectors))

    def write(self, folder: Path) -> None:
        """Save the arrays of `TokenVectors`, and `frequency` for its rarity."""
        save_rows(folder / "vectors.npy", self._vector_blocks())
        np.save(folder / "axes.npy", self.axes)
        np.save(folder / "indptr.npy", _cumulative(self.window_lengths))
        np.save(folder / "windows.npy", _cumulative(self.window_counts))
        np.save(folder / "frequency.npy", self.frequency)

    def _vector_blocks(self) -> Iterator[Bytes]:
        """The token vectors of each block of passages, (n_tokens, 64).

        Each block updates the counts of windows and wordpieces.
        """
        for start in range(0, len(self.contents), BLOCK_PASSAGES):
            vectors: list[Bytes] = []
            for windows in self._encode_block(start):
                pieces = np.concatenate([pieces for pieces, _ in windows])
                self.frequency[np.unique(pieces)] += 1
                self.window_lengths += [len(pieces) for pieces, _ in windows]
                self.window_counts.append(len(windows))
                vectors += [window for _, window in windows]
            yield np.concatenate(vectors)

    def _encode_block(self, start: int) -> Iterator[list[WindowTokens]]:
        """The tokens of the windows of each passage, in the block that begins at row `start`."""
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
        """The projected token vectors as bytes: (n, dim) -> (n, 64)."""
        rounded: Bytes = np.rint(SCALE * projected(vectors, self.axes)).astype(np.int8)
        return rounded


def _cumulative(lengths: Sequence[int]) -> IntArray:
    """(n + 1,) 0 and the cumulative sums of the lengths of n consecutive parts."""
    return np.cumsum([0, *lengths], dtype=np.int64)


def principal_axes(passages: Sequence[Matrix]) -> Matrix:
    """(dim, `AXES`) the uncentred principal axes of the token vectors of some passages.

    `passages` : the vectors of each passage, (n_tokens, dim).
    """
    moment = np.sum(
        [vectors.T @ vectors for vectors in passages], axis=0, dtype=np.float64
    )
    # `eigh` sorts by ascending eigenvalue.
    descending = np.linalg.eigh(moment).eigenvectors[:, ::-1]
    return np.ascontiguousarray(descending[:, :AXES], dtype=np.float32)


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
    """The cosines of `TokenVectors.max_sim`.

    `question` : (t, dim) the vectors of the wordpieces / `SCALE`; dim is a multiple of `STRIDE`. The
    products of a cosine are added axis by axis, so that it does not depend on the other wordpieces.
    """
    n_pieces, dim = question.shape
    width = -(-n_pieces // WIDTH) * WIDTH
    by_axis = np.zeros((dim, width), dtype=np.float32)
    by_axis[:, :n_pieces] = question.T
    mean = np.zeros(dim)
    for piece in range(n_pieces):
        mean += weights[piece] * question[piece]
    best_cosines = np.zeros((rows.shape[0], n_pieces))
    highest = np.empty(width, dtype=np.float32)
    cosines = np.empty(width, dtype=np.float32)
    for i in range(rows.shape[0]):
        best_total = -np.inf
        for window in _nearest_windows(
            sums, windows[rows[i]], windows[rows[i] + 1], mean
        ):
            highest[:] = -np.inf
            for token in range(indptr[window], indptr[window + 1]):
                cosines[:] = 0.0
                for axis in range(0, dim, STRIDE):
                    a = np.float32(vectors[token, axis])
                    b = np.float32(vectors[token, axis + 1])
                    c = np.float32(vectors[token, axis + 2])
                    d = np.float32(vectors[token, axis + 3])
                    for piece in range(width):
                        cosine = cosines[piece] + a * by_axis[axis, piece]
                        cosine = cosine + b * by_axis[axis + 1, piece]
                        cosine = cosine + c * by_axis[axis + 2, piece]
                        cosines[piece] = cosine + d * by_axis[axis + 3, piece]
                for piece in range(width):
                    highest[piece] = max(highest[piece], cosines[piece])
            total = 0.0
            for piece in range(n_pieces):
                total += weights[piece] * highest[piece]
            if total > best_total:
                best_total = total
                best_cosines[i] = highest[:n_pieces]
    return best_cosines


@numba.njit(cache=True)
def _nearest_windows(
    sums: NDArray[np.int32], first: int, end: int, question: FloatArray
) -> IntArray:
    """The `WINDOWS` windows, of `first` to `end - 1`, whose summed token vectors are nearest to `question`.

    `question` : (dim,). The cosine is computed up to a constant factor.
    """
    if end - first <= WINDOWS:
        return np.arange(first, end)
    cosines = np.empty(end - first)
    for window in range(first, end):
        product = 0.0
        square = 1.0  # above 0 for a window of zeros
        for axis in range(question.shape[0]):
            total = float(sums[window, axis])
            product += total * question[axis]
            square += total * total
        cosines[window - first] = product / np.sqrt(square)
    return first + np.argsort(-cosines, kind="mergesort")[:WINDOWS]
