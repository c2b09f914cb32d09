"""Scores of questions -> the tidy frame of a comparison, means by kind, largest differences."""

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
"""Members of a list that a note keeps; of a longer list it also has the number."""


def per_query_table(
    frames: Mapping[str, pd.DataFrame],
    data: QADataset,
    metrics: Sequence[str],
    rankings: Mapping[str, Sequence[Ranking]],
) -> pd.DataFrame:
    """One row per system and question: the columns of `ABOUT`, then the metrics.

    See `ScoredRuns.per_query`.
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
    """Means by value of a column: index (group, system), columns `n` and the metrics.

    A blank group is called "unknown".
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
    """The scores of systems and of the baseline on each question, and their difference.

    Columns query_id, question, system, score, baseline, difference, in the order of the questions.
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
    """The first `limit` differences other than 0, largest first.

    Of equally large ones each system shows one before any shows a second, in the order of systems
    and questions.
    """
    frame = differences[differences["difference"].abs() > EQUAL]
    frame = frame.assign(size=frame["difference"].abs().round(9))
    turn = frame.groupby(["size", "system"], sort=False).cumcount()
    order = np.lexsort((turn, -frame["size"]))
    return frame.drop(columns="size").iloc[order[:limit]].reset_index(drop=True)


def notes_json(ranking: Ranking) -> str:
    """The notes as JSON, "{}" for none; lists of over 20 members as {"count": …, "first": […]}."""
    return json.dumps(
        _shortened(json_value(ranking.notes.display_fields())), ensure_ascii=False
    )


def _shortened(value: Any) -> Any:
    """A JSON value with the first members of its long lists."""
    if isinstance(value, dict):
        return {name: _shortened(part) for name, part in value.items()}
    if not isinstance(value, list):
        return value
    members = [_shortened(member) for member in value[:MAX_MEMBERS]]
    if len(value) > MAX_MEMBERS:
        return {"count": len(value), "first": members}
    return members
