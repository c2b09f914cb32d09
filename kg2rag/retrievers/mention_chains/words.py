"""Passages and questions -> the naming words that they share, and token vectors for MaxSim.

Naming words, ours, are what two passages may share. MaxSim is that of [1], over the token vectors
of the encoder that is in use anyway, projected on 64 axes and rounded to a byte each; the weights
of wordpieces by rarity are ours. The vectors are built once a corpus and memory-mapped from the
store.

[1] Khattab & Zaharia, "ColBERT", SIGIR 2020.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from itertools import chain, islice, pairwise
from pathlib import Path

import numba
import numpy as np
from numpy.typing import NDArray

from kg2rag.compute import CPU, SentenceEncoder, save_rows
from kg2rag.compute.atomic_write import mapped
from kg2rag.knowledge import KnowledgeBase, Workload
from kg2rag.knowledge.graph.csr import gather, offsets
from kg2rag.text.normalisation import FUNCTION_WORDS, WORD, normalise
from kg2rag.types import FloatArray, IntArray, Matrix

# The minimum weight of a title's words together, so that a title of common words has little effect.
LEAST_TITLE = 0.05
VERSION = 4  # of the stored data
AXES = 64
SAMPLE = 256  # passages whose token vectors determine the axes
SCALE = 127
KEPT = 10_000  # questions whose wordpieces stay in memory, about 50 MB
WIDTH = 8  # wordpieces of a question side by side
STRIDE = 4  # axes summed at once
WINDOWS = 4  # of a long passage, whose tokens are compared with the question's
BLOCK = 4_096  # passages whose vectors are in memory together

Bytes = NDArray[np.int8]


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

    The last `KEPT` questions stay in memory.
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
    for text in list(tokens_of)[: max(len(tokens_of) - KEPT, 0)]:
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
    folder = store.entry("tokens", _key(kb), lambda folder: _write(folder, encoder, kb))
    names = ("axes", "indptr", "windows", "frequency")
    axes, indptr, windows, frequency = (
        np.load(folder / f"{name}.npy") for name in names
    )
    vectors = mapped(folder / "vectors.npy")
    blocks = (
        window_sums(vectors, indptr[start : start + BLOCK + 1])
        for start in range(0, len(indptr) - 1, BLOCK)
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


def _write(folder: Path, encoder: SentenceEncoder, kb: KnowledgeBase) -> None:
    """Encode the passages block by block; save their vectors and the wordpieces' frequencies.

    The axes are those of a sample, whose vectors are kept until then: every passage is encoded
    once.
    """
    frequency = np.zeros(len(encoder.network.tokenizer), dtype=np.int64)
    lengths = [0]
    n_windows = [0]
    contents = kb.corpus.streamed_contents
    n = len(kb.corpus)
    sample = range(0, n, -(-n // SAMPLE))
    encoded = dict(
        zip(
            sample,
            encoder.encode_tokens(
                contents[:: sample.step], kb.store, reduce=np.asarray
            ),
            strict=True,
        )
    )
    axes = principal_axes([vectors for _, vectors in encoded.values()])

    def as_bytes(vectors: Matrix) -> Bytes:
        rounded: Bytes = np.rint(SCALE * projected(vectors, axes)).astype(np.int8)
        return rounded

    ready = {
        row: (pieces, as_bytes(vectors)) for row, (pieces, vectors) in encoded.items()
    }

    def blocks() -> Iterator[Bytes]:
        for start in range(0, n, BLOCK):
            block = dict(
                enumerate(
                    encoder.windows(contents[start : start + BLOCK], kb.store), start
                )
            )
            new = [
                window
                for row, windows in block.items()
                for window in windows[row in ready :]
            ]
            encoded_windows = iter(
                encoder.encode_tokens(new, kb.store, reduce=as_bytes)
            )
            vectors: list[Bytes] = []
            for row, windows in block.items():
                tokens = [ready[row]] if row in ready else []
                tokens += islice(encoded_windows, len(windows) - len(tokens))
                frequency[
                    np.unique(np.concatenate([pieces for pieces, _ in tokens]))
                ] += 1
                lengths.extend(len(pieces) for pieces, _ in tokens)
                n_windows.append(len(tokens))
                vectors += [window for _, window in tokens]
            yield np.concatenate(vectors)

    save_rows(folder / "vectors.npy", blocks())
    np.save(folder / "axes.npy", axes)
    np.save(folder / "indptr.npy", np.cumsum(lengths, dtype=np.int64))
    np.save(folder / "windows.npy", np.cumsum(n_windows, dtype=np.int64))
    np.save(folder / "frequency.npy", frequency)


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


def digest(question: str) -> str:
    """A hash of a question, eight hexadecimal digits, without case and punctuation."""
    return sha256(normalise(question).encode()).hexdigest()[:8]


def naming_words(text: str) -> list[str]:
    """The distinct naming words of a text, normalised and sorted.

    Naming words are capitalised words of two letters or more, and numbers of three digits or more.
    """
    return sorted(
        {key for word in set(WORD.findall(text)) if (key := _naming_key(word))}
    )


@lru_cache(maxsize=1 << 16)
def _naming_key(word: str) -> str:
    """The normalised word; "" if it names nothing."""
    if not (len(word) > 1 and word[0].isupper()) and not (
        len(word) > 2 and word.isdigit()
    ):
        return ""
    key = normalise(word)
    return "" if key in FUNCTION_WORDS else key


def rarity(n_passages: int, frequency: NDArray[np.integer]) -> FloatArray:
    """ln((1 + N) / (df + 1/2)) / ln(1 + N): 1 for a word of one passage, near 0 for common ones."""
    rarities: FloatArray = np.log((1 + n_passages) / (frequency + 0.5)) / np.log(
        1 + n_passages
    )
    return rarities


@dataclass(frozen=True)
class NamingWords:
    """The naming words of a corpus, in CSR form.

    Attributes
    ----------
    code : word -> its number.
    rarity : (n_words,) of each; 0 for a word of a single passage, which nothing shares.
    indptr, words : the words of passage `i` are `words[indptr[i]:indptr[i + 1]]`.
    title_indptr, title_words : likewise of its title.
    """

    code: dict[str, int]
    rarity: FloatArray
    indptr: IntArray
    words: IntArray
    title_indptr: IntArray
    title_words: IntArray

    def shared(self, question: str, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Two (m, m) matrices over some passages, from row to column, each in [0, 1].

        - shared_word: the rarity of the rarest naming word that both have and the question has not; 0 without one.
        - title_words: of the naming words of the column's title that the question has not, the share, weighted by
          rarity, that the row's text has; the weights of a title count as at least `LEAST_TITLE`.
        """
        entries, passages = gather(self.indptr, rows)
        title_entries, titled = gather(self.title_indptr, rows)
        words = np.append(self.words[entries], self.title_words[title_entries])
        distinct, numbers = np.unique(words, return_inverse=True)
        asked = [self.code.get(normalise(word), -1) for word in WORD.findall(question)]
        weights = np.where(np.isin(distinct, asked), 0.0, self.rarity[distinct])
        m = len(rows)
        shares: tuple[FloatArray, FloatArray] = _shared(
            offsets(passages, m),
            numbers[: len(entries)],
            offsets(titled, m),
            numbers[len(entries) :],
            weights,
        )
        return shares


def naming_index(kb: KnowledgeBase) -> NamingWords:
    """The naming words of a knowledge base's passages, found once."""
    return kb.cached(
        "naming_words", lambda: _build(kb.corpus.contents, kb.corpus.titles)
    )


def _build(contents: Iterable[str], titles: Iterable[str]) -> NamingWords:
    code: dict[str, int] = {}
    indptr, words = _coded(contents, code)
    title_indptr, title_words = _coded(titles, code)
    frequency = np.bincount(words, minlength=len(code))
    rare = np.where(frequency >= 2, rarity(len(indptr) - 1, frequency), 0.0)
    return NamingWords(code, rare, indptr, words, title_indptr, title_words)


def _coded(texts: Iterable[str], code: dict[str, int]) -> tuple[IntArray, IntArray]:
    """The naming words of each text, by numbers that `code` has or is given now."""
    codes = [
        [code.setdefault(word, len(code)) for word in naming_words(text)]
        for text in texts
    ]
    indptr = np.cumsum([0, *map(len, codes)], dtype=np.int64)
    return indptr, np.fromiter(
        chain.from_iterable(codes), dtype=np.int64, count=int(indptr[-1])
    )


@numba.njit(cache=True)
def _shared(
    indptr: IntArray,
    words: IntArray,
    title_indptr: IntArray,
    titles: IntArray,
    weights: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """See `NamingWords.shared`; `words` and `titles` are places in `weights`, which has each word once."""
    m = indptr.shape[0] - 1
    shared = np.zeros((m, m))
    title = np.zeros((m, m))
    in_row = np.zeros(weights.shape[0], dtype=np.bool_)
    for i in range(m):
        in_row[words[indptr[i] : indptr[i + 1]]] = True
        for j in range(m):
            for word in words[indptr[j] : indptr[j + 1]]:
                if in_row[word]:
                    shared[i, j] = max(shared[i, j], weights[word])
            common = total = 0.0
            for word in titles[title_indptr[j] : title_indptr[j + 1]]:
                total += weights[word]
                if in_row[word]:
                    common += weights[word]
            title[i, j] = min(common / max(total, LEAST_TITLE), 1.0)
        in_row[words[indptr[i] : indptr[i + 1]]] = False
    return shared, title
