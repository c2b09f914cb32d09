"""Scored trees -> the passages chosen, and how the released KG2RAG makes up for too few of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kg2rag.retrievers.kg2rag.official.plan import QueryPlan
from kg2rag.retrievers.kg2rag.official.switches import Switches
from kg2rag.retrievers.rerankers.scoring import Reranker, score_batches
from kg2rag.types import FloatArray, Query

NO_TREES = "no triple among the passages: ordered by the reranker"
NO_TREES_FILLED = "no triple among the passages: ordered by similarity"


class Selection(NamedTuple):
    """The rows chosen, in order; by which tree (its rank from 1, its score) where by one; and what deviated."""

    rows: list[int]
    chosen_by: dict[int, tuple[int, float]]
    note: str


def select(
    queries: Sequence[Query],
    plans: Sequence[QueryPlan],
    scores: Sequence[FloatArray],
    reranker: Reranker,
    texts: Sequence[str],
    switches: Switches,
    context: int,
) -> list[Selection]:
    """The passages of each query, at most `context`.

    `scores`: of each plan's trees. `texts`: of every passage of the corpus, as the reranker reads it.
    """
    chosen = [from_trees(plan, found, switches, context) for plan, found in zip(plans, scores, strict=True)]
    remaining = [_to_rerank(plan, by, switches, context) for plan, by in zip(plans, chosen, strict=True)]
    pairs = [[(query.text, texts[row]) for row in rows] for query, rows in zip(queries, remaining, strict=True)]
    again = score_batches(reranker, pairs)
    return [
        _completed(plan, by, rows, found, switches, context)
        for plan, by, rows, found in zip(plans, chosen, remaining, again, strict=True)
    ]


def from_trees(plan: QueryPlan, scores: FloatArray, switches: Switches, context: int) -> dict[int, tuple[int, float]]:
    """Corpus row -> rank and score of the tree that chose it, in the order chosen."""
    chosen: dict[int, tuple[int, float]] = {}
    for rank, tree in enumerate(np.argsort(-scores, kind="stable").tolist(), start=1):
        fresh = list(dict.fromkeys(row for i in plan.trees[tree] if (row := plan.rows[i]) not in chosen))
        free = context - len(chosen)
        if len(fresh) > free and switches.overflow == "stop":
            break
        if len(fresh) > free and switches.overflow == "skip":
            continue
        chosen.update((row, (rank, float(scores[tree]))) for row in fresh[:free])
    return chosen


def _to_rerank(plan: QueryPlan, chosen: dict[int, tuple[int, float]], switches: Switches, context: int) -> list[int]:
    """The passages that are reranked one by one: all where there is no tree, the rest where trees gave too few."""
    if not plan.trees:
        return [] if switches.refill == "unlinked" else list(plan.nodes)
    if switches.refill in ("misaligned", "aligned") and len(chosen) < context // 2:
        return [row for row in plan.nodes if row not in chosen]
    return []


def _completed(
    plan: QueryPlan,
    chosen: dict[int, tuple[int, float]],
    remaining: list[int],
    scores: FloatArray,
    switches: Switches,
    context: int,
) -> Selection:
    best = np.argsort(-scores, kind="stable").tolist()[:context]
    if not plan.trees and switches.refill != "unlinked":
        return Selection([remaining[at] for at in best], {}, NO_TREES)
    nodes = list(plan.nodes)
    rows = list(chosen)
    # The released code looks the positions of the rest up in the list of all.
    source = nodes if switches.refill == "misaligned" else remaining
    for at in best:
        if len(rows) < context and source[at] not in rows:
            rows.append(source[at])
    if switches.refill == "unlinked":
        rows += _unlinked(plan, rows)[: context - len(rows)]
    if switches.order == "similarity":
        rows = [row for row in nodes if row in rows]
    note = "" if plan.trees else NO_TREES_FILLED
    if remaining:
        note = "the trees did not fill the context: the reranker added the others"
    return Selection(rows, chosen, note)


def _unlinked(plan: QueryPlan, rows: Sequence[int]) -> list[int]:
    """The passages that own no triple between two entities, by score, then corpus position."""
    linking = {row for row, fact in zip(plan.rows, plan.facts, strict=True) if fact.head != fact.tail}
    free = [row for row in plan.nodes if row not in linking and row not in rows]
    return sorted(free, key=lambda row: (-plan.nodes[row], row))
