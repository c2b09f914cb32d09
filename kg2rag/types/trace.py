"""What a system did with the passages of a query, step by step -> the step that lost a passage.

A trace is made by the system itself (`Retriever.trace_batch`, `Stage.trace`) from the very functions that retrieve, so
that it tells what happened and not what a reader of the design expects. The definitions in `LOST_AT` are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from kg2rag.types.arrays import IntArray
from kg2rag.types.rankings import Ranking

LostAt = Literal[
    "not a candidate",
    "not retrieved",
    "entity not linked",
    "not expanded",
    "pruned",
    "ranked below k",
    "cut by budget",
    "found",
]
LOST_AT: tuple[LostAt, ...] = get_args(LostAt)
"""What can become of a gold passage, in the order in which it happens.

- not a candidate: the question may not return it (setting "distractor").
- not retrieved: it is not in the ranking, and the system cannot say more.
- entity not linked: nothing that the system's graph search starts from is joined to it, by however long a chain.
- not expanded: a chain leads to it, but not one that the search followed.
- pruned: it was reached, and a filter, or a limit before the last ranking, dropped it.
- ranked below k: it is in the last ranking, too far down. cut by budget: it was to be returned, and did not fit.
"""


class Step(NamedTuple):
    """One thing that a system did for a query.

    Attributes
    ----------
    name : of the step. rows : ascending, the corpus rows that passed it, each once.
    lost_at, why : what is said of a passage for which this is the first step that it did not pass.
    """

    name: str
    rows: IntArray
    lost_at: LostAt
    why: str


def step(name: str, lost_at: LostAt, why: str, *rows: NDArray[np.integer] | Sequence[int]) -> Step:
    """A step that several groups of rows passed; a passage may be in more than one."""
    groups = [np.asarray(group, dtype=np.int64) for group in rows]
    return Step(name, np.unique(np.concatenate(groups)) if groups else np.empty(0, dtype=np.int64), lost_at, why)


@dataclass(frozen=True, eq=False)
class Trace:
    """A ranking and the steps that led to it.

    A passage in the first k hits is found, whatever the steps say: systems that rank every passage by text as well can
    return one that their graph did not lead to. Any other was lost by the first step that it did not pass.
    """

    ranking: Ranking
    steps: tuple[Step, ...] = ()

    def lost_by(self, row: int) -> Step | None:
        """The first step that a passage did not pass; None where it passed all and stands in the ranking."""
        for each in self.steps:
            if not _holds(each.rows, row):
                return each
        if row in self.ranking.rows:
            return None
        return step("retrieved", "not retrieved", f"not among the {len(self.ranking)} passages of the ranking")

    def then(self, name: str, depth: int, ranking: Ranking) -> Trace:
        """The trace with one more stage, of which nothing is known but the hits that it read and gave.

        Parameters
        ----------
        name : of the stage. depth : hits that it read. ranking : those that it gave.
        """
        read, given = self.ranking.rows[:depth], ranking.rows
        added = given[~np.isin(given, read)]
        widened = [each._replace(rows=np.union1d(each.rows, added)) for each in self.steps]
        unread = f"below the first {depth} hits, which {name} reads"
        return Trace(
            ranking,
            (
                *widened,
                step("retrieved", "not retrieved", f"not in the ranking before {name}", self.ranking.rows, added),
                step(f"read by {name}", "pruned", unread, read, added),
                step(name, "pruned", f"dropped by {name}", given),
            ),
        )


def _holds(ascending: IntArray, row: int) -> bool:
    at = int(np.searchsorted(ascending, row))
    return at < len(ascending) and int(ascending[at]) == row
