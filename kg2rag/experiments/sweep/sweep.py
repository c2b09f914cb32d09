"""Systems with values of their parameters, and a data set -> scored configurations: `Sweep`.

Runs are read from the store or computed and stored. So an interrupted sweep continues, and a larger
sweep runs only its new configurations. `read_sweep` reads a sweep from a TOML file.
"""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import groupby, product
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from kg2rag.compute import (
    DEFAULT_MODEL,
    Embedder,
    Store,
    has_workers,
    map_pieces,
    workers,
)
from kg2rag.compute.endpoint import allowed_hosts
from kg2rag.compute.outputs import check_outputs
from kg2rag.datasets.reading import fault
from kg2rag.evaluation import provenance
from kg2rag.evaluation.machine import environment
from kg2rag.evaluation.metrics import Metric, Metrics, parse_metrics
from kg2rag.evaluation.runs import announce_work
from kg2rag.experiments.sweep.inputs import GraphSources, Split, SweepInputs
from kg2rag.experiments.sweep.results import NAMES, SweepResult
from kg2rag.experiments.sweep.scoring import Configuration, Scorer
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import systems as catalogue
from kg2rag.retrievers.system_parts import tuning
from kg2rag.text.records import DataError, read_toml
from kg2rag.types import Corpus, Passage, QADataset, at_least, require

LARGEST = 8  # most configurations that are sent to a worker at once
PIECES_PER_WORKER = 4  # at least so many, so that workers end at about the same time
KEYS = (
    "data",
    "encoder",
    "graphs",
    "k",
    "metrics",
    "name",
    "objective",
    "split",
    "systems",
)
DATA_KEYS = ("limit", "name", "setting")


@dataclass(frozen=True, eq=False)
class Sweep:
    """Configurations of systems on one data set.

    Parameters
    ----------
    data : a set or a folder for `kg2rag.load`, with `path`, `questions`, `setting` and `limit`, or
        a `QADataset`.
    systems : name in the catalogue -> parameter -> a value or a list of values; all combinations
        are run. A list of such mappings runs one after the other. The defaults of each system are
        run as well.
    graphs : a source as `KnowledgeBase.build` takes it, a list of sources, or label -> source. A
        kind ("openie") takes the file of that kind beside the questions.
    encoder : a model's name or an embedder.
    metrics : names and functions, as `kg2rag.compare` takes them; `objective`, by default the
        first, decides the selection.
    k : hits per query.
    split : the division of questions into dev and test, a `Split` or its fields.
    store : the store of knowledge bases and runs.

    Raises ValueError: an unknown or impossible value; the message names the key, the value and the
    allowed values.
    """

    data: str | QADataset
    systems: Mapping[str, Mapping[str, object] | Sequence[Mapping[str, object]]]
    name: str = "sweep"
    path: str | Path | None = None
    questions: str | Path | None = None
    setting: str | None = None
    limit: int | None = None
    graphs: GraphSources = "mentions"
    encoder: str | Embedder = DEFAULT_MODEL
    metrics: Metrics = ("recall@5", "recall@2", "all_recall@5", "mrr@10")
    objective: str | None = None
    k: int = 20
    split: Any = field(default_factory=Split)
    store: Store | None = None

    def __post_init__(self) -> None:
        require("k", self.k, int, at_least(1))
        names = [metric.name for metric in self.scored]
        if self.objective is not None and self.objective not in names:
            raise ValueError(
                f"objective = {self.objective!r} is none of the metrics: {', '.join(names)}."
            )
        try:
            object.__setattr__(self, "split", Split.model_validate(self.split))
        except ValidationError as error:
            raise ValueError(
                f"split = {self.split}: {fault(error)} It has dev, a share, and seed."
            ) from None
        _ = self.points

    @cached_property
    def scored(self) -> Sequence[Metric]:
        """The metrics; the first is the default objective."""
        return parse_metrics(self.metrics, self.k)

    @cached_property
    def points(self) -> Mapping[str, tuple[str, Mapping[str, object]]]:
        """Text of each distinct system -> its name and the parameters that the sweep sets.

        Each system with its defaults is included, since the selected configuration is compared with
        it.
        """
        if not isinstance(self.systems, Mapping) or not self.systems:
            raise ValueError(
                f"systems = {self.systems!r}: name at least one. Known: {', '.join(catalogue.names())}."
            )
        points: dict[str, tuple[str, Mapping[str, object]]] = {}
        for system, tables in self.systems.items():
            for table in [tables] if isinstance(tables, Mapping) else tables:
                for settings in _combinations(system, table):
                    points.setdefault(
                        self._system_text(system, settings), (system, settings)
                    )
            # The defaults are a point of a system without required parameters.
            defaults = catalogue.parameters(system).values()
            if inspect.Parameter.empty not in defaults:
                points.setdefault(self._system_text(system, {}), (system, {}))
        return points

    def _system_text(self, system: str, settings: Mapping[str, object]) -> str:
        """Name and `repr` of a system with some parameters; ValueError: they are refused."""
        try:
            return f"{system}: {catalogue.build(system, self._one_passage_base, **settings)!r}"
        except ValueError as error:
            raise ValueError(f"systems.{system}, {dict(settings)}: {error}") from error

    @cached_property
    def _one_passage_base(self) -> KnowledgeBase:
        """A knowledge base of one passage, over which systems are built for their `repr`."""
        return KnowledgeBase.build(
            Corpus.from_passages([Passage("p", "", "p", "p", 0)])
        )

    @cached_property
    def inputs(self) -> SweepInputs:
        """The inputs that all configurations share."""
        return SweepInputs(
            **{part.name: getattr(self, part.name) for part in fields(SweepInputs)}
        )

    @property
    def dataset(self) -> QADataset:
        """The questions and their corpus."""
        return self.inputs.dataset

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """All configurations; those on one graph are neighbours."""
        pairs = enumerate(product(self.inputs.sources, self.points.values()), start=1)
        return tuple(
            Configuration(number, *point, graph) for number, (graph, point) in pairs
        )

    def plan(self) -> str:
        """A text on the work of `run`, which runs and writes nothing."""
        counts = Counter(configuration.system for configuration in self.configurations)
        parts = self.split.labels(self.dataset)
        listed = ", ".join(f"{count} {system}" for system, count in counts.items())
        return (
            f"{self.name}: {len(self.configurations)} configurations ({listed})\n"
            f"Questions: {parts.count('dev')} dev, {parts.count('test')} test\n"
            f"Setting: {self.dataset.setting}; graphs: {', '.join(self.inputs.sources)}; "
            f"encoder: {self.inputs.embedder[0]}\n"
            "Runs that are in the store are read, not run again."
        )

    def run(
        self,
        out: str | Path,
        *,
        jobs: int = 1,
        backend: str = "loky",
        cluster: str | None = None,
        progress: bool = True,
    ) -> SweepResult:
        """Run the configurations that are not stored, and save all results in a folder.

        jobs, backend, cluster : the arguments of `kg2rag.compute.workers`.

        Raises
        ------
        ValueError : an error in the sweep, or in jobs and backend.
        FileExistsError : before any work, a file is in the way of the results that kg2rag did not
            write.
        RuntimeError : every configuration failed; the message has each error.
        """
        check_outputs(Path(out), NAMES)
        scorer = Scorer(self.inputs)
        first = {
            (point.graph, point.system): point
            for point in reversed(self.configurations)
        }
        announce_work(map(scorer.build, first.values()), self.dataset, self.k)
        with workers(jobs, backend, cluster) as slots:
            pieces = self._pieces(1)
            if has_workers():
                # The first configuration of each system fills the store, from which workers read.
                for configuration in reversed(first.values()):
                    scorer([configuration])
                size = math.ceil(len(self.configurations) / (PIECES_PER_WORKER * slots))
                pieces = self._pieces(size)
                # A copy without loaded inputs, which each worker loads itself.
                scorer = Scorer(replace(self.inputs))
            title = self.name if progress else ""
            tables = list(map_pieces(scorer, pieces, progress=title, total=len(pieces)))
        frame = pd.concat(tables, ignore_index=True)
        result = SweepResult(frame, self.objective or self.scored[0].name, self.about())
        if not result.numbers:
            raise RuntimeError(self._failures_text(result.failed))
        result.save(out)
        return result

    def _pieces(self, size: int) -> list[list[Configuration]]:
        """The configurations in pieces of at most `size`, each on one graph."""
        size = min(max(size, 1), LARGEST)
        pieces = []
        for _, group in groupby(
            self.configurations, key=lambda configuration: configuration.graph
        ):
            on_graph = list(group)
            pieces += [
                on_graph[start : start + size]
                for start in range(0, len(on_graph), size)
            ]
        return pieces

    def _failures_text(self, failed: pd.DataFrame) -> str:
        """The message if all configurations failed: each error, with its first configuration."""
        lines = [
            f"All {len(failed)} configurations of {self.name} failed; nothing was saved."
        ]
        for error, rows in failed.groupby("error", sort=False):
            first = rows.iloc[0]
            lines.append(
                f"{len(rows)} times, first {first['system']} {first['parameters']}: {error}"
            )
        return "\n".join(lines)

    def about(self) -> dict[str, Any]:
        """The record of data, graphs, encoder and machine that all scores share, as JSON values."""
        graphs = {}
        for label, source in self.inputs.sources.items():
            text = provenance.without_folders(source)
            graphs[label] = {"source": text, "fingerprint": source.fingerprint}
        tuned = {}
        for name, settings in self.points.values():
            system = catalogue.build(name, self._one_passage_base, **settings)
            tuned[name] = tuning(system)
        encoder, embedder = self.inputs.embedder
        return {
            "name": self.name,
            "k": self.k,
            "split": self.split.model_dump(),
            "data": {self.dataset.setting: [provenance.data(self.dataset)]},
            "graphs": graphs,
            "encoders": {encoder: provenance.without_folders(embedder)},
            "tuning": {name: rows for name, rows in tuned.items() if rows},
            **environment(),
        }


def read_sweep(
    file: str | Path,
    *,
    path: str | Path | None = None,
    questions: str | Path | None = None,
    store: Store | None = None,
    hosts: Collection[str] = (),
) -> Sweep:
    """The sweep of a TOML file; errors name the file, the key, the value and the allowed values.

    Parameters
    ----------
    path : file or folder of the data, which differs from machine to machine, so that no sweep file
        has it.
    questions : a file of questions about the user's documents.
    hosts : the hosts of endpoints that the file may name; passages and questions are sent to them.
    """
    file = Path(file)
    if not file.is_file():
        raise FileNotFoundError(f"{file} does not exist or is no file.")
    content = read_toml(file)
    try:
        about = _data_options(content)
        _check_names(content)
        names = {"name": str(content.get("name", file.stem)), "data": about["name"]}
        options = {**content, **about, **names}
        with allowed_hosts(hosts):  # for the endpoints that the file names
            sweep = Sweep(**options, path=path, questions=questions, store=store)
            _ = sweep.inputs.embedder
        return sweep
    except ValueError as error:
        raise DataError(f"{file}: {error}") from error


def _data_options(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table `data` of a sweep file; ValueError: it is missing, or a key is unknown."""
    about = content.get("data")
    if isinstance(about, str):
        about = {"name": about}
    if (
        not isinstance(about, Mapping)
        or "name" not in about
        or "systems" not in content
    ):
        raise ValueError(
            f"It needs systems, and data: the name of a set, or a table with {', '.join(DATA_KEYS)}."
        )
    for where, table, known in (("", content, KEYS), ("data.", about, DATA_KEYS)):
        # A path is given on the command line (--path).
        for key in set(table) - set(known):
            raise ValueError(f"Unknown key {where}{key}. Known: {', '.join(known)}.")
    return about


def _check_names(content: Mapping[str, Any]) -> None:
    """Raise ValueError if metrics, graphs or encoder are not names."""
    for key, kinds in (
        ("metrics", list),
        ("graphs", str | list | dict),
        ("encoder", str),
    ):
        value = content.get(key, "" if key == "encoder" else [])
        names = value.values() if isinstance(value, dict) else value
        if not isinstance(value, kinds) or not all(
            isinstance(name, str) for name in names
        ):
            raise ValueError(
                f'{key} = {value!r}: expected names, such as ["recall@5"].'
            )


def _combinations(system: str, table: object) -> Iterator[dict[str, object]]:
    """All combinations of the values of parameters, each as parameter -> value.

    ValueError: `table` is no mapping, or a parameter has no value.
    """
    if not isinstance(table, Mapping) or any(
        value in ([], ()) for value in table.values()
    ):
        raise ValueError(
            f"systems.{system} = {table!r}: expected parameters, each with a value or several."
        )
    values = [
        value if isinstance(value, list | tuple) else (value,)
        for value in table.values()
    ]
    for combination in product(*values):
        yield dict(zip(table, combination, strict=True))
