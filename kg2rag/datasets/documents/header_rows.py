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
    if len(rows) < 3 or not _are_groups_and_names(rows[0], rows[1]):
        return []
    groups, names, *records = rows
    if not any(
        _is_number_column(name, records, column) for column, name in enumerate(names)
    ):
        return []
    joined = list[str]()
    group = ""
    for cell, name in zip(groups, names, strict=True):
        group = cell.strip() or group
        joined.append(f"{group} {name.strip()}")
    return joined


def _are_groups_and_names(groups: Sequence[str], names: Sequence[str]) -> bool:
    """Whether only the second of two rows has all cells filled, and the first begins with a name."""
    n_groups = sum(bool(cell.strip()) for cell in groups)
    return (
        len(groups) == len(names)
        and n_groups < len(groups)
        and groups[0].strip() != ""
        and all(map(str.strip, names))
    )


def _is_number_column(name: str, records: Sequence[Sequence[str]], column: int) -> bool:
    """Whether a column has numbers only below its name, which is none."""
    cells = [record[column].strip() for record in records if len(record) > column]
    filled = list(filter(None, cells))
    is_name = not re.search(r"\d", name)
    return is_name and bool(filled) and all(map(_NUMBER.fullmatch, filled))
