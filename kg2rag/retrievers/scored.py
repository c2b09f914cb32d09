"""A function of a question and a passage -> a retriever: the quickest way to try an idea on a small corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Notes, Passage, Query, Ranking, best, rank


@dataclass(frozen=True)
class ScoreFunction(Retriever):
    """Every passage by a function's score, highest first; equal scores by corpus position.

    One call a question and passage: right for trying out, slow for a large corpus. For a strategy that stays, see
    docs/add_a_strategy.md.

    Parameters
    ----------
    score : (text of the question, passage) -> a finite number.
    name : the stage of its hits.

    Examples
    --------
    >>> from kg2rag import Corpus, Passage
    >>> corpus = Corpus.from_passages([Passage("p1", "Ada", "Notes", "p1", 0), Passage("p2", "Bob", "Bells", "p2", 0)])
    >>> titled = ScoreFunction(KnowledgeBase.build(corpus), lambda text, passage: float(passage.title in text))
    >>> titled.retrieve("Did Bob build it?", k=1).passage_ids
    ['p2']
    """

    kb: KnowledgeBase = field(repr=False)
    score: Callable[[str, Passage], float] = field(repr=False)
    name: str = "scored"

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Score every passage, or every candidate, of each query.

        ValueError: a score is not finite, or `k` is below 1.
        """
        passages = list(self.kb.corpus)
        return [
            self._ranking(query, np.arange(len(passages)) if rows is None else rows, passages, k)
            for query, rows in zip(queries, self.kb.candidates(queries), strict=True)
        ]

    def _ranking(self, query: Query, rows: np.ndarray, passages: Sequence[Passage], k: int) -> Ranking:
        scores = np.array([self.score(query.text, passages[row]) for row in rows.tolist()], dtype=np.float64)
        kept = best(np.nan_to_num(scores, nan=np.inf), k)  # NaN must reach `rank`, which refuses it
        return rank(
            query.id,
            rows[kept],
            scores[kept],
            self.kb.corpus.ids,
            k,
            stages=(self.name,),
            score_parts={"score": scores[kept]},
            notes=Notes("score", "text"),
        )
