"""The titles of a corpus -> their keys, the passages that bear them, and what finds them in texts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kg2rag.compute.files import mapped
from kg2rag.text.lexicon import FUNCTION_WORDS
from kg2rag.text.matching import NameTrie
from kg2rag.text.normalisation import without_brackets
from kg2rag.text.words import normalise_all
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
        keys = normalise_all(surfaces)
        no_name = pa.array(["", *sorted(FUNCTION_WORDS)])
        kept = np.flatnonzero(~pc.is_in(keys, value_set=no_name).to_numpy(zero_copy_only=False))
        encoded = keys.take(pa.array(kept)).dictionary_encode()
        codes = encoded.indices.to_numpy().astype(np.int64)
        first = np.unique(codes, return_index=True)[1]
        key, row = np.divmod(np.unique(codes * len(corpus) + rows[kept]), len(corpus))
        names = [surfaces[at] for at in kept[first].tolist()]
        return cls(encoded.dictionary, names, key.astype(np.int32), row.astype(np.int32))

    @cached_property
    def trie(self) -> NameTrie:
        """Finds the titles in texts."""
        return NameTrie.of(self.keys, self.names)


def write_trie(trie: NameTrie, folder: Path) -> None:
    """Write a trie, a file for each of its arrays."""
    table = pa.table({_WORDS: trie.vocabulary})
    with pa.ipc.new_file(str(folder / f"{_WORDS}.arrow"), table.schema) as file:
        file.write_table(table)
    for field in fields(trie)[1:]:
        np.save(folder / f"{field.name}.npy", getattr(trie, field.name))


@lru_cache(maxsize=2)
def opened_trie(folder: Path) -> NameTrie:
    """What `write_trie` wrote, memory-mapped, once in a process."""
    with pa.memory_map(str(folder / f"{_WORDS}.arrow")) as file:
        vocabulary = pa.ipc.open_file(file).read_all()[_WORDS].combine_chunks()
    words = vocabulary.chunk(0) if isinstance(vocabulary, pa.ChunkedArray) else vocabulary
    return NameTrie(words, *(mapped(folder / f"{field.name}.npy") for field in fields(NameTrie)[1:]))


_WORDS = "vocabulary"
