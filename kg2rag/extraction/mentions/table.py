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
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kg2rag.text.lexicon import CALENDAR, FUNCTION_WORDS, NAME, Lexicon
from kg2rag.text.normalisation import normalise, without_brackets
from kg2rag.types import Corpus, IntArray


@dataclass(frozen=True)
class MentionTable:
    """The keys (titles and names) of a corpus, and where they are mentioned.

    Attributes
    ----------
    keys : normalised surface of every key; the first `n_titles` are titles, the rest names.
    names : how each key is written.
    page_key, page_row : which passages have a title, (n_pages,) each, sorted by key then row.
    key, row, sentence : (n_mentions,) each, sorted by row, sentence, key; a passage's own titles are left out.
    """

    keys: list[str]
    names: list[str]
    n_titles: int
    page_key: NDArray[np.int32]
    page_row: NDArray[np.int32]
    key: NDArray[np.int32]
    row: NDArray[np.int32]
    sentence: NDArray[np.int32]

    @cached_property
    def document_frequency(self) -> NDArray[np.int64]:
        """(n_keys,) passages that mention each key."""
        pairs = np.unique(np.stack([self.key, self.row]), axis=1)
        return np.bincount(pairs[0], minlength=len(self.keys))

    @cached_property
    def pages(self) -> NDArray[np.int64]:
        """(n_keys,) passages whose title is the key; 0 for names."""
        return np.bincount(self.page_key, minlength=len(self.keys))

    def pages_of(self, key: int) -> NDArray[np.int32]:
        """The passages with a title, ascending."""
        start, end = np.searchsorted(self.page_key, [key, key + 1])
        return self.page_row[start:end]

    @cached_property
    def lexicon(self) -> Lexicon:
        """Finds the keys in any text."""
        return Lexicon(self.keys)

    def named_in(self, text: str) -> list[int]:
        """The keys that a question names, in order, each once; capitals are not required."""
        return list(dict.fromkeys(code for code, _ in self.lexicon.find(text, capitals=False)))

    def written(self, titles: Sequence[str]) -> list[list[str]]:
        """The entities of each key: the titles of its pages, or the name itself."""
        written: list[list[str]] = [[] for _ in self.keys]
        for key, row in zip(self.page_key.tolist(), self.page_row.tolist(), strict=True):
            if titles[row] not in written[key]:
                written[key].append(titles[row])
        return [found or [self.names[key]] for key, found in enumerate(written)]

    def save(self, folder: Path) -> None:
        """Write the table as Parquet."""
        keys = pa.table({"key": self.keys, "name": self.names, "title": np.arange(len(self.keys)) < self.n_titles})
        pq.write_table(keys, folder / "keys.parquet")
        pq.write_table(pa.table({"key": self.page_key, "row": self.page_row}), folder / "pages.parquet")
        mentions = pa.table({"key": self.key, "row": self.row, "sentence": self.sentence})
        pq.write_table(mentions, folder / "mentions.parquet")

    @classmethod
    def load(cls, folder: Path) -> MentionTable:
        """Read what `save` wrote."""
        keys, pages, mentions = (pq.read_table(folder / f"{name}.parquet") for name in ("keys", "pages", "mentions"))
        return cls(
            keys["key"].to_pylist(),
            keys["name"].to_pylist(),
            int(np.count_nonzero(keys["title"].to_numpy())),
            *(pages[column].to_numpy() for column in ("key", "row")),
            *(mentions[column].to_numpy() for column in ("key", "row", "sentence")),
        )


VERSION = 2  # raise it when the rules change, so that stored tables are rebuilt

_WORD = re.compile(r"\w+", re.UNICODE)


def find_mentions(corpus: Corpus) -> MentionTable:
    """The mention table of a corpus."""
    title_keys, page_key, page_row = _title_keys(corpus)
    lexicon = Lexicon(list(title_keys), list(title_keys.values()))
    own: defaultdict[int, set[int]] = defaultdict(set)
    for key, row in zip(page_key.tolist(), page_row.tolist(), strict=True):
        own[row].add(key)
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


def mention_sentences(table: MentionTable, corpus: Corpus) -> tuple[IntArray, list[str]]:
    """The row of each mention's sentence in a list of texts, and that list: "title: sentence", each once."""
    pairs = np.stack([table.row, table.sentence], axis=1)
    distinct, inverse = np.unique(pairs, axis=0, return_inverse=True)
    texts, titles, current, sentences = [], corpus.titles, -1, [""]
    for row, number in distinct.tolist():
        if row != current:
            current, sentences = row, corpus.sentences(row)
        title = titles[row]
        texts.append(f"{title}: {sentences[number]}" if title else sentences[number])
    return inverse.astype(np.int64).reshape(-1), texts
