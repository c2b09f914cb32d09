"""One configuration and the questions of dev and test -> its scores: the work of a process of a sweep."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
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


def whole(key: str, value: object, least: int) -> None:
    """Refuse what is no whole number, or below the least one."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{key} = {value!r}: expected a whole number, at least {least}.")


def known_keys(where: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    """Refuse a key that is none of those known; `where` stands before it."""
    for key in given:
        if key not in known:
            raise ValueError(f"Unknown key {where}{key}. Known: {', '.join(sorted(known))}.")


@dataclass(frozen=True)
class Split:
    """How questions are divided into dev, where configurations are chosen, and test, where the chosen are judged.

    Parameters
    ----------
    dev : the share of questions to choose by, in (0, 1), of each type of question (or number of hops, where types are
        not known) alike; or, with `test`, the name of the set's own split.
    test : the name of the set's own split.
    seed : of the draw.
    """

    dev: float | str = 0.5
    test: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.dev, str) != isinstance(self.test, str) or self.dev == self.test:
            raise ValueError(
                f"split: dev = {self.dev!r}, test = {self.test!r}. Give dev as a share alone, such as 0.5, or dev and "
                "test as two of the set's own splits."
            )
        share = isinstance(self.dev, int | float) and not isinstance(self.dev, bool) and 0 < self.dev < 1
        if not (share or isinstance(self.dev, str)):
            raise ValueError(f"split.dev = {self.dev!r}: expected a share between 0 and 1.")
        whole("split.seed", self.seed, 0)

    @classmethod
    def read(cls, given: object) -> Split:
        """The split of a table with dev, seed and test."""
        if not isinstance(given, Mapping):
            raise ValueError(f"split = {given!r}: expected a table with dev, seed, test.")
        known_keys("split.", given, ("dev", "seed", "test"))
        return cls(**given)

    def labels(self, data: Sequence[QADataset]) -> list[list[str]]:
        """For each question of each data set, "dev" or "test". ValueError: one of the two would be empty."""
        if self.test is not None:
            return [[name] * len(one) for name, one in zip(("dev", "test"), data, strict=True)]
        (only,) = data
        groups: dict[str, list[int]] = {}
        for i, question in enumerate(only.questions):
            groups.setdefault(question.type or str(question.hops or ""), []).append(i)
        random, share = np.random.default_rng(self.seed), float(self.dev)
        line = [i for name in sorted(groups) for i in random.permutation(groups[name]).tolist()]
        # The n-th is drawn where n · share passes a whole number: each stretch of the line gives its share.
        dev = {i for n, i in enumerate(line) if math.floor((n + 1) * share) > math.floor(n * share)}
        if not 0 < len(dev) < len(only):
            raise ValueError(
                f"split.dev = {self.dev} of {len(only)} questions leaves none for {'test' if dev else 'dev'}."
            )
        return [["dev" if i in dev else "test" for i in range(len(only))]]


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
    """Runs and scores configurations; keeps the knowledge bases of one place open."""

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
            self.opened = {place: list(zip(data, kbs, sweep.labels(data), strict=True))}
        return self.opened[place]
