"""`Sweep`: a definition that can be planned and run; `read_sweep`: one from a TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kg2rag.compute import Store, workers
from kg2rag.evaluation import provenance
from kg2rag.experiments.sweep.definition import SweepDefinition
from kg2rag.experiments.sweep.inputs import inputs
from kg2rag.experiments.sweep.planning import Plan, plan
from kg2rag.experiments.sweep.results import SweepResult
from kg2rag.experiments.sweep.runner import Runner
from kg2rag.experiments.sweep.storage import ResultsFolder, schema
from kg2rag.text.records import DataError, read_toml

KEYS = ("encoders", "graphs", "k", "metrics", "name", "objective", "samples", "search", "seed", "split", "systems")
DATA_KEYS = ("limit", "name", "passages", "revision", "setting")


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
        self,
        out: str | Path,
        *,
        jobs: int = 0,
        resume: bool = False,
        backend: str = "loky",
        cluster: str | None = None,
        progress: bool = True,
    ) -> SweepResult:
        """Run what is not finished and return all results; resuming one that was interrupted ends in the same file.

        Parameters
        ----------
        jobs : processes; 0 for as many as there are processors. Each has its share of threads.
        resume : go on with what the folder holds: finished configurations stay, failed ones are run again.
        backend, cluster : as `kg2rag.compute.workers` takes them; a cluster reads the data and the store under the same
            paths.

        Raises
        ------
        FileExistsError : the folder holds results, and `resume` is not set.
        ValueError : an error in the sweep or in jobs and backend, or results of another sweep in the folder.
        OSError : nobody answers at `cluster`.
        """
        with workers(jobs, backend, cluster) as jobs:
            return self._run(Path(out), jobs, backend, resume=resume, progress=progress)

    def _run(self, out: Path, jobs: int, backend: str, *, resume: bool, progress: bool) -> SweepResult:
        wanted = self.configurations
        folder = ResultsFolder(out, schema(self.scored_metrics), self.identity)
        folder.open()
        if folder.errors and not resume:
            raise FileExistsError(
                f"{out} holds {len(folder.errors)} finished configurations. Go on with --resume (resume=True), or give "
                "another folder."
            )
        known = {configuration.id for configuration in wanted}
        strangers = [] if self.search == "optuna" else [id_ for id_ in folder.errors if id_ not in known]
        if strangers:
            raise ValueError(
                f"{folder.path} holds {len(strangers)} configurations that the sweep does not have (first: "
                f"{strangers[0]}). Was the sweep, or the code of a system, changed? Give another folder (--out)."
            )
        folder.begin(
            {
                "name": self.name,
                "objective": self.goal,
                "search": self.search,
                "jobs": jobs,
                "backend": backend,
                "started": datetime.now(UTC).isoformat(timespec="seconds"),
                "inputs": inputs(self),
                **provenance.environment(),
            }
        )
        runner = Runner(self, folder, jobs, progress)
        try:
            if self.search == "optuna":
                from kg2rag.experiments.sweep.optimising import optimise

                optimise(runner)
            else:
                runner.order = dict.fromkeys(configuration.id for configuration in wanted)
                runner.run([one for one in wanted if folder.errors.get(one.id, "open")])
        finally:
            if runner.order and folder.errors:
                folder.assemble(list(runner.order))
        folder.assemble(list(runner.order), done=True)
        return SweepResult.load(out)


def read_sweep(file: str | Path, *, path: str | Path | None = None, store: Store | None = None) -> Sweep:
    """The sweep of a TOML file; errors name the file, the key, the value and what is allowed.

    Parameters
    ----------
    path : file or folder of the data; no sweep file contains it, because those are shared and data are not.
    """
    file = Path(file)
    if not file.is_file():
        raise FileNotFoundError(f"{file} does not exist or is no file.")
    given = read_toml(file)
    try:
        return Sweep(**_options(given), path=path, store=store, name=str(given.get("name", file.stem)))
    except ValueError as error:
        raise DataError(f"{file}: {error}") from error


def _options(given: Mapping[str, object]) -> dict[str, Any]:
    for key in given:
        if key not in (*KEYS, "data"):
            raise ValueError(f"Unknown key {key!r}. Known: {', '.join(sorted((*KEYS, 'data')))}.")
    for key in ("data", "systems"):
        if key not in given:
            raise ValueError(f"The key {key!r} is missing.")
    about = given["data"]
    if isinstance(about, str):
        about = {"name": about}
    if not isinstance(about, Mapping) or "name" not in about:
        raise ValueError(f"data = {about!r}: expected the name of a set, or a table with {', '.join(DATA_KEYS)}.")
    for key in about:
        if key not in DATA_KEYS:
            hint = " Paths are given on the command line (--path)." if key == "path" else ""
            raise ValueError(f"Unknown key data.{key}. Known: {', '.join(DATA_KEYS)}.{hint}")
    rest = {key: value for key, value in given.items() if key not in ("data", "name")}
    _check_lists(rest)
    return {**rest, **{key: value for key, value in about.items() if key != "name"}, "data": about["name"]}


def _check_lists(given: Mapping[str, object]) -> None:
    if "metrics" in given and not _texts(given["metrics"]):
        raise ValueError(f'metrics = {given["metrics"]!r}: expected a list of names, such as ["recall@5"].')
    for key in ("graphs", "encoders"):
        value = given.get(key, "")
        named = isinstance(value, Mapping) and all(isinstance(one, str) for one in value.values())
        if not (isinstance(value, str) or named or _texts(value)):
            raise ValueError(f"{key} = {value!r}: expected a name, a list of names, or a table label = name.")


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
