"""Systems with what their parameters may be, on a data set -> the configurations of a sweep.

Nothing is computed here: a mistake in a sweep is told before any work starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from kg2rag.compute.encoder import Embedder
from kg2rag.compute.store import Store
from kg2rag.evaluation.metrics import parse_metrics
from kg2rag.experiments.sweep.configuration import Bench, Configuration, Request
from kg2rag.experiments.sweep.entries import Entry, check_entries, read_entries, smallest
from kg2rag.experiments.sweep.resources import Encoders, Graphs, embedders, fingerprint, graphs
from kg2rag.experiments.sweep.space import Space, draws, grid
from kg2rag.experiments.sweep.split import Split
from kg2rag.experiments.sweep.workbench import loaded
from kg2rag.extraction import Extractor
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.retrievers import systems
from kg2rag.types.questions import QADataset

if TYPE_CHECKING:
    from kg2rag.experiments.sweep.planning import Plan
    from kg2rag.experiments.sweep.results import SweepResult

Search = Literal["grid", "random", "optuna"]
DEFAULT_METRICS = ("recall@5", "recall@2", "all_recall@5", "mrr@10")


@dataclass(frozen=True)
class Field:
    """One system with the spaces of its parameters, on one graph, encoder and setting."""

    system: str
    spaces: Mapping[str, Space]
    setting: str
    graph: str
    encoder: str
    number: int

    @property
    def name(self) -> str:
        """Unique in its sweep."""
        return f"{self.number + 1} {self.system} {self.graph} {self.encoder} {self.setting}"


@dataclass(frozen=True, eq=False)
class Sweep:
    """Many configurations of systems on one data set; `run` runs them, `read_sweep` reads one from a file.

    Parameters
    ----------
    data : name of a set for `kg2rag.load`, with `path` and the other options below, or a `QADataset`, which travels to
        every worker with its work: name large sets.
    systems : name in the catalogue -> parameter -> a value, a list of values, or a range (`space.py`);
        a list of such mappings runs one after the other.
    setting : "pooled", "distractor" or both; the set's default where not given.
    graphs : a source as `KnowledgeBase.build` takes it, a list of sources, or label -> source. A kind alone
        ("openie") takes the file of that kind that lies beside the questions.
    encoders : likewise; a model's name or an embedder.
    metrics : scores of every question; `objective`, the first where not given, is what selection goes by.
    k : hits a query.
    split : how questions are shared between dev and test; see `Split`.
    search : "grid" runs all combinations, "random" and "optuna" `samples` of each entry of `systems`.
    seed : of random and Optuna.

    Raises
    ------
    ValueError : anything unknown or impossible; the message names the key, the value and what is allowed.
    """

    data: str | QADataset
    systems: Mapping[str, Mapping[str, object] | Sequence[Mapping[str, object]]]
    name: str = "sweep"
    path: str | Path | None = None
    setting: str | Sequence[str] | None = None
    passages: str | None = None
    limit: int | None = None
    revision: str | None = None
    graphs: Graphs = "mentions"
    encoders: Encoders = None
    metrics: Sequence[str] = DEFAULT_METRICS
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
        parse_metrics(self.metrics, self.k)
        if self.objective is not None and self.objective not in self.metrics:
            raise ValueError(f"objective = {self.objective!r} is none of the metrics: {', '.join(self.metrics)}.")
        if not isinstance(self.split, Split):
            object.__setattr__(self, "split", Split.read(self.split))
        check_entries(self.entries)

    @property
    def goal(self) -> str:
        """The metric that selection goes by."""
        return self.objective or self.metrics[0]

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """(system, parameter -> space) as the sweep lists them."""
        return read_entries(self.systems, ranges=self.search != "grid")

    @cached_property
    def requests(self) -> Mapping[str, tuple[Request, ...]]:
        """Setting -> the data sets of it: one, or a dev and a test set."""
        assert isinstance(self.split, Split)
        if isinstance(self.data, QADataset):
            if self.path or self.setting or self.passages or self.limit or self.split.names:
                raise ValueError(
                    "A data set that is given as an object has its path, setting, passages, limit and split already."
                )
            return {self.data.setting: (Request(fingerprint(self.data), data=self.data),)}
        options = {
            "name": self.data,
            "path": self.path,
            "passages": self.passages,
            "limit": self.limit,
            "revision": self.revision,
        }
        wanted = [self.setting] if self.setting is None or isinstance(self.setting, str) else list(self.setting)
        found: dict[str, tuple[Request, ...]] = {}
        for setting in wanted:
            requests = tuple(
                Request.of({**options, "setting": setting, "split": split}) for split in self.split.names or (None,)
            )
            found[loaded(requests[0]).setting] = requests
        return found

    def opened(self, setting: str) -> tuple[QADataset, ...]:
        """The data sets of a setting."""
        return tuple(loaded(request) for request in self.requests[setting])

    def labels(self, setting: str) -> list[list[str]]:
        """For each question of each data set of a setting, "dev" or "test"."""
        assert isinstance(self.split, Split)
        return self.split.labels(self.opened(setting))

    @cached_property
    def graph_sources(self) -> Mapping[str, Extractor | KnowledgeGraph]:
        """Label -> source of each graph, its file found."""
        return graphs(self.graphs, self.opened(next(iter(self.requests)))[0].extras)

    @cached_property
    def embedders(self) -> Mapping[str, Embedder]:
        """Label -> encoder."""
        return embedders(self.encoders)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Every entry of `systems` on every setting, graph and encoder; those of one bench together."""
        places = product(self.requests, self.graph_sources, self.embedders, enumerate(self.entries))
        return tuple(
            Field(system, spaces, setting, graph, encoder, number)
            for setting, graph, encoder, (number, (system, spaces)) in places
        )

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """All that the grid or the draws give, each once; with Optuna none, for it decides as it goes."""
        if self.search == "optuna":
            return ()
        found: dict[str, Configuration] = {}
        for one in self.fields:
            for parameters in self._points(one):
                configuration = self.configuration(one, parameters)
                found.setdefault(configuration.id, configuration)
        return tuple(found.values())

    def configuration(self, of: Field, parameters: Mapping[str, object]) -> Configuration:
        """A point of a field; ValueError where the system refuses the combination."""
        try:
            about = repr(systems.build(of.system, smallest(), **parameters))
        except ValueError as error:
            raise ValueError(f"systems.{of.system}, {dict(parameters)}: {error}") from error
        source = self.graph_sources[of.graph]
        return Configuration(of.system, parameters, of.setting, of.graph, of.encoder, about, source.fingerprint)

    def bench(self, configuration: Configuration) -> Bench:
        """What a configuration runs on."""
        requests = self.requests[configuration.setting]
        graph, encoder = self.graph_sources[configuration.graph], self.embedders[configuration.encoder]
        root = str((self.store or Store()).root)
        key = "\n".join([*(one.key for one in requests), configuration.graph_fingerprint, repr(encoder), root])
        return Bench(key, requests, graph, encoder, root)

    @property
    def identity(self) -> dict[str, object]:
        """What all scores of a sweep share, as JSON values: results that differ in it never stand in one file."""
        from kg2rag.compute.hardware import processor

        assert isinstance(self.split, Split)
        prints = {name: [fingerprint(data) for data in self.opened(name)] for name in self.requests}
        encoders = {label: repr(encoder) for label, encoder in self.embedders.items()}
        return {
            "data": prints,
            "encoders": encoders,
            "metrics": list(self.metrics),
            "k": self.k,
            "split": self.split.described,
            "processor": processor(),
        }

    def plan(self, out: str | Path, *, jobs: int = 0) -> Plan:
        """What `run` would do; see `kg2rag.experiments.sweep.planning`."""
        from kg2rag.experiments.sweep.planning import plan

        return plan(self, Path(out), jobs)

    def run(
        self, out: str | Path, *, jobs: int = 0, resume: bool = False, backend: str = "loky", progress: bool = True
    ) -> SweepResult:
        """Run what is not finished and return all results; see `kg2rag.experiments.sweep.running`."""
        from kg2rag.experiments.sweep.running import run

        return run(self, Path(out), jobs=jobs, resume=resume, backend=backend, progress=progress)

    def with_path(self, path: str | Path | None) -> Sweep:
        """The sweep on data that lie elsewhere."""
        return self if path is None else replace(self, path=path)

    def _points(self, of: Field) -> Iterator[dict[str, object]]:
        if self.search == "grid":
            return grid(of.spaces)
        # The same draws on every graph, encoder and setting, so that these can be compared.
        return draws(of.spaces, self.samples, np.random.default_rng([self.seed, of.number]))
