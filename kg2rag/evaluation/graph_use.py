"""Rankings -> the share of questions for which a graph added a passage, and those of warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kg2rag.retrievers.fusion import held_by
from kg2rag.types import Ranking, sources

DEPTH = 10
"""The number of first hits among which a passage of the graph counts."""
GRAPH = "graph"
"""The source that a strategy records for hits from its graph."""


def graph_use(rankings: Mapping[str, Sequence[Ranking]]) -> dict[str, dict[str, Any]]:
    """System -> its use of the graph, for systems that read one.

    The key "brought" has the share of questions with a hit among the first `DEPTH` that only the
    graph returned. A system without a text search, whose hits all come from the graph, has no such
    key. The key "warnings" maps each warning in the notes to its share of questions, the most
    frequent first.
    """
    use: dict[str, dict[str, Any]] = {}
    for name, run in rankings.items():
        has_both_sources = any(_joins_text_and_graph(ranking) for ranking in run)
        warnings = {
            warning: round(count / len(run), 6) for warning, count in _warnings(run)
        }
        if has_both_sources:
            n_brought = sum(_has_graph_only_hit(ranking) for ranking in run)
            use[name] = {
                "brought": round(n_brought / len(run), 6),
                "warnings": warnings,
            }
        elif warnings and reads_graph(run):
            use[name] = {"warnings": warnings}
    return use


def reads_graph(run: Sequence[Ranking]) -> bool:
    """Whether some hits of a run come from a graph, by the recorded sources of its stages."""
    return any(GRAPH in sources(ranking).values() for ranking in run)


def _joins_text_and_graph(ranking: Ranking) -> bool:
    """Whether the hits of a ranking come from both sources, text and graph."""
    from_graph = {source == GRAPH for source in sources(ranking).values()}
    return from_graph == {True, False}


def _warnings(rankings: Sequence[Ranking]) -> list[tuple[str, int]]:
    """The (warning, number of rankings) in the notes of rankings, the most frequent first."""
    counts: Counter[str] = Counter()
    for ranking in rankings:
        if any(ranking.notes.warnings):
            counts["; ".join(ranking.notes.warnings)] += 1
    return sorted(counts.items(), key=lambda item: (-item[1], item))


def _has_graph_only_hit(ranking: Ranking) -> bool:
    """Whether a hit among the first `DEPTH` comes from the graph only.

    A hit that a fused text search returned, too, does not count, and neither does a passage at
    which the walk started.
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
