"""Names of columns in two rows of a table: those of groups, and below them those of their columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"[-+]?[\d.,\s]*\d[\d.,\s]*[%€$£]?")


def names_in_two_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """The names of columns, each behind that of its group; [] for a table with one row of names.

    The first row has an empty cell behind the name of a group, as merged cells leave them; the
    second has none, unless the name above is merged with it. In a column below are numbers only, or
    the first name is merged so.

    >>> names_in_two_rows([["Costs", ""], ["Planned", "Actual"], ["12", "14"]])
    ['Costs Planned', 'Costs Actual']
    """
    if len(rows) < 3 or not _are_groups_and_names(rows[0], rows[1]):
        return []
    groups, names, *records = rows
    is_merged = _is_merged_with_next(groups, names, records)
    if not is_merged and not any(
        _is_number_column(name, records, column) for column, name in enumerate(names)
    ):
        return []
    joined = list[str]()
    group = ""
    for cell, name in zip(groups, names, strict=True):
        group = cell.strip() or group
        joined.append(f"{group} {name.strip()}".strip())
    return joined


def _are_groups_and_names(groups: Sequence[str], names: Sequence[str]) -> bool:
    """Whether two rows name all columns, and the first lacks a name behind its first cell."""
    has_names = [bool(name.strip()) for name in names]
    has_groups = [bool(group.strip()) for group in groups]
    return (
        len(groups) == len(names)
        and any(has_groups)
        and not all(has_groups[1:])
        and any(has_names[1:])
        and all(map(any, zip(has_groups, has_names, strict=True)))
    )


def _is_merged_with_next(
    groups: Sequence[str], names: Sequence[str], records: Sequence[Sequence[str]]
) -> bool:
    """Whether the first name of a table is merged with the empty cell below it.

    Then the second row has no number, and the first record has a cell in that column.
    """
    has_number = any(_NUMBER.fullmatch(name.strip()) for name in names)
    is_filled = bool(records[0]) and records[0][0].strip() != ""
    return (
        bool(groups[0].strip())
        and not names[0].strip()
        and is_filled
        and not has_number
    )


def _is_number_column(name: str, records: Sequence[Sequence[str]], column: int) -> bool:
    """Whether a column has a name, which is no number, and below it numbers only."""
    cells = [record[column].strip() for record in records if len(record) > column]
    filled = list(filter(None, cells))
    is_name = bool(name.strip()) and not re.search(r"\d", name)
    return is_name and bool(filled) and all(map(_NUMBER.fullmatch, filled))
