"""A corpus -> its mention table, shard by shard, by rules alone: no model, no key, ten seconds per 100,000 passages.

Titles are found by longest match over all titles of the corpus, with and without their bracketed disambiguation;
names are capitalised phrases that at least two passages share. Where a title "Rebecca" could mean two pages, the
mention points to both; the number of its pages shows that.

The rules are ours; the idea that hyperlink-like title mentions carry multi-hop questions is old (the sets themselves
were built from Wikipedia links [1, 2]).

[1] Yang et al., HotpotQA, EMNLP 2018. [2] Ho et al., 2WikiMultihopQA, COLING 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kg2rag.compute import Store, map_pieces
from kg2rag.extraction.mentions.reading import ShardMentions, mentions_in, stored_mentions
from kg2rag.extraction.mentions.shards import SIZE, shard_starts, shards_of
from kg2rag.extraction.mentions.table import VERSION, MentionTable
from kg2rag.extraction.mentions.titles import Titles, write_trie
from kg2rag.text.words import normalise_all
from kg2rag.types import Corpus


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
        return joined_table(titles, [mentions_in(shard, titles.trie) for shard in shards_of(corpus, size)])
    key = {"corpus": corpus.fingerprint, "rules": VERSION}
    folder = store.entry("mention-titles", key, lambda folder: write_trie(titles.trie, folder))
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
        words = normalise_all(shard.lower_case["word"].to_pylist())
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
