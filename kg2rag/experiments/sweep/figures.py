"""Tables of a sweep -> figures of the effect of each parameter, and the page.

They show dev scores, by which configurations are selected.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from kg2rag.evaluation.metrics import bounds
from kg2rag.evaluation.statistics import holm, interval_of_mean, p_values
from kg2rag.experiments.sweep.results import HEADER, SweepResult
from kg2rag.report import plots
from kg2rag.report.html import document, render
from kg2rag.report.plots import GREY, INK, PALETTE
from kg2rag.report.plots.style import bare, panels
from kg2rag.retrievers.systems import parameters
from kg2rag.types import FloatArray


def effects(result: SweepResult, system: str) -> pd.DataFrame:
    """The dev scores of each value of each parameter, over all values of the others.

    One row a parameter and value, the parameter with the largest spread first: parameter, value, n configurations,
    mean with its 95 % interval over questions (low, high), p_holm of the parameter's best against its worst value
    (paired randomisation test, corrected over the parameters), and `says`: "no difference" where that is .05 or more.
    """
    frame, dev, own = _of(result, system), result.questions["dev"], bounds(result.objective)
    groups: dict[str, tuple[list[str], list[int], FloatArray]] = {}
    for parameter in [*_given(result), "setting", "graph", "encoder"]:
        values, order = frame[parameter].map(_text), _ordered(frame[parameter])
        if len(order) > 1:
            places = [[result.numbers.index(one) for one in values.index[values == value]] for value in order]
            groups[parameter] = order, list(map(len, places)), np.array([dev[rows].mean(axis=0) for rows in places])
    means = {name: scores.mean(axis=1) for name, (_, _, scores) in groups.items()}
    ends = [(scores[means[name].argmax()], scores[means[name].argmin()]) for name, (_, _, scores) in groups.items()]
    tests = holm([float(p_values(best - worst)) for best, worst in ends]) if ends else ()
    p_holm = dict(zip(groups, tests, strict=True))
    rows = []
    for name in sorted(groups, key=lambda name: means[name].min() - means[name].max()):
        order, counts, scores = groups[name]
        low, high = interval_of_mean(scores.T, bounds=own)
        says = "no difference" if p_holm[name] >= 0.05 else ""
        columns = zip(order, counts, means[name].tolist(), low.tolist(), high.tolist(), strict=True)
        rows += [(name, *row, float(p_holm[name]), says) for row in columns]
    return pd.DataFrame(rows, columns=["parameter", "value", "n", "mean", "low", "high", "p_holm", "says"])


def main_effects(result: SweepResult, system: str) -> Figure:
    """One panel a parameter: the mean dev score at each value with its 95 % interval; "no difference" where none shows.

    Numbers are joined; between other values there is nothing, and each has its own bar.
    """
    table, scale = effects(result, system), 100.0
    names = list(dict.fromkeys(table["parameter"]))
    made, axes = panels(names, min(3, len(names)), 2.7)
    for axis, name in zip(axes, names, strict=True):
        part = table[table["parameter"] == name]
        places = np.arange(len(part))
        low, high, mean = (scale * part[column].to_numpy(dtype=float) for column in ("low", "high", "mean"))
        if all(map(_is_number, part["value"])):
            axis.fill_between(places, low, high, color=PALETTE[0], alpha=0.12, linewidth=0)
            axis.plot(places, mean, color=PALETTE[0], marker="o", markersize=4.5, linewidth=1.6)
        else:
            axis.vlines(places, low, high, color=PALETTE[0], alpha=0.25, linewidth=7)
            axis.scatter(places, mean, color=PALETTE[0], s=24, zorder=3)
        axis.set_xlim(-0.5, len(part) - 0.5)
        long = sum(len(name) + 2 for name in part["value"]) > 30  # letters that have room
        slant: Any = {"rotation": 30, "ha": "right"} if long else {}
        axis.set_xticks(places, list(part["value"]), parse_math=False, **slant)
        title = f"{name}: {part['says'].iloc[0]}" if part["says"].iloc[0] else name
        axis.set_title(title, loc="left", fontsize=10, color=INK, fontweight="bold", parse_math=False)
        bare(axis)
        axis.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.7)
    axes[0].set_ylabel(f"dev {result.objective}, per cent", fontsize=9, color=INK)
    return made


def _of(result: SweepResult, system: str) -> pd.DataFrame:
    """The system's configurations; parameters that one leaves out have the system's defaults."""
    frame = result.to_frame()
    part = frame[frame["system"] == system]
    if not len(part):
        known = ", ".join(dict.fromkeys(frame["system"]))
        raise ValueError(f"The sweep has no results of system {system!r}. It has: {known or 'none'}.")
    rows = [{**parameters(system), **result.given[int(str(number))]} for number in part.index]
    full = pd.DataFrame(rows, index=part.index, dtype=object)
    return part.assign(**{name: full[name] for name in _given(result) if name in full})


def _given(result: SweepResult) -> list[str]:
    return list(dict.fromkeys(name for given in result.given.values() for name in given))


def _text(value: Any) -> str:
    missing = isinstance(value, float) and np.isnan(value)
    return "default" if missing else f"{value:g}" if isinstance(value, float) else str(value)


def _ordered(values: pd.Series) -> list[str]:
    """The texts of the distinct values: numbers by size, others by spelling."""
    of = {_text(value): value for value in values}
    numbers = {text: float(value) for text, value in of.items() if _is_number(text) and not isinstance(value, bool)}
    return [*sorted(numbers, key=lambda text: numbers[text]), *sorted(of.keys() - numbers.keys())]


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", text) is not None


def to_html(result: SweepResult) -> str:
    """The report as one page that loads nothing from elsewhere, fit for screen (light or dark) and paper."""
    shown: dict[str, Any] = {key: {} for key in ("chosen", "note", "figures", "columns", "best")}
    if result.numbers:
        best = result.top()
        named = enumerate(dict.fromkeys(result.to_frame()["system"]))
        some = {f"effects{number}": one for number, one in named if len(effects(result, one))}
        drawn = {one: plots.to_svg(main_effects(result, one), id_) for id_, one in some.items()}
        shown = {"chosen": result.chosen(), "note": result.note(), "figures": drawn}
        shown |= {"columns": list(best.columns), "best": best.astype(str).to_numpy().tolist()}
    body = render(
        "sweep.html.j2",
        name=result.name,
        headline=result.headline,
        header=HEADER,
        objective=result.objective,
        failed=result.failed.to_dict("records"),
        config=json.dumps(result.config, indent=1, ensure_ascii=False, default=str),
        **shown,
    )
    return document(result.name, body)
