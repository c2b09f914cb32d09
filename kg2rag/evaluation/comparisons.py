"""The result of `compare` on several sets: their comparisons, and one table with the macro-average over them.

Each set counts alike, however many questions it has. Intervals and tests are of other questions of these sets and say
nothing of other sets [Demsar, "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7 (2006)].
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kg2rag import report
from kg2rag.compute import write
from kg2rag.evaluation.comparison import Comparison
from kg2rag.evaluation.score_table import COLUMNS, COUNTS, score_table
from kg2rag.evaluation.storage import COMPARED_SETS, require_place
from kg2rag.report.table import MACRO
from kg2rag.text.cells import csv_of
from kg2rag.text.registry import unknown


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(report.Tabular):
    """The same systems on several data sets.

    It shows one metric, the first of the comparisons, or another by `sheet_of`: a column for each set, as in the set's
    own table, then the macro-average.

    sets : name -> comparison, loaded or made. ValueError: none, or two that differ in systems, metrics or baseline.
    """

    sets: Mapping[str, Comparison]

    def __post_init__(self) -> None:
        if not self.sets:
            raise ValueError("No comparison to bring together. Pass name -> Comparison.")
        for name, what in product(self.sets, ("systems", "metrics", "baseline")):
            own, wanted = getattr(self.sets[name], what), getattr(self, what)
            if own != wanted:
                first = next(iter(self.sets))
                raise ValueError(f"The {what} on {name!r} are {own}, those on {first!r} {wanted}: no macro-average.")
        require_one_setting({name: one.config.get("data", {}).get("setting", "") for name, one in self.sets.items()})

    def __getitem__(self, name: str) -> Comparison:
        if name not in self.sets:
            raise KeyError(unknown("set", name, self.sets))
        return self.sets[name]

    @property
    def _first(self) -> Comparison:
        return next(iter(self.sets.values()))

    systems = property(lambda self: self._first.systems)
    metrics = property(lambda self: self._first.metrics)
    baseline = property(lambda self: self._first.baseline)

    @cached_property
    def macro(self) -> pd.DataFrame:
        """One row per system and metric: the macro-average, its interval and tests; see `score_table`."""
        sets = {name: one.per_query for name, one in self.sets.items()}
        return score_table(sets, self.metrics, self.baseline, seed=self._first.config.get("seed", 0))

    def to_frame(self, metric: str | None = None) -> pd.DataFrame:
        """Means of one metric, the first or the one named: one row per system, one column per set, then their mean."""
        scores = self.sheet_of(metric).scores
        frame = scores.pivot_table(index="system", columns="metric", values="mean", sort=False)
        return frame.reindex(self.systems)[[*self.sets, MACRO]].rename_axis(columns=None)

    def __repr__(self) -> str:
        return f"{report.headline(self.sheet.config)}\n{self.to_frame().round(4).to_string()}"

    @property
    def sheet(self) -> report.Sheet:
        """The content of the printed table, in the first metric."""
        return self.sheet_of()

    def sheet_of(self, metric: str | None = None) -> report.Sheet:
        """The content of the table in one metric: a column for each set, then the macro-average."""
        metric = metric or self.metrics[0]
        if metric not in self.metrics:
            raise ValueError(unknown("metric", metric, self.metrics))
        parts = {name: one.scores.assign(detectable=np.nan) for name, one in self.sets.items()} | {MACRO: self.macro}
        own = [part[part["metric"] == metric].assign(metric=name)[list(COLUMNS)] for name, part in parts.items()]
        scores = pd.concat(own, ignore_index=True).astype(dict.fromkeys(COUNTS, "Int64"))
        larger: dict[str, list[str]] = {}
        for name, one in self.sets.items():
            for system, text in one.larger_sets.items():
                larger.setdefault(system, []).append(f"{text} on {name}")
        joined = {system: "; ".join(texts) for system, texts in larger.items()}
        config = self._about(f"{metric} on {', '.join(self.sets)}")
        return report.Sheet(scores, self._ms, self.baseline, config, joined, metric=metric)

    @property
    def macro_sheet(self) -> report.Sheet:
        """The content of the table of macro-averages alone, in every metric."""
        return report.Sheet(self.macro, self._ms, self.baseline, self._about(f"{MACRO} over {', '.join(self.sets)}"))

    @property
    def _ms(self) -> dict[str, float]:  # means over sets
        return {name: float(np.mean([one.ms_per_query[name] for one in self.sets.values()])) for name in self.systems}

    def _about(self, name: str) -> dict[str, Any]:
        """What the printed tables say of the data and the tests."""
        configs = [one.config for one in self.sets.values()]
        data = [config.get("data", {}) for config in configs]
        joined = {key: " and ".join(dict.fromkeys(one.get(key, "") for one in data)) for key in ("setting", "unit")}
        sizes = {key: sum(one.get(key, 0) for one in data) for key in ("questions", "passages")}
        return {
            "data": {"name": name, **joined, **sizes},
            "sets": {name: report.headline(one.config) for name, one in self.sets.items()},
            "knowledge": [kb for config in configs for kb in config.get("knowledge", [])],
            "seeds": self._first.config.get("seeds", {}),
        }

    def to_html(self) -> str:
        """The summary as one self-contained page; it leads to the sets' own reports, where `save` puts them."""
        return report.page(self.sheet, second=self.macro_sheet if len(self.metrics) > 1 else None)

    def save(self, directory: Path | str) -> Path:
        """Save each comparison in `directory`/NAME, then the summary; returns the path of its page.

        The summary is macro.csv, report.html and sets.json, which names the sets.
        """
        for name, one in self.sets.items():
            one.save(Path(directory) / name)
        return self.save_summary(directory)

    def save_summary(self, directory: Path | str) -> Path:
        """Save what `save` does, but the comparisons, which lie there already."""
        folder = Path(directory)
        require_place(folder, several=True)
        write(folder / "macro.csv", csv_of(self.macro, float_format="%.6f").encode())
        write(folder / "report.html", self.to_html().encode())
        write(folder / COMPARED_SETS, (json.dumps({"sets": list(self.sets)}, ensure_ascii=False) + "\n").encode())
        return folder / "report.html"


def require_one_setting(settings: Mapping[str, str]) -> None:
    """Raise ValueError where sets are searched in different settings (set -> setting): their mean says nothing."""
    if len(set(settings.values())) > 1:
        listed = ", ".join(f"{name} ({setting})" for name, setting in settings.items())
        remedy = "Load them in one, such as setting='pooled' (--setting pooled), or compare on each alone."
        raise ValueError(f"No macro-average over different settings: {listed}. {remedy}")
