"""Corpus row -> the triples of a graph that led to it, written out when they are looked up: few of them ever are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kg2rag.knowledge.graph.data import GraphData
from kg2rag.types.passages import Triple


@dataclass(frozen=True)
class TriplePaths(Mapping[int, tuple[Triple, ...]]):
    """The paths of a ranking, lazily.

    Parameters
    ----------
    found : corpus row -> what led there. triples : the codes of the triples behind that, in the order walked; where
        not given, `found` holds the codes themselves.
    """

    graph: GraphData
    found: Mapping[int, Any]
    triples: Callable[[Any], Iterable[int]] = tuple

    def __getitem__(self, row: int) -> tuple[Triple, ...]:
        return tuple(self.graph.triple(int(index)) for index in self.triples(self.found[row]))

    def __iter__(self) -> Iterator[int]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)
