"""Rows of a table -> its records, each with the name of the group under which it stands.

Ours: which rows name groups. Each has one cell, all in one column; the first row is one of them, and
the rows below it have at least two cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MIN_COLUMNS = 3
"""Least number of columns of a table with groups."""
MIN_GROUPS = 2
"""Least number of groups."""
GROUP = ""
"""The column of the group, which has no name in the table."""


def with_groups(
    rows: Sequence[Mapping[str, Any]],
) -> tuple[Sequence[Mapping[str, Any]], int]:
    """The records below rows that name groups, with these names, and the number of groups; 0 for none.

    rows : rows without empty cells.

    >>> rows = [{"Dish": "Soups"}, {"Dish": "Leek", "Size": "L", "Price": 5}]
    >>> rows += [{"Dish": "Fish"}, {"Dish": "Cod", "Price": 9}]
    >>> with_groups(rows)[0][1]
    {'': 'Fish', 'Dish': 'Cod', 'Price': 9}
    """
    groups = [number for number, row in enumerate(rows) if len(row) == 1]
    if not _name_groups(rows, groups):
        return rows, 0
    records = list[Mapping[str, Any]]()
    name = dict[str, Any]()
    for number, row in enumerate(rows):
        if number in groups and number + 1 < len(rows):
            name = dict.fromkeys((GROUP,), next(iter(row.values())))
        else:
            records.append({**name, **row})
    return records, len(groups)


def _name_groups(rows: Sequence[Mapping[str, Any]], groups: Sequence[int]) -> bool:
    """Whether the rows of one cell, at the places `groups`, name groups of the others."""
    if len(groups) < MIN_GROUPS or groups[0] != 0:
        return False
    columns = {column for row in rows for column in row}
    has_place = len(columns) >= MIN_COLUMNS and GROUP not in columns
    is_one_column = len({next(iter(rows[number])) for number in groups}) == 1
    return has_place and is_one_column and all(n + 1 not in groups for n in groups)
