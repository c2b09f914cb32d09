"""A sheet, curves, break-downs and questions -> the page of a comparison, one file that loads nothing."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kg2rag.report import plots
from kg2rag.report.html import HtmlPage, document, fragment, render
from kg2rag.report.markup import markdown
from kg2rag.report.notes import notes
from kg2rag.report.table import Sheet, headline, pair_rows, placebo_rows, rows
from kg2rag.report.terminal import TerminalTable

if TYPE_CHECKING:
    import pandas as pd


class Tabular(ABC):
    """A result with a `sheet`: Jupyter, the terminal and Markdown show that."""

    @property
    @abstractmethod
    def sheet(self) -> Sheet:
        """The content of the printed tables."""

    def _repr_html_(self) -> str:
        return fragment(render("table.html.j2", **_table(self.sheet, caption=headline(self.sheet.config))))

    def __rich__(self) -> TerminalTable:
        return TerminalTable(self.sheet)

    def to_markdown(self) -> str:
        """A table for a README: means in per cent, intervals, stars by Holm."""
        return markdown(self.sheet)


def page(
    sheet: Sheet,
    *,
    data: Mapping[str, str] | None = None,
    curves: Mapping[str, pd.DataFrame] | None = None,
    groups: Mapping[str, pd.DataFrame] | None = None,
    tests: Mapping[str, pd.DataFrame] | None = None,
    second: Sheet | None = None,
    verdict: HtmlPage | None = None,
    further: Sequence[HtmlPage] = (),
) -> str:
    """The whole report: fit for screen (light or dark) and paper; what is not given is left out.

    data : "page.js" -> the questions, as `questions_json` makes them, to be filtered and looked into; "label.js" -> a
        `Labelling`'s data, hits of questions without gold.
    curves : "k" and "tokens" -> mean recall: index k or tokens, one column per system.
    groups : "type", "hops" or "gold" -> index (group, system), column n, then means by metric.
    tests : in the first metric, "pairs" -> every pair of systems, as `Comparison.pairs` has them, and "placebos" ->
        graphs against their shufflings, as `Comparison.against_placebo` has them.
    second : the macro-averages in every metric, of comparisons on several sets.
    verdict : whether a graph helps, above all else.
    further : views that are shown below, such as waterfalls.
    """
    config, tests, data = sheet.config, tests or {}, data or {}
    drawn = {"bars": plots.bar_chart(sheet.scores, sheet.baseline, sheet.metric)}
    drawn |= {name: plots.recall_curve(curve, sheet.baseline) for name, curve in (curves or {}).items() if len(curve)}
    body = render(
        "report.html.j2",
        **_table(sheet),
        data=config.get("data", {}),
        config=config,
        questions="page.js" in data,
        figures={name: plots.to_svg(figure, name) for name, figure in drawn.items()},
        groups={name: _breakdown(sheet, frame) for name, frame in (groups or {}).items()},
        pairs=list(pair_rows(sheet, tests["pairs"], sheet.metrics[0])) if "pairs" in tests else [],
        placebos=list(placebo_rows(sheet, tests["placebos"], sheet.metrics[0])) if "placebos" in tests else [],
        second=None if second is None else _table(second),
        verdict=None if verdict is None else verdict.body(),
        label="Questions without gold" if "label.js" in data else "",
        further=[one.body() for one in further],
        config_text=json.dumps(dict(config), indent=2, ensure_ascii=False, default=str),
    )
    return document(headline(config), body, data)


def _table(sheet: Sheet, caption: str = "") -> dict[str, Any]:
    builds = any(seconds == seconds for seconds in sheet.build_seconds.values())
    table = {"rows": rows(sheet), "metrics": sheet.metrics, "baseline": sheet.baseline, "notes": notes(sheet)}
    return {**table, "builds": builds, "caption": caption}


def _breakdown(sheet: Sheet, frame: pd.DataFrame) -> list[dict[str, Any]]:
    groups = []
    for group, part in frame.groupby(level=0, sort=False):
        named: Any = part.drop(columns="n").droplevel(0).iterrows()
        systems = [(name, [f"{mean * sheet.scale(m):.1f}" for m, mean in row.items()]) for name, row in named]
        groups.append({"name": group, "n": int(part["n"].iloc[0]), "systems": systems})
    return groups
