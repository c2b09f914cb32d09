"""A sweep and a folder -> its results: runs what is not finished, keeps each configuration as soon as it is.

Interrupted at any moment, even killed, a sweep goes on where it stopped and ends in the same file.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from math import ceil
from pathlib import Path
from typing import Any

from kg2rag.compute.hardware import threads
from kg2rag.evaluation import provenance
from kg2rag.experiments.sweep.configuration import Configuration, Task
from kg2rag.experiments.sweep.definition import Sweep
from kg2rag.experiments.sweep.judging import Judge, schema
from kg2rag.experiments.sweep.results import SweepResult
from kg2rag.experiments.sweep.storage import Folder, Timing
from kg2rag.experiments.sweep.workbench import Outcome
from kg2rag.experiments.sweep.workers import Batch, check_backend, outcomes

SECONDS = 5.0  # between two writings of the one file
LARGEST = 8  # configurations in a batch; a killed sweep loses the batches that were being run


@dataclass
class Runner:
    """Runs configurations and keeps what becomes of them."""

    sweep: Sweep
    folder: Folder
    jobs: int
    backend: str
    progress: bool

    def __post_init__(self) -> None:
        self.judge = Judge(self.sweep)
        self.order: list[str] = []
        self.written = time.monotonic()

    def run(self, wanted: Sequence[Configuration]) -> None:
        """Run configurations in parallel; what is finished stands in the folder, whatever happens next."""
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
                        self._write_now_and_then()

    def keep(self, configuration: Configuration, outcome: Outcome) -> None:
        """Score and keep one outcome."""
        self.folder.add(self.judge.table(configuration, outcome), Timing(outcome.ms_per_query, outcome.seconds))

    def _write_now_and_then(self) -> None:
        if time.monotonic() - self.written > SECONDS:
            self.folder.assemble(self.order)
            self.written = time.monotonic()


def run(sweep: Sweep, out: Path, *, jobs: int, resume: bool, backend: str, progress: bool) -> SweepResult:
    """Run a sweep into a folder.

    Parameters
    ----------
    jobs : processes; 0 for as many as there are processors. Each has its share of threads.
    resume : go on with what the folder holds: finished configurations stay, failed ones are run again.
    backend : "loky" (processes on this machine), "dask" or "ray" where installed.

    Raises
    ------
    FileExistsError : the folder holds results, and `resume` is not set.
    ValueError : something in the sweep, or results of another sweep in the folder.
    """
    check_backend(backend)
    if jobs < 0:
        raise ValueError(f"jobs must be at least 0 (all processors), not {jobs}.")
    wanted = sweep.configurations
    folder = Folder(out, schema(sweep.metrics), sweep.identity)
    folder.open()
    if folder.finished and not resume:
        raise FileExistsError(
            f"{out} holds {len(folder.finished)} finished configurations. Go on with --resume (resume=True), or give "
            "another folder."
        )
    if sweep.search != "optuna":
        _check_strangers(folder, wanted)
    folder.begin(_notes(sweep, jobs or threads(), backend))
    runner = Runner(sweep, folder, jobs or threads(), backend, progress)
    try:
        order = _all(runner, wanted)
    finally:
        if runner.order and folder.finished:
            folder.assemble(runner.order)
    folder.assemble(order, done=True)
    return SweepResult.load(out)


def _all(runner: Runner, wanted: Sequence[Configuration]) -> list[str]:
    """Run whatever is open; the ids of all configurations, in the order of the sweep."""
    folder = runner.folder
    if runner.sweep.search == "optuna":
        from kg2rag.experiments.sweep.optimising import optimise

        return optimise(runner)
    runner.order = [configuration.id for configuration in wanted]
    runner.run([one for one in wanted if folder.errors.get(one.id, "open")])
    return runner.order


def _check_strangers(folder: Folder, wanted: Sequence[Configuration]) -> None:
    known = {configuration.id for configuration in wanted}
    strangers = [id_ for id_ in folder.finished if id_ not in known]
    if strangers:
        raise ValueError(
            f"{folder.path} holds {len(strangers)} configurations that the sweep does not have (first: "
            f"{strangers[0]}). Was the sweep, or the code of a system, changed? Give another folder (--out)."
        )


def _phases(wanted: Sequence[Configuration], jobs: int) -> Iterable[tuple[list[Configuration], int]]:
    """What is run one after the other, and by how many processes.

    One configuration of each system goes first, with all threads: it fills the store, from which the others then read.
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


def _batches(sweep: Sweep, wanted: Sequence[Configuration], jobs: int) -> list[Batch]:
    """Neighbours share what a worker has opened and remembered, so those that differ least stand together."""
    batches: list[Batch] = []
    for _, group in groupby(wanted, key=lambda one: (one.setting, one.graph, one.encoder)):
        same = sorted(group, key=_beginning)
        size = max(1, min(LARGEST, ceil(len(wanted) / (4 * jobs))))
        bench = sweep.bench(same[0])
        for start in range(0, len(same), size):
            tasks = [Task(one.id, one.system, one.parameters) for one in same[start : start + size]]
            batches.append((bench, tasks))
    return batches


def _beginning(configuration: Configuration) -> tuple[str, str]:
    """The system, and its pipeline up to the last stage."""
    return configuration.system, configuration.about.rpartition(" >> ")[0]


def _notes(sweep: Sweep, jobs: int, backend: str) -> dict[str, Any]:
    return {
        "name": sweep.name,
        "objective": sweep.goal,
        "search": sweep.search,
        "jobs": jobs,
        "backend": backend,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        **provenance.environment(),
    }
