"""Rankings -> how often the graph added to a text search: for what share of the questions, and why not for the others.

Read from what the rankings record: the source of each stage (`kg2rag.types.notes`) and the notes on the query. A
system is described where its rankings have hits of a text search and of a graph; `mention_ppr`, which walks from the
best hits of one, is such a system, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypedDict

import numpy as np

from kg2rag.types import FloatArray, Ranking, sources

DEPTH = 10
GRAPH = "graph"  # the source that a strategy records for hits of its graph


class GraphUse(TypedDict):
    """`brought` : share of questions with a passage among the first `DEPTH` that only the graph found.

    `skipped` : reason -> share of questions to which the graph brought none for it, the most frequent first.
    """

    brought: float
    skipped: dict[str, float]


def graph_use(rankings: Mapping[str, Sequence[Ranking]]) -> dict[str, GraphUse]:
    """System -> its use of the graph, for those that add one to a text search."""
    return {name: _use(of_system) for name, of_system in rankings.items() if _adds(of_system)}


def _adds(rankings: Sequence[Ranking]) -> bool:
    """Whether a ranking joins both; one that searches the graph alone, or falls back to text, does not."""
    return any({source == GRAPH for source in sources(ranking).values()} == {True, False} for ranking in rankings)


def _use(rankings: Sequence[Ranking]) -> GraphUse:
    brought = [_brought(ranking) for ranking in rankings]
    without = (ranking for ranking, new in zip(rankings, brought, strict=True) if not new)
    reasons = Counter(reason for ranking in without if (reason := _skipped(ranking)))
    return GraphUse(
        brought=_share(sum(brought), rankings),
        skipped={
            reason: _share(count, rankings) for reason, count in sorted(reasons.items(), key=lambda one: (-one[1], one))
        },
    )


def _share(count: int, rankings: Sequence[Ranking]) -> float:
    return round(count / len(rankings), 6)


def _skipped(ranking: Ranking) -> str:
    """Why the graph was not used, "" where it was."""
    return "; ".join(ranking.notes.warnings)


def _brought(ranking: Ranking) -> bool:
    """Whether one of the first hits comes from the graph, and from no other ranking that was fused with it."""
    if not len(ranking) or ranking.stage_codes is None:
        return False
    of = sources(ranking)
    graph = np.array([of[stage] == GRAPH for stage in ranking.stages])[ranking.stage_codes[:DEPTH]]
    for stage, source in of.items():
        ranks: FloatArray | None = ranking.score_parts.get(f"{stage} rank")
        if source != GRAPH and ranks is not None:
            graph &= np.isnan(ranks[:DEPTH])
    return bool(graph.any())
