"""Configurations -> batches for the workers, pilots first; each outcome is scored and kept as soon as it arrives.

A running sweep computes scores alone; intervals and tests are computed for the report.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from math import ceil

import numpy as np
import pyarrow as pa

from kg2rag.compute import counter_of, has_workers
from kg2rag.compute.progress import bar as progress_bar
from kg2rag.evaluation.metrics import checked_scores
from kg2rag.experiments.sweep.configuration import Configuration
from kg2rag.experiments.sweep.definition import SweepDefinition
from kg2rag.experiments.sweep.storage import ResultsFolder, schema
from kg2rag.experiments.sweep.workbench import Outcome, Rows
from kg2rag.experiments.sweep.workers import Batch, outcomes
from kg2rag.types import IntArray, QADataset, Ranking

SECONDS = 5.0  # between two writings of the one file
LARGEST = 8  # configurations in a batch; a killed sweep loses the batches that were being run


class Judge:
    """Scores what the configurations of a sweep ranked."""

    def __init__(self, sweep: SweepDefinition) -> None:
        self.sweep = sweep
        self._tokens: dict[tuple[str, str], IntArray] = {}

    def table(self, configuration: Configuration, outcome: Outcome) -> pa.Table:
        """One row a question, or a single row with the error; the number of the configuration is still 0."""
        if outcome.error:
            return self._filled(configuration, outcome.error, {}, 1)
        parts = []
        setting, metrics = configuration.setting, list(self.sweep.scored_metrics.values())
        depth = self.sweep.scored_metrics[self.sweep.goal].k
        for one, labels, rows in zip(self.sweep.opened(setting), self.sweep.labels(setting), outcome.rows, strict=True):
            questions = one.questions
            columns: dict[str, object] = {
                "query_id": [question.id for question in questions],
                "type": [question.type for question in questions],
                "hops": [question.hops for question in questions],
                "split": labels,
                "tokens": self._tokens_of(rows[:, :depth], configuration, one),
            }
            scores = checked_scores(_rankings(rows, one), one, metrics, unit=one.unit)  # checked by the workbench
            columns |= {metric.name: scores[metric.name].to_numpy() for metric in metrics}
            parts.append(self._filled(configuration, None, columns, len(questions)))
        return pa.concat_tables(parts)

    def _filled(
        self, configuration: Configuration, error: str | None, columns: dict[str, object], rows: int
    ) -> pa.Table:
        same = vars(configuration) | {"number": 0, "id": configuration.id, "parameters": configuration.written}
        same["error"] = error
        wanted = schema(self.sweep.scored_metrics)
        full = {name: columns.get(name, [same.get(name)] * rows) for name in wanted.names}
        return pa.table(full, schema=wanted)

    def _tokens_of(self, rows: Rows, configuration: Configuration, data: QADataset) -> IntArray:
        """(n_questions,) the tokens of all hits of each question; each passage is counted when first needed."""
        key = (data.corpus.fingerprint, configuration.encoder)
        if key not in self._tokens:
            # 0 at the end, where -1, the end of a ranking, points to.
            self._tokens[key] = np.append(np.full(len(data.corpus), -1, dtype=np.int64), 0)
        counts = self._tokens[key]
        unknown = np.unique(rows[counts[rows] < 0])
        if len(unknown):
            counter = counter_of(self.sweep.embedders[configuration.encoder])
            counts[unknown] = counter.count([data.corpus.contents[row] for row in unknown.tolist()])
        total: IntArray = counts[rows].sum(axis=1)
        return total


def _rankings(rows: Rows, data: QADataset) -> list[Ranking]:
    """Rankings in which the place is the score: the worker has checked the true ones."""
    found = []
    for question, own in zip(data.questions, rows, strict=True):
        hits = own[own >= 0].astype(np.int64)
        found.append(Ranking(question.id, hits, 1.0 / np.arange(1, len(hits) + 1), data.corpus.ids))
    return found


@dataclass
class Runner:
    """Runs configurations and keeps their outcomes; `jobs` of them at a time."""

    sweep: SweepDefinition
    folder: ResultsFolder
    jobs: int
    progress: bool

    def __post_init__(self) -> None:
        self.judge = Judge(self.sweep)
        self.order: dict[str, None] = {}
        self.written = time.monotonic()

    def run(self, wanted: Sequence[Configuration]) -> None:
        """Run configurations in parallel; each is in the folder as soon as it is finished."""
        by_id = {configuration.id: configuration for configuration in wanted}
        with progress_bar(len(wanted), self.sweep.name, "configuration", shown=self.progress) as bar:
            for group, here in _phases(wanted, spread=has_workers()):
                batches = _batches(self.sweep, group, self.jobs)
                with closing(outcomes(batches, self.sweep.k, here=here)) as found:  # type: ignore[type-var]
                    for batch in found:
                        for outcome in batch:
                            self.keep(by_id[outcome.id], outcome)
                            bar.update()
                        if time.monotonic() - self.written > SECONDS:
                            self.folder.assemble(list(self.order))
                            self.written = time.monotonic()

    def keep(self, configuration: Configuration, outcome: Outcome) -> None:
        """Score and keep one outcome."""
        self.folder.add(self.judge.table(configuration, outcome), outcome.ms_per_query, outcome.seconds)


def _phases(wanted: Sequence[Configuration], *, spread: bool) -> Iterable[tuple[list[Configuration], bool]]:
    """Groups of configurations to run in order, and whether by this process.

    Before workers run the rest, one configuration of each system is run here, with all threads: it fills the store,
    from which the others read. Otherwise every process would encode the same texts.
    """
    pilots: list[Configuration] = []
    if spread:
        for _, group in groupby(wanted, key=lambda one: (one.setting, one.graph, one.encoder)):
            same = list(group)
            first = {one.system: one for one in reversed(same)}
            pilots += [one for one in same if first[one.system] is one]
    if pilots:
        yield pilots, True
    ids = {one.id for one in pilots}
    rest = [one for one in wanted if one.id not in ids]
    if rest:
        yield rest, not spread


def _batches(sweep: SweepDefinition, wanted: Sequence[Configuration], jobs: int) -> list[Batch]:
    """Batches of neighbours: those that differ least share what a worker has opened and remembered."""
    batches: list[Batch] = []
    for _, group in groupby(wanted, key=lambda one: (one.setting, one.graph, one.encoder)):
        # By system and its pipeline up to the last stage.
        same = sorted(group, key=lambda one: (one.system, one.about.rpartition(" >> ")[0]))
        size = max(1, min(LARGEST, ceil(len(wanted) / (4 * jobs))))
        bench = sweep.bench(same[0])
        for start in range(0, len(same), size):
            batches.append((bench, same[start : start + size]))
    return batches
