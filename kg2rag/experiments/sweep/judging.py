"""The rows that a configuration ranked -> a table of scores, one row a question.

A running sweep computes scores alone; intervals and tests are computed for the report.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kg2rag.compute.tokens import counter_of
from kg2rag.evaluation.metrics import checked_scores
from kg2rag.experiments.sweep.configuration import Configuration
from kg2rag.experiments.sweep.definition import SweepDefinition
from kg2rag.experiments.sweep.storage import schema
from kg2rag.experiments.sweep.workbench import Outcome, Rows
from kg2rag.types.arrays import IntArray
from kg2rag.types.questions import QADataset
from kg2rag.types.rankings import Ranking


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
