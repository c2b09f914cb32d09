"""Scores per question -> means by kind of question, and the largest differences from the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import pandas as pd

Group = Literal["type", "hops", "gold"]
GROUPS: tuple[Group, ...] = get_args(Group)


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
    systems = dict.fromkeys(per_query["system"])
    return frame.loc[[(group, name) for group in groups for name in systems]]


def says_anything(per_query: pd.DataFrame, column: Group) -> bool:
    """Whether a column has at least two groups."""
    return len(set(per_query[column].astype("string").fillna(""))) > 1


def largest_differences(per_query: pd.DataFrame, metric: str, baseline: str, limit: int) -> pd.DataFrame:
    """Columns query_id, question, system, score, baseline, difference; largest difference first, none of 0."""
    frame = per_query[["query_id", "question", "system"]].assign(score=per_query[metric])
    reference = frame[frame["system"] == baseline].set_index("query_id")["score"]
    frame = frame[frame["system"] != baseline]
    frame = frame.assign(baseline=frame["query_id"].map(reference).astype(float))
    frame["difference"] = frame["score"] - frame["baseline"]
    order = frame["difference"].abs().sort_values(ascending=False, kind="stable").index[:limit]
    return frame.loc[order].query("difference != 0").reset_index(drop=True)
