"""Names and words -> passages with similar ones: trigrams for candidates, then Levenshtein.

A *term* is a name or word in a passage's spelling, or a part of it (`code_names.variants`); all
spellings of a term share a *key*. Candidates share three trigrams of keys, fewer for short keys (the
dynamic hybrid design); rapidfuzz computes 1 - distance / maximum length. All arrays are
memory-mapped. Ours: keys are padded, so that beginnings and ends count.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import feather

from kg2rag.compute.atomic_write import mapped
from kg2rag.knowledge.graph.csr import gather, incidence, offsets
from kg2rag.text.code_names import (
    MAX_KEY_CHARACTERS,
    definitions,
    key,
    surfaces,
    variants,
)
from kg2rag.types import FloatArray, IntArray

SHARED = 3  # trigrams that similar keys share
SHORT = 5
"""Keys up to this length may share no trigram with a misspelling (json, josn); all of similar length are compared."""
_START, _END = "\x02", "\x03"


class Similar(NamedTuple):
    """Keys similar to a requested one, best first.

    `keys`, (n,), are their codes. `strengths`, (n,), are 2 for an equal key, 1 + (length of the request
    / length of the key) for a key that contains the request, else the similarity, in (0, 1).
    `similarities`, (n,), are in (0, 1].
    """

    keys: IntArray
    strengths: FloatArray
    similarities: FloatArray


class TrigramIndex:
    """An index of similar names; `TrigramIndex.write` makes the folder that is opened.

    Distinct keys are sorted, distinct terms by key and code point; the terms of key i are
    terms[key_ptr[i]:key_ptr[i + 1]].
    """

    def __init__(self, folder: Path) -> None:
        def open_arrays(*names: str) -> list[NDArray[Any]]:
            return [mapped(folder / f"{name}.npy") for name in names]

        self.key_ptr, self.key_df = open_arrays("key_ptr", "key_df")
        self.posting_ptr, self.rows, self.defines = open_arrays(
            "posting_ptr", "rows", "defines"
        )
        self._trigrams, self._trigram_ptr, self._trigram_keys = open_arrays(
            "codes", "code_ptr", "code_keys"
        )
        self.keys, self.terms = (
            feather.read_table(folder / f"{name}.arrow", memory_map=True)[
                "text"
            ].combine_chunks()
            for name in ("keys", "terms")
        )

    @staticmethod
    def write(folder: Path, contents: Sequence[str]) -> None:
        """Index `contents`, one text per row, into `folder`; keys have 2 to `MAX_KEY_CHARACTERS` letters."""
        terms, postings = _postings(contents)
        posting_terms, rows, defines = postings.T
        order = np.lexsort((rows, posting_terms))
        keys = list(dict.fromkeys(map(key, terms)))
        code_of = {name: code for code, name in enumerate(keys)}
        term_keys = np.array([code_of[key(term)] for term in terms], dtype=np.int64)
        passages_of_keys = incidence(
            term_keys[posting_terms],
            rows,
            np.ones(len(rows), dtype=np.int32),
            len(keys),
        )
        trigrams, trigram_keys = _trigrams_of(keys)
        distinct_trigrams, trigram_codes = np.unique(trigrams, return_inverse=True)
        keys_of_trigrams = incidence(
            trigram_codes,
            trigram_keys,
            np.ones(len(trigrams), dtype=np.int32),
            len(distinct_trigrams),
        )
        arrays: dict[str, NDArray[Any]] = {
            "key_ptr": offsets(term_keys, len(keys)),
            "key_df": passages_of_keys.indptr[1:] - passages_of_keys.indptr[:-1],
            "posting_ptr": offsets(posting_terms, len(terms)),
            "rows": rows[order],
            "defines": defines[order].astype(bool),
            "codes": distinct_trigrams,
            "code_ptr": keys_of_trigrams.indptr,
            "code_keys": keys_of_trigrams.others,
        }
        for name, values in arrays.items():
            np.save(folder / f"{name}.npy", values)
        for name, texts in {"keys": keys, "terms": terms}.items():
            table = pa.table({"text": pa.array(texts, pa.large_string())})
            feather.write_feather(
                table, folder / f"{name}.arrow", compression="uncompressed"
            )

    def find(self, requested: str) -> int | None:
        """The code of a key; None if no passage has it."""
        code = bisect_left(
            range(len(self.keys)), requested, key=lambda i: self.keys[i].as_py()
        )
        if code < len(self.keys) and self.keys[code].as_py() == requested:
            return code
        return None

    def document_frequency(self, requested: str) -> int:
        """The number of passages with a key, in any spelling."""
        code = self.find(requested)
        return 0 if code is None else int(self.key_df[code])

    def spellings(self, requested: str) -> list[str]:
        """The terms of a key, by code point; none if no passage has it."""
        code = self.find(requested)
        if code is None:
            return []
        start, end = self.key_ptr[code : code + 2].tolist()
        terms: list[str] = self.terms[start:end].to_pylist()
        return terms

    def similar(self, requested: str, min_similarity: float, limit: int) -> Similar:
        """The `limit` keys that are most similar to a requested one, best first.

        The equal key comes first, then keys that contain the requested one, then keys with a
        similarity of at least `min_similarity`, by similarity. Ties are ordered by key. A key that
        is longer than `MAX_KEY_CHARACTERS` has no similar ones.
        """
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cdist

        candidates = np.empty(0, np.int64)
        if 0 < len(requested) <= MAX_KEY_CHARACTERS:
            candidates = self._candidates(requested, min_similarity)
        names: list[str] = self.keys.take(pa.array(candidates)).to_pylist()
        if not names:
            return Similar(np.empty(0, np.int64), np.empty(0), np.empty(0))
        similarities: FloatArray = cdist(
            [requested],
            names,
            scorer=Levenshtein.normalized_similarity,
            dtype=np.float64,
        )[0]
        shares = [
            len(requested) / len(name) if requested in name else 0.0 for name in names
        ]
        coverage = np.array(shares, dtype=np.float64)
        strengths = np.where(coverage > 0, 1 + coverage, similarities)
        if len(requested) < SHARED:
            # Too many keys contain a given pair of letters.
            strengths[(coverage > 0) & (coverage < 1)] = 0.0
        similar = np.flatnonzero(
            (strengths > 1) | ((strengths >= min_similarity) & (strengths > 0))
        )
        order = similar[np.lexsort((candidates[similar], -strengths[similar]))][:limit]
        return Similar(candidates[order], strengths[order], similarities[order])

    def matching(self, pattern: str) -> IntArray:
        """The codes of the terms that a case-insensitive pattern with `*` matches as a whole."""
        first, *inner, last = (
            re.escape(piece.casefold()) for piece in pattern.split("*")
        )
        middle = "".join(f"(?>.*?{piece})" for piece in inner)
        regex = re.compile(f"{first}{middle}.*{last}", re.DOTALL)
        matches = [regex.fullmatch(term.casefold()) for term in self.terms.to_pylist()]
        return np.flatnonzero([match is not None for match in matches])

    def postings(self, terms: IntArray) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
        """The passages that have each of some terms, term by term; columns of (n_postings,).

        Returns the rows, the index in `terms` of each, and whether the row defines the term.
        """
        postings, term_index = gather(self.posting_ptr, terms)
        return self.rows[postings].astype(np.int64), term_index, self.defines[postings]

    def _candidates(self, requested: str, min_similarity: float) -> IntArray:
        """The codes of keys with enough trigrams in common with the requested one, ascending."""
        length = len(requested)
        trigrams = np.unique(_trigrams_of([requested])[0])
        first, end = (
            np.searchsorted(self._trigrams, trigrams, side)
            for side in ("left", "right")
        )
        entries = gather(self._trigram_ptr, first[first < end])[0]
        keys, counts = np.unique(self._trigram_keys[entries], return_counts=True)
        # An edit changes three trigrams at most: keys below the bound are not similar enough.
        edits = int((1 - min_similarity) * length / min_similarity + 1e-9)
        bound = len(trigrams) - 3 * edits
        # A key that contains the requested one has all its trigrams but the two padded ones.
        needed = max(min(SHARED, max(length - SHORT, 1)), min(bound, len(trigrams) - 2))
        candidates = keys[counts >= needed].astype(np.int64)
        if length > SHORT:
            return candidates
        return np.union1d(
            candidates, np.flatnonzero(np.abs(self._lengths - length) <= 1)
        )

    @cached_property
    def _lengths(self) -> IntArray:
        """The length of each key in characters, (n_keys,)."""
        import pyarrow.compute as pc

        lengths: IntArray = pc.utf8_length(self.keys).to_numpy(zero_copy_only=False)
        return lengths


def _postings(contents: Sequence[str]) -> tuple[list[str], NDArray[np.int32]]:
    """The terms of all texts, sorted by key, and their postings, (n, 3).

    A posting is the index of the term, the row, and whether the row defines the term.
    """
    code_of: dict[str, int] = {}
    postings = array("i")
    for row, text in enumerate(contents):
        defined = frozenset(definitions(text))
        spellings = [
            name for surface, _ in surfaces(text) for name in variants(surface)
        ]
        for term in dict.fromkeys(spellings):
            if 1 < len(key(term)) <= MAX_KEY_CHARACTERS:
                postings.extend(
                    (code_of.setdefault(term, len(code_of)), row, term in defined)
                )
    terms = sorted(code_of, key=lambda term: (key(term), term))
    sorted_code = np.empty(len(terms), dtype=np.int32)
    sorted_code[[code_of[term] for term in terms]] = np.arange(
        len(terms), dtype=np.int32
    )
    table = np.array(postings, dtype=np.int32).reshape(-1, 3)
    table[:, 0] = sorted_code[table[:, 0]]
    return terms, table


def _trigrams_of(keys: Sequence[str]) -> tuple[NDArray[np.uint64], IntArray]:
    """The trigrams of the padded keys, and the index of the key of each.

    A trigram is coded as one number of three code points, 21 bits each.
    """
    padded = [f"{_START}{name}{_END}" for name in keys]
    # A query may have lone surrogates, which strict UTF-32 refuses.
    encoded = "".join(padded).encode("utf-32-le", "surrogatepass")
    points = np.frombuffer(encoded, dtype=np.uint32).astype(np.uint64)
    owners = np.repeat(np.arange(len(padded)), list(map(len, padded)))
    starts = np.flatnonzero(owners[:-2] == owners[2:])
    shift = np.uint64(21)
    pairs = points[starts] << shift | points[starts + 1]
    return pairs << shift | points[starts + 2], owners[starts]
