"""A ranking -> its first hits in the order of a reranker. To add one: a file here, and a line in `RERANKERS`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.contract import Stage
from kg2rag.retrievers.rerankers.scoring import BiEncoder, CrossEncoder, PairReranker, Reranker, score_batches
from kg2rag.text.registry import Registry
from kg2rag.types import Count, FloatArray, Query, Ranking, rescored

__all__ = ["DEFAULT_RERANKER", "RERANKERS", "PairReranker", "Rerank", "Reranker", "RerankingStage", "named"]

DEFAULT_RERANKER = "bi-encoder"  # offline: the vectors of the knowledge base's own embedder
RERANKERS: Registry[Reranker] = Registry(
    "reranker",
    {
        "bi-encoder": "kg2rag.retrievers.rerankers.scoring:BiEncoder",
        "llm(MODEL@BASE_URL)": "kg2rag.retrievers.rerankers.llm:named",
    },
    group="kg2rag.rerankers",
    context=1,
)


def named(name: str, kb: KnowledgeBase) -> Reranker:
    """A reranker of `RERANKERS`, else the cross-encoder of a folder or a hub name, such as BAAI/bge-reranker-large."""
    is_model = name not in RERANKERS and "(" not in name and ("/" in name or Path(name).is_dir())
    return CrossEncoder(name) if is_model else RERANKERS.build(name, kb)


class RerankingStage(Stage):
    """A stage that scores texts with a reranker, the default one where `reranker` is None."""

    kb: KnowledgeBase
    reranker: Reranker | None

    @property
    def encodes(self) -> bool:
        """The bi-encoder's texts can be encoded beforehand."""
        return isinstance(self.scorer, BiEncoder)

    @property
    def scorer(self) -> Reranker:
        """The reranker that scores."""
        return self.reranker if self.reranker is not None else BiEncoder(self.kb)


@dataclass(frozen=True)
class Rerank(RerankingStage):
    """Scores (query, title and text) of each hit; equal scores are ordered by corpus position.

    A hit keeps the stage and the path that brought it in; its parts are the score it came with, `retriever`, and the
    reranker's, which is its new score.

    Parameters
    ----------
    reranker : None for the default, a bi-encoder by the knowledge base's embedder.
    depth : hits read, and so at most returned.
    """

    kb: KnowledgeBase = field(repr=False)
    reranker: Reranker | None = None
    depth: Count = 100

    def apply(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[Ranking]:
        """All pairs of the batch in one call."""
        return [
            rescored(
                ranking,
                ranking.rows,
                scores,
                max(len(ranking), 1),
                formula="reranker",
                score_parts={"retriever": ranking.scores, "reranker": scores},
            )
            for ranking, scores in zip(rankings, self._scores(queries, rankings), strict=True)
        ]

    def _scores(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[FloatArray]:
        """Of each ranking's passages; those that the scorer has encoded with its corpus are not encoded as texts."""
        scorer, corpus = self.scorer, self.kb.corpus
        if isinstance(scorer, BiEncoder) and scorer.kb.corpus.fingerprint == corpus.fingerprint:
            return scorer.passage_scores(queries, [ranking.rows for ranking in rankings])
        pairs = [
            [(query.text, corpus.contents[row]) for row in ranking.rows.tolist()]
            for query, ranking in zip(queries, rankings, strict=True)
        ]
        return score_batches(scorer, pairs)
