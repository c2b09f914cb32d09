"""Passages -> the titles and names they mention, by rules alone: no model, no key, a second per thousand passages.

Titles are found by longest match over all titles of the corpus, with and without their bracketed disambiguation;
names are capitalised phrases that at least two passages share. Where a title "Rebecca" could mean two pages, the
mention points to both, and says so by its number of pages.

The rules are ours; the idea that hyperlink-like title mentions carry multi-hop questions is old (the sets themselves
were built from Wikipedia links [1, 2]).

[1] Yang et al., HotpotQA, EMNLP 2018. [2] Ho et al., 2WikiMultihopQA, COLING 2020.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.mentions.aliases import VERSION as ALIASES
from kg2rag.extraction.mentions.aliases import find_aliases
from kg2rag.text.lexicon import FUNCTION_WORDS, Lexicon
from kg2rag.text.names import CALENDAR, NAME
from kg2rag.text.normalisation import normalise, without_brackets
from kg2rag.types.corpus import Corpus
from kg2rag.types.passages import Triple

VERSION = 2  # raise it when the rules change, so that stored tables are rebuilt

_WORD = re.compile(r"\w+", re.UNICODE)


@dataclass(frozen=True)
class MentionTable:
    """Who mentions what: the keys (titles and names) of a corpus and where they stand.

    Attributes
    ----------
    keys : normalised surface of every key; the first `n_titles` are titles, the rest names.
    names : how each key is written.
    page_key, page_row : which passages bear a title, (n_pages,) each, sorted by key then row.
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
        """(n_keys,) passages that bear each key as their title; 0 for names."""
        return np.bincount(self.page_key, minlength=len(self.keys))

    def pages_of(self, key: int) -> NDArray[np.int32]:
        """The passages that bear a title, ascending."""
        start, end = np.searchsorted(self.page_key, [key, key + 1])
        return self.page_row[start:end]

    @cached_property
    def lexicon(self) -> Lexicon:
        """Finds the keys in any text."""
        return Lexicon(self.keys)

    def named_in(self, text: str) -> list[int]:
        """The keys that a question names, in order, each once; capitals are not required."""
        return list(dict.fromkeys(code for code, _ in self.lexicon.find(text, capitals=False)))

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
            pages["key"].to_numpy(),
            pages["row"].to_numpy(),
            mentions["key"].to_numpy(),
            mentions["row"].to_numpy(),
            mentions["sentence"].to_numpy(),
        )


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


@dataclass(frozen=True)
class Mentions:
    """The mention table as an extractor: a passage's title -[mentions]-> what its text names.

    The strength of such a triple falls with the number of passages that name its tail: 10 · ln(1 + N/df) / ln(1 + N).

    Parameters
    ----------
    aliases : read the texts for other names of the same things ("X (ABC)", "X, also known as Y"), count those as
        mentions of X, and leave out what is a date or a number (see `aliases.py`). False gives the
        table as `mention_ppr` walks it.
    """

    aliases: bool = True

    @property
    def fingerprint(self) -> str:
        """The version of the rules."""
        return f"mentions-{VERSION}" + (f", aliases-{ALIASES}" if self.aliases else "")

    def extract(self, corpus: Corpus) -> Extraction:
        """Triples between titles and names; mentions of every key; passages without a title give mentions alone.

        `notes` counts what the aliases joined and left out.
        """
        return self.from_table(find_mentions(corpus), corpus)

    def from_table(self, table: MentionTable, corpus: Corpus) -> Extraction:
        """The same from a table that is at hand."""
        titles = corpus.titles
        others: dict[str, tuple[str, ...]] = {}
        notes: dict[str, int] = {}
        if self.aliases:
            table, others, notes = find_aliases(corpus, table)
        display = _display_names(table, titles)
        strength = [10 * log(1 + len(corpus) / max(df, 1)) / log(1 + len(corpus)) for df in table.document_frequency]
        triples: dict[Triple, None] = {}
        mentions = [Mention(title, corpus.ids[row]) for row, title in enumerate(titles) if title]
        for key, row, sentence in zip(table.key.tolist(), table.row.tolist(), table.sentence.tolist(), strict=True):
            for name in display[key]:
                mentions.append(Mention(name, corpus.ids[row], sentence))
                if titles[row]:
                    triples[Triple(titles[row], "mentions", name, corpus.ids[row], round(strength[key], 3))] = None
        return Extraction(tuple(triples), tuple(mentions), tuple(_entities(table, display, others)), notes)


def _display_names(table: MentionTable, titles: Sequence[str]) -> list[list[str]]:
    """The entities each key stands for: the titles of its pages, or the name itself."""
    display: list[list[str]] = [[] for _ in table.keys]
    for key, row in zip(table.page_key.tolist(), table.page_row.tolist(), strict=True):
        if titles[row] not in display[key]:
            display[key].append(titles[row])
    return [found or [table.names[key]] for key, found in enumerate(display)]


def _entities(
    table: MentionTable, display: Sequence[Sequence[str]], others: Mapping[str, tuple[str, ...]]
) -> Iterator[Entity]:
    """Titles, with and without their brackets, then names; a name that became another's alias is none of its own."""
    aliases: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for key, names in enumerate(display[: table.n_titles]):
        for name in names:
            if table.names[key] != name:
                aliases[name][table.names[key]] = None
            else:
                aliases[name].update({})
    for name, known in aliases.items():
        yield Entity(name, "title", aliases=tuple(dict.fromkeys((*known, *others.get(name, ())))))
    for name, frequency in zip(table.names[table.n_titles :], table.document_frequency[table.n_titles :], strict=True):
        if frequency:
            yield Entity(name, "name", aliases=others.get(name, ()))
