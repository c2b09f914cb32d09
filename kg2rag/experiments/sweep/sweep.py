"""Systems with the spaces of their parameters, on a data set -> every configuration, run and scored: `Sweep`.

A configuration is a system whose run is asked of the store: what is there is read, what is not is run, so that a sweep
that was interrupted goes on, and a larger one runs only what is new. `read_sweep` reads a sweep from a TOML file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from kg2rag.compute import DEFAULT_MODEL, Embedder, Store, embedder_named, has_workers, map_pieces, workers
from kg2rag.evaluation import provenance
from kg2rag.evaluation.identity import tuning, without_folders
from kg2rag.evaluation.metrics import Metric, Metrics, parse_metrics
from kg2rag.experiments.sweep import space
from kg2rag.experiments.sweep.results import SweepResult
from kg2rag.experiments.sweep.scoring import Configuration, Scorer
from kg2rag.experiments.sweep.space import Space, Split
from kg2rag.extraction import Extractor
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.extraction.sources import SOURCES, takes_file
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.retrievers import systems as catalogue
from kg2rag.text.records import DataError, read_toml
from kg2rag.types import Corpus, Passage, QADataset, at_least, one_of, require

GraphSource = str | Extractor | KnowledgeGraph
LARGEST = 8  # configurations that a worker is sent at once
KEYS = ("encoders", "graphs", "k", "metrics", "name", "objective", "samples", "search", "seed", "split", "systems")
DATA_KEYS = ("limit", "name", "setting")


@dataclass(frozen=True, eq=False)
class Sweep:
    """Many configurations of systems on one data set; `run` runs them, `read_sweep` reads one from a file.

    Parameters
    ----------
    data : name of a set for `kg2rag.load`, with `path` and the other options below, or a `QADataset`.
    systems : name in the catalogue -> parameter -> a value, a list of values, or a range (`space`); a list of such
        mappings runs one after the other.
    setting : "pooled", "distractor" or both; the set's default where not given.
    graphs : a source as `KnowledgeBase.build` takes it, a list of sources, or label -> source. A kind alone
        ("openie") takes the file of that kind beside the questions.
    encoders : likewise; a model's name or an embedder.
    metrics : names and functions, as `kg2rag.compare` takes them; `objective`, the first where not given, decides the
        selection.
    k : hits a query.
    split : how questions are divided into dev and test; see `Split`.
    search : "grid" runs all combinations, "random" `samples` of each entry of `systems`, drawn with `seed`.
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
    search: Literal["grid", "random"] = "grid"
    samples: int = 20
    seed: int = 0
    store: Store | None = None

    def __post_init__(self) -> None:
        for key, value, rule in (
            ("k", self.k, at_least(1)),
            ("samples", self.samples, at_least(1)),
            ("seed", self.seed, at_least(0)),
            ("search", self.search, one_of(("grid", "random"))),
        ):
            require(key, value, str if key == "search" else int, rule)
        names = [metric.name for metric in self.scored]
        if self.objective is not None and self.objective not in names:
            raise ValueError(f"objective = {self.objective!r} is none of the metrics: {', '.join(names)}.")
        object.__setattr__(self, "split", Split.read(self.split))
        for system, spaces in self.spaces:
            for settings in space.each_value_once(spaces):
                self._tried(system, settings)

    @cached_property
    def scored(self) -> Sequence[Metric]:
        """The metrics, the first of which decides where no objective is given."""
        return parse_metrics(self.metrics, self.k)

    @cached_property
    def spaces(self) -> tuple[tuple[str, Mapping[str, Space]], ...]:
        """(system, parameter -> space), an entry of `systems` each."""
        if not isinstance(self.systems, Mapping) or not self.systems:
            raise ValueError(f"systems = {self.systems!r}: name at least one. Known: {', '.join(catalogue.names())}.")
        found: list[tuple[str, Mapping[str, Space]]] = []
        for system, given in self.systems.items():
            for number, parameters in enumerate([given] if isinstance(given, Mapping) else given, start=1):
                where = f"systems.{system}" if isinstance(given, Mapping) else f"systems.{system}[{number}]"
                if not isinstance(parameters, Mapping):
                    raise ValueError(f"{where} = {parameters!r}: expected parameters with their values.")
                found.append(
                    (system, {name: self._space(where, system, name, parameters[name]) for name in parameters})
                )
        return tuple(found)

    def _space(self, where: str, system: str, name: str, values: object) -> Space:
        known = catalogue.parameters(system)
        if name not in known:
            raise ValueError(
                f"{where}.{name}: system {system!r} has no parameter {name!r}. Known: {', '.join(sorted(known))}."
            )
        try:
            found = space.read(values)
            if self.search == "grid" and isinstance(found, space.Range):
                raise ValueError("a grid needs values: write a list")
        except ValueError as error:
            raise ValueError(f"{where}.{name} = {values!r}: {error}.") from error
        return found

    def _tried(self, system: str, settings: Mapping[str, object]) -> str:
        """The `repr` of a system; ValueError, in the catalogue's words, where it refuses the settings."""
        try:
            return repr(catalogue.build(system, self._smallest, **settings))
        except ValueError as error:
            raise ValueError(f"systems.{system}, {dict(settings)}: {error}") from error

    @cached_property
    def _smallest(self) -> KnowledgeBase:
        """A knowledge base to build systems over that are looked at and never run."""
        corpus = Corpus.from_passages([Passage("p", "", "p", "p", 0)])
        return KnowledgeBase.build(corpus, KnowledgeGraph.build(Mentions().extract(corpus), corpus))

    @cached_property
    def datasets(self) -> Mapping[str, Sequence[QADataset]]:
        """Setting -> its data sets: one, or a dev and a test set."""
        from kg2rag.datasets import load

        if isinstance(self.data, QADataset):
            if self.path or self.setting or self.limit or self.split.test:
                raise ValueError(
                    "A data set that is given as an object has its path, setting, limit and split already."
                )
            return {self.data.setting: (self.data,)}
        splits = (None,) if self.split.test is None else (str(self.split.dev), self.split.test)
        found: dict[str, Sequence[QADataset]] = {}
        for setting in [self.setting] if isinstance(self.setting, str | None) else self.setting:
            loaded = tuple(
                load(self.data, path=self.path, setting=setting, split=split, limit=self.limit) for split in splits
            )
            found[loaded[0].setting] = loaded
        return found

    @cached_property
    def sources(self) -> Mapping[str, Extractor | KnowledgeGraph]:
        """Label -> source of each graph; a kind alone has become the file of that kind."""
        beside = next(iter(self.datasets.values()))[0].graph_files
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
        """All that the grid or the draws give, each once; those on one graph, encoder and setting are neighbours."""
        found: dict[tuple[object, ...], Configuration] = {}
        for setting, graph, encoder in product(self.datasets, self.sources, self.embedders):
            for entry, (system, spaces) in enumerate(self.spaces):
                # The same draws on every graph, encoder and setting, so that these can be compared.
                random = np.random.default_rng([self.seed, entry])
                points = space.grid(spaces) if self.search == "grid" else space.draws(spaces, self.samples, random)
                for parameters in points:
                    key = (self._tried(system, parameters), system, setting, graph, encoder)
                    one = Configuration(len(found) + 1, system, parameters, setting, graph, encoder)
                    found.setdefault(key, one)
        return tuple(found.values())

    def plan(self) -> str:
        """What `run` would do, in words; nothing is run or written."""
        counts = pd.Series([one.system for one in self.configurations]).value_counts(sort=False)
        parts = [label for data in self.datasets.values() for labels in self.split.labels(data) for label in labels]
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
        wanted = self.configurations
        own = Scorer(self)
        with workers(jobs, backend, cluster) as slots:
            if has_workers():
                # One of each system is run here first: it fills the store, from which the others read.
                first = {(*one.place, one.system): one for one in reversed(wanted)}
                for one in reversed(first.values()):
                    own([one])
                pieces = list(_pieces(wanted, max(1, min(LARGEST, math.ceil(len(wanted) / (4 * slots))))))
                scorer = Scorer(replace(self))  # without what is loaded here
            else:
                pieces, scorer = [[one] for one in wanted], own
            tables = list(map_pieces(scorer, pieces, progress=self.name if progress else "", total=len(pieces)))
        result = SweepResult(pd.concat(tables, ignore_index=True), self.objective or self.scored[0].name, self.about())
        result.save(out)
        return result

    def about(self) -> dict[str, Any]:
        """What all scores share, as JSON values."""
        built = {
            name: catalogue.build(name, self._smallest, **next(space.each_value_once(own))) for name, own in self.spaces
        }
        return {
            "name": self.name,
            "search": self.search,
            "k": self.k,
            "split": self.split.model_dump(),
            "data": {name: [provenance.data(one) for one in sets] for name, sets in self.datasets.items()},
            "graphs": {
                label: {"source": without_folders(one), "fingerprint": one.fingerprint}
                for label, one in self.sources.items()
            },
            "encoders": {label: without_folders(one) for label, one in self.embedders.items()},
            "tuning": {name: rows for name, system in built.items() if (rows := tuning(system))},
            **provenance.environment(),
        }


def _pieces(wanted: Sequence[Configuration], size: int) -> Iterator[list[Configuration]]:
    for _, group in groupby(wanted, key=lambda one: one.place):
        same = list(group)
        yield from (same[start : start + size] for start in range(0, len(same), size))


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
        return Sweep(**_options(given), path=path, store=store, name=str(given.get("name", file.stem)))
    except ValueError as error:
        raise DataError(f"{file}: {error}") from error


def _options(given: Mapping[str, object]) -> dict[str, Any]:
    about = {"name": given["data"]} if isinstance(given.get("data"), str) else given.get("data")
    if not isinstance(about, Mapping) or "name" not in about or "systems" not in given:
        raise ValueError(f"It needs systems, and data: the name of a set, or a table with {', '.join(DATA_KEYS)}.")
    for where, table, known in (("", given, (*KEYS, "data")), ("data.", about, DATA_KEYS)):
        for key in set(table) - set(known):  # a path is given on the command line (--path)
            raise ValueError(f"Unknown key {where}{key}. Known: {', '.join(sorted(known))}.")
    for key, kinds in (("metrics", list), ("graphs", str | list | dict), ("encoders", str | list | dict)):
        value = given.get(key, [])
        names = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        if not isinstance(value, kinds) or not all(isinstance(one, str) for one in names):
            raise ValueError(f'{key} = {value!r}: expected a list of names, such as ["recall@5"].')
    rest = {key: value for key, value in given.items() if key not in ("data", "name")}
    return {**rest, **{key: value for key, value in about.items() if key != "name"}, "data": about["name"]}
