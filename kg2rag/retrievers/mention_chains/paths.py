"""A chain -> the mentions that join its passages, as triples that are made when looked up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kg2rag.retrievers.mention_ppr.graph import WalkedPaths
from kg2rag.types import Triple


@dataclass(frozen=True)
class ChainPaths(Mapping[int, tuple[Triple, ...]]):
    """Corpus row -> what joins it to the passage that it continues; where nothing does, what the walk followed to it.

    `sources` maps a row to the row that it continues.
    """

    walked: WalkedPaths
    sources: Mapping[int, int]

    def __getitem__(self, row: int) -> tuple[Triple, ...]:
        joining = self._joining(self.sources[row], row) if row in self.sources else ()
        return tuple(map(self.walked.triple, joining)) or self.walked[row]

    def __iter__(self) -> Iterator[int]:
        return iter(dict.fromkeys([*self.sources, *self.walked]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _joining(self, source: int, target: int) -> tuple[int, ...]:
        """The edge between two passages, or the two edges over the rarest name that both have; empty without one."""
        graph = self.walked.graph
        leaving = np.arange(graph.indptr[source], graph.indptr[source + 1])
        direct = leaving[graph.targets[leaving] == target]
        if len(direct):
            return (int(direct[0]),)
        arriving = np.arange(graph.indptr[target], graph.indptr[target + 1])
        names, here, there = np.intersect1d(graph.targets[leaving], graph.targets[arriving], return_indices=True)
        named = np.flatnonzero(names >= graph.n_passages)
        if not len(named):
            return ()
        rarest = named[np.argmin(np.diff(graph.indptr)[names[named]])]
        return int(leaving[here[rarest]]), int(arriving[there[rarest]])
