"""The list of all that is saved; several of it side by side; a sweep; a saved report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kg2rag.experiments.sweep import SweepResult
from kg2rag.experiments.sweep.results import HEADER, chosen, note
from kg2rag.report.table import Sheet
from kg2rag.report.table import rows as printed
from kg2rag.serving.answers import library_of, page
from kg2rag.serving.asked import ChoiceError, one_of
from kg2rag.serving.guard import REPORT_POLICY
from kg2rag.serving.library import OpenComparison

MOST = 6
"""Comparisons or sweeps side by side."""
LISTED = 200
"""Configurations of a sweep on its page."""


def everything(request: Request) -> Response:
    """The list of all comparisons and sweeps, filtered by words."""
    words = request.query_params.get("words", "")[:200]
    entries = library_of(request).entries()
    found = [one for one in entries if all(word in _sought(one) for word in words.casefold().split())]
    kinds = {kind: [one for one in found if one.saved.kind == kind] for kind in ("comparison", "sweep")}
    root = library_of(request).root
    return page("served_list.html.j2", f"Saved in {root.name or root}", kinds=kinds, words=words, total=len(entries))


def _sought(entry: Any) -> str:
    about = entry.about
    texts = (entry.saved.at, about.get("data", {}).get("name", ""), about.get("name", ""), *about.get("systems", ()))
    return " ".join(map(str, texts)).casefold()


def beside(request: Request) -> Response:
    """Several comparisons, or several sweeps, side by side."""
    library, asked = library_of(request), list(dict.fromkeys(request.query_params.getlist("at")))
    if not 2 <= len(asked) <= MOST:
        raise ChoiceError(f"{len(asked)} chosen. Set from two to {MOST} side by side: tick them in the list.")
    kinds = {library.saved(at).kind for at in asked}
    if len(kinds) > 1:
        raise ChoiceError("A comparison and a sweep have no number in common. Tick comparisons alone, or sweeps alone.")
    if kinds == {"sweep"}:
        sweeps = {at: library.sweep(at) for at in asked}
        return page("served_sweeps.html.j2", "Sweeps side by side", header=HEADER, sweeps=_selected(sweeps))
    opened = [library.comparison(at) for at in asked]
    known = list(dict.fromkeys(metric for one in opened for metric in one.result.metrics))
    metric = one_of("metric", request.query_params.get("metric") or known[0], known)
    same = len({_questions(one) for one in opened}) == 1
    rows = _means(opened, metric)
    return page(
        "served_beside.html.j2",
        "Comparisons side by side",
        opened=opened,
        metric=metric,
        metrics=known,
        rows=rows,
        same=same,
        two=len(opened) == 2,
    )


def _selected(sweeps: dict[str, SweepResult]) -> list[tuple[str, SweepResult, list[tuple[str, ...]]]]:
    return [(at, sweep, chosen(sweep) if sweep.numbers else []) for at, sweep in sweeps.items()]


def _questions(opened: OpenComparison) -> tuple[str, ...]:
    return tuple(sorted(opened.places))


def _means(opened: Sequence[OpenComparison], metric: str) -> list[dict[str, Any]]:
    """One row a system: its mean and interval in each comparison, and by how much the second is above the first."""
    systems = dict.fromkeys(name for one in opened for name in one.result.systems)
    rows = []
    for name in systems:
        cells = [_cell(one.listing.sheet, name, metric) for one in opened]
        known = [cell["value"] for cell in cells if cell]
        apart = known[1] - known[0] if len(opened) == len(known) == 2 else None
        digits = next(one.listing.sheet.digits(metric) for one in opened if metric in one.result.metrics)
        told = "" if apart is None else f"{apart:+.{digits}f}".replace("-", "−")
        rows.append({"system": name, "cells": cells, "apart": told})
    return rows


def _cell(sheet: Sheet, system: str, metric: str) -> dict[str, Any]:
    """A mean as the tables print it; nothing where the comparison lacks the system or the metric."""
    if metric not in sheet.metrics or system not in sheet.systems:
        return {}
    row = next(row for row in printed(sheet) if row.system == system)
    mean = sheet.scores[(sheet.scores["system"] == system) & (sheet.scores["metric"] == metric)]["mean"].iloc[0]
    return {"shown": row.cells[sheet.metrics.index(metric)], "value": float(mean) * sheet.scale(metric)}


def sweep(request: Request) -> Response:
    """A sweep: what it chose, what failed, and its configurations, filtered by words, best on dev first."""
    at, words = request.query_params.get("at", ""), request.query_params.get("words", "")[:200]
    result = library_of(request).sweep(at)
    rows = _configurations(result)
    found = [row for row in rows if all(word in " ".join(row).casefold() for word in words.casefold().split())]
    return page(
        "served_sweep.html.j2",
        result.name,
        at=at,
        words=words,
        result=result,
        header=HEADER,
        chosen=chosen(result) if result.numbers else [],
        note=note(result) if result.numbers else "",
        columns=["number", "system", "parameters", "on", *(f"dev {name}" for name in result.metrics), "ms"],
        rows=found[:LISTED],
        found=len(found),
        failed=result.failed.to_dict("records"),
        reported=(library_of(request).saved(at).path / "report.html").is_file(),
    )


def _configurations(result: SweepResult) -> list[list[str]]:
    """One row of texts a configuration, best on dev first; test scores are for the chosen ones alone."""
    if not result.numbers:
        return []
    frame = result.to_frame().sort_values(f"dev {result.objective}", ascending=False, kind="stable")
    rows: list[list[str]] = []
    for number, row in frame.iterrows():
        given = {name: row[name] for name in result.parameters.columns}
        told = ", ".join(f"{name}={value}" for name, value in given.items() if value == value) or "defaults"
        scores = [f"{100 * row[f'dev {metric}']:.1f}" for metric in result.metrics]
        on = f"{row['graph']}, {row['encoder']}, {row['setting']}"
        rows.append([str(number), row["system"], told, on, *scores, f"{row['ms_per_query']:.1f}"])
    return rows


def report(request: Request) -> Response:
    """The page that was saved with a comparison or a sweep, shut in by a policy of its own."""
    content = library_of(request).report(request.query_params.get("at", ""))
    return Response(content, media_type="text/html; charset=utf-8", headers={"content-security-policy": REPORT_POLICY})
