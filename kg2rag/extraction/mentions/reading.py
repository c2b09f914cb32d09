"""A shard of a corpus and the titles of all of it -> what its sentences mention, as tables.

Shards do not depend on each other: `stored_mentions` is a plain function of picklable arguments, whichever process runs
it. Which capitalised phrases are names is decided over all shards together, in `finding`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kg2rag.compute import Store
from kg2rag.extraction.mentions.shards import Shard
from kg2rag.extraction.mentions.titles import opened_trie
from kg2rag.text.lexicon import CALENDAR, FUNCTION_WORDS, NAME
from kg2rag.text.matching import NameTrie
from kg2rag.text.normalisation import normalise
from kg2rag.text.words import JoinedTexts

_ENDING = re.compile(r"(['’]s|['’\-]+)$")


@dataclass(frozen=True)
class ShardMentions:
    """What the sentences of a shard mention.

    Attributes
    ----------
    titles : (row, sentence, key) of every title found; rows are those of the corpus.
    phrases : (row, sentence, phrase) of every capitalised phrase that overlaps no title.
    written : (key, name) of each phrase, in order of appearance, none twice.
    lower_case : (word, count) of the words in lower case.
    """

    titles: pa.Table
    phrases: pa.Table
    written: pa.Table
    lower_case: pa.Table

    def save(self, folder: Path) -> None:
        """Write the tables, a file each."""
        for field in fields(self):
            table: pa.Table = getattr(self, field.name)
            with pa.ipc.new_file(str(folder / f"{field.name}.arrow"), table.schema) as file:
                file.write_table(table)

    @classmethod
    def load(cls, folder: Path) -> ShardMentions:
        """Read what `save` wrote."""
        return cls(*(pa.ipc.open_file(str(folder / f"{field.name}.arrow")).read_all() for field in fields(cls)))


def mentions_in(shard: Shard, titles: NameTrie) -> ShardMentions:
    """What the sentences of a shard mention, given the titles of the whole corpus."""
    texts, rows, numbers = shard.numbered_sentences()
    joined = JoinedTexts(texts)
    found = titles.matches(joined)
    places, phrases, written = _phrases(joined, found.starts, found.ends)
    sentences = joined.text_of(places)
    words = joined.lower_case_words().value_counts()
    return ShardMentions(
        _columns(row=rows[found.texts], sentence=numbers[found.texts], key=found.codes),
        _columns(row=rows[sentences], sentence=numbers[sentences], phrase=phrases),
        written,
        pa.table({"word": words.field("values"), "count": words.field("counts")}),
    )


def stored_mentions(shard: Shard, store: Store, key: Mapping[str, object], titles: Path) -> ShardMentions:
    """`mentions_in`, from the store where it has them; `titles` is where the trie of the corpus `key` was written."""
    key = {**key, "row": shard.first, "passages": len(shard.texts)}
    return ShardMentions.load(
        store.entry("mention-shards", key, lambda folder: mentions_in(shard, opened_trie(titles)).save(folder))
    )


def _columns(**columns: NDArray[np.integer]) -> pa.Table:
    return pa.table({name: values.astype(np.int32) for name, values in columns.items()})


def _phrases(
    joined: JoinedTexts, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], pa.Table]:
    """The capitalised phrases outside of some stretches: where each is, its number, and (key, name) of each number."""
    spans = np.array([match.span() for match in NAME.finditer(joined.text)], dtype=np.int64).reshape(-1, 2)
    nearest = np.searchsorted(ends, spans[:, 0], side="right")  # the first stretch that ends behind a phrase's start
    free = spans[:, 1] <= np.append(starts, len(joined.text))[nearest]
    text, places = joined.text, spans[free]
    surfaces = pa.array([text[start:end] for start, end in places.tolist()], pa.string()).dictionary_encode()
    numbers: dict[tuple[str, str], int] = {}
    named = (name_of(surface) for surface in surfaces.dictionary.to_pylist())
    codes = np.array([-1 if name is None else numbers.setdefault(name, len(numbers)) for name in named], dtype=np.int64)
    phrase = codes[surfaces.indices.to_numpy()]
    kept = phrase >= 0
    columns = {"key": [key for key, _ in numbers], "name": [name for _, name in numbers]}
    return places[kept, 0], phrase[kept], pa.table(columns, pa.schema(dict.fromkeys(columns, pa.string())))


def name_of(phrase: str) -> tuple[str, str] | None:
    """(key, name) of a capitalised phrase, without the function words it begins with; None where it is no name.

    >>> name_of("The Hague's"), name_of("In May")
    (('hague', 'Hague'), None)
    """
    words: Sequence[str] = phrase.split()
    while words and normalise(words[0]) in FUNCTION_WORDS:
        words = words[1:]
    name = _ENDING.sub("", " ".join(words))
    key = normalise(name)
    return (key, name) if len(key) > 1 and not set(key.split()) <= CALENDAR else None
