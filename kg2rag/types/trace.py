"""A system's steps for a query, with the passages that passed each -> the step that lost a passage.

The system itself makes the trace (`Retriever.trace_batch`, `Stage.trace`). The definitions in
`LOST_AT` are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from kg2rag.types.passages import IntArray
from kg2rag.types.rankings import Ranking

_Unfound = Literal[
    "not a candidate", "not retrieved", "entity not linked", "not expanded", "pruned"
]
LostAt = Literal[_Unfound, "ranked below k", "cut by budget", "found"]
LOST_AT: tuple[LostAt, ...] = get_args(LostAt)
"""Where a gold passage can be lost, in the order of the steps.

- not a candidate: the question may not return it (setting "distractor").
- not retrieved: it is not in the ranking, and the system gives no further reason.
- entity not linked: no chain of any length connects it to an entity at which the graph search starts.
- not expanded: such a chain exists, but the search did not follow it.
- pruned: a filter, or a limit before the final ranking, dropped it.
- ranked below k: it is in the final ranking, below the first k. cut by budget: it was among them and did not fit.
"""


class Step(NamedTuple):
    """A step of a system for one query.

    `rows` are the distinct corpus rows that passed the step, ascending. `lost_at` and `why` are the
    stage and the reason that are recorded for the passages that it drops.
    """

    name: str
    rows: IntArray
    lost_at: LostAt
    why: str


def step(
    name: str, lost_at: LostAt, why: str, *rows: NDArray[np.integer] | Sequence[int]
) -> Step:
    """The step that the rows in any of one or more groups passed."""
    groups = [np.asarray(group, dtype=np.int64) for group in rows]
    return Step(name, np.unique(np.concatenate(groups)), lost_at, why)


@dataclass(frozen=True, eq=False)
class Trace:
    """A ranking and the steps that led to it.

    A passage among the first k hits counts as found, whatever the steps record. Another passage is
    lost by the first step that dropped it.
    """

    ranking: Ranking
    steps: tuple[Step, ...] = ()

    def lost_by(self, row: int) -> Step | None:
        """The first step that dropped a passage; None if it is in the ranking."""
        unranked = f"not among the {len(self.ranking)} passages of the ranking"
        steps = (
            *self.steps,
            step("retrieved", "not retrieved", unranked, self.ranking.rows),
        )
        return next((step for step in steps if row not in step.rows), None)

    def then(self, name: str, depth: int, ranking: Ranking) -> Trace:
        """The trace after a further stage, known by input and output only.

        The stage `name` read the first `depth` hits of this ranking and returned `ranking`. A
        passage that it added counts as having passed all earlier steps.
        """
        read = self.ranking.rows[:depth]
        added = ranking.rows[~np.isin(ranking.rows, read)]
        earlier = [
            step._replace(rows=np.union1d(step.rows, added)) for step in self.steps
        ]
        unranked = f"not in the ranking before {name}"
        unread = f"below the first {depth} hits, which {name} reads"
        stage_steps = [
            step("retrieved", "not retrieved", unranked, self.ranking.rows, added),
            step(f"read by {name}", "pruned", unread, read, added),
            step(name, "pruned", f"dropped by {name}", ranking.rows),
        ]
        return Trace(ranking, (*earlier, *stage_steps))
