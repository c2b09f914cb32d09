"""One system over all questions: its rankings, checked, and its milliseconds per query."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, Protocol

from kg2rag.evaluation.checks import check_candidates, check_rankings
from kg2rag.types.passages import Query
from kg2rag.types.questions import QADataset
from kg2rag.types.rankings import Ranking


class System(Protocol):
    """Anything that ranks passages for a batch of queries; `kg2rag.retrievers.contract.Retriever` is one.

    Where it also has `prepare(queries)`, that is called first and not timed: it builds indexes and encodes queries.
    """

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One ranking of at most `k` hits a query, in the order of the queries."""
        ...


def run(
    name: str, system: System, data: QADataset, k: int, batch_size: int, *, progress: bool
) -> tuple[list[Ranking], float]:
    """All rankings of one system, checked, and its milliseconds per query.

    A system whose attribute `timed` is False only hands out what was computed elsewhere: its time is NaN.
    """
    from tqdm import tqdm

    queries, rankings, seconds = data.queries, [], 0.0
    quiet = not (progress and sys.stderr.isatty())
    with tqdm(total=len(queries), desc=name, unit="query", disable=quiet, file=sys.stderr) as bar:
        _call(name, queries[0], getattr(system, "prepare", None) or _nothing, queries)
        for start in range(0, len(queries), batch_size):
            batch = queries[start : start + batch_size]
            before = time.perf_counter()
            rankings += _call(name, batch[0], system.retrieve_batch, batch, k)
            seconds += time.perf_counter() - before
            bar.update(len(batch))
    check_rankings(rankings, data, k=k, name=name)
    check_candidates(rankings, queries, name)
    return rankings, 1000 * seconds / len(queries) if getattr(system, "timed", True) else float("nan")


def _call(name: str, first: Query, method: Any, *arguments: object) -> Any:
    try:
        return method(*arguments)
    except Exception as error:  # whatever a system raises is raised on, with where it happened
        error.add_note(f"System {name!r} failed in the batch that begins with query {first.id!r}: {first.text!r}")
        raise


def _nothing(_: object) -> None:
    """Stand in for `prepare` where a system has none."""
