"""Questions, their scores and notes by system -> one table, and what follows from it by question.

Means by kind of question, the questions on which systems differ most, how often which note was made, and how often a
graph added anything. Whatever a strategy puts into `Ranking.notes` counts: why it left the graph out, how sure it was,
its weights, the entities it linked, the queries it wrote; not the formula of the scores and codes between stages.
"""

from __future__ import annotations

import json
import math
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
DIFFERENT = 12
"""Texts of a key above which they are not counted one by one: remarks on single queries."""
DEPTH = 10
GRAPH = "graph"  # the source that a strategy records for hits of its graph


def per_query_table(
    frames: Mapping[str, pd.DataFrame],
    data: QADataset,
    metrics: Sequence[str],
    rankings: Mapping[str, Sequence[Ranking]],
) -> pd.DataFrame:
    """One row per system and question.

    Columns query_id, system, type, hops, gold (how many), cluster (a number that questions share where they share gold,
    directly or through others), question, notes (see `notes_json`), then the
    metrics.
    """
    about = pd.DataFrame(
        {
            "query_id": [question.id for question in data.questions],
            "type": [question.type for question in data.questions],
            "hops": pd.array([question.hops for question in data.questions], dtype="Int64"),
            "gold": pd.array([len(question.gold) for question in data.questions], dtype="Int64"),
            "cluster": sharing_gold(data),
            "question": [question.text for question in data.questions],
        }
    )
    parts = []
    for name, frame in frames.items():
        part = pd.concat([about, frame[list(metrics)].reset_index(drop=True)], axis=1)
        part.insert(1, "system", name)
        part.insert(list(part.columns).index("question") + 1, "notes", [notes_json(one) for one in rankings[name]])
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


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


def note_rates(per_query: pd.DataFrame) -> pd.DataFrame:
    """How often each system made which note: columns system, what, value, share, mean.

    Of a text that takes few values, the share of the queries with each ("" where it has none); of a number, its
    mean over the queries that have one and their share; of a list, the share that is not empty and the mean length.
    Members of a mapping, such as weights, count as keys of their own. Empty without notes.
    """
    rows: list[tuple[str, str, str, float, float]] = []
    if "notes" in per_query:
        for system, part in per_query.groupby("system", sort=False):
            records = [_flat(json.loads(text)) for text in part["notes"]]
            for key in dict.fromkeys(key for record in records for key in record):
                values = [record[key] for record in records if key in record]
                rows += [(str(system), key, *row) for row in _rates_of(values, len(records))]
    return pd.DataFrame(rows, columns=["system", "what", "value", "share", "mean"])


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
    if all(isinstance(value, list | dict) for value in values):
        lengths = [value["count"] if isinstance(value, dict) else len(value) for value in values]
        return [("not empty", sum(map(bool, lengths)) / queries, sum(lengths) / len(lengths))]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return [("", len(values) / queries, sum(values) / len(values))]
    counts = Counter(map(str, values))
    if len(counts) > DIFFERENT:
        return [("any text", (len(values) - counts[""]) / queries, math.nan)]
    return [(value, count / queries, math.nan) for value, count in counts.items()]


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
