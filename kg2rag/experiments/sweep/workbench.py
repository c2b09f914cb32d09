"""Configurations -> the corpus rows they rank and the time they take: the work of a worker process.

A worker opens a data set, a knowledge base and the query vectors once for all its configurations. It also remembers
the rankings of pipelines without their last stage, so that stages whose parameters did not change are not run again.
Times exclude building and encoding; a remembered stage counts with the time of its run.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg2rag.compute import Embedder, Role, Store
from kg2rag.evaluation.inputs import check_rankings
from kg2rag.experiments.sweep.configuration import Bench, Configuration, DatasetRef
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import systems
from kg2rag.retrievers.contract import Pipeline, Retriever
from kg2rag.types import Matrix, QADataset, Ranking

REMEMBERED = 4
"""Pipelines whose rankings a worker keeps; a deep expansion of a thousand queries is large."""

Rows = NDArray[np.int32]


@dataclass(frozen=True)
class Outcome:
    """The result of a configuration.

    `rows` has for each data set of the bench (n_questions, k) corpus rows, best first, -1 where a ranking ends;
    `ms_per_query` is without building and encoding, `seconds` is everything; `error` is empty where it succeeded.
    """

    id: str
    rows: tuple[Rows, ...] = ()
    ms_per_query: float = float("nan")
    seconds: float = 0.0
    error: str = ""


class Stopwatch:
    """The seconds that an embedder spends encoding texts."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def on(self, embedder: Embedder) -> Embedder:
        """A copy that is watched, and of the same type: strategies and token counters ask for it."""
        watched = copy(embedder)

        def encode(texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:
            begin = time.perf_counter()
            try:
                return embedder.encode(texts, store, role)
            finally:
                self.seconds += time.perf_counter() - begin

        object.__setattr__(watched, "encode", encode)  # also where the embedder is a frozen dataclass
        return watched


class Opened:
    """A data set and a knowledge base over it, with the rankings of shorter pipelines."""

    def __init__(self, ref: DatasetRef, bench: Bench) -> None:
        self.data = loaded(ref)
        self.encoding = Stopwatch()
        embedder, store = self.encoding.on(bench.encoder), Store(bench.store)
        self.kb = KnowledgeBase.build(self.data.corpus, bench.graph, embedder=embedder, store=store)
        self._remembered: OrderedDict[tuple[str, int], tuple[list[Ranking], float]] = OrderedDict()

    def retrieve(self, system: Retriever, k: int) -> tuple[list[Ranking], float]:
        """The rankings of all questions, and the seconds that retrieving them takes.

        A pipeline without its last stage is remembered by its `repr`, which contains every parameter.
        """
        queries = self.data.queries
        if not isinstance(system, Pipeline):
            system.prepare(queries)  # encodes them and builds what they share, outside the time
            return self._timed(system.retrieve_batch, queries, k)
        depth = system.stages[-1].depth
        key = (repr(system.before), depth)
        if key not in self._remembered:
            self._remembered[key] = self.retrieve(system.before, depth)
            while len(self._remembered) > REMEMBERED:
                self._remembered.popitem(last=False)
        self._remembered.move_to_end(key)
        before, spent = self._remembered[key]
        system.finish(queries[:1], before[:1], k)
        rankings, more = self._timed(system.finish, queries, before, k)
        return rankings, spent + more

    def _timed(self, method: Any, *arguments: object) -> tuple[list[Ranking], float]:
        begin, encoding = time.perf_counter(), self.encoding.seconds
        rankings: list[Ranking] = method(*arguments)
        return rankings, time.perf_counter() - begin - (self.encoding.seconds - encoding)


@lru_cache(maxsize=8)
def loaded(ref: DatasetRef) -> QADataset:
    """The data set, read once a process."""
    if ref.data is not None:
        return ref.data
    from kg2rag.datasets import load

    data: QADataset = load(**ref.options)  # type: ignore[arg-type]
    return data


@lru_cache(maxsize=4)
def opened(bench: Bench) -> tuple[Opened, ...]:
    """The bench's data sets with their knowledge bases, opened once a process; nothing is built yet."""
    found = tuple(Opened(ref, bench) for ref in bench.datasets)
    for one in found:
        one.kb.corpus.fingerprint  # noqa: B018 - computed here, outside the time; every store entry reads it
    return found


def run(bench: Bench, tasks: Sequence[Configuration], k: int) -> list[Outcome]:
    """Run configurations in order; one that fails is an outcome with an error and does not stop the others."""
    return [_run(bench, task, k) for task in tasks]


def _run(bench: Bench, task: Configuration, k: int) -> Outcome:
    begin = time.perf_counter()
    try:
        found = [_ranked(one, task, k) for one in opened(bench)]
    except Exception as error:  # noqa: BLE001 - recorded with its configuration and run again on resuming
        return Outcome(task.id, seconds=time.perf_counter() - begin, error=f"{type(error).__name__}: {error}")
    questions = sum(len(rows) for rows, _ in found)
    ms = 1000 * sum(seconds for _, seconds in found) / questions
    return Outcome(task.id, tuple(rows for rows, _ in found), ms, time.perf_counter() - begin)


def _ranked(on: Opened, task: Configuration, k: int) -> tuple[Rows, float]:
    system = systems.build(task.system, on.kb, **task.parameters)
    rankings, seconds = on.retrieve(system, k)
    check_rankings(rankings, on.data, k=k, name=task.system)
    rows = np.full((len(rankings), k), -1, dtype=np.int32)
    for place, ranking in zip(rows, rankings, strict=True):
        place[: len(ranking)] = ranking.rows
    return rows, seconds
