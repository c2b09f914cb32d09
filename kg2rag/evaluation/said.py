"""What each ranking says about its query -> one text a query, rates over queries, and how often a graph added anything.

Whatever a strategy puts into `Ranking.notes` counts: why it left the graph out, how sure it was, its weights, the
entities it linked, the queries it wrote. Left out are the formula of the scores and codes that stages leave each other.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from kg2rag.types import FloatArray, Ranking, sources

LISTED = 20
"""Members of a list that are kept; of a longer one, also how many there are."""
DIFFERENT = 12
"""Texts of a key above which they are not counted one by one: remarks on single queries."""
DEPTH = 10
GRAPH = "graph"  # the source that a strategy records for hits of its graph
RATES = ("system", "what", "value", "share", "mean")


def said_by(ranking: Ranking) -> str:
    """The notes as JSON, "{}" for none; lists of more than 20 as {"count": …, "first": […]}."""
    shown = {key: _plain(value) for key, value in ranking.notes.said().items()}
    return json.dumps(shown, ensure_ascii=False, default=str)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        members = [_plain(one) for one in value[:LISTED]]
        return members if len(value) <= LISTED else {"count": len(value), "first": members}
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    return value.item() if hasattr(value, "item") else str(value)


def rates(per_query: pd.DataFrame) -> pd.DataFrame:
    """How often each system said what: columns system, what, value, share, mean.

    Of a text that takes few values, the share of the queries with each ("" where it says nothing); of a number, its
    mean over the queries that have one and their share; of a list, the share that is not empty and the mean length.
    Members of a mapping, such as weights, count as keys of their own. Empty where no system said anything, or the table
    was saved before this was kept.
    """
    found: list[tuple[str, str, str, float, float]] = []
    if "said" in per_query:
        for system, part in per_query.groupby("system", sort=False):
            records = [_flat(json.loads(text)) for text in part["said"]]
            for key in dict.fromkeys(key for record in records for key in record):
                values = [record[key] for record in records if key in record]
                found += [(str(system), key, *row) for row in _rates_of(values, len(records))]
    return pd.DataFrame(found, columns=list(RATES))


def _flat(record: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict) and set(value) != {"count", "first"}:
            flat |= _flat(value, f"{above}{key}.")
        else:
            flat[f"{above}{key}"] = value
    return flat


def _rates_of(values: Sequence[Any], queries: int) -> list[tuple[str, float, float]]:
    """Value, share of all queries, and mean of one key."""
    blank = float("nan")
    if all(isinstance(value, list | dict) for value in values):
        lengths = [value["count"] if isinstance(value, dict) else len(value) for value in values]
        return [("not empty", sum(map(bool, lengths)) / queries, sum(lengths) / len(lengths))]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == len(values):
        return [("", len(numbers) / queries, sum(numbers) / len(numbers))]
    counts = pd.Series([str(value) for value in values]).value_counts(sort=False)
    if len(counts) > DIFFERENT:
        return [("any text", sum(str(value) != "" for value in values) / queries, blank)]
    return [(str(value), float(count) / queries, blank) for value, count in counts.items()]


class GraphUse(TypedDict):
    """`brought` : share of questions with a passage among the first `DEPTH` that only the graph found.

    `skipped` : reason -> share of questions to which the graph brought none for it, the most frequent first.
    """

    brought: float
    skipped: dict[str, float]


def graph_use(rankings: Mapping[str, Sequence[Ranking]]) -> dict[str, GraphUse]:
    """System -> its use of the graph, for those that add one to a text search.

    Read from the source of each stage and the notes on the query. A system is described where its rankings have hits of
    a text search and of a graph; `mention_ppr`, which walks from the best hits of one, is such a system, too.
    """
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
