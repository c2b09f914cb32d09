"""Names and words -> passages that hold one like them: trigrams find candidates, Levenshtein similarity judges them.

A *term* is a name or word as some passage writes it, whole or a part of it (`identifiers.variants`); a *key* is what
the spellings of one term share. Trigrams of keys find candidates (three shared ones, fewer for short keys: the dynamic
hybrid design); rapidfuzz computes 1 - distance / longer length. All arrays are memory-mapped, so a query reads the
postings it needs and not the index. Ours: keys are padded, so that beginnings and ends count.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kg2rag.compute.files import mapped
from kg2rag.knowledge.graph.csr import gather, offsets, run_starts
from kg2rag.text.normalisation import LONGEST, definitions, key, surfaces, variants
from kg2rag.types import FloatArray, IntArray

VERSION = 1
"""Part of the index's key in the store: raise it where the terms of a text change."""
SHARED = 3
SHORT = 5
"""Keys up to this length may share no trigram with their own misspelling (json, josn): all of like length are tried."""
_START, _END = "\x02", "\x03"
_ARRAYS = ("key_ptr", "key_df", "posting_ptr", "rows", "defines", "codes", "code_ptr", "code_keys", "by_length")


class Similar(NamedTuple):
    """Keys similar to a requested one, best first.

    `keys`, (n,), are their codes; `strengths`, (n,): 2 for an equal key, 1 + the share of it that was requested where
    that is a substring of it, else the similarity, in (0, 1); `similarities`, (n,), in (0, 1].
    """

    keys: IntArray
    strengths: FloatArray
    similarities: FloatArray


class TrigramIndex:
    """Write one with `TrigramIndex.write`, then open the folder it wrote.

    Attributes
    ----------
    n_rows : passages indexed.
    keys : distinct keys, sorted.
    terms : distinct terms, by key and then by code point; those of key i are terms[key_ptr[i] : key_ptr[i + 1]].
    """

    def __init__(self, folder: Path) -> None:
        arrays = {name: mapped(folder / f"{name}.npy") for name in _ARRAYS}
        self.key_ptr, self.key_df, self.posting_ptr = arrays["key_ptr"], arrays["key_df"], arrays["posting_ptr"]
        self.rows, self.defines = arrays["rows"], arrays["defines"]
        self._codes, self._code_ptr, self._code_keys = arrays["codes"], arrays["code_ptr"], arrays["code_keys"]
        self._by_length = arrays["by_length"]
        self.n_rows = int(np.load(folder / "n_rows.npy"))
        self.keys, self.terms = _open(folder / "keys.arrow"), _open(folder / "terms.arrow")

    @staticmethod
    def write(folder: Path, contents: Sequence[str]) -> None:
        """Index `contents`, one text a row, into `folder`; keys of one letter or more than `LONGEST` are left out."""
        terms, postings = _postings(contents)
        ordered = sorted(range(len(terms)), key=lambda term: (key(terms[term]), terms[term]))
        place = np.empty(len(terms), dtype=np.int32)
        place[ordered] = np.arange(len(terms), dtype=np.int32)
        term, row, defines = postings
        order = np.lexsort((row, place[term]))
        term, row, defines = place[term][order], row[order], defines[order]
        keys = [key(terms[i]) for i in ordered]
        new = np.array([i == 0 or keys[i] != keys[i - 1] for i in range(len(keys))], dtype=bool)
        starts = np.flatnonzero(new)
        distinct = [keys[i] for i in starts.tolist()]
        key_of = np.cumsum(new) - 1
        pairs = np.unique(key_of[term] * np.int64(len(contents)) + row)
        arrays = {
            "key_ptr": np.append(starts, len(keys)),
            "key_df": np.bincount(pairs // max(len(contents), 1), minlength=len(distinct)),
            "posting_ptr": offsets(term, len(keys)),
            "rows": row,
            "defines": defines,
            "n_rows": np.array(len(contents)),
            **_trigram_arrays(distinct),
        }
        for name, values in arrays.items():
            np.save(folder / f"{name}.npy", values)
        _save(folder / "keys.arrow", distinct)
        _save(folder / "terms.arrow", [terms[i] for i in ordered])

    def find(self, wanted: str) -> int | None:
        """The code of a key, or None where no passage holds it."""
        at = bisect_left(range(len(self.keys)), wanted, key=lambda i: self.keys[i].as_py())
        return at if at < len(self.keys) and self.keys[at].as_py() == wanted else None

    def document_frequency(self, wanted: str) -> int:
        """How many passages hold a key, in any spelling; 0 where none does."""
        found = self.find(wanted)
        return 0 if found is None else int(self.key_df[found])

    def similar(self, wanted: str, min_similarity: float, limit: int) -> Similar:
        """The `limit` keys most like one: equal, then holding it, then by similarity, at least `min_similarity`.

        Equal strengths are ordered by key. A requested key longer than `LONGEST` is similar to none.
        """
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cdist

        sought = 0 < len(wanted) <= LONGEST
        candidates = self._candidates(wanted, min_similarity) if sought else np.empty(0, np.int64)
        names: list[str] = self.keys.take(pa.array(candidates)).to_pylist()
        if not names:
            return Similar(np.empty(0, np.int64), np.empty(0), np.empty(0))
        similarities: FloatArray = cdist([wanted], names, scorer=Levenshtein.normalized_similarity, dtype=np.float64)[0]
        coverage = np.fromiter((len(wanted) / len(name) if wanted in name else 0.0 for name in names), np.float64)
        strengths = np.where(coverage > 0, 1 + coverage, similarities)
        if len(wanted) < SHARED:
            strengths[(coverage > 0) & (coverage < 1)] = 0.0  # two letters are part of too much to mean anything
        kept = np.flatnonzero((strengths > 1) | ((strengths >= min_similarity) & (strengths > 0)))
        order = kept[np.lexsort((candidates[kept], -strengths[kept]))][:limit]
        return Similar(candidates[order], strengths[order], similarities[order])

    def matching(self, pattern: str) -> IntArray:
        """The codes of terms that a pattern with `*` fits from end to end, case folded; `*` matches anything.

        Linear in the terms whatever the pattern: each piece between stars is sought once, from left to right.
        """
        pieces = [piece.casefold() for piece in pattern.split("*")]
        fits = [i for i, term in enumerate(self.terms.to_pylist()) if _fits(term.casefold(), pieces)]
        return np.array(fits, dtype=np.int64)

    def key_of(self, terms: IntArray) -> IntArray:
        """The key of each term."""
        found: IntArray = np.searchsorted(self.key_ptr, terms, side="right") - 1
        return found

    def postings(self, terms: IntArray) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
        """(rows, which of `terms` each holds, whether it defines that one); ascending within a term."""
        where, of = gather(self.posting_ptr, terms)
        return self.rows[where].astype(np.int64), of, self.defines[where]

    def terms_of(self, keys: IntArray) -> tuple[IntArray, IntArray]:
        """The codes of all spellings of some keys, and which of `keys` each is a spelling of."""
        return gather(self.key_ptr, keys)

    def _candidates(self, wanted: str, min_similarity: float) -> IntArray:
        """Codes of keys that share enough trigrams with the requested one; ascending."""
        length = len(wanted)
        codes = np.unique(_codes([wanted])[0])
        at = np.minimum(np.searchsorted(self._codes, codes), max(len(self._codes) - 1, 0))
        known = at[self._codes[at] == codes] if len(self._codes) else at[:0]
        lists = [self._code_keys[self._code_ptr[i] : self._code_ptr[i + 1]] for i in known.tolist()]
        shared, counts = np.unique(np.concatenate([*lists, np.empty(0, np.int32)]), return_counts=True)
        # An edit changes three trigrams at most, so keys below the bound are not similar enough: nothing is lost.
        edits = int((1 - min_similarity) * length / min_similarity + 1e-9)
        bound = len(codes) - 3 * edits
        # A key that contains the requested one shares all its trigrams but the two padded ones.
        needed = max(min(SHARED, max(length - SHORT, 1)), min(bound, len(codes) - 2))
        found = shared[counts >= needed].astype(np.int64)
        if length > SHORT:
            return found
        ends = self._length_ends
        return np.union1d(found, self._by_length[ends[max(length - 1, 1) - 1] : ends[length + 1]].astype(np.int64))

    @cached_property
    def _length_ends(self) -> IntArray:
        """(LONGEST + 1,) how many keys have at most that many characters."""
        import pyarrow.compute as pc

        lengths = pc.utf8_length(self.keys).to_numpy(zero_copy_only=False)
        ends: IntArray = np.cumsum(np.bincount(lengths, minlength=LONGEST + 1))
        return ends


def _postings(
    contents: Sequence[str],
) -> tuple[list[str], tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]]:
    """Terms in order of appearance, and (term, row, defines) of every passage that holds one."""
    codes: dict[str, int] = {}
    term, row, defines = array("i"), array("i"), array("b")
    for number, text in enumerate(contents):
        defined = frozenset(definitions(text))
        found = {name: None for surface, _ in surfaces(text) for name in variants(surface)}
        for name in found:
            if 1 < len(key(name)) <= LONGEST:
                term.append(codes.setdefault(name, len(codes)))
                row.append(number)
                defines.append(name in defined)
    defined_here: NDArray[np.bool_] = np.array(defines, dtype=bool)
    return list(codes), (np.array(term, np.int32), np.array(row, np.int32), defined_here)


def _trigram_arrays(keys: Sequence[str]) -> dict[str, NDArray[np.generic]]:
    """Trigram -> keys as CSR arrays, and the keys by length."""
    codes, owners = _codes(keys)
    order = np.lexsort((owners, codes))
    codes, owners = codes[order], owners[order]
    fresh = run_starts(codes, owners)
    distinct, starts = np.unique(codes[fresh], return_index=True)
    lengths = np.array([len(name) for name in keys], dtype=np.int32)
    return {
        "codes": distinct,
        "code_ptr": np.append(starts, int(fresh.sum())),
        "code_keys": owners[fresh].astype(np.int32),
        "by_length": np.argsort(lengths, kind="stable").astype(np.int32),
    }


def _codes(keys: Sequence[str]) -> tuple[NDArray[np.uint64], IntArray]:
    """Every trigram of the padded keys as three code points of 21 bits in one number, and the key it is of."""
    padded = [f"{_START}{name}{_END}" for name in keys]
    lengths = np.array([len(name) for name in padded], dtype=np.int64)
    # A query can contain lone surrogates: they have code points, but no place in UTF-32.
    points = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    owner = np.repeat(np.arange(len(padded)), lengths)
    whole = np.flatnonzero(owner[:-2] == owner[2:]) if len(owner) > 2 else np.empty(0, np.int64)
    shift = np.uint64(21)
    return ((points[whole] << shift | points[whole + 1]) << shift) | points[whole + 2], owner[whole]


def _fits(term: str, pieces: Sequence[str]) -> bool:
    first, *inner, last = pieces
    if len(term) < len(first) + len(last) or not (term.startswith(first) and term.endswith(last)):
        return False
    at, end = len(first), len(term) - len(last)
    for piece in inner:
        at = term.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


def _save(path: Path, texts: Sequence[str]) -> None:
    table = pa.table({"text": pa.array(texts, pa.large_string())})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _open(path: Path) -> pa.Array:
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all()["text"].combine_chunks()
