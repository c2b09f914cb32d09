"""One configuration and the questions of dev and test -> its scores: the work of a process of a sweep."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from kg2rag.compute import Store
from kg2rag.evaluation import evaluate
from kg2rag.evaluation.runs import run
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import systems as catalogue
from kg2rag.types import QADataset

if TYPE_CHECKING:
    from kg2rag.experiments.sweep.sweep import Sweep

Bench = Sequence[tuple[QADataset, KnowledgeBase, Sequence[str]]]
"""What a configuration runs on: a data set, or a dev and a test set, each with a knowledge base and its labels."""


@dataclass(frozen=True)
class Configuration:
    """A system with the parameters that the sweep sets, and the labels of what it runs on."""

    number: int
    system: str
    parameters: Mapping[str, object]
    setting: str
    graph: str
    encoder: str

    @property
    def place(self) -> tuple[str, str, str]:
        """What configurations must share to share a knowledge base."""
        return self.setting, self.graph, self.encoder


@dataclass
class Scorer:
    """Runs and scores configurations, the work of a process; keeps the knowledge bases of one place open."""

    sweep: Sweep
    opened: dict[tuple[str, str, str], Bench] = field(default_factory=dict)

    def __call__(self, group: Sequence[Configuration]) -> pd.DataFrame:
        """One row a configuration and question, or a single row with the error."""
        return pd.concat([self._scored(one) for one in group], ignore_index=True)

    def _scored(self, one: Configuration) -> pd.DataFrame:
        same = {**vars(one), "parameters": json.dumps(dict(one.parameters), sort_keys=True, ensure_ascii=False)}
        try:
            parts = [self._run(one, *on) for on in self._open(one.place)]
        except Exception as error:  # noqa: BLE001 - recorded with its configuration, counted, and tried again next time
            return pd.DataFrame([{**same, "error": f"{type(error).__name__}: {error}"}])
        frame = pd.concat(parts, ignore_index=True)
        return frame.assign(**same, error=None, ms_per_query=frame["ms_per_query"].mean())

    def _run(self, one: Configuration, data: QADataset, kb: KnowledgeBase, labels: Sequence[str]) -> pd.DataFrame:
        system = catalogue.build(one.system, kb, **one.parameters)
        found = run(system, data, self.sweep.k, name=one.system, progress=False)
        scores = evaluate(found.rankings, data, self.sweep.metrics, name=one.system).reset_index(names="query_id")
        types, hops = ([getattr(question, name) for question in data.questions] for name in ("type", "hops"))
        return scores.assign(
            type=types, hops=pd.array(hops, dtype="Int64"), split=labels, ms_per_query=found.ms_per_query
        )

    def _open(self, place: tuple[str, str, str]) -> Bench:
        if place not in self.opened:
            setting, graph, encoder = place
            sweep, data = self.sweep, self.sweep.datasets[setting]
            given: dict[str, Any] = {"embedder": sweep.embedders[encoder], "store": sweep.store or Store()}
            kbs = [KnowledgeBase.build(one.corpus, sweep.sources[graph], **given) for one in data]
            self.opened = {place: list(zip(data, kbs, sweep.split.labels(data), strict=True))}
        return self.opened[place]
