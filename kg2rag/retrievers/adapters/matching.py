"""Documents of another library -> rows of our corpus, by id or by text; a stranger is an error, never left out."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kg2rag.types.corpus import Corpus
from kg2rag.types.passages import Query
from kg2rag.types.rankings import Ranking, rank


class Matcher:
    """Finds the passage that a document of another library is."""

    def __init__(self, corpus: Corpus, name: str) -> None:
        self.corpus = corpus
        self.name = name

    @cached_property
    def _known(self) -> set[str]:
        return {*self.corpus.ids}

    @cached_property
    def _by_text(self) -> dict[str, int]:
        rows: dict[str, int] = {}
        for row, text in enumerate(self.corpus.table["text"].to_pylist()):
            rows.setdefault(text, row)
        return rows

    def row(self, id_: str | None, text: str) -> int:
        """The row of a document; ValueError where neither its id nor its text is in the corpus."""
        if id_ is not None and id_ in self._known:
            return self.corpus.row(id_)
        if text in self._by_text:
            return self._by_text[text]
        raise ValueError(
            f"{self.name}: the document {id_!r}, which begins {text[:60]!r}, is no passage of the corpus, neither by "
            "its id nor by its text. Index the corpus's passages with their ids."
        )


def ranked(query: Query, rows: list[int], match: Matcher, k: int) -> Ranking:
    """The rows in their order; a passage that comes again keeps its first place."""
    if query.candidates is not None:
        raise ValueError(f"{match.name} knows no candidates, which query {query.id!r} has. Use setting='pooled'.")
    found = np.array(list(dict.fromkeys(rows)), dtype=np.int64)
    return rank(query.id, found, 1.0 / np.arange(1, len(found) + 1), match.corpus.ids, k, stages=(match.name,))
