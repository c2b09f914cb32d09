"""The result of `compare`: tables, tests and timings that show themselves, export and are saved.

How things look is left to `kg2rag.report`; how runs are written, to `trec.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kg2rag import report
from kg2rag.evaluation import trec
from kg2rag.evaluation.significance import bootstrap_interval, holm, paired_test, win_tie_loss
from kg2rag.types import Ranking

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

ABOUT = ("query_id", "system", "type", "hops", "question")
"""The columns of `Comparison.per_query` that are no metrics."""


def score_table(per_query: pd.DataFrame, metrics: Sequence[str], baseline: str, seed: int) -> pd.DataFrame:
    """One row a system and metric: mean, 95 % bootstrap interval, and the test against the baseline.

    Within a metric, Holm's correction runs over all systems but the baseline, whose own p, wins, ties and losses are
    blank (NaN). Every metric is a family of its own: who reads off several should say so.
    """
    import pandas as pd

    systems = list(dict.fromkeys(per_query["system"]))
    values = {name: part[list(metrics)].to_numpy() for name, part in per_query.groupby("system", sort=False)}
    low, high = bootstrap_interval(np.concatenate([values[name] for name in systems], axis=1), seed=seed)
    others = [name for name in systems if name != baseline]
    p = np.array([paired_test(values[name], values[baseline], seed) for name in others]).reshape(-1, len(metrics))
    corrected = dict(zip(others, np.array([holm(column) for column in p.T]).T, strict=True))
    rows = []
    for at, (name, metric) in enumerate(product(systems, metrics)):
        column = metrics.index(metric)
        scores = values[name][:, column]
        test: tuple[object, ...] = (np.nan, None, None, None)
        if name != baseline:
            test = (corrected[name][column], *win_tie_loss(scores, values[baseline][:, column]))
        rows.append((name, metric, scores.mean(), low[at], high[at], *test))
    columns = ["system", "metric", "mean", "ci_low", "ci_high", "p_holm", "wins", "ties", "losses"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype(dict.fromkeys(("wins", "ties", "losses"), "Int64"))


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Systems side by side on one data set.

    Attributes
    ----------
    rankings : system -> its rankings, in the order of the questions.
    per_query : one row a system and question: query_id, system, type, hops, question, one column a metric.
    scores : one row a system and metric: mean, ci_low, ci_high (95 %), p_holm, wins, ties, losses against the
        baseline. `p_holm` is corrected over the systems other than the baseline, within a metric.
    curve : mean recall by depth (index `k`), one column a system.
    ms_per_query : system -> milliseconds, indexes built and queries encoded beforehand where the system allows it.
    config : all that the numbers depend on, as JSON values.
    """

    rankings: Mapping[str, Sequence[Ranking]]
    per_query: pd.DataFrame
    scores: pd.DataFrame
    curve: pd.DataFrame
    ms_per_query: Mapping[str, float]
    baseline: str
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        """The names of the systems, in the order given."""
        return list(self.rankings)

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics, in the order given."""
        return [column for column in self.per_query.columns if column not in ABOUT]

    def __repr__(self) -> str:
        means = self.to_frame().round(4).to_string()
        return f"Comparison of {len(self.systems)} systems on {report.headline(self.config)}\n{means}"

    def _repr_html_(self) -> str:
        return report.table_html(self.scores, self.ms_per_query, self.baseline, self.config)

    def __rich__(self) -> Table:
        return report.rich_table(self.scores, self.ms_per_query, self.baseline, self.config)

    def to_frame(self) -> pd.DataFrame:
        """Means: one row a system, one column a metric, then `ms_per_query`."""
        frame = self.scores.pivot_table(index="system", columns="metric", values="mean", sort=False)
        frame = frame.loc[self.systems, self.metrics]
        frame["ms_per_query"] = [self.ms_per_query[name] for name in self.systems]
        return frame.rename_axis(columns=None)

    def to_markdown(self) -> str:
        """A table for a README: means in per cent, intervals, stars by Holm."""
        return report.markdown(self.scores, self.ms_per_query, self.baseline)

    def to_latex(self) -> str:
        """A `booktabs` table for a paper: means in per cent, intervals, stars by Holm."""
        return report.latex(self.scores, self.ms_per_query, self.baseline)

    def to_html(self) -> str:
        """The whole report as one self-contained page."""
        groups = {name: self.compare_by(name) for name in ("type", "hops") if self._has(name)}
        return report.page(
            self.scores, self.ms_per_query, self.baseline, self.config, self.curve, groups, self.differences()
        )

    def compare_by(self, column: Literal["type", "hops"]) -> pd.DataFrame:
        """Means within each type or number of hops: index (group, system), `n` questions, then the metrics.

        Questions whose type or hops are not known form the group "unknown".
        """
        if column not in ("type", "hops"):
            raise ValueError(f"Questions are grouped by 'type' or 'hops', not by {column!r}.")
        named = self.per_query[column].astype("string").fillna("").replace("", "unknown").astype(object)
        grouped = self.per_query.assign(**{column: named}).groupby([column, "system"], sort=False)
        frame = grouped[self.metrics].mean()
        frame.insert(0, "n", grouped.size())
        order = [(group, name) for group in sorted(named.unique()) for name in self.systems]
        return frame.loc[order]

    def differences(self, metric: str | None = None, limit: int = 10) -> pd.DataFrame:
        """The questions on which a system and the baseline differ most, by the first metric or the one named.

        Columns query_id, question, system, score, baseline, difference; largest first, then in the order of systems
        and questions.
        """
        metric = metric or self.metrics[0]
        if metric not in self.metrics:
            raise ValueError(f"Unknown metric {metric!r}. This comparison has: {', '.join(self.metrics)}.")
        frame = self.per_query[["query_id", "question", "system"]].assign(score=self.per_query[metric])
        reference = frame[frame["system"] == self.baseline].set_index("query_id")["score"]
        frame = frame[frame["system"] != self.baseline]
        frame = frame.assign(baseline=frame["query_id"].map(reference).astype(float))
        frame["difference"] = frame["score"] - frame["baseline"]
        order = frame["difference"].abs().sort_values(ascending=False, kind="stable").index[:limit]
        return frame.loc[order].query("difference != 0").reset_index(drop=True)

    def _has(self, column: str) -> bool:
        """Whether a grouping says anything: at least two groups."""
        return len(set(self.per_query[column].astype("string").fillna(""))) > 1

    def save(self, directory: Path | str) -> Path:
        """Write scores.csv, curve.csv, per_query.parquet, runs/<system>.trec, report.html and config.json.

        Each file is written beside its place and renamed into it, config.json last: nothing half-written is read, and
        where config.json stands, all is there. Tables and runs are the same bytes for the same rankings; timings
        stand only in config.json and report.html. Runs of systems that an earlier comparison in this directory had
        and this one lacks are removed.

        Returns
        -------
        The path of the report.
        """
        directory = Path(directory)
        (directory / "runs").mkdir(parents=True, exist_ok=True)
        self._remove_old_runs(directory)
        _write(directory / "scores.csv", _csv(self.scores, index=False))
        _write(directory / "curve.csv", _csv(self.curve, index=True))
        parquet = BytesIO()
        self.per_query.to_parquet(parquet, index=False)
        _write(directory / "per_query.parquet", parquet.getvalue())
        for name, rankings in self.rankings.items():
            _write(directory / "runs" / f"{name}.trec", trec.dump(rankings, name).encode())
        _write(directory / "report.html", self.to_html().encode())
        config = json.dumps(dict(self.config), indent=1, ensure_ascii=False, default=str)
        _write(directory / "config.json", (config + "\n").encode())
        return directory / "report.html"

    def _remove_old_runs(self, directory: Path) -> None:
        config = directory / "config.json"
        if not config.is_file():
            return
        former = json.loads(config.read_text(encoding="utf-8")).get("systems", {})
        config.unlink()
        for name in sorted(set(former) - set(self.systems)):
            (directory / "runs" / f"{Path(name).name}.trec").unlink(missing_ok=True)

    @classmethod
    def load(cls, directory: Path | str) -> Comparison:
        """Read what `save` wrote.

        Scores come back as the csv has them, to six decimals; rankings hold ids and scores alone, no paths or stages.
        """
        import pandas as pd

        directory = Path(directory)
        if not (directory / "config.json").is_file():
            raise FileNotFoundError(f"{directory} holds no finished comparison: config.json is missing.")
        config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        per_query = pd.read_parquet(directory / "per_query.parquet")
        queries = list(dict.fromkeys(per_query["query_id"]))
        integers = dict.fromkeys(("wins", "ties", "losses"), "Int64")
        blank = ("p_holm", *integers)
        return cls(
            rankings={
                name: trec.as_rankings(trec.load(directory / "runs" / f"{name}.trec"), queries)
                for name in config["systems"]
            },
            per_query=per_query,
            # Blank is the one missing value: a system may be called "NA" or "nan".
            scores=pd.read_csv(
                directory / "scores.csv", dtype=integers, keep_default_na=False, na_values={key: [""] for key in blank}
            ),
            curve=pd.read_csv(directory / "curve.csv", index_col="k"),
            ms_per_query=config["ms_per_query"],
            baseline=config["baseline"],
            config=config,
        )


def _csv(frame: pd.DataFrame, *, index: bool) -> bytes:
    text: str = frame.to_csv(index=index, float_format="%.6f", lineterminator="\n")
    return text.encode()


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
