"""`MentionTable`: which titles and names the passages of a corpus mention, and where."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kg2rag.text.lexicon import Lexicon


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
