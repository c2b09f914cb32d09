"""Systems with the values of their parameters, on a data set -> every configuration, run and scored: `Sweep`.

A configuration is a system whose run is asked of the store: what is there is read, what is not is run, so that a sweep
that was interrupted goes on, and a larger one runs only what is new. `read_sweep` reads a sweep from a TOML file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, product
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from kg2rag.compute import DEFAULT_MODEL, Embedder, Store, embedder_named, has_workers, map_pieces, workers
from kg2rag.datasets.reading import fault
from kg2rag.evaluation import provenance
from kg2rag.evaluation.identity import tuning, without_folders
from kg2rag.evaluation.metrics import Metric, Metrics, parse_metrics
from kg2rag.experiments.sweep.results import SweepResult
from kg2rag.experiments.sweep.scoring import Configuration, Scorer, Split
from kg2rag.extraction import Extractor
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.extraction.sources import SOURCES, takes_file
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.retrievers import systems as catalogue
from kg2rag.text.records import DataError, read_toml
from kg2rag.types import Corpus, Passage, QADataset, at_least, require

GraphSource = str | Extractor | KnowledgeGraph
LARGEST = 8  # configurations that a worker is sent at once
KEYS = ("data", "encoders", "graphs", "k", "metrics", "name", "objective", "split", "systems")
DATA_KEYS = ("limit", "name", "setting")


@dataclass(frozen=True, eq=False)
class Sweep:
    """Many configurations of systems on one data set; `run` runs them, `read_sweep` reads one from a file.

    Parameters
    ----------
    data : name of a set for `kg2rag.load`, with `path`, `setting` and `limit`, or a `QADataset`.
    systems : name in the catalogue -> parameter -> a value or a list of values, of which all combinations are run; a
        list of such mappings runs one after the other.
    setting : "pooled", "distractor" or both; the set's default where not given.
    graphs : a source as `KnowledgeBase.build` takes it, a list of sources, or label -> source. A kind alone
        ("openie") takes the file of that kind beside the questions.
    encoders : likewise; a model's name or an embedder.
    metrics : names and functions, as `kg2rag.compare` takes them; `objective`, the first where not given, decides the
        selection.
    k : hits a query.
    split : how questions are divided into dev and test, see `Split`, or its fields.
    store : where knowledge bases and runs are kept.

    Raises
    ------
    ValueError : anything unknown or impossible; the message names the key, the value and what is allowed.
    """

    data: str | QADataset
    systems: Mapping[str, Mapping[str, object] | Sequence[Mapping[str, object]]]
    name: str = "sweep"
    path: str | Path | None = None
    setting: str | Sequence[str] | None = None
    limit: int | None = None
    graphs: GraphSource | Sequence[str] | Mapping[str, GraphSource] = "mentions"
    encoders: str | Embedder | Sequence[str] | Mapping[str, str | Embedder] | None = None
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
                    raise ValueError(
                        f"systems.{system} = {given!r}: expected parameters, each with a value or several."
                    )
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
        corpus = Corpus.from_passages([Passage("p", "", "p", "p", 0)])
        return KnowledgeBase.build(corpus, KnowledgeGraph.build(Mentions().extract(corpus), corpus))

    @cached_property
    def datasets(self) -> Mapping[str, QADataset]:
        """Setting -> its data set."""
        from kg2rag.datasets import load

        if isinstance(self.data, QADataset):
            if self.path or self.setting or self.limit:
                raise ValueError("A data set that is given as an object has its path, setting and limit already.")
            return {self.data.setting: self.data}
        settings = [self.setting] if isinstance(self.setting, str | None) else self.setting
        loaded = [load(self.data, path=self.path, setting=one, limit=self.limit) for one in settings]
        return {one.setting: one for one in loaded}

    @cached_property
    def sources(self) -> Mapping[str, Extractor | KnowledgeGraph]:
        """Label -> source of each graph; a kind alone has become the file of that kind."""
        beside = next(iter(self.datasets.values())).graph_files
        found: dict[str, Extractor | KnowledgeGraph] = {}
        named = _by_label(self.graphs, "graph")
        for label, graph in named.items():
            if isinstance(graph, str) and takes_file(graph):
                if graph not in beside:
                    raise ValueError(f"graphs: no {graph} file lies beside the questions. Name one.")
                graph = f"{graph}({json.dumps(str(beside[graph]))})"
            # The label of a graph file is its kind.
            kind = label.partition("(")[0]
            found[kind if takes_file(kind) else label] = SOURCES.build(graph) if isinstance(graph, str) else graph
        return _all_named("graphs", found, named)

    @cached_property
    def embedders(self) -> Mapping[str, Embedder]:
        """Label -> encoder; a model's label is the last part of its name."""
        named = _by_label(self.encoders or DEFAULT_MODEL, "encoder")
        found = {
            label.split("/")[-1]: embedder_named(one) if isinstance(one, str) else one for label, one in named.items()
        }
        return _all_named("encoders", found, named)

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """All that are run; those on one graph, encoder and setting are neighbours."""
        wanted = product(self.datasets, self.sources, self.embedders, self.points.values())
        return tuple(Configuration(number, *point, *place) for number, (*place, point) in enumerate(wanted, start=1))

    def plan(self) -> str:
        """What `run` would do, in words; nothing is run or written."""
        counts = pd.Series([one.system for one in self.configurations]).value_counts(sort=False)
        parts = [label for data in self.datasets.values() for label in self.split.labels(data)]
        return "\n".join(
            [
                f"{self.name}: {len(self.configurations)} configurations: "
                + ", ".join(f"{count} {system}" for system, count in counts.items()),
                f"Questions: {parts.count('dev')} dev, {parts.count('test')} test",
                f"Settings: {', '.join(self.datasets)}; graphs: {', '.join(self.sources)}; "
                f"encoders: {', '.join(self.embedders)}",
                "Runs that are in the store are read, not run again.",
            ]
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

        Parameters
        ----------
        jobs, backend, cluster : who runs configurations, as `kg2rag.compute.workers` takes them.

        Raises
        ------
        ValueError : an error in the sweep, or in jobs and backend.
        """
        wanted, size = self.configurations, 1
        scorer = own = Scorer(self)
        with workers(jobs, backend, cluster) as slots:
            if has_workers():
                # One of each system is run here first: it fills the store, from which the others read.
                first = {(*one.place, one.system): one for one in reversed(wanted)}
                for one in reversed(first.values()):
                    own([one])
                size = max(1, min(LARGEST, math.ceil(len(wanted) / (4 * slots))))
                scorer = Scorer(replace(self))  # without what is loaded here
            groups = [list(group) for _, group in groupby(wanted, key=lambda one: one.place)]
            pieces = [group[start : start + size] for group in groups for start in range(0, len(group), size)]
            tables = list(map_pieces(scorer, pieces, progress=self.name if progress else "", total=len(pieces)))
        result = SweepResult(pd.concat(tables, ignore_index=True), self.objective or self.scored[0].name, self.about())
        result.save(out)
        return result

    def about(self) -> dict[str, Any]:
        """What all scores share, as JSON values."""
        built = {name: catalogue.build(name, self._smallest, **given) for name, given in self.points.values()}
        return {
            "name": self.name,
            "k": self.k,
            "split": self.split.model_dump(),
            "data": {name: [provenance.data(one)] for name, one in self.datasets.items()},
            "graphs": {
                label: {"source": without_folders(one), "fingerprint": one.fingerprint}
                for label, one in self.sources.items()
            },
            "encoders": {label: without_folders(one) for label, one in self.embedders.items()},
            "tuning": {name: rows for name, system in built.items() if (rows := tuning(system))},
            **provenance.environment(),
        }


def _by_label(given: Any, label: str) -> Mapping[str, Any]:
    """Names as labels of themselves, a mapping as it is, a single object under `label`."""
    if isinstance(given, Sequence):
        return {name: name for name in ([given] if isinstance(given, str) else given)}
    return given if isinstance(given, Mapping) else {label: given}


def _all_named(key: str, found: dict[str, Any], named: Mapping[str, object]) -> dict[str, Any]:
    if len(found) < len(named) or not found:
        raise ValueError(f"{key} = {list(named)}: give each a label of its own, as label = name.")
    return found


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
        about = {"name": given["data"]} if isinstance(given.get("data"), str) else given.get("data")
        if not isinstance(about, Mapping) or "name" not in about or "systems" not in given:
            raise ValueError(f"It needs systems, and data: the name of a set, or a table with {', '.join(DATA_KEYS)}.")
        for where, table, known in (("", given, KEYS), ("data.", about, DATA_KEYS)):
            for key in set(table) - set(known):  # a path is given on the command line (--path)
                raise ValueError(f"Unknown key {where}{key}. Known: {', '.join(known)}.")
        for key in ("metrics", "graphs", "encoders"):
            value = given.get(key, [])
            kinds = list if key == "metrics" else str | list | dict
            names = value.values() if isinstance(value, dict) else value
            if not isinstance(value, kinds) or not all(isinstance(one, str) for one in names):
                raise ValueError(f'{key} = {value!r}: expected names, such as ["recall@5"].')
        named = {"name": str(given.get("name", file.stem)), "data": about["name"]}
        return Sweep(**{**given, **about, **named}, path=path, store=store)
    except ValueError as error:
        raise DataError(f"{file}: {error}") from error
