"""A sheet, curves and break-downs -> HTML: the whole report as one file, or only the table for a notebook.

`HtmlPage` is the base of results that are a page of their own.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from math import isnan
from typing import Any

import pandas as pd

from kg2rag.report import plots
from kg2rag.report.notes import notes
from kg2rag.report.table import Sheet, headline, pair_rows, placebo_rows, rows
from kg2rag.text.templates import render


class HtmlPage(ABC):
    """Renders itself by `html`; Jupyter shows the fragment."""

    def to_html(self) -> str:
        """A self-contained page; every text is escaped."""
        return self.html(alone=True)

    def _repr_html_(self) -> str:
        return self.html(alone=False)

    @abstractmethod
    def html(self, *, alone: bool) -> str:
        """A whole page, or where `alone` is False a fragment for a notebook."""


def table_html(sheet: Sheet) -> str:
    """Only the table, with its own styles, for a notebook cell."""
    return render("table.html.j2", alone=True, **_table(sheet), headline=headline(sheet.config))


def _table(sheet: Sheet) -> dict[str, Any]:
    return {"rows": rows(sheet), "metrics": sheet.metrics, "baseline": sheet.baseline, "notes": notes(sheet)}


def page(
    sheet: Sheet,
    *,
    curve: pd.DataFrame | None = None,
    token_curve: pd.DataFrame | None = None,
    groups: Mapping[str, pd.DataFrame] | None = None,
    differences: pd.DataFrame | None = None,
    pairs: pd.DataFrame | None = None,
    placebos: pd.DataFrame | None = None,
    said: pd.DataFrame | None = None,
    second: Sheet | None = None,
) -> str:
    """The whole report: one file that loads nothing from elsewhere, fit for screen (light or dark) and paper.

    What is None or empty is left out.

    Parameters
    ----------
    curve, token_curve : index k or tokens, one column per system; mean recall.
    groups : "type", "hops" or "gold" -> index (group, system), column n, then means by metric.
    differences : columns query_id, question, system, score, baseline, difference.
    pairs : every pair of systems in the first metric, as `Comparison.pairs` has them.
    placebos : graphs against their shufflings in the first metric, as `Comparison.against_placebo` has them.
    said : what systems said about the questions, as `Comparison.said` has it.
    second : the macro-averages in every metric, of comparisons on several sets.
    """
    config = sheet.config
    return render(
        "report.html.j2",
        alone=False,
        **_table(sheet),
        headline=headline(config),
        data=config.get("data", {}),
        config=config,
        figures=_figures(sheet, curve, token_curve),
        groups={name: _breakdown(sheet, frame) for name, frame in (groups or {}).items()},
        differences=[_apart(sheet, row) for row in _records(differences)],
        pairs=[] if pairs is None else list(pair_rows(sheet, pairs, sheet.metrics[0])),
        placebos=[] if placebos is None else list(placebo_rows(sheet, placebos, sheet.metrics[0])),
        said=[_told(row) for row in _records(said)],
        second=None if second is None else _table(second),
        config_text=json.dumps(dict(config), indent=2, ensure_ascii=False, default=str),
    )


def _records(frame: pd.DataFrame | None) -> list[dict[Any, Any]]:
    return [] if frame is None else frame.to_dict("records")


def _figures(sheet: Sheet, curve: pd.DataFrame | None, token_curve: pd.DataFrame | None) -> dict[str, Any]:
    drawn = {"bars": plots.bar_chart(sheet.scores, sheet.baseline, sheet.metric)}
    if curve is not None and len(curve):
        drawn["curve"] = plots.recall_curve(curve, sheet.baseline)
    if token_curve is not None and len(token_curve):
        drawn["token_curve"] = plots.token_curve(token_curve, sheet.baseline)
    return {name: plots.to_svg(figure, name) for name, figure in drawn.items()}


def _apart(sheet: Sheet, row: Mapping[Any, Any]) -> dict[str, str]:
    """A question where a system and the baseline differ, its scores in the unit of the tables."""
    factor, digits = sheet.scale(sheet.metrics[0]), sheet.digits(sheet.metrics[0])
    scores = {name: f"{row[name] * factor:.{digits}f}" for name in ("score", "baseline")}
    difference = f"{row['difference'] * factor:+.{digits}f}".replace("-", "−")
    return {**{name: row[name] for name in ("query_id", "question", "system")}, **scores, "difference": difference}


def _told(row: Mapping[Any, Any]) -> tuple[str, str, str, str, str]:
    """A rate as the template shows it: system, what, value, share, mean."""
    mean = "" if isnan(row["mean"]) else f"{row['mean']:.3g}"
    return row["system"], row["what"], row["value"], f"{row['share']:.1%}", mean


def _breakdown(sheet: Sheet, frame: pd.DataFrame) -> list[dict[str, Any]]:
    """A grouped table for the template: a group, its n, and per system the means."""
    metrics = [column for column in frame.columns if column != "n"]
    groups = []
    for group, part in frame.groupby(level=0, sort=False):
        named: Any = part.iterrows()
        systems = [(name, [f"{row[m] * sheet.scale(m):.1f}" for m in metrics]) for (_, name), row in named]
        groups.append({"name": group, "n": int(part["n"].iloc[0]), "systems": systems})
    return groups
