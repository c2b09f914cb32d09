"""Systems with the values of their parameters, on a data set -> every configuration, run and scored: `Sweep`.

A configuration is a system whose run is asked of the store: what is there is read, what is not is run, so that a sweep
that was interrupted goes on, and a larger one runs only what is new. `read_sweep` reads a sweep from a TOML file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, product
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from kg2rag.compute import DEFAULT_MODEL, Embedder, Store, embedder_named, has_workers, map_pieces, workers
from kg2rag.compute.endpoint import allowed_hosts
from kg2rag.datasets.reading import fault
from kg2rag.evaluation import provenance
from kg2rag.evaluation.machine import environment
from kg2rag.evaluation.metrics import Metric, Metrics, parse_metrics
from kg2rag.evaluation.system_parts import tuning
from kg2rag.experiments.sweep.results import SweepResult
from kg2rag.experiments.sweep.scoring import Configuration, Scorer, Split
from kg2rag.extraction import Extractor
from kg2rag.extraction.sources import SOURCES, takes_file
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.retrievers import systems as catalogue
from kg2rag.text.records import DataError, read_toml
from kg2rag.types import Corpus, Passage, QADataset, at_least, require

GraphSource = str | Extractor | KnowledgeGraph
LARGEST = 8  # configurations that a worker is sent at once
KEYS = ("data", "encoder", "graphs", "k", "metrics", "name", "objective", "split", "systems")
DATA_KEYS = ("limit", "name", "setting")


@dataclass(frozen=True, eq=False)
class Sweep:
    """Many configurations of systems on one data set; `run` runs them, `read_sweep` reads one from a file.

    Parameters
    ----------
    data : name of a set for `kg2rag.load`, with `path`, `setting` and `limit`, or a `QADataset`.
    systems : name in the catalogue -> parameter -> a value or a list of values, of which all combinations are run; a
        list of such mappings runs one after the other.
    graphs : a source as `KnowledgeBase.build` takes it, a list of sources, or label -> source. A kind alone
        ("openie") takes the file of that kind beside the questions.
    encoder : a model's name or an embedder.
    metrics : names and functions, as `kg2rag.compare` takes them; `objective`, the first where not given, decides the
        selection.
    k : hits a query.
    split : how questions are divided into dev and test, see `Split`, or its fields.
    store : where knowledge bases and runs are kept.

    Raises ValueError: anything unknown or impossible; the message names the key, the value and what is allowed.
    """

    data: str | QADataset
    systems: Mapping[str, Mapping[str, object] | Sequence[Mapping[str, object]]]
    name: str = "sweep"
    path: str | Path | None = None
    setting: str | None = None
    limit: int | None = None
    graphs: GraphSource | Sequence[str] | Mapping[str, GraphSource] = "mentions"
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
            raise ValueError(f"objective = {self.objective!r} is none of the metrics: {', '.join(names)}.")
        try:
            object.__setattr__(self, "split", Split.model_validate(self.split))
        except ValidationError as error:
            raise ValueError(f"split = {self.split}: {fault(error)} It has dev, a share, and seed.") from None
        _ = self.points

    @cached_property
    def scored(self) -> Sequence[Metric]:
        """The metrics, the first of which decides where no objective is given."""
        return parse_metrics(self.metrics, self.k)

    @cached_property
    def points(self) -> Mapping[str, tuple[str, Mapping[str, object]]]:
        """`repr` of each system that is run -> its name and the parameters that are given."""
        if not isinstance(self.systems, Mapping) or not self.systems:
            raise ValueError(f"systems = {self.systems!r}: name at least one. Known: {', '.join(catalogue.names())}.")
        found: dict[str, tuple[str, Mapping[str, object]]] = {}
        for system, tables in self.systems.items():
            for given in [tables] if isinstance(tables, Mapping) else tables:
                if not isinstance(given, Mapping) or [] in given.values():
                    told = f"systems.{system} = {given!r}: expected parameters, each with a value or several."
                    raise ValueError(told)
                values = (one if isinstance(one, list | tuple) else (one,) for one in given.values())
                for combination in product(*values):
                    settings = dict(zip(given, combination, strict=True))
                    try:
                        made = catalogue.build(system, self._smallest, **settings)
                    except ValueError as error:
                        raise ValueError(f"systems.{system}, {settings}: {error}") from error
                    found.setdefault(f"{system}: {made!r}", (system, settings))
        return found

    @cached_property
    def _smallest(self) -> KnowledgeBase:
        """A knowledge base to build systems over that are looked at and never run."""
        return KnowledgeBase.build(Corpus.from_passages([Passage("p", "", "p", "p", 0)]))

    @cached_property
    def dataset(self) -> QADataset:
        """The questions and their corpus."""
        from kg2rag.datasets import load

        if not isinstance(self.data, QADataset):
            return load(self.data, path=self.path, setting=self.setting, limit=self.limit)
        if self.path or self.setting or self.limit:
            raise ValueError("A data set that is given as an object has its path, setting and limit already.")
        return self.data

    @cached_property
    def sources(self) -> Mapping[str, Extractor | KnowledgeGraph]:
        """Label -> source of each graph; a kind alone has become the file of that kind."""
        named, beside = self.graphs, self.dataset.graph_files
        if isinstance(named, Sequence):
            named = {name: name for name in ([named] if isinstance(named, str) else named)}
        found: dict[str, Extractor | KnowledgeGraph] = {}
        for label, graph in (named if isinstance(named, Mapping) else {"graph": named}).items():
            if isinstance(graph, str) and takes_file(graph):
                if graph not in beside:
                    raise ValueError(f"graphs: no {graph} file lies beside the questions. Name one.")
                graph = f"{graph}({json.dumps(str(beside[graph]))})"
            kind = label.partition("(")[0]
            label = kind if takes_file(kind) else label  # of a graph file, its kind
            if label in found:
                raise ValueError(f"graphs: give each a label of its own, as label = name; {label} is there twice.")
            found[label] = SOURCES.build(graph) if isinstance(graph, str) else graph
        return found

    @cached_property
    def embedder(self) -> tuple[str, Embedder]:
        """The label of the encoder, which is the last part of a model's name, and the encoder."""
        if isinstance(self.encoder, str):
            return self.encoder.split("/")[-1], embedder_named(self.encoder)
        return "encoder", self.encoder

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """All that are run; those on one graph are neighbours."""
        wanted = enumerate(product(self.sources, self.points.values()), start=1)
        return tuple(Configuration(number, *point, graph) for number, (graph, point) in wanted)

    def plan(self) -> str:
        """What `run` would do, in words; nothing is run or written."""
        counts = pd.Series([one.system for one in self.configurations]).value_counts(sort=False)
        parts = self.split.labels(self.dataset)
        listed = ", ".join(f"{count} {system}" for system, count in counts.items())
        return (
            f"{self.name}: {len(self.configurations)} configurations: {listed}\n"
            f"Questions: {parts.count('dev')} dev, {parts.count('test')} test\n"
            f"Setting: {self.dataset.setting}; graphs: {', '.join(self.sources)}; encoder: {self.embedder[0]}\n"
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
        """Run what the store does not have, save all results into a folder and return them.

        `jobs`, `backend`, `cluster` : who runs configurations, as `kg2rag.compute.workers` takes them.
        Raises ValueError: an error in the sweep, or in jobs and backend.
        """
        wanted, size = self.configurations, 1
        scorer = own = Scorer(self)
        with workers(jobs, backend, cluster) as slots:
            if has_workers():
                # One of each system is run here first: it fills the store, from which the others read.
                first = {(one.graph, one.system): one for one in reversed(wanted)}
                for one in reversed(first.values()):
                    own([one])
                size = max(1, min(LARGEST, math.ceil(len(wanted) / (4 * slots))))
                scorer = Scorer(replace(self))  # without what is loaded here
            groups = [list(group) for _, group in groupby(wanted, key=lambda one: one.graph)]
            pieces = [group[start : start + size] for group in groups for start in range(0, len(group), size)]
            tables = list(map_pieces(scorer, pieces, progress=self.name if progress else "", total=len(pieces)))
        result = SweepResult(pd.concat(tables, ignore_index=True), self.objective or self.scored[0].name, self.about())
        result.save(out)
        return result

    def about(self) -> dict[str, Any]:
        """What all scores share, as JSON values."""
        shown = provenance.without_folders
        graphs = {name: {"source": shown(one), "fingerprint": one.fingerprint} for name, one in self.sources.items()}
        built = {name: catalogue.build(name, self._smallest, **given) for name, given in self.points.values()}
        return {
            "name": self.name,
            "k": self.k,
            "split": self.split.model_dump(),
            "data": {self.dataset.setting: [provenance.data(self.dataset)]},
            "graphs": graphs,
            "encoders": {self.embedder[0]: shown(self.embedder[1])},
            "tuning": {name: rows for name, system in built.items() if (rows := tuning(system))},
            **environment(),
        }


def read_sweep(
    file: str | Path, *, path: str | Path | None = None, store: Store | None = None, hosts: Collection[str] = ()
) -> Sweep:
    """The sweep of a TOML file; errors name the file, the key, the value and what is allowed.

    `path` : file or folder of the data; no sweep file contains it, because those are shared and data are not.
    `hosts` : the hosts of endpoints that the file may name; passages and questions would be sent to them.
    """
    file = Path(file)
    if not file.is_file():
        raise FileNotFoundError(f"{file} does not exist or is no file.")
    given = read_toml(file)
    try:
        about = {"name": given["data"]} if isinstance(given.get("data"), str) else given.get("data")
        if not isinstance(about, Mapping) or "name" not in about or "systems" not in given:
            raise ValueError(f"It needs systems, and data: the name of a set, or a table with {', '.join(DATA_KEYS)}.")
        for where, table, known in (("", given, KEYS), ("data.", about, DATA_KEYS)):
            for key in set(table) - set(known):  # a path is given on the command line (--path)
                raise ValueError(f"Unknown key {where}{key}. Known: {', '.join(known)}.")
        for key, kinds in (("metrics", list), ("graphs", str | list | dict), ("encoder", str)):
            value = given.get(key, "" if key == "encoder" else [])
            names = value.values() if isinstance(value, dict) else value
            if not isinstance(value, kinds) or not all(isinstance(one, str) for one in names):
                raise ValueError(f'{key} = {value!r}: expected names, such as ["recall@5"].')
        named = {"name": str(given.get("name", file.stem)), "data": about["name"]}
        with allowed_hosts(hosts):  # every name is read here once
            sweep = Sweep(**{**given, **about, **named}, path=path, store=store)
            _ = sweep.embedder
        return sweep
    except ValueError as error:
        raise DataError(f"{file}: {error}") from error
