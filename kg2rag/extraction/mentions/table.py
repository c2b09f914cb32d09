"""The mention table of a corpus: titles and names by passage."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kg2rag.compute.atomic_write import mapped
from kg2rag.text.inflection import lexicon_of
from kg2rag.text.initials import further_spellings
from kg2rag.text.normalisation import Lexicon
from kg2rag.text.sentences import split_sentences
from kg2rag.types import Corpus, IntArray

SIZE = 1 << 23
"""Bytes of text that are read at a time: a process takes about a hundred times as much for them."""


@dataclass(frozen=True)
class MentionTable:
    """The keys (titles and names) of a corpus and their mentions.

    Attributes
    ----------
    keys : the normalised spelling of every key; the first `n_titles` are titles, the rest names.
    names : the spelling of each key.
    page_key, page_row : (n_pages,) each, the key and the row of a passage with a title, sorted by key, then row.
    key, row, sentence : (n_mentions,) each, sorted by row, sentence, key. A passage does not mention its own title.
    languages : script -> the language of the passages, if its names have endings.
    """

    keys: list[str]
    names: list[str]
    n_titles: int
    page_key: NDArray[np.int32]
    page_row: NDArray[np.int32]
    key: NDArray[np.int32]
    row: NDArray[np.int32]
    sentence: NDArray[np.int32]
    languages: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def document_frequency(self) -> NDArray[np.int64]:
        """The number of passages that mention each key, (n_keys,)."""
        # Much faster than np.unique.
        pairs = np.sort(self.key.astype(np.int64) << 32 | self.row)
        distinct = pairs[np.flatnonzero(np.diff(pairs, prepend=-1))]
        return np.bincount(distinct >> 32, minlength=len(self.keys))

    @cached_property
    def pages(self) -> NDArray[np.int64]:
        """The number of passages whose title is each key, (n_keys,); 0 for names."""
        return np.bincount(self.page_key, minlength=len(self.keys))

    def pages_of(self, key: int) -> NDArray[np.int32]:
        """The rows of the passages whose title is the key, ascending."""
        start, end = np.searchsorted(self.page_key, [key, key + 1])
        return self.page_row[start:end]

    @cached_property
    def lexicon(self) -> Lexicon:
        """The lexicon that finds the keys in a text."""
        spellings = further_spellings(self.keys, self.names)
        return lexicon_of(self.keys, self.languages, spellings=spellings)

    def named_in(self, text: str) -> list[int]:
        """The keys that a question names, in order, each once; capitals are not required."""
        return list(
            dict.fromkeys(code for code, _ in self.lexicon.find(text, capitals=False))
        )

    def entity_names(self, titles: Sequence[str]) -> list[list[str]]:
        """The names of the entities that each key stands for: its pages' titles, or its own name."""
        names: list[list[str]] = [[] for _ in self.keys]
        for key, row in zip(
            self.page_key.tolist(), self.page_row.tolist(), strict=True
        ):
            if titles[row] not in names[key]:
                names[key].append(titles[row])
        return [
            page_titles or [self.names[key]] for key, page_titles in enumerate(names)
        ]

    def save(self, folder: Path) -> None:
        """Write the table into a folder: texts as an Arrow file, numbers as arrays."""
        schema = pa.schema(
            dict.fromkeys(("key", "name"), pa.string()),
            {
                "n_titles": str(self.n_titles),
                "languages": json.dumps(dict(self.languages)),
            },
        )
        strings = pa.table({"key": self.keys, "name": self.names}, schema)
        with pa.ipc.new_file(str(folder / "keys.arrow"), strings.schema) as file:
            file.write_table(strings)
        np.save(folder / "pages.npy", np.stack([self.page_key, self.page_row]))
        np.save(folder / "mentions.npy", np.stack([self.key, self.row, self.sentence]))

    @classmethod
    def load(cls, folder: Path) -> MentionTable:
        """The table that `save` wrote into a folder; the arrays are memory-mapped."""
        with pa.memory_map(str(folder / "keys.arrow")) as file:
            strings = pa.ipc.open_file(file).read_all()
        keys, names = (strings[name].to_pylist() for name in ("key", "name"))
        metadata = strings.schema.metadata
        page_key, page_row = mapped(folder / "pages.npy")
        key, row, sentence = mapped(folder / "mentions.npy")
        return cls(
            keys,
            names,
            int(metadata[b"n_titles"]),
            page_key,
            page_row,
            key,
            row,
            sentence,
            json.loads(metadata[b"languages"]),
        )


def mention_sentences(
    table: MentionTable, corpus: Corpus
) -> tuple[IntArray, list[str]]:
    """The sentence of each mention, (n_mentions,), and the texts of the sentences with a mention.

    The first are indices of the second; a text is "title: sentence".
    """
    # A row and the number of a sentence in one integer.
    sentences_by_mention = table.row.astype(np.int64) << 32 | table.sentence
    mentioned, text_of_mention = np.unique(sentences_by_mention, return_inverse=True)
    texts: list[str] = []
    titles = corpus.titles
    for sentences, rows, numbers in numbered_sentences(corpus):
        for index in np.flatnonzero(np.isin(rows << 32 | numbers, mentioned)).tolist():
            title = titles[rows[index]]
            texts.append(f"{title}: {sentences[index]}" if title else sentences[index])
    return text_of_mention, texts


def numbered_sentences(
    corpus: Corpus, size: int = SIZE
) -> Iterator[tuple[list[str], IntArray, IntArray]]:
    """The sentences of a corpus in blocks of about `size` bytes of text.

    A block has the texts of its sentences, the row of the passage of each, and its index in it.
    """
    blocks = np.cumsum(pc.binary_length(corpus.table["text"]).to_numpy()) // size
    for start, end in pairwise(
        [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(corpus)]
    ):
        part = corpus.table.slice(start, end - start)
        pairs = zip(
            part["text"].to_pylist(), part["sentences"].to_pylist(), strict=True
        )
        sentences = [
            split_sentences(text) if divided is None else divided
            for text, divided in pairs
        ]
        lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
        starts = np.cumsum(lengths) - lengths
        numbers = np.arange(lengths.sum()) - np.repeat(starts, lengths)
        yield (
            list(chain.from_iterable(sentences)),
            np.repeat(np.arange(start, end), lengths),
            numbers,
        )
