"""A sweep and a folder -> its results: runs what is not finished, and keeps each configuration when it is.

A sweep that was interrupted, even killed, resumes where it stopped and ends in the same file.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kg2rag.compute.hardware import threads
from kg2rag.evaluation import provenance
from kg2rag.experiments.sweep.definition import SweepDefinition
from kg2rag.experiments.sweep.runner import Runner
from kg2rag.experiments.sweep.storage import ResultsFolder, schema
from kg2rag.experiments.sweep.workers import check_backend


def run(sweep: SweepDefinition, out: Path, *, jobs: int, resume: bool, backend: str, progress: bool) -> None:
    """Run a sweep into a folder; `Sweep.run` documents the parameters and errors."""
    check_backend(backend)
    if jobs < 0:
        raise ValueError(f"jobs must be at least 0 (all processors), not {jobs}.")
    wanted = sweep.configurations
    folder = ResultsFolder(out, schema(sweep.scored_metrics), sweep.identity)
    folder.open()
    if folder.errors and not resume:
        raise FileExistsError(
            f"{out} holds {len(folder.errors)} finished configurations. Go on with --resume (resume=True), or give "
            "another folder."
        )
    known = {configuration.id for configuration in wanted}
    strangers = [] if sweep.search == "optuna" else [id_ for id_ in folder.errors if id_ not in known]
    if strangers:
        raise ValueError(
            f"{folder.path} holds {len(strangers)} configurations that the sweep does not have (first: "
            f"{strangers[0]}). Was the sweep, or the code of a system, changed? Give another folder (--out)."
        )
    folder.begin(_notes(sweep, jobs or threads(), backend))
    runner = Runner(sweep, folder, jobs or threads(), backend, progress)
    try:
        if sweep.search == "optuna":
            from kg2rag.experiments.sweep.optimising import optimise

            optimise(runner)
        else:
            runner.order = dict.fromkeys(configuration.id for configuration in wanted)
            runner.run([one for one in wanted if folder.errors.get(one.id, "open")])
    finally:
        if runner.order and folder.errors:
            folder.assemble(list(runner.order))
    folder.assemble(list(runner.order), done=True)


def _notes(sweep: SweepDefinition, jobs: int, backend: str) -> dict[str, Any]:
    return {
        "name": sweep.name,
        "objective": sweep.goal,
        "search": sweep.search,
        "jobs": jobs,
        "backend": backend,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        **provenance.environment(),
    }
