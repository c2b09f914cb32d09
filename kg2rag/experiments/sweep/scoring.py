"""One configuration and the questions of dev and test -> its scores: the work of a process of a sweep."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from kg2rag.compute import Store
from kg2rag.evaluation import evaluate
from kg2rag.evaluation.runs import run
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import systems as catalogue
from kg2rag.types import QADataset

if TYPE_CHECKING:
    from kg2rag.experiments.sweep.sweep import Sweep


class Split(BaseModel):
    """How questions are divided into dev, where configurations are chosen, and test, where the chosen are judged.

    dev : the share of questions to choose by, of each type of question (or number of hops, where types are not known)
        alike.
    seed : of the draw.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    dev: float = Field(default=0.5, gt=0, lt=1)
    seed: int = Field(default=0, ge=0)

    def labels(self, data: QADataset) -> list[str]:
        """For each question "dev" or "test". ValueError: one of the two would be empty."""
        groups: dict[str, list[int]] = {}
        for i, question in enumerate(data.questions):
            groups.setdefault(question.type or str(question.hops or ""), []).append(i)
        random = np.random.default_rng(self.seed)
        line = [i for name in sorted(groups) for i in random.permutation(groups[name]).tolist()]
        # The n-th is drawn where n · dev passes a whole number: each stretch of the line gives its share.
        dev = {i for n, i in enumerate(line) if math.floor((n + 1) * self.dev) > math.floor(n * self.dev)}
        if not 0 < len(dev) < len(data):
            none = "test" if dev else "dev"
            raise ValueError(f"split.dev = {self.dev} of {len(data)} questions leaves none for {none}.")
        return ["dev" if i in dev else "test" for i in range(len(data))]


@dataclass(frozen=True)
class Configuration:
    """A system with the parameters that the sweep sets, and the labels of what it runs on."""

    number: int
    system: str
    parameters: Mapping[str, object]
    graph: str


@dataclass
class Scorer:
    """Runs and scores configurations, the work of a process; keeps the knowledge base of one graph open."""

    sweep: Sweep
    opened: dict[str, KnowledgeBase] = field(default_factory=dict)

    def __call__(self, group: Sequence[Configuration]) -> pd.DataFrame:
        """One row a configuration and question, or a single row with the error."""
        return pd.concat([self._scored(one) for one in group], ignore_index=True)

    def _scored(self, one: Configuration) -> pd.DataFrame:
        data, sweep, (encoder, embedder) = self.sweep.dataset, self.sweep, self.sweep.embedder
        given = json.dumps(dict(one.parameters), sort_keys=True, ensure_ascii=False)
        same = {**vars(one), "parameters": given, "setting": data.setting, "encoder": encoder}
        try:
            if one.graph not in self.opened:
                place: dict[str, Any] = {"embedder": embedder, "store": sweep.store or Store()}
                self.opened = {one.graph: KnowledgeBase.build(data.corpus, sweep.sources[one.graph], **place)}
            system = catalogue.build(one.system, self.opened[one.graph], **one.parameters)
            found = run(system, data, sweep.k, name=one.system, progress=False)
            scores = evaluate(found.rankings, data, sweep.metrics, name=one.system).reset_index(names="query_id")
        except Exception as error:  # noqa: BLE001 - recorded with its configuration, counted, and tried again next time
            return pd.DataFrame([{**same, "error": f"{type(error).__name__}: {error}"}])
        types, hops = ([getattr(question, name) for question in data.questions] for name in ("type", "hops"))
        about: Any = {"type": types, "hops": pd.array(hops, dtype="Int64"), "split": sweep.split.labels(data)}
        return scores.assign(**about, **same, error=None, ms_per_query=found.ms_per_query)
