"""A system and questions -> its run: rankings, costs and inputs, kept in the store.

A run is stored in blocks of `BLOCK` questions as they finish, see `run_cache`. After a killed
comparison, the same call runs only the missing blocks.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kg2rag.compute.parallel import progress_bar
from kg2rag.evaluation import provenance
from kg2rag.evaluation.gold import check_rankings, note_on_error
from kg2rag.evaluation.machine import environment
from kg2rag.evaluation.run_cache import RunCache, run_cache
from kg2rag.knowledge.announcement import announce
from kg2rag.retrievers.system_parts import knowledge_bases, workloads
from kg2rag.types import Notes, QADataset, Query, Ranking, UnansweredError

BLOCK = 100
"""Questions in an entry of the store: a killed run loses at most so many."""


@dataclass(frozen=True, eq=False)
class Run:
    """The rankings of a system for a set of questions, with times and inputs.

    Attributes
    ----------
    rankings : one per question, in their order.
    ms_per_query : milliseconds per query of a warm system; NaN if the rankings were computed
        elsewhere (`timed = False`), or if an index was still built while the clock ran.
    build_seconds : seconds spent before that on indexes, graphs, vectors, and a batch to warm up.
    about : the inputs, date and machine of the run, as JSON values, see `provenance.of_run`.
    not_cached : why the run is not in the store; "" if it is.
    n_stored : number of rankings that were read from the store.
    """

    rankings: Sequence[Ranking]
    ms_per_query: float
    build_seconds: float
    about: Mapping[str, Any]
    not_cached: str = ""
    n_stored: int = 0


def run(
    system: Any,
    data: QADataset,
    k: int,
    *,
    name: str = "",
    batch_size: int = BLOCK,
    fresh: bool = False,
    progress: bool = True,
) -> Run:
    """The run of a system on all questions of a data set; stored blocks are read.

    Runs are kept in the store of the system's knowledge base. A run is not stored if its key would
    be incomplete: the system contains code of the user without a version, or a part that cannot be
    compared by content; see `run_key`.

    Parameters
    ----------
    system : ranks a batch, `retrieve_batch(queries, k)`; `prepare(queries)`, if it has that, is
        called first and not timed: it builds indexes, encodes queries.
    name : name of the system, for messages and the progress bar.
    batch_size : queries passed to the system at once, at most `BLOCK`; it changes the speed and
        never a ranking.
    fresh : run the system although the store has its run, and store the new one.

    Raises
    ------
    ValueError : a ranking that cannot be judged.
    Exception : what the system raises, with a note that names the system and the first query of the
        batch.
    """
    cache, not_cached = run_cache(system, k)
    execution = _Execution(name, system, data, k, min(batch_size, BLOCK))
    blocks = _blocks(data)
    entries = _stored_entries(None if fresh else cache, blocks)
    missing: list[Query] = []
    for block, entry in zip(blocks, entries, strict=True):
        if entry is None:
            missing += block
    if missing:
        execution.prepare(missing)
    rankings: list[Ranking] = []
    abouts = []
    with progress_bar(len(data.queries), name, "query", shown=progress) as bar:
        for block, entry in zip(blocks, entries, strict=True):
            if cache is None or entry is None:
                block_rankings, about = _run_block(block, execution, cache, fresh=fresh)
            else:
                block_rankings, about = cache.read(entry, data.corpus.ids)
            rankings += block_rankings
            abouts.append(about)
            bar.update(len(block))
    return Run(
        rankings,
        _ms_per_query(system, abouts, len(data.queries)),
        sum(about["build_seconds"] for about in abouts),
        provenance.of_blocks(abouts),
        not_cached or execution.not_cached,
        len(data.queries) - len(missing),
    )


def _blocks(data: QADataset) -> list[Sequence[Query]]:
    """The questions of each entry of the store, `BLOCK` at a time."""
    return [
        data.queries[start : start + BLOCK]
        for start in range(0, len(data.queries), BLOCK)
    ]


def _stored_entries(
    cache: RunCache | None, blocks: Sequence[Sequence[Query]]
) -> list[Path | None]:
    """The stored entry of each block, None for a block that is not stored.

    cache : None if stored entries are not to be read.
    """
    if cache is None:
        return [None] * len(blocks)
    return list(map(cache.find, blocks))


def _run_block(
    block: Sequence[Query],
    execution: _Execution,
    cache: RunCache | None,
    *,
    fresh: bool,
) -> tuple[list[Ranking], dict[str, Any]]:
    """The rankings of a block and their record, which are stored if they can be.

    cache : where they are stored; None if they are not.
    """
    rankings, about = execution.rank(block)
    if cache is None or execution.not_cached:
        return rankings, about
    entry = cache.write(block, rankings, about, fresh=fresh)
    # A stored block is read back, so that the first run equals all later ones.
    return cache.read(entry, execution.data.corpus.ids)


def _ms_per_query(
    system: object, abouts: Sequence[Mapping[str, Any]], n_queries: int
) -> float:
    """Milliseconds per query over all blocks; NaN if a block was not timed.

    abouts : the record of each block.
    """
    seconds: list[Any] = [about["seconds"] for about in abouts]
    if None in seconds or not getattr(system, "timed", True):
        return math.nan
    return float(1000 * sum(seconds) / n_queries)


def announce_work(
    systems: Iterable[Any], data: QADataset, k: int, *, fresh: bool = False
) -> None:
    """Print on stderr how many texts the models of systems will encode; see `announcement`.

    fresh : whether the systems run although the store has their runs.
    """
    with suppress(Exception):  # raised again by the run of the system, which names it
        blocks = _blocks(data)
        incomplete = []
        for system in systems:
            cache, _ = run_cache(system, k)
            if fresh or None in _stored_entries(cache, blocks):
                incomplete.append(system)
        announce(data.name, workloads(incomplete, data.queries))


@dataclass
class _Execution:
    """Prepares a system and runs it on blocks of queries, with the time of each.

    Attributes
    ----------
    n_answered : number of queries that have a ranking so far.
    unanswered : the first error of a query that a component of the system could not answer; None if
        there is none.
    build_seconds : seconds spent on indexes and vectors since the last block.
    """

    name: str
    system: Any
    data: QADataset
    k: int
    batch_size: int
    n_answered: int = 0
    unanswered: UnansweredError | None = None
    build_seconds: float = 0.0
    environment: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kbs = knowledge_bases(self.system)
        self.former_counts = [kb.usage.copy() for kb in self.kbs]

    @property
    def not_cached(self) -> str:
        """Why the rankings so far cannot be stored; "" if they can."""
        if self.unanswered is None:
            return ""
        return f"some queries have no ranking: {self.unanswered.cause}"

    def prepare(self, queries: Sequence[Query]) -> None:
        """Build indexes and vectors, and run the first batch, in which code is compiled, untimed."""
        self.environment = environment()
        started = time.perf_counter()
        with note_on_error(
            f"System {self.name!r} failed while its indexes and vectors were built."
        ):
            if hasattr(self.system, "prepare"):
                # `rank` reports a query without an answer.
                with suppress(UnansweredError):
                    self.system.prepare(queries)
        if self.kbs:
            with suppress(UnansweredError):
                self._rankings(queries[: self.batch_size])
        self.build_seconds += time.perf_counter() - started

    def rank(self, queries: Sequence[Query]) -> tuple[list[Ranking], dict[str, Any]]:
        """The checked rankings of a block, and their record.

        If a knowledge base built a part while the clock ran, the block is run once more; if it
        builds again, the time is unknown (None).
        """
        started = datetime.now(UTC).isoformat(timespec="seconds")
        seconds = None
        for _ in range(2):
            n_builds = self._n_builds()
            started_seconds = time.perf_counter()
            rankings = self._rankings(queries)
            spent = time.perf_counter() - started_seconds
            if self._n_builds() == n_builds:
                seconds = spent
                break
            self.build_seconds += spent
        check_rankings(rankings, self.data, queries=queries, k=self.k, name=self.name)
        times = {"seconds": seconds, "build_seconds": self.build_seconds}
        self.build_seconds = 0.0
        about = provenance.of_run(self.kbs, self.former_counts)
        return rankings, {
            "started": started,
            **times,
            **about,
            "environment": self.environment,
        }

    def _n_builds(self) -> int:
        """The number of parts that the knowledge bases have built."""
        return sum(kb.usage["builds"] for kb in self.kbs)

    def _rankings(self, queries: Sequence[Query]) -> list[Ranking]:
        """The rankings of some queries, batch by batch.

        A query that a component of the system cannot answer has an empty ranking whose notes name
        the cause, such as an unusable response of a language model.

        Raises UnansweredError: no query of the run has been answered.
        """
        rankings: list[Ranking] = []
        for start in range(0, len(queries), self.batch_size):
            batch = queries[start : start + self.batch_size]
            first = f"{batch[0].id!r}: {batch[0].text!r}"
            with note_on_error(
                f"System {self.name!r} failed in the batch that begins with query {first}"
            ):
                rankings += self._batch(batch)
        if not self.n_answered and self.unanswered is not None:
            self.unanswered.add_note(f"System {self.name!r} answered no query.")
            raise self.unanswered
        return rankings

    def _batch(self, batch: Sequence[Query]) -> list[Ranking]:
        """The rankings of a batch; if a query cannot be answered, each is ranked by itself."""
        try:
            rankings = list(self.system.retrieve_batch(batch, self.k))
        except UnansweredError as error:
            if len(batch) > 1:  # received answers are stored, so none is paid for twice
                return [ranking for query in batch for ranking in self._batch([query])]
            self.unanswered = self.unanswered or error
            notes = Notes(warning=f"no ranking: {error.cause}")
            ids = self.data.corpus.ids
            return [Ranking.from_scores(batch[0].id, [], [], ids, notes=notes)]
        self.n_answered += len(rankings)
        return rankings
