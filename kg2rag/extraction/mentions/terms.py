"""Passages -> the rare terms that they share: phrases of one to three words, in lower case, by counts over the corpus.

A term has no stop word, is in at least two passages and in at most a fiftieth of them: what more passages share is a
hub, and joins what is not related. Identifiers and section numbers count ("rule 1.3.3"), bare numbers do not. Where a
longer term is in as many passages, the shorter one is a part of it and is left out ("bankman" beside "bankman fried").

The graph of shared phrases, and the pruning of hubs, are after SPRIG (arXiv 2602.23372); the rules are ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from kg2rag.extraction.mentions.table import MentionTable, numbered_sentences
from kg2rag.text.normalisation import CALENDAR, FUNCTION_WORDS, normalise, plain
from kg2rag.text.scripts import HIRAGANA, MARKS, SYLLABLES, is_caseless, search_text
from kg2rag.types import Corpus, IntArray

LONGEST, FEWEST = 3, 2  # words of a term, and passages that share it
SHARE, LEAST = 0.02, 5  # of the passages a term may be in, and how many it may always be in
_WORD = re.compile(
    rf"[{SYLLABLES}][{MARKS}]*|[^\W_{SYLLABLES}]+(?:[{MARKS}]+[^\W_{SYLLABLES}]*)*(?:\.\d+)*"
)  # a letter of a script without blanks is a word: a run of them is a term of several
_GRAMMAR = re.compile(f"[{HIRAGANA}]|[的了是在和有不这那个们我你他她它也就都而及与或于之为以上下中]")
"""Letters that spell the grammar of Japanese and Chinese rather than terms."""
_NO_TERM = re.compile(r"\d+(?:\.\d+)?(?:st|nd|rd|th|s)?|.")
_STOPPED = FUNCTION_WORDS | ENGLISH_STOP_WORDS | CALENDAR | {"ll", "ve", "s", "t", "re", "d", "m"}


@dataclass(frozen=True)
class Terms:
    """The terms of a corpus: `names`, and (n,) each, sorted by row and key, where each is first in a passage."""

    names: list[str]
    key: IntArray
    row: IntArray
    sentence: IntArray


def needs_terms(corpus: Corpus) -> NDArray[np.bool_]:
    """(n_passages,) which passages are joined by terms: those without a title, and in scripts without capitals."""
    texts = corpus.table["text"].to_pylist()
    pairs = zip(corpus.titles, texts, strict=True)
    return np.array([not title or is_caseless(text) for title, text in pairs], dtype=bool)


def most_passages(n_passages: int) -> int:
    """How many passages a term may be in, of so many."""
    return max(LEAST, int(SHARE * n_passages))


def shared_terms(corpus: Corpus, wanted: NDArray[np.bool_]) -> Terms:
    """The terms that passages of `wanted`, (n_passages,), share; the others are not read. Memory: 40 bytes a word."""
    words, rows, numbers = _words(corpus, wanted)
    strings, code = words.dictionary.to_pylist(), words.indices.to_numpy().astype(np.int64)
    stopped = np.array([word in _STOPPED or _GRAMMAR.match(word) is not None for word in strings], dtype=bool)[code]
    bare = np.array([_NO_TERM.fullmatch(word) is not None for word in strings], dtype=bool)[code]
    # Of the runs of each length: the places where one begins, and of each place the number of passages and of the run.
    at = np.flatnonzero(~stopped)
    number, runs = code[at], list[tuple[IntArray, IntArray, IntArray]]()
    for length in range(1, LONGEST + 1):
        if length > 1:  # one more word of the same sentence
            last = np.minimum(at + length - 1, len(code) - 1)
            same = (rows[last] == rows[at]) & (numbers[last] == numbers[at])
            going = (at + length <= len(code)) & same & ~stopped[last]
            at, number = at[going], number[going] * len(strings) + code[last[going]]
        number = np.unique(number, return_inverse=True)[1]
        pairs = np.unique(number * len(corpus) + rows[at])
        frequency = np.bincount(pairs // len(corpus))[number]
        shared = frequency >= FEWEST
        at, number = at[shared], number[shared]
        runs.append((at, number, frequency[shared]))
    limit, names, taken = most_passages(int(wanted.sum())), list[str](), list[IntArray]()
    for length, (at, number, frequency) in enumerate(runs, 1):
        longer = np.zeros(number.max(initial=-1) + 1, dtype=np.int64)  # passages of the longer run that shares most
        if length < LONGEST:
            begin, _, often = runs[length]
            for shift in (0, 1):
                np.maximum.at(longer, number[np.searchsorted(at, begin + shift)], often)
        kept = (frequency <= limit) & (longer[number] < frequency)
        if length == 1:
            kept &= ~bare[at]
        at = at[kept]
        _, example, key = np.unique(number[kept], return_index=True, return_inverse=True)
        taken.append(np.stack([rows[at], key + len(names), numbers[at]]))
        names += [" ".join(strings[one] for one in code[place : place + length]) for place in at[example].tolist()]
    found = np.concatenate(taken, axis=1)
    row, key, sentence = found[:, np.lexsort(found[::-1][[0, 1, 2]])]
    once = np.append(True, (row[1:] != row[:-1]) | (key[1:] != key[:-1]))[: len(row)]
    return Terms(names, key[once], row[once], sentence[once])


def with_terms(
    table: MentionTable, corpus: Corpus, untitled: NDArray[np.bool_], known: frozenset[str] = frozenset()
) -> MentionTable:
    """The table with the terms of passages without a title as its last keys, but those that it or `known` has."""
    terms = shared_terms(corpus, untitled)
    keys = [normalise(name) for name in terms.names]
    taken = known | frozenset(table.keys)
    new = np.array([key not in taken for key in keys], dtype=bool)
    number, kept = len(table.keys) + np.cumsum(new) - 1, new[terms.key]
    added = terms.row[kept], terms.sentence[kept], number[terms.key[kept]]
    row, sentence, key = np.concatenate([[table.row, table.sentence, table.key], added], axis=1).astype(np.int32)
    order = np.lexsort((key, sentence, row))
    keys, names = [*table.keys, *compress(keys, new)], [*table.names, *compress(terms.names, new)]
    return replace(table, keys=keys, names=names, row=row[order], sentence=sentence[order], key=key[order])


def stars(table: MentionTable, corpus: Corpus, untitled: NDArray[np.bool_]) -> IntArray:
    """The rarest key of each passage without a title with its other keys, and with that of the passage behind it.

    (4, n): the passage that states it, the keys, and whether it leads to the next passage of the document. Of equally
    rare keys that of most words is the first: it says most. Hubs are left out.
    """
    frequency, size = table.document_frequency, len(table.keys)
    linking = (frequency <= most_passages(int(untitled.sum()))) & ((frequency > 1) | (table.pages > 0))
    row, key = np.divmod(np.unique(table.row.astype(np.int64) * size + table.key), size)
    kept = untitled[row] & linking[key]
    row, key = row[kept], key[kept]
    words = np.array([name.count(" ") for name in table.keys], dtype=np.int64)
    order = np.lexsort((key, -words[key], frequency[key], row))
    row, key = row[order], key[order]
    rows, first = np.unique(row, return_index=True)
    head = np.repeat(key[first], np.diff(np.append(first, len(row))))
    place = np.full(len(corpus), -1, dtype=np.int64)
    place[rows] = key[first]
    document = pa.array(corpus.doc_ids).dictionary_encode().indices.to_numpy()
    order = np.lexsort((corpus.table["position"].to_numpy(), document))
    before, behind = order[:-1], order[1:]
    near = (document[before] == document[behind]) & (place[before] >= 0) & (place[behind] >= 0)
    before, behind = before[near], behind[near]
    same = np.append(head == key, place[before] == place[behind])
    columns = (np.append(row, before), np.append(head, place[before]), np.append(key, place[behind]))
    return np.stack([*columns, np.repeat([0, 1], [len(row), len(before)])])[:, ~same]


def _words(corpus: Corpus, wanted: NDArray[np.bool_]) -> tuple[pa.DictionaryArray, IntArray, IntArray]:
    """The words of the passages, in order, and the row and the sentence of each."""
    words, places = [pa.array([], pa.string()).dictionary_encode()], [np.zeros((2, 0), dtype=np.int64)]
    for texts, rows, numbers in numbered_sentences(corpus):
        split = [
            _WORD.findall(plain(search_text(text))) if read else []
            for text, read in zip(texts, wanted[rows], strict=True)
        ]
        words.append(pa.array((word for found in split for word in found), pa.string()).dictionary_encode())
        places.append(np.repeat(np.stack([rows, numbers]), [len(found) for found in split], axis=1))
    row, number = np.concatenate(places, axis=1)
    return pa.chunked_array(words).unify_dictionaries().combine_chunks(), row, number
