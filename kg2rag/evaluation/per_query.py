"""Questions, their scores and notes by system -> one table, and what follows from it by question.

Means by kind of question, the questions on which systems differ most, and how often a graph added anything.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from kg2rag.evaluation.statistics import EQUAL
from kg2rag.types import FloatArray, IntArray, QADataset, Ranking, sources

Group = Literal["type", "hops", "gold"]
GROUPS: tuple[Group, ...] = get_args(Group)
ABOUT = ("query_id", "system", "type", "hops", "gold", "cluster", "question", "notes")
"""The columns of `Comparison.per_query` that are not metrics."""
LISTED = 20
"""Members of a list that are kept; of a longer one, also how many there are."""
DEPTH = 10
GRAPH = "graph"  # the source that a strategy records for hits of its graph


def per_query_table(
    frames: Mapping[str, pd.DataFrame],
    data: QADataset,
    metrics: Sequence[str],
    rankings: Mapping[str, Sequence[Ranking]],
) -> pd.DataFrame:
    """One row per system and question: the columns of `ABOUT`, then the metrics; see `Comparison.per_query`."""
    asked = [(one.id, one.type, one.hops, len(one.gold), one.text) for one in data.questions]
    about = pd.DataFrame(asked, columns=["query_id", "type", "hops", "gold", "question"])
    about = about.astype({"hops": "Int64", "gold": "Int64"}).assign(cluster=sharing_gold(data))
    parts = [
        about.assign(system=name, notes=list(map(notes_json, rankings[name]))).join(frame[list(metrics)], on="query_id")
        for name, frame in frames.items()
    ]
    return pd.concat(parts, ignore_index=True)[[*ABOUT, *metrics]]


def sharing_gold(data: QADataset) -> IntArray:
    """A number for each question, the same for two that have a gold passage in common, directly or through others."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    rows = np.repeat(np.arange(len(data)), [len(question.gold) for question in data.questions])
    ids = [id_ for question in data.questions for id_ in question.gold]
    _, columns = np.unique(np.array(ids, dtype=object), return_inverse=True)
    member = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(data), int(columns.max(initial=-1)) + 1))
    number: IntArray = connected_components(member @ member.T, directed=False)[1]
    return number


def grouped_means(per_query: pd.DataFrame, column: Group, metrics: Sequence[str]) -> pd.DataFrame:
    """Means within each value of a column: index (group, system), `n`, then the metrics; blanks are "unknown"."""
    if column not in GROUPS:
        raise ValueError(f"Questions are grouped by {', '.join(map(repr, GROUPS))}, not by {column!r}.")
    named = per_query[column].astype("string").fillna("").replace("", "unknown").astype(object)
    grouped = per_query.assign(**{column: named}).groupby([column, "system"], sort=False)
    frame = grouped[list(metrics)].mean()
    frame.insert(0, "n", grouped.size())
    # Numbers by their size, 2 before 10, then words.
    groups = sorted(named.unique(), key=lambda group: (not group.isdigit(), group.isdigit() and int(group), group))
    systems = list(dict.fromkeys(per_query["system"]))
    places = [range(len(groups)), range(len(systems))]
    # Levels in this order, which `unstack` keeps; those that pandas makes are in the order of the questions.
    index = pd.MultiIndex.from_product(places, names=[column, "system"]).set_levels([groups, systems])
    return frame.loc[index].set_axis(index)


def largest_differences(
    per_query: pd.DataFrame, metric: str, baseline: str, limit: int, system: str | None = None
) -> pd.DataFrame:
    """Columns query_id, question, system, score, baseline, difference; largest difference first, none of 0.

    Of equally large ones each system shows one before any shows a second, in the order of systems and questions.
    `system` : its questions alone.
    """
    frame = per_query[["query_id", "question", "system"]].assign(score=per_query[metric])
    reference = frame[frame["system"] == baseline].set_index("query_id")["score"]
    frame = frame[frame["system"] != baseline if system is None else frame["system"] == system]
    frame = frame.assign(baseline=frame["query_id"].map(reference).astype(float))
    frame["difference"] = frame["score"] - frame["baseline"]
    frame = frame[frame["difference"].abs() > EQUAL].assign(size=lambda rows: rows["difference"].abs().round(9))
    turn = frame.groupby(["size", "system"], sort=False).cumcount()
    frame = frame.assign(turn=turn).sort_values(["size", "turn"], ascending=[False, True], kind="stable")
    return frame.drop(columns=["size", "turn"]).head(limit).reset_index(drop=True)


def notes_json(ranking: Ranking) -> str:
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


def graph_use(rankings: Mapping[str, Sequence[Ranking]]) -> dict[str, dict[str, Any]]:
    """How often the graph added anything, of the systems that add one to a text search.

    Read from the source of each stage and the notes on the query. A system is described where its rankings have hits of
    a text search and of a graph; `mention_ppr`, which walks from the best hits of one, is such a system, too.

    Returns
    -------
    System -> `brought`, the share of questions with a passage among the first `DEPTH` that only the graph found, and
    `skipped`, reason -> share of questions to which the graph brought none for it, the most frequent first.
    """
    use: dict[str, dict[str, Any]] = {}
    for name, run in rankings.items():
        # A ranking that searches the graph alone, or falls back to text, joins nothing.
        if any({source == GRAPH for source in sources(ranking).values()} == {True, False} for ranking in run):
            brought = [_brought(ranking) for ranking in run]
            without = (one.notes.warnings for one, new in zip(run, brought, strict=True) if not new)
            reasons = Counter("; ".join(warnings) for warnings in without if any(warnings))
            ordered = sorted(reasons.items(), key=lambda one: (-one[1], one))
            skipped = {reason: round(count / len(run), 6) for reason, count in ordered}
            use[name] = {"brought": round(sum(brought) / len(run), 6), "skipped": skipped}
    return use


def reads_graph(run: Sequence[Ranking]) -> bool:
    """Whether some hits of a run come from a graph, as the sources of its stages record it."""
    return any(GRAPH in sources(ranking).values() for ranking in run)


def _brought(ranking: Ranking) -> bool:
    """Whether one of the first hits is the graph's alone: not of a ranking fused with it, nor where its walk began."""
    if not len(ranking) or ranking.stage_codes is None:
        return False
    of = sources(ranking)
    graph = np.array([of[stage] == GRAPH for stage in ranking.stages])[ranking.stage_codes[:DEPTH]]
    for stage, source in of.items():
        ranks: FloatArray | None = ranking.score_parts.get(f"{stage} rank")
        if source != GRAPH and ranks is not None:
            graph &= np.isnan(ranks[:DEPTH])
    if "restart" in ranking.score_parts:
        graph &= ~(ranking.score_parts["restart"][:DEPTH] > 0)
    return bool(graph.any())
