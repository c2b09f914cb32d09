"""A sweep and a folder -> what running it would do: configurations and an estimate of the time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from kg2rag.compute import threads
from kg2rag.experiments.sweep.configuration import Configuration
from kg2rag.experiments.sweep.definition import SweepDefinition
from kg2rag.experiments.sweep.resources import each_value_once
from kg2rag.experiments.sweep.storage import ResultsFolder, schema


@dataclass(frozen=True)
class Plan:
    """The work that a sweep would do.

    Attributes
    ----------
    total, finished, failed : configurations; failed ones are run again on resuming.
    by_system : system -> configurations that are still to run.
    questions : "dev" and "test" -> how many.
    seconds : estimate for what is left; None before any has finished.
    timed : how many configurations the estimate rests on.
    """

    name: str
    total: int
    finished: int
    failed: int
    by_system: Mapping[str, int]
    questions: Mapping[str, int]
    jobs: int
    seconds: float | None
    timed: int

    def __str__(self) -> str:
        left = ", ".join(f"{count} {name}" for name, count in self.by_system.items()) or "none"
        if not self.by_system:
            time = "Nothing is left to run."
        elif self.seconds is None:
            time = "Time: not known until some configurations have finished; --run says it as it goes."
        else:
            about = f"{self.seconds:.0f} s" if self.seconds < 120 else f"{self.seconds / 60:.0f} min"
            time = f"Time: about {about} with {self.jobs} jobs, by {self.timed} configurations that were timed"
        done = f"{self.finished} finished, {self.failed} failed, to run: {left}"
        questions = f"Questions: {self.questions['dev']} dev, {self.questions['test']} test"
        return f"{self.name}: {self.total} configurations, {done}\n{questions}\n{time}"


def plan(sweep: SweepDefinition, out: Path, jobs: int) -> Plan:
    """Look and count; nothing is run or written."""
    jobs = jobs or threads()
    folder = ResultsFolder(out, schema(sweep.scored_metrics), sweep.identity)
    folder.open()
    failed = sum(map(bool, folder.errors.values()))
    total = len(sweep.configurations) or sweep.samples * len(sweep.swept)
    if sweep.search == "optuna":  # the first values of every space represent its choices
        wanted = [sweep.configuration(one, next(each_value_once(one.spaces))) for one in sweep.swept]
        counts = Counter(one.system for one in sweep.swept for _ in range(sweep.samples))
    else:
        wanted = list(sweep.configurations)
        counts = Counter(one.system for one in wanted if folder.errors.get(one.id, "open"))
    seconds, timed = _estimate(folder, wanted, counts, jobs)
    split = Counter(label for setting in sweep.datasets for one in sweep.labels(setting) for label in one)
    finished = len(folder.errors) - failed
    return Plan(sweep.name, total, finished, failed, counts, split, jobs, seconds, timed)


def _estimate(
    folder: ResultsFolder, wanted: Sequence[Configuration], left: Mapping[str, int], jobs: int
) -> tuple[float | None, int]:
    """Seconds for what is left, and the number of finished configurations behind the estimate."""
    taken: dict[str, list[float]] = {}
    for one in wanted:
        _, seconds = folder.timings.get(one.id, (math.nan, math.nan))
        if math.isfinite(seconds) and not folder.errors[one.id]:
            taken.setdefault(one.system, []).append(seconds)
    timed = [seconds for own in taken.values() for seconds in own]
    if not timed:
        return None, 0
    usual = fmean(timed)  # for a system of which none has finished
    total = sum(count * fmean(taken.get(system, [usual])) for system, count in left.items())
    return total / max(1, min(jobs, sum(left.values()))), len(timed)
