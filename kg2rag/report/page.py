"""A score sheet, curves, means by group and questions -> the self-contained page of a comparison."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from kg2rag.report import plots
from kg2rag.report.html import HtmlPage, document, fragment, render
from kg2rag.report.markup import latex, markdown
from kg2rag.report.notes import notes
from kg2rag.report.score_sheet import (
    ScoreSheet,
    headline,
    pair_rows,
    placebo_rows,
    rows,
)
from kg2rag.report.terminal import TerminalTable


class Tabular(ABC):
    """A result with a score sheet, shown by Jupyter, the terminal, Markdown and LaTeX."""

    @property
    @abstractmethod
    def sheet(self) -> ScoreSheet:
        """The content of the printed table."""

    def _repr_html_(self) -> str:
        content = _table(self.sheet, caption=headline(self.sheet.config))
        return fragment(render("table.html.j2", **content))

    def __rich__(self) -> TerminalTable:
        return TerminalTable(self.sheet)

    def to_markdown(self) -> str:
        """A Markdown table: means in per cent, intervals, and stars by Holm-corrected p-values."""
        return markdown(self.sheet)

    def to_latex(self) -> str:
        """A LaTeX table of means in per cent with intervals and stars; needs booktabs."""
        return latex(self.sheet)


def page(
    sheet: ScoreSheet,
    *,
    data: Mapping[str, str] | None = None,
    curves: Mapping[str, pd.DataFrame] | None = None,
    groups: Mapping[str, pd.DataFrame] | None = None,
    tests: Mapping[str, pd.DataFrame] | None = None,
    second: ScoreSheet | None = None,
    verdict: HtmlPage | None = None,
    further: Sequence[HtmlPage] = (),
) -> str:
    """The page of a comparison for screen (light or dark) and paper; parts that are None are absent.

    Parameters
    ----------
    data : name of a script -> the JSON that it reads: "page.js" -> the result of `questions_json`,
        "label.js" -> that of `Labelling.data`.
    curves : "k" and "tokens" -> mean recall, with index k or tokens and one column per system.
    groups : "type", "hops" or "gold" -> means by metric, with index (group, system) and column n.
    tests : tests in the first metric: "pairs" -> the result of `Comparison.pairs`, "placebos" ->
        that of `Comparison.against_placebo`.
    second : the sheet of macro-averages in every metric, for comparisons on several sets.
    verdict : the verdict on the graph, at the top of the page.
    further : views at the end of the page, such as waterfalls.
    """
    config = sheet.config
    scripts = data or {}
    body = render(
        "report.html.j2",
        **_table(sheet),
        data=config.get("data", {}),
        config=config,
        scripts=list(scripts),
        figures=_figures(sheet, curves or {}),
        groups={
            name: _breakdown(sheet, frame) for name, frame in (groups or {}).items()
        },
        **_tests(sheet, tests or {}),
        second=second and _table(second),
        verdict=verdict and verdict.body(),
        further=[view.body() for view in further],
        config_text=json.dumps(dict(config), indent=2, ensure_ascii=False, default=str),
    )
    return document(headline(config), body, scripts)


def _tests(
    sheet: ScoreSheet, tests: Mapping[str, pd.DataFrame]
) -> dict[str, list[tuple[str, ...]]]:
    """Names "pairs" and "placebos" -> the printed rows of that table of tests; [] for none."""
    rows_of = {"pairs": pair_rows, "placebos": placebo_rows}
    printed: dict[str, list[tuple[str, ...]]] = {"pairs": [], "placebos": []}
    for name, table in tests.items():
        printed[name] = list(rows_of[name](sheet, table, sheet.metrics[0]))
    return printed


def _figures(sheet: ScoreSheet, curves: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Name -> SVG figure: the bars, and each curve that has points."""
    figures = {"bars": plots.bar_chart(sheet.scores, sheet.baseline, sheet.metric)}
    for name, curve in curves.items():
        if len(curve):
            figures[name] = plots.recall_curve(curve, sheet.baseline)
    return {name: plots.to_svg(figure, name) for name, figure in figures.items()}


def _table(sheet: ScoreSheet, caption: str = "") -> dict[str, Any]:
    """The contents of the template `table.html.j2`."""
    return {
        "rows": rows(sheet),
        "metrics": sheet.metrics,
        "baseline": sheet.baseline,
        "notes": notes(sheet),
        "builds": any(not pd.isna(seconds) for seconds in sheet.build_seconds.values()),
        "caption": caption,
    }


def _breakdown(sheet: ScoreSheet, frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The printed means by group: for each group its name, its n, and (system, texts) pairs."""
    groups = []
    for group, part in frame.groupby(level=0, sort=False):
        means: Any = part.drop(columns="n").droplevel(0).iterrows()
        systems = []
        for name, row in means:
            systems.append(
                (name, [sheet.text(metric, mean) for metric, mean in row.items()])
            )
        groups.append({"name": group, "n": int(part["n"].iloc[0]), "systems": systems})
    return groups
