"""The options of a sweep -> the questions, graphs and encoder that all configurations share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from kg2rag.compute import Embedder, Store, embedder_named
from kg2rag.evaluation.metrics import Metrics
from kg2rag.extraction import Extractor
from kg2rag.extraction.sources import SOURCES, takes_file
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.types import QADataset

GraphSource = str | Extractor | KnowledgeGraph
GraphSources = GraphSource | Sequence[str] | Mapping[str, GraphSource]


class Split(BaseModel):
    """The division of questions into dev, for the selection of configurations, and test.

    dev : the share of dev questions, equal for each type of question or, if types are unknown, for
    each number of hops.
    seed : seed of the random division.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    dev: float = Field(default=0.5, gt=0, lt=1)
    seed: int = Field(default=0, ge=0)

    def labels(self, data: QADataset) -> list[str]:
        """The part of each question, "dev" or "test"; ValueError: one of the two would be empty."""
        names = [
            question.type or str(question.hops or "") for question in data.questions
        ]
        kinds = pd.Series(names, dtype=object)
        random = np.random.default_rng(self.seed)
        # Questions of one kind are neighbours, in random order within their kind.
        order = np.concatenate(
            [random.permutation(rows.index) for _, rows in kinds.groupby(kinds)]
        )
        # Question n is in dev if (n + 1) · dev passes a whole number, so that each kind has its share.
        is_dev = np.diff(np.floor(np.arange(len(data) + 1) * self.dev)) > 0
        labels = np.empty(len(data), dtype=object)
        labels[order] = np.where(is_dev, "dev", "test")
        if is_dev.all() or not is_dev.any():
            empty = {"dev", "test"} - set(labels)
            raise ValueError(
                f"split.dev = {self.dev} of {len(data)} questions leaves none for {empty.pop()}."
            )
        return list(labels)


@dataclass(frozen=True, eq=False)
class SweepInputs:
    """The inputs that all configurations of a `Sweep` share; each is opened once, when needed."""

    data: str | QADataset
    path: str | Path | None
    questions: str | Path | None
    setting: str | None
    limit: int | None
    graphs: GraphSources
    encoder: str | Embedder
    metrics: Metrics
    k: int
    split: Split
    store: Store | None

    @cached_property
    def dataset(self) -> QADataset:
        """The questions and their corpus."""
        from kg2rag.datasets import load

        options: dict[str, Any] = {
            "path": self.path,
            "questions": self.questions,
            "setting": self.setting,
            "limit": self.limit,
        }
        if not isinstance(self.data, QADataset):
            data = load(self.data, **options)
        elif any(options.values()):
            raise ValueError(
                "A QADataset already has its path, questions, setting and limit. Leave these options "
                "out, or pass the name of a set."
            )
        else:
            data = self.data
        if not data.questions:
            raise ValueError(
                f"{data.name} has no questions with gold. Give a file of them: --questions FILE."
            )
        return data

    @cached_property
    def sources(self) -> Mapping[str, Extractor | KnowledgeGraph]:
        """Label -> source of each graph; a kind without a file has the file beside the questions."""
        sources: dict[str, Extractor | KnowledgeGraph] = {}
        for label, graph in _graph_of_label(self.graphs).items():
            kind = label.partition("(")[0]
            if takes_file(kind):
                label = kind
            if label in sources:
                raise ValueError(
                    f"graphs: two graphs are labelled {label!r}. Label each, as in mine = "
                    f"{kind + '(FILE)'!r}."
                )
            sources[label] = self._source(graph)
        return sources

    def _source(self, graph: GraphSource) -> Extractor | KnowledgeGraph:
        """The source of a graph; a kind without a file takes the file beside the questions."""
        if not isinstance(graph, str):
            return graph
        if not takes_file(graph):
            return SOURCES.build(graph)
        files = self.dataset.graph_files
        if graph not in files:
            raise ValueError(
                f"graphs: no {graph} file lies beside the questions. Name one."
            )
        return SOURCES.build(f"{graph}({json.dumps(str(files[graph]))})")

    @cached_property
    def embedder(self) -> tuple[str, Embedder]:
        """The label of the encoder, such as the last part of a model's name; and the encoder."""
        if isinstance(self.encoder, str):
            return self.encoder.split("/")[-1], embedder_named(self.encoder)
        return "encoder", self.encoder


def _graph_of_label(graphs: GraphSources) -> Mapping[str, GraphSource]:
    """Label -> graph, from one graph, a list of names or a mapping."""
    if isinstance(graphs, Mapping):
        return graphs
    if isinstance(graphs, str):
        return {graphs: graphs}
    if isinstance(graphs, Sequence):
        return {name: name for name in graphs}
    return {"graph": graphs}
