"""Passages -> the titles and names they mention, by rules alone: no model, no key, a second per thousand passages.

Titles are found by longest match over all titles of the corpus, with and without their bracketed disambiguation;
names are capitalised phrases that at least two passages share. Where a title "Rebecca" could mean two pages, the
mention points to both; the number of its pages shows that.

The rules are ours; the idea that hyperlink-like title mentions carry multi-hop questions is old (the sets themselves
were built from Wikipedia links [1, 2]).

[1] Yang et al., HotpotQA, EMNLP 2018. [2] Ho et al., 2WikiMultihopQA, COLING 2020.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.text.lexicon import CALENDAR, FUNCTION_WORDS, NAME, Lexicon
from kg2rag.text.normalisation import normalise, without_brackets
from kg2rag.types.corpus import Corpus

VERSION = 2  # raise it when the rules change, so that stored tables are rebuilt

_WORD = re.compile(r"\w+", re.UNICODE)


def find_mentions(corpus: Corpus) -> MentionTable:
    """The mention table of a corpus."""
    title_keys, page_key, page_row = _title_keys(corpus)
    lexicon = Lexicon(list(title_keys), list(title_keys.values()))
    own = _own_titles(page_key, page_row)
    found: list[tuple[int, int, int]] = []
    phrases: list[tuple[str, str, int, int]] = []
    lower_case: Counter[str] = Counter()
    for row in range(len(corpus)):
        for number, sentence in enumerate(corpus.sentences(row)):
            covered = []
            for code, span in lexicon.find(sentence):
                covered.append(span)
                if code not in own[row]:
                    found.append((row, number, code))
            lower_case.update(word for word in _WORD.findall(sentence) if word.islower())
            phrases += [(key, name, row, number) for key, name in _phrases(sentence, covered)]
    names = _shared_names(phrases, lower_case, title_keys)
    found += [(row, number, names[key][0]) for key, _, row, number in phrases if key in names]
    table = np.array(sorted(set(found)), dtype=np.int32).reshape(-1, 3)
    return MentionTable(
        keys=[*title_keys, *names],
        names=[*title_keys.values(), *(name for _, name in names.values())],
        n_titles=len(title_keys),
        page_key=page_key,
        page_row=page_row,
        row=table[:, 0],
        sentence=table[:, 1],
        key=table[:, 2],
    )


def _title_keys(corpus: Corpus) -> tuple[dict[str, str], NDArray[np.int32], NDArray[np.int32]]:
    """Keys of the titles (key -> how it is written), and the (key, row) pairs of their pages."""
    codes: dict[str, int] = {}
    written: dict[str, str] = {}
    pages: set[tuple[int, int]] = set()
    for row, title in enumerate(corpus.titles):
        for surface in dict.fromkeys((title, without_brackets(title))):
            key = normalise(surface)
            if not key or key in FUNCTION_WORDS:
                continue
            written.setdefault(key, surface)
            pages.add((codes.setdefault(key, len(codes)), row))
    pairs = np.array(sorted(pages), dtype=np.int32).reshape(-1, 2)
    return written, pairs[:, 0], pairs[:, 1]


def _own_titles(page_key: NDArray[np.int32], page_row: NDArray[np.int32]) -> defaultdict[int, set[int]]:
    own: defaultdict[int, set[int]] = defaultdict(set)
    for key, row in zip(page_key.tolist(), page_row.tolist(), strict=True):
        own[row].add(key)
    return own


def _phrases(sentence: str, covered: Sequence[tuple[int, int]]) -> Iterator[tuple[str, str]]:
    """(key, surface) of the capitalised phrases that overlap no title."""
    for match in NAME.finditer(sentence):
        start, end = match.span()
        if any(start < right and left < end for left, right in covered):
            continue
        words = match.group().split()
        while words and normalise(words[0]) in FUNCTION_WORDS:
            words = words[1:]
        surface = re.sub(r"(['’]s|['’\-]+)$", "", " ".join(words))
        key = normalise(surface)
        if len(key) > 1 and not set(key.split()) <= CALENDAR:
            yield key, surface


def _shared_names(
    phrases: Sequence[tuple[str, str, int, int]], lower_case: Counter[str], titles: dict[str, str]
) -> dict[str, tuple[int, str]]:
    """Key -> (code, surface) of the phrases that two passages share and that are names rather than words."""
    rows: defaultdict[str, set[int]] = defaultdict(set)
    count: Counter[str] = Counter()
    written: dict[str, str] = {}
    for key, surface, row, _ in phrases:
        rows[key].add(row)
        count[key] += 1
        written.setdefault(key, surface)
    usual: Counter[str] = Counter()
    for word, times in lower_case.items():
        usual[normalise(word)] += times
    shared = [key for key in written if len(rows[key]) > 1 and key not in titles and usual[key] < count[key]]
    return {key: (len(titles) + i, written[key]) for i, key in enumerate(shared)}
