"""Query -> the passages that share its words, by BM25."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from kg2rag.knowledge import KnowledgeBase, LexicalSettings
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Notes, Query, Ranking, top_with_ties

COLOUR = "#56B4E9"  # in plots


@dataclass(frozen=True)
class BM25(Retriever):
    """BM25 over title and text. A passage that shares no term with the query is no hit, so a ranking may be short.

    `k1`, `b`, `variant`, `stemmer`, `stop_words`: see `kg2rag.knowledge.indexes.lexical.LexicalSettings`.
    """

    kb: KnowledgeBase = field(repr=False)
    k1: float = 0.9
    b: float = 0.4
    variant: str = "lucene"
    stemmer: str = "snowball"
    stop_words: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._settings()

    def _settings(self) -> LexicalSettings:
        return LexicalSettings(self.k1, self.b, self.variant, self.stemmer, self.stop_words)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Scores every passage for each query; hits have a score above 0."""
        index, rankings = self.kb.lexical(self._settings()), []
        ranked = partial(Ranking.from_scores, ids=self.kb.corpus.ids, stages=("bm25",), notes=Notes("bm25", "bm25"))
        for query, mask in zip(queries, self.kb.candidates(queries), strict=True):
            every = index.scores(query.text)
            rows = top_with_ties(every, k) if mask is None else mask
            rows = rows[every[rows] > 0]
            rankings.append(ranked(query.id, rows, every[rows], score_parts={"bm25": every[rows]}).top(k))
        return rankings
