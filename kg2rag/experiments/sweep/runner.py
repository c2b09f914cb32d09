"""Configurations -> batches for the workers, pilots first; each outcome is scored and kept as soon as it arrives."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from math import ceil

from kg2rag.experiments.sweep.configuration import Configuration
from kg2rag.experiments.sweep.definition import SweepDefinition
from kg2rag.experiments.sweep.judging import Judge
from kg2rag.experiments.sweep.storage import ResultsFolder
from kg2rag.experiments.sweep.workbench import Outcome
from kg2rag.experiments.sweep.workers import Batch, outcomes

SECONDS = 5.0  # between two writings of the one file
LARGEST = 8  # configurations in a batch; a killed sweep loses the batches that were being run


@dataclass
class Runner:
    """Runs configurations and keeps their outcomes."""

    sweep: SweepDefinition
    folder: ResultsFolder
    jobs: int
    backend: str
    progress: bool

    def __post_init__(self) -> None:
        self.judge = Judge(self.sweep)
        self.order: dict[str, None] = {}
        self.written = time.monotonic()

    def run(self, wanted: Sequence[Configuration]) -> None:
        """Run configurations in parallel; each is in the folder as soon as it is finished."""
        from tqdm import tqdm

        by_id = {configuration.id: configuration for configuration in wanted}
        quiet = not (self.progress and sys.stderr.isatty())
        with tqdm(total=len(wanted), desc=self.sweep.name, unit="configuration", disable=quiet, file=sys.stderr) as bar:
            for pilots, jobs in _phases(wanted, self.jobs):
                batches = _batches(self.sweep, pilots, jobs)
                with closing(outcomes(batches, self.sweep.k, jobs, self.backend)) as found:  # type: ignore[type-var]
                    for batch in found:
                        for outcome in batch:
                            self.keep(by_id[outcome.id], outcome)
                            bar.update()
                        if time.monotonic() - self.written > SECONDS:
                            self.folder.assemble(list(self.order))
                            self.written = time.monotonic()

    def keep(self, configuration: Configuration, outcome: Outcome) -> None:
        """Score and keep one outcome."""
        self.folder.add(self.judge.table(configuration, outcome), outcome.ms_per_query, outcome.seconds)


def _phases(wanted: Sequence[Configuration], jobs: int) -> Iterable[tuple[list[Configuration], int]]:
    """Groups of configurations to run in order, each with its number of processes.

    One configuration of each system is run first, with all threads: it fills the store, from which the others read.
    Otherwise every process would encode the same texts.
    """
    pilots: list[Configuration] = []
    if jobs > 1:
        for _, group in groupby(wanted, key=lambda one: (one.setting, one.graph, one.encoder)):
            same = list(group)
            first = {one.system: one for one in reversed(same)}
            pilots += [one for one in same if first[one.system] is one]
    if pilots:
        yield pilots, 1
    ids = {one.id for one in pilots}
    rest = [one for one in wanted if one.id not in ids]
    if rest:
        yield rest, min(jobs, len(rest))


def _batches(sweep: SweepDefinition, wanted: Sequence[Configuration], jobs: int) -> list[Batch]:
    """Batches of neighbours: those that differ least share what a worker has opened and remembered."""
    batches: list[Batch] = []
    for _, group in groupby(wanted, key=lambda one: (one.setting, one.graph, one.encoder)):
        # By system and its pipeline up to the last stage.
        same = sorted(group, key=lambda one: (one.system, one.about.rpartition(" >> ")[0]))
        size = max(1, min(LARGEST, ceil(len(wanted) / (4 * jobs))))
        bench = sweep.bench(same[0])
        for start in range(0, len(same), size):
            batches.append((bench, same[start : start + size]))
    return batches
