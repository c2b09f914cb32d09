"""Passages -> the rare terms that they share: phrases of one to three words, in lower case, by counts over the corpus.

A term has no stop word, is in at least two passages and in at most a fiftieth of them: a more
frequent term is a hub, which joins unrelated passages. Identifiers and section numbers count ("rule
1.3.3"), bare numbers do not. If a longer term is in as many passages, the shorter one is a part of
it and is left out ("bankman" beside "bankman fried").

The graph of shared phrases, and the pruning of hubs, are after SPRIG (arXiv 2602.23372); the rules
are ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import chain, compress
from typing import NamedTuple
from unicodedata import normalize

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from kg2rag.extraction.mentions.table import MentionTable, numbered_sentences
from kg2rag.text.languages import foreign_stop_words
from kg2rag.text.normalisation import CALENDAR, FUNCTION_WORDS, normalise, plain
from kg2rag.text.scripts import HIRAGANA, MARKS, SYLLABLES, is_caseless, search_text
from kg2rag.types import Corpus, IntArray

MAX_WORDS = 3  # of a term
MIN_PASSAGES = 2  # that share a term
MAX_SHARE = 0.02  # of the passages that may have a term
ALLOWED_PASSAGES = 5  # a term may be in so many, however few passages there are
# A letter of a script without blanks is a word: a run of them is a term of several.
_WORD = re.compile(
    rf"[{SYLLABLES}][{MARKS}]*|[^\W_{SYLLABLES}]+(?:[{MARKS}]+[^\W_{SYLLABLES}]*)*(?:\.\d+)*"
)
_GRAMMAR = re.compile(
    f"[{HIRAGANA}]|[的了是在和有不这那个们我你他她它也就都而及与或于之为以上下中]"
)
"""Letters that spell the grammar of Japanese and Chinese rather than terms."""
_NO_TERM = re.compile(r"\d+(?:\.\d+)?(?:st|nd|rd|th|s)?|.")
_STOP_WORDS = (
    FUNCTION_WORDS
    | ENGLISH_STOP_WORDS
    | CALENDAR
    | {"ll", "ve", "s", "t", "re", "d", "m"}
)


@dataclass(frozen=True)
class Terms:
    """The terms of a corpus, and the first occurrence of each in a passage.

    `names` are the terms. `key`, the index of the term, `row` and `sentence`, (n,) each, are the
    occurrences, sorted by row, then key.
    """

    names: list[str]
    key: IntArray
    row: IntArray
    sentence: IntArray


def needs_terms(corpus: Corpus) -> NDArray[np.bool_]:
    """Whether each passage needs terms, (n_passages,): it has no title, or no capitals mark names."""
    texts = corpus.table["text"].to_pylist()
    pairs = zip(corpus.titles, texts, strict=True)
    return np.array(
        [not title or is_caseless(text) for title, text in pairs], dtype=bool
    )


def max_passages(n_passages: int) -> int:
    """The maximum of passages that may have a term in a corpus of `n_passages`."""
    return max(ALLOWED_PASSAGES, int(MAX_SHARE * n_passages))


class Runs(NamedTuple):
    """The runs of words of one length that passages share, (n,) each, in the order of the text.

    Attributes
    ----------
    starts : the index of the first word of each run.
    codes : the code of each run; equal runs have one code.
    frequency : the number of passages that have the run.
    """

    starts: IntArray
    codes: IntArray
    frequency: IntArray


def shared_terms(corpus: Corpus, selected: NDArray[np.bool_]) -> Terms:
    """The terms that the selected passages share; 40 bytes of memory are needed for each word.

    `selected`, (n_passages,), is whether a passage is read.
    """
    encoded, rows, numbers = _words(corpus, selected)
    words = encoded.dictionary.to_pylist()
    word = encoded.indices.to_numpy().astype(np.int64)
    is_bare = np.array(
        [_NO_TERM.fullmatch(text) is not None for text in words], dtype=bool
    )[word]
    stop_words = _STOP_WORDS | foreign_stop_words(corpus.table["text"].to_pylist())
    is_stopped = np.array(
        [text in stop_words or _GRAMMAR.match(text) is not None for text in words],
        dtype=bool,
    )[word]
    runs_by_length = _shared_runs(word, is_stopped, rows, numbers, len(corpus))
    limit = max_passages(int(selected.sum()))
    names: list[str] = []
    columns: list[IntArray] = []
    for length, runs in enumerate(runs_by_length, start=1):
        is_term = runs.frequency <= limit
        if length < MAX_WORDS:
            is_term &= (
                _frequency_of_longer(runs, runs_by_length[length])[runs.codes]
                < runs.frequency
            )
        if length == 1:
            is_term &= ~is_bare[runs.starts]
        starts = runs.starts[is_term]
        _, first, key = np.unique(
            runs.codes[is_term], return_index=True, return_inverse=True
        )
        columns.append(np.stack([rows[starts], key + len(names), numbers[starts]]))
        names += [
            " ".join(words[code] for code in word[start : start + length])
            for start in starts[first].tolist()
        ]
    row, key, sentence = np.concatenate(columns, axis=1)
    order = np.lexsort((sentence, key, row))
    row, key, sentence = row[order], key[order], sentence[order]
    is_first = np.append(True, (row[1:] != row[:-1]) | (key[1:] != key[:-1]))[
        : len(row)
    ]
    return Terms(names, key[is_first], row[is_first], sentence[is_first])


def _shared_runs(
    word: IntArray,
    is_stopped: NDArray[np.bool_],
    rows: IntArray,
    numbers: IntArray,
    n_passages: int,
) -> list[Runs]:
    """The runs of 1 to `MAX_WORDS` words that at least `MIN_PASSAGES` passages share, by length.

    A run is in one sentence and has no stop word. `word`, the code of each word, `is_stopped`,
    `rows` and `numbers`, that of its sentence, are (n_words,).
    """
    n_words = word.max(initial=0) + 1
    starts = np.flatnonzero(~is_stopped)
    codes = word[starts]
    runs: list[Runs] = []
    for length in range(1, MAX_WORDS + 1):
        if length > 1:  # one more word of the same sentence
            last = np.minimum(starts + length - 1, len(word) - 1)
            is_same = (rows[last] == rows[starts]) & (numbers[last] == numbers[starts])
            continues = (starts + length <= len(word)) & is_same & ~is_stopped[last]
            codes = codes[continues] * n_words + word[last[continues]]
            starts = starts[continues]
        codes = np.unique(codes, return_inverse=True)[1]
        pairs = np.unique(codes * n_passages + rows[starts])
        frequency = np.bincount(pairs // n_passages)[codes]
        is_shared = frequency >= MIN_PASSAGES
        starts, codes = starts[is_shared], codes[is_shared]
        runs.append(Runs(starts, codes, frequency[is_shared]))
    return runs


def _frequency_of_longer(runs: Runs, longer: Runs) -> IntArray:
    """The maximum frequency of the longer runs that begin or end with each run, (n_codes,).

    `longer` are the runs of one more word; the result is 0 for a run that is in none of them.
    """
    frequency = np.zeros(runs.codes.max(initial=-1) + 1, dtype=np.int64)
    for shift in (0, 1):
        inner = np.searchsorted(runs.starts, longer.starts + shift)
        np.maximum.at(frequency, runs.codes[inner], longer.frequency)
    return frequency


def with_terms(
    table: MentionTable,
    corpus: Corpus,
    untitled: NDArray[np.bool_],
    alias_keys: frozenset[str] = frozenset(),
) -> MentionTable:
    """The table with the terms of untitled passages as its last keys.

    A term that is a key of the table or one of `alias_keys` is left out.
    """
    terms = shared_terms(corpus, untitled)
    term_keys = [normalise(name) for name in terms.names]
    existing = alias_keys | frozenset(table.keys)
    is_new = np.array([key not in existing for key in term_keys], dtype=bool)
    new_code = len(table.keys) + np.cumsum(is_new) - 1
    is_added = is_new[terms.key]
    added_keys = new_code[terms.key[is_added]]
    additions = terms.row[is_added], terms.sentence[is_added], added_keys
    row, sentence, key = np.concatenate(
        [[table.row, table.sentence, table.key], additions], axis=1
    ).astype(np.int32)
    order = np.lexsort((key, sentence, row))
    keys = [*table.keys, *compress(term_keys, is_new)]
    names = [*table.names, *compress(terms.names, is_new)]
    return replace(
        table,
        keys=keys,
        names=names,
        row=row[order],
        sentence=sentence[order],
        key=key[order],
    )


def stars(table: MentionTable, corpus: Corpus, untitled: NDArray[np.bool_]) -> IntArray:
    """The links from the rarest key of each untitled passage to its other keys, (4, n).

    A link is the row of a passage, the rarest key, the other key, and 0. A link to the rarest key
    of the next passage of the document has 1 in the last row. Of equally rare keys, the one with
    the most words is taken. Hubs are left out.
    """
    frequency = table.document_frequency
    n_keys = len(table.keys)
    is_hub = frequency > max_passages(int(untitled.sum()))
    joins = ~is_hub & ((frequency > 1) | (table.pages > 0))
    row, key = np.divmod(
        np.unique(table.row.astype(np.int64) * n_keys + table.key), n_keys
    )
    is_linking = untitled[row] & joins[key]
    row, key = row[is_linking], key[is_linking]
    n_blanks = np.array([name.count(" ") for name in table.keys], dtype=np.int64)
    order = np.lexsort((key, -n_blanks[key], frequency[key], row))
    row, key = row[order], key[order]
    rows, first = np.unique(row, return_index=True)
    head = np.repeat(key[first], np.diff(np.append(first, len(row))))
    rarest = np.full(len(corpus), -1, dtype=np.int64)
    rarest[rows] = key[first]
    earlier, next_rows = _next_passages(corpus)
    has_keys = (rarest[earlier] >= 0) & (rarest[next_rows] >= 0)
    earlier, next_rows = earlier[has_keys], next_rows[has_keys]
    columns = [
        np.append(row, earlier),
        np.append(head, rarest[earlier]),
        np.append(key, rarest[next_rows]),
        np.repeat([0, 1], [len(row), len(earlier)]),
    ]
    return np.stack(columns)[:, columns[1] != columns[2]]


def _next_passages(corpus: Corpus) -> tuple[IntArray, IntArray]:
    """The rows of the passages that another one follows in their document, and of these, (n,) each."""
    document = pa.array(corpus.doc_ids).dictionary_encode().indices.to_numpy()
    order = np.lexsort((corpus.table["position"].to_numpy(), document))
    is_followed = document[order[:-1]] == document[order[1:]]
    return order[:-1][is_followed], order[1:][is_followed]


def _words(
    corpus: Corpus, selected: NDArray[np.bool_]
) -> tuple[pa.DictionaryArray, IntArray, IntArray]:
    """The words of the selected passages, in order, and the row and the sentence of each."""
    words = [pa.array([], pa.string()).dictionary_encode()]
    sentences = [
        np.zeros((2, 0), dtype=np.int64)
    ]  # row and number of each word's sentence
    for texts, rows, numbers in numbered_sentences(corpus):
        words_of_text = []
        for text, is_selected in zip(texts, selected[rows], strict=True):
            # `plain` decomposes Korean syllables.
            composed = normalize("NFC", plain(search_text(text)))
            words_of_text.append(_WORD.findall(composed) if is_selected else [])
        words.append(
            pa.array(
                chain.from_iterable(words_of_text), pa.string()
            ).dictionary_encode()
        )
        sentences.append(
            np.repeat(np.stack([rows, numbers]), list(map(len, words_of_text)), axis=1)
        )
    row, number = np.concatenate(sentences, axis=1)
    return pa.chunked_array(words).unify_dictionaries().combine_chunks(), row, number
