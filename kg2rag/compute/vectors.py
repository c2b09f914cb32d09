"""(encoder, text) -> vector, kept in the store: no text is encoded twice.

The vectors of an encoder are stored in immutable shards, each an entry that is written when it is full, so that an
interruption costs at most one shard. What a process has seen of them it keeps as a sorted index of their keys, so that
looking up n texts among N costs O(n log N), however many shards there are. Single questions are not worth a shard each:
a process holds their vectors until there are enough for one, or it ends. Where there are `MANY` small shards, they are
joined.
"""

from __future__ import annotations

import atexit
import hashlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kg2rag.compute.hardware import threads
from kg2rag.compute.parallel import has_workers, map_pieces
from kg2rag.compute.progress import bar as progress_bar
from kg2rag.compute.store import Store
from kg2rag.types import Matrix

if TYPE_CHECKING:
    from tqdm import tqdm

ROWS = 32  # texts in a batch of passages
SHARD = 2048  # texts in a shard
WORTH_SENDING = 256  # texts; fewer, such as questions, are encoded sooner than a worker has opened the model
MANY = 64  # small shards, such as those that processes leave when they end
HELD = 512  # texts; when a process holds as many, they are stored

Split = Callable[[Sequence[int]], Iterable[slice]]


def batches_of(lengths: Sequence[int], rows: Callable[[int], int] = lambda _: ROWS) -> Iterator[slice]:
    """Runs of neighbours of equal length, at most `rows` of that length."""
    start = 0
    for end in range(1, len(lengths) + 1):
        if end == len(lengths) or lengths[end] != lengths[start] or end - start == rows(lengths[start]):
            yield slice(start, end)
            start = end


@dataclass(frozen=True)
class VectorCache:
    """The vectors of one encoder.

    Parameters
    ----------
    encoder : fingerprint of the encoder; equal fingerprints mean equal vectors.
    lengths : texts -> the padded length of each, in tokens. A batch holds texts of one length.
    forward : the texts of a batch -> (n, dim) unit vectors; called from several threads at once.
    batches : the lengths of a shard, longest first -> its batches.
    sent : whether workers may encode, to whom `forward` and `batches` are then sent.
    few : so many texts, or fewer, are held in memory before they are stored, see the module.
    """

    store: Store
    encoder: str
    dim: int
    lengths: Callable[[Sequence[str]], list[int]]
    forward: Callable[[Sequence[str]], Matrix]
    batches: Split = batches_of
    sent: bool = True
    few: int = 0

    def lacking(self, texts: Sequence[str]) -> list[str]:
        """The distinct texts that are in no shard."""
        if not texts:
            return []
        distinct, first = np.unique(_hashes(texts), return_index=True)
        missing = np.ones(len(distinct), dtype=bool)
        _shards(self.store.root, self.encoder).look_up(
            distinct, np.empty((len(distinct), self.dim), dtype=np.float32), missing
        )
        return [texts[i] for i in np.sort(first[missing]).tolist()]

    def of(self, texts: Sequence[str]) -> Matrix:
        """(n_texts, dim), in the given order; texts that are in no shard are encoded and stored."""
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        hashes = _hashes(texts)
        distinct, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        vectors = np.empty((len(distinct), self.dim), dtype=np.float32)
        missing = np.ones(len(distinct), dtype=bool)
        shards = _shards(self.store.root, self.encoder)
        shards.look_up(distinct, vectors, missing)
        if 0 < missing.sum() <= self.few:
            vectors[missing] = self._encode_few([texts[i] for i in first[missing].tolist()])
            shards.hold(distinct[missing], vectors[missing])
        elif missing.any():
            for shard in self._encode([texts[i] for i in first[missing].tolist()]):
                _fill(shard, distinct, vectors, missing)
            shards.join(SHARD)
        return vectors[inverse]

    def keep(self, texts: Sequence[str], vectors: Matrix) -> None:
        """Store the vectors (n_texts, dim) of texts that are in no shard."""
        row_of = dict(zip(texts, range(len(texts)), strict=True))
        lacking = self.lacking(texts)
        for start in range(0, len(lacking), SHARD):
            part = lacking[start : start + SHARD]
            self._stored(part, [vectors[[row_of[text] for text in part]]])

    def _encode(self, texts: list[str]) -> Iterator[Path]:
        """The shards of texts, each as soon as it is stored: by the workers of `compute.workers`, or threads here."""
        lengths = self.lengths(texts)
        order = sorted(range(len(texts)), key=lambda i: (-lengths[i], i))  # longest first: the estimate only improves
        parts = [order[start : start + SHARD] for start in range(0, len(order), SHARD)]
        shards = ([(texts[i], lengths[i]) for i in part] for part in parts)
        with progress_bar(len(texts), "encoding", "text") as bar:
            if self.sent and has_workers() and len(texts) >= WORTH_SENDING:
                for part, vectors in zip(
                    parts, map_pieces(partial(_forwarded, self.forward, self.batches), shards), strict=True
                ):
                    bar.update(len(vectors))
                    yield self._stored([texts[i] for i in part], [vectors])
                return
            for shard in shards:
                batches = _side_by_side(self.forward, shard, self.batches)
                yield self._stored([text for text, _ in shard], _ticking(bar, batches))

    def _encode_few(self, texts: list[str]) -> Matrix:
        """(n_texts, dim) in the given order; nothing is stored."""
        lengths = self.lengths(texts)
        order = sorted(range(len(texts)), key=lambda i: (-lengths[i], i))
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        batches = _side_by_side(self.forward, [(texts[i], lengths[i]) for i in order], self.batches)
        vectors[order] = np.concatenate(list(batches))
        return vectors

    def _stored(self, texts: Sequence[str], batches: Iterable[Matrix]) -> Path:
        hashes = _hashes(texts)

        def build(folder: Path) -> None:
            _write(folder, hashes, np.concatenate(list(batches), dtype=np.float32))

        return self.store.entry(_stage(self.encoder), _key(self.encoder, hashes), build)


Shard = Sequence[tuple[str, int]]  # texts and their padded lengths


def _forwarded(forward: Callable[[Sequence[str]], Matrix], split: Split, shard: Shard) -> Matrix:
    """(n_texts, dim) the vectors of a shard."""
    return np.concatenate(list(_side_by_side(forward, shard, split)), dtype=np.float32)


def _side_by_side(forward: Callable[[Sequence[str]], Matrix], shard: Shard, split: Split) -> Iterator[Matrix]:
    """The vectors of every batch, in order; one thread per batch, so that threads change no bit."""
    texts, batches = [text for text, _ in shard], list(split([length for _, length in shard]))
    pool = ThreadPoolExecutor(min(threads(), len(batches)))
    try:
        yield from pool.map(forward, [texts[batch] for batch in batches])
    finally:
        pool.shutdown(cancel_futures=True)


def _ticking(bar: tqdm[None], batches: Iterable[Matrix]) -> Iterator[Matrix]:
    for batch in batches:
        bar.update(len(batch))
        yield batch


class _Shards:
    """The shards of one encoder in one store, as far as this process has seen them; safe to share between threads.

    Attributes
    ----------
    paths : the shards of the index.
    starts : (n_keys,) the first eight bytes of every key as a number, ascending.
    keys : (n_keys,) the keys in that order. places : (n_keys, 2) the shard of each, among `paths`, and its row there.
    held : key -> vector of what is not stored yet.
    """

    def __init__(self, root: Path, encoder: str) -> None:
        self.store, self.encoder, self.lock = Store(root), encoder, Lock()
        self.held: dict[bytes, Matrix] = {}
        self._forget()
        atexit.register(self._end)

    def _forget(self) -> None:
        self.paths: list[Path] = []
        self.known: frozenset[Path] = frozenset()
        self.starts, self.keys = np.empty(0, np.uint64), np.empty(0, "V16")
        self.places = np.empty((0, 2), dtype=np.int64)

    def look_up(self, wanted: NDArray[np.void], vectors: Matrix, missing: NDArray[np.bool_]) -> None:
        """Copy the vectors of wanted keys that the store has, and clear their `missing` flags."""
        with self.lock:
            if not self.known <= self.store.verified:  # one was deleted, or is to be checked again
                self._forget()
            self._copy(wanted, vectors, missing)
            if self.held:
                for i in np.flatnonzero(missing).tolist():
                    vector = self.held.get(wanted[i].tobytes())
                    if vector is not None:
                        vectors[i], missing[i] = vector, False
            if missing.any() and self._see_new():
                self._copy(wanted, vectors, missing)

    def hold(self, keys: NDArray[np.void], vectors: Matrix) -> None:
        """Keep vectors that are not stored; store all that are held where there are `HELD`."""
        with self.lock:
            self.held.update(zip((key.tobytes() for key in keys), vectors.copy(), strict=True))
            if len(self.held) >= HELD:
                self._store_held()

    def _store_held(self) -> None:
        keys = np.frombuffer(b"".join(self.held), dtype="V16")
        vectors = np.stack(list(self.held.values()))
        self.store.entry(_stage(self.encoder), _key(self.encoder, keys), lambda folder: _write(folder, keys, vectors))
        self.held.clear()

    def _end(self) -> None:
        """Store what is held when the process ends, if its store is still there; it could be encoded again."""
        try:
            if self.held and self.store.root.is_dir():
                self._store_held()
        except OSError as error:
            warnings.warn(f"{len(self.held)} vectors of questions could not be stored: {error}", stacklevel=1)

    def _see_new(self) -> bool:
        """Add the shards that this and other processes have written since; whether there are any."""
        found: list[tuple[Path, NDArray[np.void]]] = []
        for path in self.store.existing(_stage(self.encoder), self.known):
            try:
                found.append((path, _keys(path)))
            except FileNotFoundError:  # joined by another process at this moment; the joined one is listed next time
                continue
        if not found:
            return False
        places = [
            np.stack([np.full(len(keys), number), np.arange(len(keys))], axis=1)
            for number, (_, keys) in enumerate(found, start=len(self.paths))
        ]
        keys = np.concatenate([self.keys, *(keys for _, keys in found)])
        starts = _starts(keys)
        order = np.argsort(starts, kind="stable")
        self.starts, self.keys, self.places = starts[order], keys[order], np.concatenate([self.places, *places])[order]
        self.paths += [path for path, _ in found]
        self.known = frozenset(self.paths)
        return True

    def _copy(self, wanted: NDArray[np.void], vectors: Matrix, missing: NDArray[np.bool_]) -> None:
        sought = np.flatnonzero(missing)
        at, starts = np.searchsorted(self.starts, _starts(wanted[sought])), _starts(wanted[sought])
        found, where = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        while True:  # once more only where two keys share their first eight bytes
            alike = np.flatnonzero(at < len(self.starts))
            alike = alike[self.starts[at[alike]] == starts[alike]]
            if not len(alike):
                break
            same = alike[self.keys[at[alike]] == wanted[sought[alike]]]
            found.append(sought[same])
            where.append(at[same])
            rest = np.setdiff1d(alike, same)
            sought, at, starts = sought[rest], at[rest] + 1, starts[rest]
        rows, places = np.concatenate(found), self.places[np.concatenate(where)]
        for number in np.unique(places[:, 0]).tolist():
            here = places[:, 0] == number
            try:
                stored = np.load(self.paths[number] / "vectors.npy", mmap_mode="r")
            except FileNotFoundError:  # joined or pruned by another process
                self.store.verified.discard(self.paths[number])
                continue
            vectors[rows[here]] = stored[places[here, 1]]
            missing[rows[here]] = False

    def join(self, size: int) -> None:
        """Write the shards of fewer than `size` texts anew, in shards of that size, where there are `MANY`.

        A kill in between leaves vectors that are stored twice, which changes no result.
        """
        with self.lock:
            self._see_new()
            small = [path for path in self.paths if path in self.store.verified and len(_keys(path)) < size]
            if len(small) < MANY:
                return
            try:
                keys = np.concatenate([_keys(path) for path in small])
                vectors = np.concatenate([np.load(path / "vectors.npy") for path in small])
            except FileNotFoundError:  # another process joins them
                return
            for start in range(0, len(keys), size):
                part = slice(start, start + size)

                def build(folder: Path, part: slice = part) -> None:
                    _write(folder, keys[part], vectors[part])

                self.store.entry(_stage(self.encoder), _key(self.encoder, keys[part]), build)
            for path in small:
                self.store.remove(path)
            self._forget()


@lru_cache(maxsize=64)
def _shards(root: Path, encoder: str) -> _Shards:
    return _Shards(root, encoder)


def _stage(encoder: str) -> str:
    return f"vectors-{encoder}"


def _key(encoder: str, keys: NDArray[np.void]) -> dict[str, object]:
    return {"encoder": encoder, "texts": hashlib.sha256(keys.tobytes()).hexdigest()}


def _write(folder: Path, keys: NDArray[np.void], vectors: Matrix) -> None:
    np.save(folder / "vectors.npy", vectors)
    np.save(folder / "keys.npy", keys.view(np.uint8).reshape(-1, 16))


def _fill(shard: Path, wanted: NDArray[np.void], vectors: Matrix, missing: NDArray[np.bool_]) -> None:
    """Copy the vectors of the wanted (sorted) keys that a shard has, and clear their `missing` flags."""
    keys = _keys(shard)
    at = np.minimum(np.searchsorted(wanted, keys), len(wanted) - 1)
    found = np.flatnonzero(wanted[at] == keys)
    vectors[at[found]] = np.load(shard / "vectors.npy", mmap_mode="r")[found]
    missing[at[found]] = False


@lru_cache(maxsize=8192)
def _keys(shard: Path) -> NDArray[np.void]:
    """The keys of a shard; read once per process, since shards never change."""
    keys: NDArray[np.void] = np.load(shard / "keys.npy").view("V16").ravel()
    return keys


def _starts(keys: NDArray[np.void]) -> NDArray[np.uint64]:
    """The first eight bytes of each key."""
    return np.ascontiguousarray(keys).view(np.uint64).reshape(-1, 2)[:, 0].copy()


def _hashes(texts: Iterable[str]) -> NDArray[np.void]:
    digests = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts)
    return np.frombuffer(b"".join(digests), dtype="V16")
