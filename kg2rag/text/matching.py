"""Normalised names -> where they stand in the words of many texts: the longest match at each place, compiled.

The names are a trie over word numbers in compressed rows. `Lexicon` does the same for one text at a time and is the
reference; `tests/text/test_matching.py` holds them equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kg2rag.text.words import JoinedTexts, counts_before

Numbers = NDArray[np.int32]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Matches:
    """(n_matches,) each, text by text: the text, the code of the name, and its place in the joined text."""

    texts: Places
    codes: Numbers
    starts: Places
    ends: Places


@dataclass(frozen=True)
class NameTrie:
    """Names by their words. Node 0 is the root; the edge at place i of `words` leads to node i + 1.

    Attributes
    ----------
    vocabulary : (n_words,) the words of all names; the number of a word is its place.
    indptr : (n_nodes + 1,) the edges of each node. words : (n_edges,) ascending within a node.
    first : (n_words,) the node that a word leads to from the root; 0 where no name begins with it.
    codes : (n_nodes,) the name that ends at a node; -1 where none does.
    quiet : (n_names,) whether a name has neither a capital nor a digit.
    """

    vocabulary: pa.StringArray
    indptr: Places
    words: Numbers
    first: Numbers
    codes: Numbers
    quiet: NDArray[np.bool_]

    @classmethod
    def of(cls, keys: pa.StringArray, names: Sequence[str] = ()) -> NameTrie:
        """The trie of normalised names, all different; one without words is never found.

        Parameters
        ----------
        keys : the code of a name is its place.
        names : how each is written. Where not given, none counts as quiet.
        """
        split = pc.split_pattern(keys, " ")
        lengths = pc.if_else(pc.equal(keys, ""), 0, pc.list_value_length(split)).to_numpy(zero_copy_only=False)
        encoded = pc.list_flatten(split).dictionary_encode()
        numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        starts = split.offsets.to_numpy()[:-1].astype(np.int64)
        n_words, parents = len(encoded.dictionary), np.zeros(len(keys), dtype=np.int64)
        ends, words, edges_of = np.zeros(len(keys), dtype=np.int64), [], []
        n_edges = 0
        for depth in range(int(lengths.max(initial=0))):
            going = np.flatnonzero(lengths > depth)
            pairs = parents[going] * n_words + numbers[starts[going] + depth]
            distinct, child = np.unique(pairs, return_inverse=True)
            parents[going] = n_edges + 1 + child
            edges_of.append(distinct // n_words)
            words.append(distinct % n_words)
            n_edges += len(distinct)
            last = going[lengths[going] == depth + 1]
            ends[last] = parents[last]
        return cls._of_edges(encoded.dictionary, edges_of, words, ends, names)

    @classmethod
    def _of_edges(
        cls, vocabulary: pa.StringArray, parents: list[Places], words: list[Places], ends: Places, names: Sequence[str]
    ) -> NameTrie:
        every = np.concatenate([np.empty(0, dtype=np.int64), *parents])
        labels = np.concatenate([np.empty(0, dtype=np.int64), *words]).astype(np.int32)
        indptr = np.zeros(len(every) + 2, dtype=np.int64)
        np.cumsum(np.bincount(every, minlength=len(every) + 1), out=indptr[1:])
        first = np.zeros(len(vocabulary), dtype=np.int32)
        roots = np.arange(indptr[1])
        first[labels[roots]] = roots + 1
        codes = np.full(len(every) + 1, -1, dtype=np.int32)
        codes[ends] = np.arange(len(ends))
        codes[0] = -1
        quiet = np.zeros(len(ends), dtype=bool)
        quiet[: len(names)] = [not any(map(stands_out, name)) for name in names]
        return cls(vocabulary, indptr, labels, first, codes, quiet)

    def matches(self, joined: JoinedTexts) -> Matches:
        """Every name in the texts: what `Lexicon.find` gives for each of them, but for accents after a match's end."""
        found = joined.folded_words()
        encoded = found.strings.dictionary_encode()  # a text repeats its words; the vocabulary may be large
        numbers = pc.fill_null(pc.index_in(encoded.dictionary, value_set=self.vocabulary), -1).to_numpy()
        words = numbers[encoded.indices.to_numpy()].astype(np.int32)
        loud = counts_before(joined, stands_out)
        at, lengths, codes = longest_matches(
            words,
            found.texts,
            found.torn,
            loud[found.starts],
            loud[found.ends],
            (self.indptr, self.words, self.first, self.codes, self.quiet),
        )
        return Matches(found.texts[at], codes, found.starts[at], found.ends[at + lengths - 1])


def stands_out(char: str) -> bool:
    """Whether a character is a capital or a digit."""
    return char.isupper() or char.isdigit()


@numba.njit(cache=True)
def _child(node: int, word: int, indptr: Places, words: Numbers) -> int:
    """The node that a word leads to; 0 where there is none."""
    low, high = int(indptr[node]), int(indptr[node + 1])
    while low < high:
        middle = (low + high) // 2
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    if low < indptr[node + 1] and words[low] == word:
        return low + 1
    return 0


@numba.njit(cache=True)
def longest_matches(
    words: Numbers,
    texts: Places,
    torn: NDArray[np.bool_],
    before: Numbers,
    standing: Numbers,
    trie: tuple[Places, Numbers, Numbers, Numbers, NDArray[np.bool_]],
) -> tuple[Places, Places, Numbers]:
    """From left to right the longest name at each place, without overlap.

    Parameters
    ----------
    words : (n,) numbers; -1 for words of no name. texts, torn : as in `Words`.
    before, standing : (n,) capitals and digits before a word's start and its end; a match without any counts only if
        the name is quiet.

    Returns
    -------
    at, lengths, codes : the first word of each match, its number of words, and its name.
    """
    indptr, labels, first, codes, quiet = trie
    n, found = words.shape[0], 0
    starts, lengths = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    names = np.empty(n, dtype=np.int32)
    at = 0
    while at < n:
        node, depth, name, length = 0, 0, -1, 0
        while at + depth < n and texts[at + depth] == texts[at] and words[at + depth] >= 0:
            word = words[at + depth]
            node = first[word] if depth == 0 else _child(node, word, indptr, labels)
            if node == 0:
                break
            depth += 1
            if codes[node] >= 0:
                name, length = codes[node], depth
        if name >= 0:
            last = at + length - 1
            # One character may fold to two words (½); a match cannot use half of it.
            whole = not torn[at] and not (last + 1 < n and torn[last + 1])
            if whole and (quiet[name] or standing[last] > before[at]):
                starts[found], lengths[found], names[found] = at, length, name
                found, at = found + 1, at + length
                continue
        at += 1
    return starts[:found].copy(), lengths[:found].copy(), names[:found].copy()
