"""What the adapters of other libraries share: their documents -> rows of our corpus, our hits -> what theirs hold.

A document that is no passage of the corpus is an error, never left out.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Corpus, Hit, Passage, Query, Ranking, at_least, rank, require


@dataclass(frozen=True)
class ForeignRetriever(Retriever):
    """Another library's retriever as one of our systems.

    A document is the passage of its id, else the one with that very text; the order is the retriever's, the score
    1/rank. It returns as many hits as it does, at most `k`.
    """

    retriever: Any = field(repr=False)
    corpus: Corpus = field(repr=False)
    name: str = "retriever"

    @abstractmethod
    def documents(self, text: str) -> Iterator[tuple[str | None, str]]:
        """The id and the text of each document that the retriever finds for a question, best first."""

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One question after another.

        ValueError: a document that is no passage of the corpus; a query with candidates, which other libraries'
        retrievers do not know.
        """
        return [self._ranking(query, k) for query in queries]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Nothing that we know of."""

    def _ranking(self, query: Query, k: int) -> Ranking:
        """Documents in their order; a passage that comes again keeps its first place."""
        if query.candidates is not None:
            raise ValueError(f"{self.name} knows no candidates, which query {query.id!r} has. Use setting='pooled'.")
        rows = dict.fromkeys(self._row(id_, text) for id_, text in self.documents(query.text))
        found = np.array(list(rows), dtype=np.int64)
        return rank(query.id, found, 1.0 / np.arange(1, len(found) + 1), self.corpus.ids, k, stages=(self.name,))

    def _row(self, id_: str | None, text: str) -> int:
        if id_ is not None and id_ in self._known:
            return self.corpus.row(id_)
        if text in self._by_text:
            return self._by_text[text]
        raise ValueError(
            f"{self.name}: the document {id_!r}, which begins {text[:60]!r}, is no passage of the corpus, neither by "
            "its id nor by its text. Index the corpus's passages with their ids."
        )

    @cached_property
    def _known(self) -> set[str]:
        return {*self.corpus.ids}

    @cached_property
    def _by_text(self) -> dict[str, int]:
        rows: dict[str, int] = {}
        for row, text in enumerate(self.corpus.table["text"].to_pylist()):
            rows.setdefault(text, row)
        return rows


@dataclass(frozen=True)
class Ours:
    """One of our systems, as another library calls it: a question at a time, `k` passages each."""

    retriever: Retriever
    corpus: Corpus
    k: int

    def __post_init__(self) -> None:
        require("k", self.k, int, at_least(1))

    def hits(self, text: str) -> Iterator[tuple[Passage, Hit, dict[str, str]]]:
        """Of each hit its passage, the hit, and the metadata of another library's document."""
        for hit in self.retriever.retrieve(text, self.k):
            passage = self.corpus[self.corpus.row(hit.passage_id)]
            about = {"title": passage.title, "doc_id": passage.doc_id, "stage": hit.stage, "path": hit.path_text}
            yield passage, hit, about
