"""Configurations of a sweep -> their scores on all questions, in one process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from kg2rag.compute import Store
from kg2rag.evaluation import evaluate
from kg2rag.evaluation.runs import run
from kg2rag.experiments.sweep.inputs import SweepInputs
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import systems as catalogue
from kg2rag.retrievers.contract import Retriever


@dataclass(frozen=True)
class Configuration:
    """A system, the parameters that the sweep sets, and the label of its graph."""

    number: int
    system: str
    parameters: Mapping[str, object]
    graph: str


@dataclass
class Scorer:
    """Runs and scores configurations in one process, with one knowledge base open at a time."""

    inputs: SweepInputs
    opened: dict[str, KnowledgeBase] = field(default_factory=dict)

    def __call__(self, group: Sequence[Configuration]) -> pd.DataFrame:
        """One row per configuration and question; a failed configuration has one, with its error."""
        return pd.concat(list(map(self._score, group)), ignore_index=True)

    def _score(self, configuration: Configuration) -> pd.DataFrame:
        """The rows of one configuration."""
        inputs = self.inputs
        data = inputs.dataset
        about = dict(vars(configuration))
        parameters = dict(configuration.parameters)
        about["parameters"] = json.dumps(parameters, sort_keys=True, ensure_ascii=False)
        about["setting"] = data.setting
        about["encoder"] = inputs.embedder[0]
        try:
            system = self.build(configuration)
            system_run = run(
                system, data, inputs.k, name=configuration.system, progress=False
            )
            scores = evaluate(
                system_run.rankings, data, inputs.metrics, name=configuration.system
            )
        except Exception as error:  # noqa: BLE001 - recorded with its configuration, counted, and tried again next time
            return pd.DataFrame(
                [{**about, "error": f"{type(error).__name__}: {error}"}]
            )
        questions: dict[str, Any] = {
            "type": [question.type for question in data.questions],
            "hops": pd.array(
                [question.hops for question in data.questions], dtype="Int64"
            ),
            "split": inputs.split.labels(data),
        }
        scores = scores.reset_index(names="query_id")
        return scores.assign(
            **questions, **about, error=None, ms_per_query=system_run.ms_per_query
        )

    def build(self, configuration: Configuration) -> Retriever:
        """The system of a configuration, over its graph."""
        kb = self._knowledge_base(configuration.graph)
        return catalogue.build(configuration.system, kb, **configuration.parameters)

    def _knowledge_base(self, graph: str) -> KnowledgeBase:
        """The knowledge base of a graph; that of another graph is closed."""
        if graph not in self.opened:
            inputs = self.inputs
            kb = KnowledgeBase.build(
                inputs.dataset.corpus,
                inputs.sources[graph],
                embedder=inputs.embedder[1],
                store=inputs.store or Store(),
            )
            self.opened = {graph: kb}
        return self.opened[graph]
