"""A sweep's folder -> `SweepResult`: its tables, and the Markdown, page and terminal lines made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.compute import write
from kg2rag.experiments.sweep import figures
from kg2rag.experiments.sweep.storage import ABOUT, AGAIN, RESULTS, TIMINGS, checked, read_about, read_timings
from kg2rag.experiments.sweep.tables import PARTS, SweepTables
from kg2rag.report import plots
from kg2rag.report.html import render
from kg2rag.report.markup import pipe_table, plain
from kg2rag.text.parquet import read_parquet
from kg2rag.text.records import DataError

if TYPE_CHECKING:
    import pandas as pd

HEADER = ("system", "chosen", "dev", "test", "gap", "defaults", "p", "parameters")
MOST = 20  # configurations that the page lists


def note(result: SweepTables) -> str:
    """How to read the table of selected configurations."""
    counts = {split: scores.shape[1] for split, scores in result.questions.items()}
    return (
        f"{result.objective} in per cent with 95 % intervals over {counts['dev']} dev and {counts['test']} "
        "test questions. Configurations were chosen on dev alone; the test score is the one to quote. The gap is dev "
        "minus test: what choosing promised and did not keep, or dev questions that are easier; the system's defaults "
        "(dev, test), where the sweep has them, tell the two apart. p: chosen against defaults on the test questions, "
        "paired randomisation test, Holm-corrected for the rows."
    )


def chosen(result: SweepTables) -> list[tuple[str, ...]]:
    """The table of chosen configurations as texts, in the order of `HEADER`."""
    rows: list[tuple[str, ...]] = []
    for row in result.best().to_dict("records"):
        means = [
            "{:.1f} ({:.1f} to {:.1f})".format(*(100 * row[f"{name}{end}"] for end in ("", "_low", "_high")))
            for name in ("dev", "test", "gap")
        ]
        defaults = (f"{100 * row['default_dev']:.1f}, {100 * row['default_test']:.1f}", f"{row['p_holm']:.3f}")
        judged = ("", "") if row["p"] != row["p"] else defaults
        rows.append((row["system"], f"{row['number']} of {row['tried']}", *means, *judged, row["parameters"]))
    return rows


def top(result: SweepTables) -> pd.DataFrame:
    """The configurations that score best on dev: parameters, all dev scores, milliseconds, tokens; no test scores."""
    frame = result.to_frame().sort_values(f"dev {result.objective}", ascending=False, kind="stable").head(MOST)
    dev = {f"dev {metric}": (100 * frame[f"dev {metric}"]).map("{:.1f}".format) for metric in result.metrics}
    table = frame[["system", "setting", "graph", "encoder"]].assign(
        parameters=[result._written(number) for number in frame.index],
        **dev,
        ms=frame["ms_per_query"].map("{:.1f}".format),
        tokens=frame["tokens"].map("{:.0f}".format),
    )
    return table.reset_index()


def _figures(result: SweepTables) -> Mapping[str, Mapping[str, str]]:
    drawn: dict[str, Mapping[str, str]] = {"": {"pareto": plots.to_svg(figures.pareto(result), "pareto")}}
    for number, system in enumerate(dict.fromkeys(result.to_frame()["system"])):
        own = {}
        if len(figures.effects(result, system)):
            own["effects"] = plots.to_svg(figures.main_effects(result, system), f"effects{number}")
        heat = figures.heat_map(result, system)
        if heat is not None:
            own["heat"] = plots.to_svg(heat, f"heat{number}")
        drawn[system] = own
    return drawn


def _headline(result: SweepTables) -> str:
    failed = len(result.failed)
    return f"{len(result.numbers):,} configurations" + (f", {failed} more failed." if failed else ".")


def _failures(result: SweepTables) -> list[str]:
    if not len(result.failed):
        return []
    rows: list[Any] = result.failed.to_numpy().tolist()
    lines = [f"- {row[0]}: {row[1]} {row[5]} ({row[3]}, {row[4]}, {row[2]}): {row[6]}" for row in rows]
    return ["## Failed", "", *map(plain, lines), ""]


def _even(frame: pd.DataFrame, objective: str) -> bool:
    """Whether each configuration has one number, and scores of as many dev and test questions as any other."""
    scored = frame[frame["error"].isna()]
    if not (np.isfinite(scored[objective]).all() and scored[["query_id", "split"]].notna().all(axis=None)):
        return False
    sizes = scored.groupby(["number", "id", "split"]).size().groupby("split").agg(["size", "min", "max"])
    configurations = scored["number"].nunique()
    even = (sizes["size"] == configurations) & (sizes["min"] == sizes["max"])
    return not configurations or (sorted(sizes.index) == sorted(PARTS) and bool(even.all()))


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult(SweepTables):
    """The results of a sweep, as tables and as reports."""

    @classmethod
    def load(cls, out: str | Path) -> SweepResult:
        """Read what a sweep has finished, whether or not it is still running."""
        out = Path(out)
        if not (out / RESULTS).is_file():
            raise FileNotFoundError(f"{out} holds no results: {RESULTS} is missing. Run the sweep first.")
        config = read_about(out)
        table = checked(read_parquet(out / RESULTS), out / RESULTS)
        if config["objective"] not in table.column_names:
            raise DataError(f"{out / RESULTS} has no column {config['objective']!r}, the objective of {ABOUT}.")
        frame = table.to_pandas()
        if not _even(frame, config["objective"]):
            raise DataError(
                f"{out / RESULTS}: its configurations are not all of the same dev and test questions. {AGAIN}"
            )
        return cls(frame, read_timings(out / TIMINGS), config["objective"], config)

    def to_markdown(self) -> str:
        """The report as Markdown: the chosen configurations, what failed, and the best on dev."""
        lines = [f"# {self.name}", "", _headline(self), ""]
        if not self.numbers:
            return "\n".join([*lines, *_failures(self)])
        lines += [*pipe_table(HEADER, chosen(self)), "", note(self), ""]
        lines += _failures(self)
        best = top(self)
        lines += ["## Best on dev", "", *pipe_table(list(best.columns), best.astype(str).to_numpy().tolist())]
        for system in dict.fromkeys(self.to_frame()["system"]):
            table = figures.effects(self, system)
            if len(table):
                shown = table.assign(**{name: 100 * table[name] for name in ("mean", "low", "high", "spread")}).round(1)
                rows = shown.astype(str).to_numpy().tolist()
                lines += [
                    "",
                    f"## What the parameters of {system} do on dev",
                    "",
                    *pipe_table(list(table.columns), rows),
                ]
        return "\n".join([*lines, ""])

    def to_html(self) -> str:
        """The report as one page that loads nothing from elsewhere, fit for screen (light or dark) and paper."""
        best = top(self) if self.numbers else None
        return render(
            "sweep.html.j2",
            name=self.name,
            headline=_headline(self),
            header=HEADER,
            chosen=chosen(self) if self.numbers else [],
            note=note(self) if self.numbers else "",
            figures=_figures(self) if self.numbers else {},
            objective=self.objective,
            failed=self.failed.to_dict("records"),
            columns=[] if best is None else list(best.columns),
            best=[] if best is None else best.astype(str).to_numpy().tolist(),
            config=json.dumps(self.config, indent=1, ensure_ascii=False),
        )

    def save_report(self, out: str | Path) -> Path:
        """Write report.md and report.html; the path of the latter."""
        out = Path(out)
        write(out / "report.md", self.to_markdown().encode())
        write(out / "report.html", self.to_html().encode())
        return out / "report.html"

    def __repr__(self) -> str:
        return f"SweepResult({self.name}: {len(self.numbers)} configurations, {len(self.failed)} failed)"

    def _repr_html_(self) -> str:
        html: str = self.best().round(4).to_html(index=False, na_rep="")
        return f"<p>{self!r}, chosen on dev by {self.objective}</p>{html}"
