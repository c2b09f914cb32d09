"""A sweep and a folder -> what running it would do: configurations, stages to compute, an estimate of the time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean

from kg2rag.hardware import threads
from kg2rag.sweep.configuration import Configuration, Task
from kg2rag.sweep.definition import Sweep
from kg2rag.sweep.judging import schema
from kg2rag.sweep.stages import Stage, stages
from kg2rag.sweep.storage import Folder
from kg2rag.sweep.workbench import run


@dataclass(frozen=True)
class Plan:
    """What a sweep would do.

    Attributes
    ----------
    total, finished, failed : configurations; failed ones are run again on resuming.
    by_system : system -> configurations that are still to run.
    questions : "dev" and "test" -> how many.
    stages : (setting, graph, encoder) -> parts of the knowledge base and what is missing of them.
    seconds : estimate for what is left; None where something has to be computed first.
    timed : how many configurations the estimate rests on.
    """

    name: str
    total: int
    finished: int
    failed: int
    by_system: Mapping[str, int]
    questions: Mapping[str, int]
    stages: Mapping[tuple[str, str, str], Sequence[Stage]]
    jobs: int
    seconds: float | None
    timed: int

    def __str__(self) -> str:
        left = ", ".join(f"{count} {name}" for name, count in self.by_system.items()) or "none"
        lines = [
            f"{self.name}: {self.total} configurations, {self.finished} finished, {self.failed} failed, to run: {left}",
            f"Questions: {self.questions['dev']} dev, {self.questions['test']} test",
        ]
        for place, found in self.stages.items():
            lines.append(f"Stages on {', '.join(place)}:")
            lines += [
                f"  {one.name}: {f'to compute ({one.missing})' if one.missing else 'in the store'}" for one in found
            ]
        return "\n".join([*lines, self._time()])

    def _time(self) -> str:
        if not self.by_system:
            return "Nothing is left to run."
        if self.seconds is None:
            return "Time: not known until what is missing has been computed; --run says it as it goes."
        about = f"{self.seconds:.0f} s" if self.seconds < 120 else f"{self.seconds / 60:.0f} min"
        return f"Time: about {about} with {self.jobs} jobs, by {self.timed} configurations that were timed"


def plan(sweep: Sweep, out: Path, jobs: int) -> Plan:
    """Look and count; nothing is written.

    Where nothing is finished yet, and nothing has to be computed, one configuration of each system is run for the
    estimate and forgotten.
    """
    jobs = jobs or threads()
    folder = Folder(out, schema(sweep.metrics), sweep.identity)
    folder.open()
    wanted = _wanted(sweep)
    left = [one for one in wanted if folder.errors.get(one.id, "open")]
    found = _stages(sweep, wanted)
    total = len(sweep.configurations) or sweep.samples * len(sweep.fields)
    counts = Counter(one.system for one in left)
    if sweep.search == "optuna":
        counts = Counter({field.system: 0 for field in sweep.fields})
        for field in sweep.fields:
            counts[field.system] += sweep.samples
    seconds, timed = _estimate(sweep, folder, wanted, counts, jobs, found)
    split = Counter(label for setting in sweep.requests for one in sweep.labels(setting) for label in one)
    return Plan(
        sweep.name,
        total,
        len(folder.finished) - len(folder.failed()),
        len(folder.failed()),
        counts,
        split,
        found,
        jobs,
        seconds,
        timed,
    )


def _wanted(sweep: Sweep) -> list[Configuration]:
    """All configurations; with Optuna the first values of every field stand for what it will choose."""
    if sweep.search != "optuna":
        return list(sweep.configurations)
    return [
        sweep.configuration(field, {name: space.first for name, space in field.spaces.items()})
        for field in sweep.fields
    ]


def _stages(sweep: Sweep, wanted: Sequence[Configuration]) -> dict[tuple[str, str, str], list[Stage]]:
    found: dict[tuple[str, str, str], list[Stage]] = {}
    for place, group in groupby(wanted, key=lambda one: (one.setting, one.graph, one.encoder)):
        missing: dict[str, str] = {}
        for one in _differing(list(group)):
            for stage in stages(sweep, one):
                missing[stage.name] = missing.get(stage.name) or stage.missing
        found[place] = [Stage(name, what) for name, what in sorted(missing.items())]
    return found


def _differing(configurations: Sequence[Configuration]) -> list[Configuration]:
    """Configurations that together have every value of every parameter: the first with each."""
    seen: set[tuple[str, str, str]] = set()
    kept = []
    for one in configurations:
        values = {(one.system, name, repr(value)) for name, value in one.parameters.items()} or {(one.system, "", "")}
        if not values <= seen:
            seen |= values
            kept.append(one)
    return kept


def _estimate(
    sweep: Sweep,
    folder: Folder,
    wanted: Sequence[Configuration],
    left: Mapping[str, int],
    jobs: int,
    found: Mapping[tuple[str, str, str], Sequence[Stage]],
) -> tuple[float | None, int]:
    """Seconds for what is left, and by how many configurations they were judged."""
    taken: dict[str, list[float]] = {}
    for one in wanted:
        timing = folder.timings.get(one.id)
        if timing and math.isfinite(timing.seconds) and not folder.errors[one.id]:
            taken.setdefault(one.system, []).append(timing.seconds)
    if not taken and any(_unknown(stage) for stages_ in found.values() for stage in stages_):
        return None, 0
    for one in wanted:
        if one.system not in taken:
            task = Task(one.id, one.system, one.parameters)
            run(sweep.bench(one), [task], sweep.k)  # opens and builds; the second time counts
            taken[one.system] = [run(sweep.bench(one), [task], sweep.k)[0].seconds]
    total = sum(count * fmean(taken[system]) for system, count in left.items() if count)
    return total / max(1, min(jobs, sum(left.values()))), sum(map(len, taken.values()))


def _unknown(stage: Stage) -> bool:
    return bool(stage.missing) and not stage.missing.startswith("known only")
