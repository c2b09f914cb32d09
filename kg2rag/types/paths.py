"""Corpus row -> the triples that led to it, and several such mappings as one, which none of them notices.

A strategy may give a mapping that works a path out only when it is looked up (HippoRAG's `PhrasePaths`). `{**a, **b}`,
`len(a)` and `a or {}` would work out every path at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kg2rag.types.passages import Triple

Paths = Mapping[int, tuple[Triple, ...]]


def first_of(*paths: Paths) -> Paths:
    """A view of several mappings; a row that more than one has is looked up in the first of these."""
    kept = tuple(each for each in paths if not (isinstance(each, dict) and not each))
    return kept[0] if len(kept) == 1 else _FirstOf(kept)


@dataclass(frozen=True)
class _FirstOf(Mapping[int, tuple[Triple, ...]]):
    members: tuple[Paths, ...]

    def __getitem__(self, row: int) -> tuple[Triple, ...]:
        for member in self.members:
            try:
                return member[row]
            except KeyError:
                continue
        raise KeyError(row)

    def __iter__(self) -> Iterator[int]:
        return iter(dict.fromkeys(row for member in self.members for row in member))

    def __len__(self) -> int:
        return sum(1 for _ in self)
