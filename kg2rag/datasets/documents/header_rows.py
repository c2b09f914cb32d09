"""Names of columns in two rows of a table: those of groups, and below them those of their columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"[-+]?[\d.,\s]*\d[\d.,\s]*[%€$£]?")


def names_in_two_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """The names of columns, each behind that of its group; [] for a table with one row of names.

    The first row has an empty cell behind the name of a group, as merged cells leave them; the
    second has none. In a column below them are numbers only.

    >>> names_in_two_rows([["Costs", ""], ["Planned", "Actual"], ["12", "14"]])
    ['Costs Planned', 'Costs Actual']
    """
    if len(rows) < 3:
        return []
    groups, names, *records = rows
    has_groups = groups[0].strip() != "" and not all(cell.strip() for cell in groups)
    if not has_groups or not all(cell.strip() for cell in names):
        return []
    if len(groups) != len(names) or not any(
        _is_number_column(names[column], records, column)
        for column in range(len(names))
    ):
        return []
    joined = list[str]()
    group = ""
    for cell, name in zip(groups, names, strict=True):
        group = cell.strip() or group
        joined.append(f"{group} {name.strip()}")
    return joined


def _is_number_column(name: str, records: Sequence[Sequence[str]], column: int) -> bool:
    """Whether a column has numbers only below its name, which is none."""
    cells = [record[column].strip() for record in records if len(record) > column]
    filled = list(filter(None, cells))
    is_name = not re.search(r"\d", name)
    return is_name and bool(filled) and all(map(_NUMBER.fullmatch, filled))
