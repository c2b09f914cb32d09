"""`Sweep`: a definition that can be planned and run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kg2rag.experiments.sweep.definition import SweepDefinition
from kg2rag.experiments.sweep.planning import Plan, plan
from kg2rag.experiments.sweep.results import SweepResult


@dataclass(frozen=True, eq=False)
class Sweep(SweepDefinition):
    """Many configurations of systems on one data set; `run` runs them, `read_sweep` reads one from a file.

    Parameters
    ----------
    data : name of a set for `kg2rag.load`, with `path` and the other options below, or a `QADataset`, which is sent to
        every worker with its work: name large sets.
    systems : name in the catalogue -> parameter -> a value, a list of values, or a range (`space.py`);
        a list of such mappings runs one after the other.
    setting : "pooled", "distractor" or both; the set's default where not given.
    graphs : a source as `KnowledgeBase.build` takes it, a list of sources, or label -> source. A kind alone
        ("openie") takes the file of that kind beside the questions.
    encoders : likewise; a model's name or an embedder.
    metrics : names and functions, as `kg2rag.compare` takes them; `objective`, the first where not given, decides the
        selection.
    k : hits a query.
    split : how questions are divided into dev and test; see `Split`.
    search : "grid" runs all combinations, "random" and "optuna" `samples` of each entry of `systems`.
    seed : of random and Optuna.

    Raises
    ------
    ValueError : anything unknown or impossible; the message names the key, the value and what is allowed.
    """

    def plan(self, out: str | Path, *, jobs: int = 0) -> Plan:
        """What `run` would do; nothing is run or written."""
        return plan(self, Path(out), jobs)

    def run(
        self, out: str | Path, *, jobs: int = 0, resume: bool = False, backend: str = "loky", progress: bool = True
    ) -> SweepResult:
        """Run what is not finished and return all results.

        Parameters
        ----------
        jobs : processes; 0 for as many as there are processors. Each has its share of threads.
        resume : go on with what the folder holds: finished configurations stay, failed ones are run again.
        backend : "loky" (processes on this machine), "dask" or "ray" where installed.

        Raises
        ------
        FileExistsError : the folder holds results, and `resume` is not set.
        ValueError : an error in the sweep, or results of another sweep in the folder.
        """
        from kg2rag.experiments.sweep.running import run

        run(self, Path(out), jobs=jobs, resume=resume, backend=backend, progress=progress)
        return SweepResult.load(out)
