"""Questions and the scores of each system on them -> one table, its means by kind of question, its largest differences.

What is printed how is left to `kg2rag.report`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import pandas as pd

from kg2rag.evaluation.said import said_by
from kg2rag.evaluation.statistics import EQUAL
from kg2rag.types import IntArray, QADataset, Ranking

Group = Literal["type", "hops", "gold"]
GROUPS: tuple[Group, ...] = get_args(Group)
ABOUT = ("query_id", "system", "type", "hops", "gold", "cluster", "question", "said")
"""The columns of `Comparison.per_query` that are not metrics."""


def per_query_table(
    frames: Mapping[str, pd.DataFrame],
    data: QADataset,
    metrics: Sequence[str],
    rankings: Mapping[str, Sequence[Ranking]],
) -> pd.DataFrame:
    """One row per system and question.

    Columns query_id, system, type, hops, gold (how many), cluster (a number that questions share where they share gold,
    directly or through others), question, said (what the system's ranking says of the query, see `said_by`), then the
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
        part.insert(list(part.columns).index("question") + 1, "said", [said_by(one) for one in rankings[name]])
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


def says_anything(per_query: pd.DataFrame, column: Group) -> bool:
    """Whether a column has at least two groups."""
    return len(set(per_query[column].astype("string").fillna(""))) > 1


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
