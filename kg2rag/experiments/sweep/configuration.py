"""One configuration of a sweep and what it runs on: small records that are sent to the workers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kg2rag.compute import Embedder
from kg2rag.extraction import Extractor
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.types import QADataset

GraphSource = str | Extractor | KnowledgeGraph


@dataclass(frozen=True)
class Configuration:
    """A system with its parameters, and the setting, graph and encoder it runs on.

    Attributes
    ----------
    parameters : those that the sweep sets; the others keep their defaults.
    about : the system's `repr`, which names every parameter.
    graph_fingerprint : of the graph's source, so that a changed file makes another configuration.
    """

    system: str
    parameters: Mapping[str, object]
    setting: str
    graph: str
    encoder: str
    about: str
    graph_fingerprint: str = ""

    @cached_property
    def id(self) -> str:
        """Twelve hex digits, equal for equal configurations in every process."""
        parts = [self.system, self.about, self.setting, self.graph_fingerprint or self.graph, self.encoder]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    @property
    def written(self) -> str:
        """The parameters as JSON, by name."""
        return json.dumps(dict(self.parameters), sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True)
class DatasetRef:
    """A data set, by name with its options or as an object; equal where `key` is."""

    key: str
    options: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    data: QADataset | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Bench:
    """What a configuration runs on: data sets (one, or a dev and a test set), a graph, an encoder.

    A bench is sent to a worker with every batch and is opened there once; equal where `key` is.
    """

    key: str
    datasets: tuple[DatasetRef, ...] = field(compare=False, repr=False)
    graph: GraphSource = field(compare=False, repr=False)
    encoder: Embedder = field(compare=False, repr=False)
    store: str = field(compare=False, repr=False)
