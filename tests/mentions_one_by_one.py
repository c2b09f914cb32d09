"""The mention table as its rules read, one passage and one sentence after another: what the arrays must equal."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.text.normalisation import (
    CALENDAR,
    FUNCTION_WORDS,
    NAME,
    Lexicon,
    normalise,
    without_brackets,
)
from kg2rag.types import Corpus

Table = tuple[
    list[str], list[str], int, list[tuple[int, int]], list[tuple[int, int, int]]
]


def found_one_by_one(corpus: Corpus) -> Table:
    """Keys, names, the number of titles, (key, row) of the pages, and (row, sentence, key) of the mentions."""
    written, pages = _titles(corpus)
    lexicon = Lexicon(list(written), list(written.values()))
    found: set[tuple[int, int, int]] = set()
    phrases: list[tuple[str, str, int, int]] = []
    lower_case: Counter[str] = Counter()
    for row in range(len(corpus)):
        for number, sentence in enumerate(corpus.sentences(row)):
            covered = []
            for code, span in lexicon.find(sentence):
                covered.append(span)
                if (code, row) not in pages:
                    found.add((row, number, code))
            lower_case.update(
                word for word in re.findall(r"\w+", sentence) if word.islower()
            )
            phrases += [
                (key, name, row, number) for key, name in _phrases(sentence, covered)
            ]
    names = _shared_names(phrases, lower_case, written)
    found |= {
        (row, number, names[key][0]) for key, _, row, number in phrases if key in names
    }
    surfaces = [*written.values(), *(name for _, name in names.values())]
    return [*written, *names], surfaces, len(written), sorted(pages), sorted(found)


def as_reference(table: MentionTable) -> Table:
    """A table in the form of `found_one_by_one`."""
    columns = (table.page_key, table.page_row), (table.row, table.sentence, table.key)
    pages, mentions = (
        list(zip(*(column.tolist() for column in each), strict=True))
        for each in columns
    )
    return list(table.keys), list(table.names), table.n_titles, pages, mentions  # type: ignore[return-value]


def _titles(corpus: Corpus) -> tuple[dict[str, str], set[tuple[int, int]]]:
    written: dict[str, str] = {}
    codes: dict[str, int] = {}
    pages: set[tuple[int, int]] = set()
    for row, title in enumerate(corpus.titles):
        for surface in dict.fromkeys((title, without_brackets(title))):
            key = normalise(surface)
            if key and key not in FUNCTION_WORDS:
                written.setdefault(key, surface)
                pages.add((codes.setdefault(key, len(codes)), row))
    return written, pages


def _phrases(
    sentence: str, covered: Sequence[tuple[int, int]]
) -> Iterator[tuple[str, str]]:
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
    phrases: Sequence[tuple[str, str, int, int]],
    lower_case: Counter[str],
    titles: dict[str, str],
) -> dict[str, tuple[int, str]]:
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
    shared = [
        key
        for key in written
        if len(rows[key]) > 1 and key not in titles and usual[key] < count[key]
    ]
    return {key: (len(titles) + i, written[key]) for i, key in enumerate(shared)}
