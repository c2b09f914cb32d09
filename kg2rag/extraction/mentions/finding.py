"""A corpus -> its mention table, shard by shard, by rules alone: no model, no key, ten seconds per 100,000 passages.

Titles are found by longest match over all titles of the corpus, with and without their bracketed disambiguation;
names are capitalised phrases that at least two passages share. Where a title "Rebecca" could mean two pages, the
mention points to both; the number of its pages shows that.

The rules are ours; the idea that hyperlink-like title mentions carry multi-hop questions is old (the sets themselves
were built from Wikipedia links [1, 2]).

[1] Yang et al., HotpotQA, EMNLP 2018. [2] Ho et al., 2WikiMultihopQA, COLING 2020.

Shards do not depend on each other: `stored_mentions` is a plain function of picklable arguments, whichever process runs
it. Which capitalised phrases are names is decided over all shards together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kg2rag.compute import Store, map_pieces
from kg2rag.extraction.mentions.table import SIZE, VERSION, MentionTable, Shard, shard_starts, shards_of
from kg2rag.text.normalisation import CALENDAR, FUNCTION_WORDS, NAME, JoinedTexts, Lexicon, normalise, without_brackets
from kg2rag.types import Corpus


@dataclass(frozen=True)
class Titles:
    """The titles of a corpus, with and without their brackets; none of function words alone.

    Attributes
    ----------
    keys, names : of each, in order of appearance: normalised, and how it is first written.
    key, row : (n_pages,) each, sorted by key then row: which passages have a title.
    """

    keys: pa.StringArray
    names: list[str]
    key: NDArray[np.int32]
    row: NDArray[np.int32]

    @classmethod
    def of(cls, corpus: Corpus) -> Titles:
        """Of every passage that has a title."""
        written = [dict.fromkeys((title, without_brackets(title))) for title in corpus.titles]
        rows = np.repeat(np.arange(len(written)), np.fromiter(map(len, written), dtype=np.int64))
        surfaces = [surface for surfaces in written for surface in surfaces]
        keys = pa.array(map(normalise, surfaces), pa.string())
        no_name = pa.array(["", *sorted(FUNCTION_WORDS)])
        kept = np.flatnonzero(~pc.is_in(keys, value_set=no_name).to_numpy(zero_copy_only=False))
        encoded = keys.take(pa.array(kept)).dictionary_encode()
        codes = encoded.indices.to_numpy().astype(np.int64)
        first = np.unique(codes, return_index=True)[1]
        key, row = np.divmod(np.unique(codes * len(corpus) + rows[kept]), len(corpus))
        names = [surfaces[at] for at in kept[first].tolist()]
        return cls(encoded.dictionary, names, key.astype(np.int32), row.astype(np.int32))

    @cached_property
    def lexicon(self) -> Lexicon:
        """Finds the titles in texts."""
        return Lexicon(self.keys.to_pylist(), self.names)

    def save(self, folder: Path) -> None:
        """Write what `opened_lexicon` reads."""
        _write(folder / _TITLES, pa.table({"key": self.keys, "name": self.names}))


@lru_cache(maxsize=2)
def opened_lexicon(folder: Path) -> Lexicon:
    """The lexicon of titles that were saved, made once in a process."""
    table = pa.ipc.open_file(str(folder / _TITLES)).read_all()
    return Lexicon(table["key"].to_pylist(), table["name"].to_pylist())


def _write(file: Path, table: pa.Table) -> None:
    with pa.ipc.new_file(str(file), table.schema) as sink:
        sink.write_table(table)


_TITLES = "titles.arrow"


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
            _write(folder / f"{field.name}.arrow", getattr(self, field.name))

    @classmethod
    def load(cls, folder: Path) -> ShardMentions:
        """Read what `save` wrote."""
        return cls(*(pa.ipc.open_file(str(folder / f"{field.name}.arrow")).read_all() for field in fields(cls)))


def mentions_in(shard: Shard, titles: Lexicon) -> ShardMentions:
    """What the sentences of a shard mention, given the titles of the whole corpus."""
    texts, rows, numbers = shard.numbered_sentences()
    joined = JoinedTexts(texts)
    found = titles.matches(joined)
    places, phrases, written = _phrases(joined, found.starts, found.ends)
    sentences = joined.text_of(places)
    words = Counter(word for word in re.findall(r"\w+", joined.text) if word.islower())
    return ShardMentions(
        _columns(row=rows[found.texts], sentence=numbers[found.texts], key=found.codes),
        _columns(row=rows[sentences], sentence=numbers[sentences], phrase=phrases),
        written,
        pa.table({"word": pa.array(words, pa.string()), "count": pa.array(words.values(), pa.int64())}),
    )


def stored_mentions(shard: Shard, store: Store, key: Mapping[str, object], titles: Path) -> ShardMentions:
    """`mentions_in`, from the store where it has them; `titles` is where those of the corpus `key` were saved."""
    key = {**key, "row": shard.first, "passages": len(shard.texts)}
    return ShardMentions.load(
        store.entry("mention-shards", key, lambda folder: mentions_in(shard, opened_lexicon(titles)).save(folder))
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


def find_mentions(corpus: Corpus, store: Store | None = None, *, size: int = SIZE) -> MentionTable:
    """The mention table of a corpus, shard by shard: by the workers of `kg2rag.compute.workers`, where there are any.

    Parameters
    ----------
    store : where each finished shard is kept, so that an interrupted search goes on there; a corpus of one shard is
        not kept. Without a store, everything is done in this process.
    size : bytes of text in a shard; it changes no result.
    """
    titles = Titles.of(corpus)
    n_shards = len(shard_starts(corpus, size)) - 1
    if store is None or n_shards == 1:
        return joined_table(titles, [mentions_in(shard, titles.lexicon) for shard in shards_of(corpus, size)])
    key = {"corpus": corpus.fingerprint, "rules": VERSION}
    folder = store.entry("titles", key, titles.save)
    find = partial(stored_mentions, store=store, key=key, titles=folder)
    shards = list(map_pieces(find, shards_of(corpus, size), "finding mentions", n_shards))
    return joined_table(titles, shards)


def joined_table(titles: Titles, shards: Sequence[ShardMentions]) -> MentionTable:
    """The mention table of a corpus, given what each of its shards mentions, in the order of the corpus."""
    names, code_of = _shared_names(titles, shards)
    found = [np.stack([column.to_numpy() for column in shard.titles.columns]) for shard in shards]
    first = 0
    for shard in shards:
        row, sentence, phrase = (column.to_numpy() for column in shard.phrases.columns)
        codes = code_of[first : first + len(shard.written)][phrase]
        found.append(np.stack([row, sentence, codes])[:, codes >= 0])
        first += len(shard.written)
    row, sentence, key = np.concatenate(found, axis=1)
    own = titles.row.astype(np.int64) * len(titles.keys) + titles.key  # a page does not mention its own title
    pairs = np.where(key < len(titles.keys), row.astype(np.int64) * len(titles.keys) + key, -1)
    kept = ~np.isin(pairs, own)
    row, sentence, key = row[kept], sentence[kept], key[kept]
    order = np.lexsort((key, sentence, row))
    columns = row[order], sentence[order], key[order]
    distinct = np.ones(len(key), dtype=bool)
    distinct[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    row, sentence, key = (column[distinct] for column in columns)
    return MentionTable(
        keys=[*titles.keys.to_pylist(), *names["key"].to_pylist()],
        names=[*titles.names, *names["name"].to_pylist()],
        n_titles=len(titles.keys),
        page_key=titles.key,
        page_row=titles.row,
        key=key,
        row=row,
        sentence=sentence,
    )


def _shared_names(titles: Titles, shards: Sequence[ShardMentions]) -> tuple[pa.Table, NDArray[np.int32]]:
    """(key, name) of the phrases that two passages share and that are names rather than words, and their codes.

    The codes are (n_phrases,), of the phrases of all shards, one shard after another; -1 for those that are no names.
    """
    written = pa.concat_tables([shard.written for shard in shards]).combine_chunks()
    encoded = _flat(written["key"]).dictionary_encode()
    keys, phrase_key = encoded.dictionary, encoded.indices.to_numpy()
    times, rows = np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=np.int64)
    first = 0
    for shard in shards:
        key = phrase_key[first : first + len(shard.written)][shard.phrases["phrase"].to_numpy()]
        times += np.bincount(key, minlength=len(keys))
        pairs = np.unique(key.astype(np.int64) << 32 | shard.phrases["row"].to_numpy())
        rows += np.bincount(pairs >> 32, minlength=len(keys))
        first += len(shard.written)
    usual = np.zeros(len(keys), dtype=np.int64)
    for shard in shards:
        words = pa.array(map(normalise, shard.lower_case["word"].to_pylist()), pa.string())
        code = pc.index_in(words, value_set=keys)
        known = code.is_valid().to_numpy(False)
        np.add.at(usual, code.drop_null().to_numpy(), shard.lower_case["count"].to_numpy()[known])
    titled = pc.is_in(keys, value_set=titles.keys).to_numpy(False)
    shared = (rows > 1) & ~titled & (usual < times)
    codes = np.where(shared, len(titles.keys) + np.cumsum(shared) - 1, -1).astype(np.int32)
    names = written.take(pa.array(np.unique(phrase_key, return_index=True)[1][shared]))
    return names, codes[phrase_key]


def _flat(column: pa.ChunkedArray) -> pa.StringArray:
    """The one chunk of a column of a table whose chunks are combined."""
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)
