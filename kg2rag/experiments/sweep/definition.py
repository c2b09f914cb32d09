"""Systems with the spaces of their parameters, on a data set -> the configurations of a sweep.

No retrieval happens here, so that an error in a sweep is raised before any work starts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from kg2rag.compute import Embedder, Store, processor
from kg2rag.evaluation.metric_names import Metric, Metrics, own_functions, parse_metrics
from kg2rag.experiments.sweep import resources
from kg2rag.experiments.sweep.configuration import Bench, Configuration, DatasetRef
from kg2rag.experiments.sweep.space import Space, draws, grid
from kg2rag.experiments.sweep.split import Split
from kg2rag.experiments.sweep.workbench import loaded
from kg2rag.extraction import Extractor
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.retrievers import systems
from kg2rag.types import QADataset

Search = Literal["grid", "random", "optuna"]


@dataclass(frozen=True)
class SweptSystem:
    """One system with the spaces of its parameters, on one graph, encoder and setting.

    `number` counts the entries of `systems`, from 0: equal for one entry on every graph, encoder and setting.
    """

    system: str
    spaces: Mapping[str, Space]
    setting: str
    graph: str
    encoder: str
    number: int


@dataclass(frozen=True, eq=False)
class SweepDefinition:
    """What a sweep runs, as configurations; `kg2rag.Sweep`, which also runs them, documents the parameters."""

    data: str | QADataset
    systems: Mapping[str, Mapping[str, object] | Sequence[Mapping[str, object]]]
    name: str = "sweep"
    path: str | Path | None = None
    setting: str | Sequence[str] | None = None
    passages: str | None = None
    limit: int | None = None
    revision: str | None = None
    graphs: resources.Graphs = "mentions"
    encoders: resources.Encoders = None
    metrics: Metrics = ("recall@5", "recall@2", "all_recall@5", "mrr@10")
    objective: str | None = None
    k: int = 20
    split: Mapping[str, object] | Split = field(default_factory=Split)
    search: Search = "grid"
    samples: int = 20
    seed: int = 0
    store: Store | None = None

    def __post_init__(self) -> None:
        for key, value, least in (("k", self.k, 1), ("samples", self.samples, 1), ("seed", self.seed, 0)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{key} = {value!r}: expected a whole number, at least {least}.")
        if self.search not in get_args(Search):
            raise ValueError(f"search = {self.search!r}. Known: {', '.join(sorted(get_args(Search)))}.")
        names = list(self.scored_metrics)
        if self.objective is not None and self.objective not in names:
            raise ValueError(f"objective = {self.objective!r} is none of the metrics: {', '.join(names)}.")
        if not isinstance(self.split, Split):
            object.__setattr__(self, "split", Split.read(self.split))
        resources.check_systems(self.spaces)

    @property
    def goal(self) -> str:
        """The metric by which configurations are selected."""
        return self.objective or next(iter(self.scored_metrics))

    @cached_property
    def scored_metrics(self) -> Mapping[str, Metric]:
        """Column name -> metric, in the order of `metrics`."""
        return {metric.name: metric for metric in parse_metrics(self.metrics, self.k)}

    @cached_property
    def spaces(self) -> tuple[resources.SystemSpaces, ...]:
        """(system, parameter -> space), in the order of `systems`."""
        return resources.read_systems(self.systems, ranges=self.search != "grid")

    @cached_property
    def datasets(self) -> Mapping[str, tuple[DatasetRef, ...]]:
        """Setting -> its data sets: one, or a dev and a test set."""
        assert isinstance(self.split, Split)
        if isinstance(self.data, QADataset):
            if self.path or self.setting or self.passages or self.limit or self.split.names:
                raise ValueError(
                    "A data set that is given as an object has its path, setting, passages, limit and split already."
                )
            return {self.data.setting: (DatasetRef(resources.fingerprint(self.data), data=self.data),)}
        options = {name: getattr(self, name) for name in ("passages", "limit", "revision")}
        options |= {"name": self.data, "path": None if self.path is None else str(self.path)}
        wanted = [self.setting] if self.setting is None or isinstance(self.setting, str) else list(self.setting)
        found: dict[str, tuple[DatasetRef, ...]] = {}
        for setting in wanted:
            given = [{**options, "setting": setting, "split": split} for split in self.split.names or (None,)]
            refs = tuple(DatasetRef(json.dumps(one, sort_keys=True), one) for one in given)
            found[loaded(refs[0]).setting] = refs
        return found

    def opened(self, setting: str) -> tuple[QADataset, ...]:
        """The data sets of a setting, loaded."""
        return tuple(map(loaded, self.datasets[setting]))

    def labels(self, setting: str) -> list[list[str]]:
        """For each question of each data set of a setting, "dev" or "test"."""
        assert isinstance(self.split, Split)
        return self.split.labels(self.opened(setting))

    @cached_property
    def graph_sources(self) -> Mapping[str, Extractor | KnowledgeGraph]:
        """Label -> source of each graph; a kind alone has become the file of that kind."""
        return resources.graphs(self.graphs, self.opened(next(iter(self.datasets)))[0].graph_files)

    @cached_property
    def embedders(self) -> Mapping[str, Embedder]:
        """Label -> encoder."""
        return resources.embedders(self.encoders)

    @cached_property
    def swept(self) -> tuple[SweptSystem, ...]:
        """Every entry of `systems` on every setting, graph and encoder; those of one bench are neighbours."""
        combinations = product(self.datasets, self.graph_sources, self.embedders, enumerate(self.spaces))
        return tuple(
            SweptSystem(system, spaces, setting, graph, encoder, number)
            for setting, graph, encoder, (number, (system, spaces)) in combinations
        )

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """All that the grid or the draws give, each once; none with Optuna, which chooses them one after another."""
        if self.search == "optuna":
            return ()
        found: dict[str, Configuration] = {}
        for one in self.swept:
            if self.search == "grid":
                points = grid(one.spaces)
            else:  # the same draws on every graph, encoder and setting, so that these can be compared
                points = draws(one.spaces, self.samples, np.random.default_rng([self.seed, one.number]))
            for parameters in points:
                configuration = self.configuration(one, parameters)
                found.setdefault(configuration.id, configuration)
        return tuple(found.values())

    def configuration(self, of: SweptSystem, parameters: Mapping[str, object]) -> Configuration:
        """One choice of parameters; ValueError where the system refuses the combination."""
        try:
            about = repr(systems.build(of.system, resources.smallest(), **parameters))
        except ValueError as error:
            raise ValueError(f"systems.{of.system}, {dict(parameters)}: {error}") from error
        source = self.graph_sources[of.graph]
        return Configuration(of.system, parameters, of.setting, of.graph, of.encoder, about, source.fingerprint)

    def bench(self, configuration: Configuration) -> Bench:
        """What a configuration runs on."""
        refs = self.datasets[configuration.setting]
        graph, encoder = self.graph_sources[configuration.graph], self.embedders[configuration.encoder]
        root = str((self.store or Store()).root)
        key = "\n".join([*(one.key for one in refs), configuration.graph_fingerprint, repr(encoder), root])
        return Bench(key, refs, graph, encoder, root)

    @property
    def identity(self) -> dict[str, object]:
        """What all scores of a sweep share, as JSON values: results that differ in it are never in one file."""
        assert isinstance(self.split, Split)
        prints = {name: [resources.fingerprint(data) for data in self.opened(name)] for name in self.datasets}
        encoders = {label: repr(encoder) for label, encoder in self.embedders.items()}
        return {
            "data": prints,
            "encoders": encoders,
            "metrics": list(self.scored_metrics),
            **own_functions(self.scored_metrics.values()),
            "k": self.k,
            "split": self.split.described,
            "processor": processor(),
        }
