"""The scores of a sweep as tables: every configuration, and the best of each group on dev with its test score."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.evaluation.metric_names import bounds
from kg2rag.evaluation.statistics import holm, interval_of_mean, interval_of_sum, paired_test
from kg2rag.experiments.sweep.storage import COLUMNS
from kg2rag.text.registry import unknown
from kg2rag.types import FloatArray

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("dev", "test")


@dataclass(frozen=True, eq=False, repr=False)
class SweepTables:
    """The scores of a sweep's configurations, and what follows from them.

    Attributes
    ----------
    per_question : one row a configuration and question: number, id, system, setting, graph, encoder, parameters
        (JSON), about, error, query_id, type, hops, split, tokens, then the metrics. A failed configuration has one row
        with blank scores.
    timings : by id: ms_per_query (without building and encoding) and seconds (of everything).
    objective : the metric of the selection, on the questions of the dev split alone.
    config : what all scores share, and the machine they were computed on.
    """

    per_question: pd.DataFrame
    timings: pd.DataFrame
    objective: str
    config: dict[str, Any]

    @property
    def name(self) -> str:
        """The name of the sweep."""
        return str(self.config.get("name", "sweep"))

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics."""
        return [column for column in self.per_question.columns if column not in dict(COLUMNS)]

    @property
    def failed(self) -> pd.DataFrame:
        """The configurations that failed: number, system, setting, graph, encoder, parameters, error."""
        failed = self.per_question[self.per_question["error"].notna()]
        columns = ["number", "system", "setting", "graph", "encoder", "parameters", "error"]
        return failed[columns].reset_index(drop=True)

    @cached_property
    def scored(self) -> pd.DataFrame:
        """`per_question` without the failed configurations."""
        return self.per_question[self.per_question["error"].isna()]

    @cached_property
    def parameters(self) -> pd.DataFrame:
        """By number of configuration, the parameters that the sweep sets; blank where a system lacks one."""
        import pandas as pd

        first = self.scored.drop_duplicates("number").set_index("number")
        return pd.DataFrame([json.loads(text) for text in first["parameters"]], index=first.index, dtype=object)

    def to_frame(self) -> pd.DataFrame:
        """One row a configuration: what it is, its parameters, mean scores on dev and on test, milliseconds, tokens.

        Index `number`, in the order of the sweep. Tokens are those of the hits that the objective reads.
        """
        import pandas as pd

        about = self.scored.drop_duplicates("number").set_index("number")[
            ["id", "system", "setting", "graph", "encoder"]
        ]
        means = self.scored.groupby(["split", "number"])[self.metrics].mean()
        scores = {f"{split} {metric}": means.loc[split][metric] for metric in self.metrics for split in PARTS}
        tokens = self.scored.groupby("number")["tokens"].mean()
        ms = about["id"].map(self.timings["ms_per_query"])
        return pd.concat([about, self.parameters, pd.DataFrame(scores), ms.rename("ms_per_query"), tokens], axis=1)

    def _row(self, number: int) -> dict[str, Any]:
        if number not in self.numbers:
            raise ValueError(f"No finished configuration has the number {number}. There are {self.numbers}.")
        return {str(name): value for name, value in self.to_frame().loc[[number]].iloc[0].items()}

    @cached_property
    def questions(self) -> dict[str, FloatArray]:
        """Split -> (n_configurations, n_questions) objective scores, of "dev" and of "test"; rows as in `numbers`."""
        wide = {
            split: self.scored[self.scored["split"] == split].pivot_table(
                index="number", columns="query_id", values=self.objective
            )
            for split in PARTS
        }
        return {split: table.loc[self.numbers].to_numpy(dtype=np.float64) for split, table in wide.items()}

    @cached_property
    def numbers(self) -> list[int]:
        """The numbers of the configurations that did not fail."""
        return [int(number) for number in self.scored["number"].unique()]

    def best(self, by: Sequence[str] = ("system",), *, seed: int = 0) -> pd.DataFrame:
        """The best configuration of each group on dev, and how it does on test.

        Ties go to the configuration that returns fewer tokens on dev, then to the earlier one. The test split is read
        for the chosen ones alone.

        Parameters
        ----------
        by : columns of `to_frame` that make a group, such as ("system", "graph").
        seed : of the bootstrap.

        Returns
        -------
        One row a group, best on dev first: the group, number, parameters, then of the objective: dev, dev_low,
        dev_high, test, test_low, test_high, gap (dev - test), gap_low, gap_high (95 %, see `interval_of_mean`);
        `tried`, the configurations it was chosen from; and against the system's defaults, where the sweep has them:
        default_dev, default_test, p, the paired randomisation test of the two on the test questions, and p_holm, that
        corrected for the groups of the table.
        """
        import pandas as pd

        frame = self.to_frame()
        dev_tokens = self.scored[self.scored["split"] == "dev"].groupby("number")["tokens"].mean()
        rows = []
        for group, part in frame.groupby(list(by), sort=False):
            order = pd.DataFrame({"score": -part[f"dev {self.objective}"].round(12), "tokens": dev_tokens[part.index]})
            number = int(order.sort_values(["score", "tokens"], kind="stable").index[0])
            row = dict(zip(by, group, strict=True)) | {"number": number, "tried": len(part)}
            rows.append(row | {"parameters": self._written(number)} | self._judged(number, part, seed))
        table = pd.DataFrame(rows).sort_values("dev", ascending=False, kind="stable").reset_index(drop=True)
        tested = table["p"].notna()
        table["p_holm"] = np.nan
        table.loc[tested, "p_holm"] = holm(table.loc[tested, "p"].to_numpy(dtype=np.float64))
        return table

    def against(self, number: int, metric: str | None = None, *, seed: int = 0) -> pd.DataFrame:
        """Every configuration against one of them, on all questions: what each change is worth, as in an ablation.

        Dev and test questions count alike, for nothing is chosen here; who then chooses by it needs other questions.

        Parameters
        ----------
        number : of the configuration that the others are compared with.
        metric : one of `metrics`; None for the objective.
        seed : of the bootstrap and of the tests.

        Returns
        -------
        One row a configuration, in the order of the sweep: number, system, changed (the parameters in which it differs,
        "" for the one compared with), mean, difference (its mean minus the other's), low, high (95 %, paired bootstrap
        over questions) and p_holm (paired randomisation tests, corrected over all rows; blank for the one itself).

        Raises
        ------
        ValueError : no finished configuration has the number, or there is no such metric.
        """
        import pandas as pd

        metric = metric or self.objective
        if metric not in self.metrics:
            raise ValueError(unknown("metric", metric, self.metrics))
        self._row(number)
        wide = self.scored.pivot_table(index="number", columns="query_id", values=metric, sort=False)
        scores = wide.loc[self.numbers].to_numpy(dtype=np.float64)
        reference = scores[self.numbers.index(number)]
        low, high = interval_of_mean((scores - reference).T, bounds=_widest(metric), seed=seed)
        itself = self.numbers.index(number)
        low[itself] = high[itself] = 0.0
        others = [at for at, one in enumerate(self.numbers) if one != number]
        p_holm = np.full(len(scores), np.nan)
        p_holm[others] = holm([float(paired_test(scores[at], reference, seed)) for at in others])
        system = self.scored.drop_duplicates("number")["system"]
        return pd.DataFrame(
            {
                "number": self.numbers,
                "system": system.to_numpy(),
                "changed": [self._changed(one, number) for one in self.numbers],
                "mean": scores.mean(axis=1),
                "difference": (scores - reference).mean(axis=1),
                "low": low,
                "high": high,
                "p_holm": p_holm,
            }
        )

    def _changed(self, number: int, reference: int) -> str:
        """The parameters in which a configuration differs from another; "default" where it does not set one."""
        rows = [self.parameters.loc[one] for one in (number, reference)]
        mine, other = ({key: value for key, value in row.items() if not _blank(value)} for row in rows)
        names = [name for name in dict.fromkeys([*mine, *other]) if mine.get(name) != other.get(name)]
        return ", ".join(f"{name}={mine.get(name, 'default')}" for name in names)

    def _written(self, number: int) -> str:
        row = self.parameters.loc[number]
        return ", ".join(f"{name}={value}" for name, value in row.items() if not _blank(value)) or "defaults"

    def _judged(self, number: int, group: pd.DataFrame, seed: int) -> dict[str, float]:
        at = self.numbers.index(number)
        judged: dict[str, float] = {}
        for split in PARTS:
            scores = self.questions[split][at]
            low, high = interval_of_mean(scores, bounds=bounds(self.objective), seed=seed)
            judged |= {split: scores.mean(), f"{split}_low": float(low), f"{split}_high": float(high)}
        judged |= _gap(judged)
        default = self.default(group)
        judged |= {"default_dev": np.nan, "default_test": np.nan, "p": np.nan}
        if default is not None:
            dev, test = (self.questions[split][self.numbers.index(default)] for split in PARTS)
            p = paired_test(self.questions["test"][at], test, seed)
            judged |= {"default_dev": dev.mean(), "default_test": test.mean(), "p": float(p)}
        return judged

    def default(self, group: pd.DataFrame) -> int | None:
        """The configuration of a group whose parameters are all the catalogue's defaults, or None."""
        from kg2rag.retrievers.systems import parameters

        for number, system in group["system"].items():
            defaults = parameters(str(system))
            row = int(str(number))
            given = {name: value for name, value in self.parameters.loc[row].items() if not _blank(value)}
            if all(defaults.get(str(name)) == value for name, value in given.items()):
                return row
        return None


def _gap(judged: Mapping[str, float]) -> dict[str, float]:
    """Dev minus test, with an interval made of the two means' own, which are over different questions."""
    means, low, high = (np.array([judged[f"{split}{end}"] for split in PARTS]) for end in ("", "_low", "_high"))
    gap_low, gap_high = interval_of_sum(means, low, high, np.array([1, -1]))
    return {"gap": float(means[0] - means[1]), "gap_low": float(gap_low), "gap_high": float(gap_high)}


def _widest(metric: str) -> tuple[float, float] | None:
    """The range of differences of a metric."""
    own = bounds(metric)
    return None if own is None else (own[0] - own[1], own[1] - own[0])


def _blank(value: object) -> bool:
    return isinstance(value, float) and np.isnan(value)
