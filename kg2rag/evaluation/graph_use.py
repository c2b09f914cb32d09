"""Rankings -> how often a system's graph added a passage, and how often each warning occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kg2rag.retrievers.fusion import held_by
from kg2rag.types import Ranking, sources

DEPTH = 10
"""Hits of a ranking that are looked at."""
GRAPH = "graph"
"""The source that a strategy records for hits of its graph."""


def graph_use(rankings: Mapping[str, Sequence[Ranking]]) -> dict[str, dict[str, Any]]:
    """How often the graph added a passage, and how often a warning occurs, per system with a graph.

    Returns system -> `brought`, the share of questions with a passage among the first `DEPTH` hits
    that only the graph found, and `warnings`, warning in the notes -> share of questions, by
    falling share. A system whose hits all come from the graph has no `brought`: it has no text
    search to compare them with.
    """
    use: dict[str, dict[str, Any]] = {}
    for name, run in rankings.items():
        joins = any(_joins_text_and_graph(ranking) for ranking in run)
        warnings = {
            warning: round(count / len(run), 6) for warning, count in _warnings(run)
        }
        if joins:
            brought = [_brought_passage(ranking) for ranking in run]
            use[name] = {
                "brought": round(sum(brought) / len(run), 6),
                "warnings": warnings,
            }
        elif warnings and reads_graph(run):
            use[name] = {"warnings": warnings}
    return use


def reads_graph(run: Sequence[Ranking]) -> bool:
    """Whether some hits of a run come from a graph, as the sources of its stages record it."""
    return any(GRAPH in sources(ranking).values() for ranking in run)


def _joins_text_and_graph(ranking: Ranking) -> bool:
    """Whether the stages of a ranking have both sources, text and graph.

    Neither a ranking of the graph only nor one that fell back to text joins the two.
    """
    from_graph = {source == GRAPH for source in sources(ranking).values()}
    return from_graph == {True, False}


def _warnings(rankings: Sequence[Ranking]) -> list[tuple[str, int]]:
    """The warnings in the notes of rankings with their counts, the most frequent first."""
    counts: Counter[str] = Counter()
    for ranking in rankings:
        if any(ranking.notes.warnings):
            counts["; ".join(ranking.notes.warnings)] += 1
    return sorted(counts.items(), key=lambda item: (-item[1], item))


def _brought_passage(ranking: Ranking) -> bool:
    """Whether a hit among the first comes from the graph only.

    A hit that a fused text search found as well does not count, nor does a passage at which the
    walk started.
    """
    if not len(ranking) or ranking.stage_codes is None:
        return False
    source_of = sources(ranking)
    is_graph_stage = np.array([source_of[stage] == GRAPH for stage in ranking.stages])
    from_graph = is_graph_stage[ranking.stage_codes[:DEPTH]]
    for stage, source in source_of.items():
        held = held_by(ranking, stage)
        if source != GRAPH and held is not None:
            from_graph &= ~held[:DEPTH]
    if "restart" in ranking.score_parts:
        from_graph &= ~(ranking.score_parts["restart"][:DEPTH] > 0)
    return bool(from_graph.any())
