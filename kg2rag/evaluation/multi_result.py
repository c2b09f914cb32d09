"""Comparisons on several data sets -> a table with a column per set and the macro-average.

Every set has the same weight. Intervals and tests generalise to further questions of these sets,
and not to other sets [Demsar, "Statistical Comparisons of Classifiers over Multiple Data Sets",
JMLR 7 (2006)].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kg2rag import report
from kg2rag.evaluation.result import Comparison
from kg2rag.evaluation.returned_sizes import larger_sets
from kg2rag.evaluation.significance import COLUMNS, COUNTS, score_table
from kg2rag.evaluation.storage import save_summary
from kg2rag.report.score_sheet import MACRO
from kg2rag.text.cells import visible
from kg2rag.text.registry import unknown


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(report.Tabular):
    """The same systems on several data sets.

    It is displayed in the first metric: a column for each set, then the macro-average; `sheet_of`
    returns the table of another metric. `result["musique"]` is the comparison on that set.

    sets : name -> comparison.

    ValueError: there is no comparison, or two differ in systems, metrics, baseline or setting.
    """

    sets: Mapping[str, Comparison]

    def __post_init__(self) -> None:
        if not self.sets:
            raise ValueError(
                "No comparison to bring together. Pass name -> Comparison."
            )
        first = next(iter(self.sets))
        for attribute in ("systems", "metrics", "baseline"):
            expected = getattr(self.sets[first], attribute)
            for name, result in self.sets.items():
                value = getattr(result, attribute)
                if value != expected:
                    raise ValueError(
                        f"The {attribute} on {name!r} are {value}, those on {first!r} {expected}: "
                        "no macro-average."
                    )
        settings = {
            name: result.config["data"]["setting"] for name, result in self.sets.items()
        }
        require_one_setting(settings)

    def __getitem__(self, name: str) -> Comparison:
        if name not in self.sets:
            raise KeyError(unknown("set", name, self.sets))
        return self.sets[name]

    @property
    def _first(self) -> Comparison:
        """The comparison on the first set."""
        return next(iter(self.sets.values()))

    @property
    def systems(self) -> list[str]:
        """The names of the systems, in the order of the table."""
        return self._first.systems

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics, in their order."""
        return self._first.metrics

    @property
    def baseline(self) -> str:
        """The system against which the others are tested."""
        return self._first.baseline

    @cached_property
    def macro(self) -> pd.DataFrame:
        """One row per system and metric: macro-average, interval and tests.

        See `significance.score_table`.
        """
        per_query = {name: result.per_query for name, result in self.sets.items()}
        table = score_table(
            per_query, self.metrics, self.baseline, seed=self._first.seed
        )
        for metric in self.metrics:
            if any(result.is_untested(metric) for result in self.sets.values()):
                table.loc[table["metric"] == metric, ["p_holm", "p_best"]] = np.nan
        return table

    def to_frame(self, metric: str | None = None) -> pd.DataFrame:
        """The means of a metric, by default the first: one row per system, one column per set.

        The last column is the macro-average.
        """
        scores = self.sheet_of(metric).scores
        frame = scores.pivot_table(
            index="system", columns="metric", values="mean", sort=False
        )
        return frame.reindex(self.systems)[[*self.sets, MACRO]].rename_axis(
            columns=None
        )

    def __repr__(self) -> str:
        means = self.to_frame().round(4).to_string()
        config = self.sheet.config
        remarks = report.remark_lines(config)
        return visible("\n".join((report.headline(config), means, *remarks)))

    @property
    def sheet(self) -> report.ScoreSheet:
        """The content of the printed table, in the first metric."""
        return self.sheet_of()

    def sheet_of(self, metric: str | None = None) -> report.ScoreSheet:
        """The content of the table in one metric: a column for each set, then the macro-average."""
        metric = self._first.require_metric(metric)
        columns = []
        for name, result in self.sets.items():
            # The minimum detectable difference belongs to a single set.
            table = result.scores.assign(detectable=np.nan)
            columns.append(_column(table, metric, name))
        columns.append(_column(self.macro, metric, MACRO))
        scores = pd.concat(columns, ignore_index=True).astype(
            dict.fromkeys(COUNTS, "Int64")
        )
        config = self._config(f"{metric} on {', '.join(self.sets)}")
        return report.ScoreSheet(
            scores,
            self._mean_ms(),
            self.baseline,
            config,
            self._larger_sets(),
            metric=metric,
        )

    @property
    def macro_sheet(self) -> report.ScoreSheet:
        """The content of the table of macro-averages, in every metric."""
        config = self._config(f"{MACRO} over {', '.join(self.sets)}")
        return report.ScoreSheet(self.macro, self._mean_ms(), self.baseline, config)

    def _mean_ms(self) -> dict[str, float]:
        """System -> milliseconds per query, the mean over the sets."""
        times = [result.ms_per_query for result in self.sets.values()]
        return {
            name: float(np.mean([ms[name] for ms in times])) for name in self.systems
        }

    def _larger_sets(self) -> dict[str, str]:
        """System -> the sets on which it returns more than the others, in words."""
        texts: dict[str, list[str]] = {}
        for name, result in self.sets.items():
            for system, text in larger_sets(result.sizes).items():
                texts.setdefault(system, []).append(f"{text} on {name}")
        return {system: "; ".join(parts) for system, parts in texts.items()}

    def _config(self, name: str) -> dict[str, Any]:
        """The facts about data and tests that the printed tables show."""
        data: dict[str, Any] = {"name": name}
        parts = [result.config["data"] for result in self.sets.values()]
        for key in ("setting", "unit"):
            data[key] = " and ".join(dict.fromkeys(part[key] for part in parts))
        for key in ("questions", "passages"):
            data[key] = sum(part[key] for part in parts)
        knowledge: list[Any] = []
        for result in self.sets.values():
            knowledge += result.config.get("knowledge", [])
        headlines = {
            name: report.headline(result.config) for name, result in self.sets.items()
        }
        seeds = self._first.config.get("seeds", {})
        return {
            "data": data,
            "sets": headlines,
            "knowledge": knowledge,
            "seeds": seeds,
            "remarks": self._remarks(),
        }

    def _remarks(self) -> dict[str, str]:
        """System -> its remarks on the sets, each followed by the sets that it is about."""
        sets_of: dict[str, dict[str, list[str]]] = {}
        for name, result in self.sets.items():
            for system, remark in result.config.get("remarks", {}).items():
                sets_of.setdefault(system, {}).setdefault(remark, []).append(name)
        return {
            system: "; ".join(
                f"{remark} ({', '.join(sets)})" for remark, sets in remarks.items()
            )
            for system, remarks in sets_of.items()
        }

    def to_html(self) -> str:
        """The summary as one self-contained page, with links to the saved reports of the sets."""
        return report.page(
            self.sheet, second=self.macro_sheet if len(self.metrics) > 1 else None
        )

    def save(self, directory: Path | str) -> Path:
        """Save each comparison in `directory`/NAME, then the summary; returns the path of its page.

        The summary is macro.csv, report.html and sets.json, which names the sets.
        """
        for name, result in self.sets.items():
            result.save(Path(directory) / name)
        return self.save_summary(directory)

    def save_summary(self, directory: Path | str) -> Path:
        """Save the summary only, beside comparisons that are saved already."""
        folder = Path(directory)
        save_summary(folder, list(self.sets), self.macro, self.to_html())
        return folder / "report.html"


def require_one_setting(settings: Mapping[str, str]) -> None:
    """Raise ValueError if sets (name -> setting) differ in setting: their mean is undefined."""
    if len(set(settings.values())) > 1:
        listed = ", ".join(f"{name} ({setting})" for name, setting in settings.items())
        remedy = "Load all in one, such as setting='pooled' (--setting pooled), or compare on each by itself."
        raise ValueError(
            f"No macro-average over different settings: {listed}. {remedy}"
        )


def _column(table: pd.DataFrame, metric: str, heading: str) -> pd.DataFrame:
    """The rows of one metric with `heading` as metric, the heading of a column of the table."""
    return table[table["metric"] == metric].assign(metric=heading)[list(COLUMNS)]
