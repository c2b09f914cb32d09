"""What each ranking says about its query -> one text a query, and rates over the queries of each system.

Whatever a strategy puts into `Ranking.notes` counts: why it left the graph out, how sure it was, its weights, the
entities it linked, the queries it wrote. Left out are the formula of the scores and codes that stages leave each other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from kg2rag.types import Ranking

LISTED = 20
"""Members of a list that are kept; of a longer one, also how many there are."""
DIFFERENT = 12
"""Texts of a key above which they are not counted one by one: remarks on single queries."""
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
