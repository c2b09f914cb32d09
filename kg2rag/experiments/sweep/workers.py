"""Batches of configurations -> outcomes as they finish, by this process or by the workers of `compute.workers`."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from functools import partial

from kg2rag.compute import map_pieces
from kg2rag.experiments.sweep.configuration import Bench, Configuration
from kg2rag.experiments.sweep.workbench import Outcome, opened, run

Batch = tuple[Bench, Sequence[Configuration]]


def outcomes(batches: Sequence[Batch], k: int, *, here: bool) -> Iterator[list[Outcome]]:
    """The outcomes of every batch: in this process one by one and in order, else as the workers finish."""
    if here:
        for bench, tasks in batches:
            for task in tasks:
                yield run(bench, [task], k)
        return
    yield from map_pieces(partial(run_apart, k=k), batches)


def run_apart(batch: Batch, k: int) -> list[Outcome]:
    """`run` in a worker process."""
    bench, tasks = batch
    fresh = opened.cache_info().currsize
    outcomes = run(bench, tasks, k)
    if opened.cache_info().currsize > fresh:
        # Modules, indexes and graphs stay: the garbage collector need not look through them again and again, which
        # took a third of the time of a configuration that makes many small objects.
        gc.freeze()
    return outcomes
