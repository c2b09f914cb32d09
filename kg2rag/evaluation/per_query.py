"""Scores per question -> the tidy frame of a comparison, means by group, largest differences."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from kg2rag.evaluation.statistics import EQUAL
from kg2rag.types import QADataset, Ranking
from kg2rag.types.notes import json_value

Group = Literal["type", "hops", "gold"]
GROUPS: tuple[Group, ...] = get_args(Group)
ABOUT = ("query_id", "system", "type", "hops", "gold", "question", "notes")
"""The columns of `ScoredRuns.per_query` that are not metrics."""
MAX_MEMBERS = 20
"""Members of a list in a note; a longer list is shortened to these and its length."""


def per_query_table(
    frames: Mapping[str, pd.DataFrame],
    data: QADataset,
    metrics: Sequence[str],
    rankings: Mapping[str, Sequence[Ranking]],
) -> pd.DataFrame:
    """The table `ScoredRuns.per_query`: one row per system and question, with `ABOUT` and metrics.

    frames : system -> one row of scores per question, in the order of the data.
    """
    rows = [
        (question.id, question.type, question.hops, len(question.gold), question.text)
        for question in data.questions
    ]
    questions = pd.DataFrame(
        rows, columns=["query_id", "type", "hops", "gold", "question"]
    )
    questions = questions.astype({"hops": "Int64", "gold": "Int64"})
    parts = []
    for name, frame in frames.items():
        notes = [notes_json(ranking) for ranking in rankings[name]]
        about = questions.assign(system=name, notes=notes)[list(ABOUT)]
        parts.append(
            pd.concat([about, frame[list(metrics)].reset_index(drop=True)], axis=1)
        )
    return pd.concat(parts, ignore_index=True)


def grouped_means(
    per_query: pd.DataFrame, column: Group, metrics: Sequence[str]
) -> pd.DataFrame:
    """The mean of each metric for each value of a column and each system.

    The table has the index (value, system) and the columns `n`, the number of questions, and the
    metrics. A blank value is called "unknown".
    """
    if column not in GROUPS:
        raise ValueError(
            f"Questions are grouped by {', '.join(map(repr, GROUPS))}, not by {column!r}."
        )
    names = (
        per_query[column]
        .astype("string")
        .fillna("")
        .replace("", "unknown")
        .astype(object)
    )
    grouped = per_query.assign(**{column: names}).groupby(
        [column, "system"], sort=False
    )
    frame = grouped[list(metrics)].mean()
    frame.insert(0, "n", grouped.size())
    levels = [
        sorted(names.unique(), key=_numbers_first),
        list(dict.fromkeys(per_query["system"])),
    ]
    # An index of codes keeps this order when a caller unstacks it.
    codes = [range(len(level)) for level in levels]
    index = pd.MultiIndex.from_product(codes, names=[column, "system"]).set_levels(
        levels
    )
    return frame.loc[index].set_axis(index)


def _numbers_first(group: str) -> tuple[bool, int, str]:
    """A sort key: numbers by their size, 2 before 10, then words."""
    if group.isdigit():
        return False, int(group), group
    return True, 0, group


def differences_between(
    per_query: pd.DataFrame, metric: str, systems: Sequence[str], baseline: str
) -> pd.DataFrame:
    """One row per system and question: the system's score, the baseline's and their difference.

    Columns query_id, question, system, score, baseline, difference, in the order of `per_query`.
    """
    frame = per_query[["query_id", "question", "system"]].assign(
        score=per_query[metric]
    )
    reference = frame[frame["system"] == baseline].set_index("query_id")["score"]
    frame = frame[frame["system"].isin(systems)]
    frame = frame.assign(baseline=frame["query_id"].map(reference).astype(float))
    return frame.assign(difference=frame["score"] - frame["baseline"]).reset_index(
        drop=True
    )


def largest_first(differences: pd.DataFrame, limit: int | None) -> pd.DataFrame:
    """The `limit` largest differences other than 0, largest first.

    Among differences of one size, the first of each system come before the second ones, so that
    no system fills the list.
    """
    frame = differences[differences["difference"].abs() > EQUAL]
    frame = frame.assign(size=frame["difference"].abs().round(9))
    turn = frame.groupby(["size", "system"], sort=False).cumcount()
    order = np.lexsort((turn, -frame["size"]))
    return frame.drop(columns="size").iloc[order[:limit]].reset_index(drop=True)


def notes_json(ranking: Ranking) -> str:
    """The notes of a ranking as JSON, "{}" for none.

    A list of more than `MAX_MEMBERS` becomes {"count": …, "first": […]}.
    """
    fields = _shorten_lists(json_value(ranking.notes.display_fields()))
    return json.dumps(fields, ensure_ascii=False)


def _shorten_lists(value: Any) -> Any:
    """A JSON value whose lists, at any depth, have at most `MAX_MEMBERS` members."""
    if isinstance(value, dict):
        return {name: _shorten_lists(part) for name, part in value.items()}
    if not isinstance(value, list):
        return value
    members = [_shorten_lists(member) for member in value[:MAX_MEMBERS]]
    if len(value) > MAX_MEMBERS:
        return {"count": len(value), "first": members}
    return members
