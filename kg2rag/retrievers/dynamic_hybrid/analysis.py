"""Query -> how much each kind of retrieval should count for it: the analysers of the dynamic hybrid design.

Three behind one protocol: rules on the query's form (`rules`, the default), a language model (`llm`), and a model
fitted on questions with known gold (`learned`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kg2rag.retrievers.fusion import fuse_rankings
from kg2rag.types.passages import Query
from kg2rag.types.rankings import Ranking

SIDES = ("dense", "sparse", "pattern", "graph")
"""The four kinds of retrieval, in the order of every table and vector of weights."""
TYPES = ("conceptual", "identifier", "relationship", "fuzzy", "mixed")

__all__ = ["SIDES", "TYPES", "Analyser", "QueryAnalysis", "blend"]


@dataclass(frozen=True)
class QueryAnalysis:
    """The type of a query, the weight of each side (at least 0, their sum 1), and the reason."""

    query_type: str
    weights: Mapping[str, float] = field(hash=False)
    reasoning: str

    def __post_init__(self) -> None:
        if self.query_type not in TYPES:
            raise ValueError(f"Unknown query type {self.query_type!r}. Known: {', '.join(TYPES)}.")
        if set(self.weights) != set(SIDES):
            raise ValueError(f"Weights name {', '.join(self.weights)}; they must name {', '.join(SIDES)}, each once.")
        if not (min(self.weights.values()) >= 0 and abs(sum(self.weights.values()) - 1) <= 1e-6):
            raise ValueError(f"Weights {dict(self.weights)} must be at least 0 and sum to 1.")


class Analyser(Protocol):
    """Anything that weighs a batch of queries."""

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """One analysis a query, in order; raises where a query cannot be analysed, and names it."""
        ...


def blend(sides: Mapping[str, Ranking], weights: Mapping[str, float], k: int, constant: float) -> Ranking:
    """Weighted reciprocal rank fusion of one query's sides; one of weight 0 adds nothing, not even its hits."""
    counted = [side for side in SIDES if weights[side] > 0]
    if not counted:
        raise ValueError(f"Weights {dict(weights)}: one of them must be above 0.")
    return fuse_rankings([sides[side] for side in counted], [weights[side] for side in counted], k, constant=constant)
