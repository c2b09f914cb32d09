"""The scores of a sweep's configurations as frames and arrays."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from kg2rag.types import FloatArray

LABELS = ("setting", "graph", "encoder")
"""Columns other than parameters in which configurations may differ."""
WHAT = ("system", *LABELS)
KEY = ("number", *WHAT, "parameters")
COLUMNS = (*KEY, "error", "ms_per_query", "query_id", "type", "hops", "split")
"""The columns before the metrics."""
PARTS = ("dev", "test")


@dataclass(frozen=True, eq=False, repr=False)
class SweepScores:
    """The scores of a sweep's configurations.

    Attributes
    ----------
    per_question : one row per configuration and question: `COLUMNS` (parameters as JSON), then the
        metrics. A failed configuration has one row with its error.
    objective : the metric of the selection, on the questions of the dev split only.
    config : the inputs that all scores share, and the machine on which they were computed.
    """

    per_question: pd.DataFrame
    objective: str
    config: dict[str, Any]

    @property
    def name(self) -> str:
        """The name of the sweep."""
        return str(self.config.get("name", "sweep"))

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics."""
        return [column for column in self.per_question.columns if column not in COLUMNS]

    @property
    def failed(self) -> pd.DataFrame:
        """One row per failed configuration: the columns `KEY` and the error."""
        failed = self.per_question[self.per_question["error"].notna()]
        return failed[[*KEY, "error"]].reset_index(drop=True)

    @cached_property
    def scored(self) -> pd.DataFrame:
        """`per_question` without the failed configurations."""
        return self.per_question[self.per_question["error"].isna()]

    @cached_property
    def numbers(self) -> list[int]:
        """The numbers of the configurations that did not fail."""
        return [int(number) for number in self.scored["number"].unique()]

    @cached_property
    def settings(self) -> dict[int, dict[str, Any]]:
        """Number of each configuration -> the parameters that the sweep sets, by name."""
        texts = self.scored.drop_duplicates("number")["parameters"]
        parsed = [json.loads(text) for text in texts]
        names = dict.fromkeys(name for values in parsed for name in values)
        settings = {}
        for number, values in zip(self.numbers, parsed, strict=True):
            settings[number] = {name: values[name] for name in names if name in values}
        return settings

    def to_frame(self) -> pd.DataFrame:
        """One row per configuration: labels, parameters, mean dev and test scores, milliseconds.

        The index `number` is in the order of the sweep. A parameter that the sweep does not set is
        blank.
        """
        about = self.scored.drop_duplicates("number").set_index("number")
        means = self.scored.groupby(["split", "number"])[self.metrics].mean()
        scores = pd.DataFrame(index=about.index)
        for metric in self.metrics:
            for split in PARTS:
                scores[f"{split} {metric}"] = means.loc[split][metric]
        settings = pd.DataFrame(self.settings.values(), index=about.index, dtype=object)
        return pd.concat(
            [about[list(WHAT)], settings, scores, about["ms_per_query"]], axis=1
        )

    @cached_property
    def questions(self) -> dict[str, FloatArray]:
        """Split -> scores in the objective, (n_configurations, n_questions), ordered as `numbers`."""
        frame = self.scored
        return {
            split: self._wide(frame[frame["split"] == split], self.objective)
            for split in PARTS
        }

    def _wide(self, part: pd.DataFrame, metric: str) -> FloatArray:
        """The scores in a metric, (n_configurations, n_questions), of some rows of `scored`."""
        wide = part.pivot_table(
            index="number", columns="query_id", values=metric, sort=False
        )
        return wide.loc[self.numbers].to_numpy(dtype=np.float64)

    @property
    def headline(self) -> str:
        """The numbers of finished and of failed configurations, in words."""
        failed = f", {len(self.failed)} more failed" if len(self.failed) else ""
        return f"{len(self.numbers):,} configurations{failed}."
