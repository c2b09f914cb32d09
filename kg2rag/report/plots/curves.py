"""Recall against what was returned -> lines that bear their names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.report.plots.marks import GREY, Mark, marks
from kg2rag.report.plots.style import INK, bare, figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text


LINE = 0.2  # inches, of a line of text
KEY = 0.055  # of the axes' width, of the piece of line beside a name


def recall_curve(curve: pd.DataFrame, baseline: str) -> Figure:
    """Mean recall against depth, on a log axis; each line is named at its end.

    `curve` : index k from 1, one column per system, values in [0, 1].
    """
    return _curve(curve, baseline, "passages retrieved, k", "recall@k, per cent")


def token_curve(curve: pd.DataFrame, baseline: str) -> Figure:
    """Mean recall against the tokens returned, on a log axis; each line is named at its end.

    `curve` : index tokens from 1, one column per system, values in [0, 1]; a line ends where they are blank (NaN).
    """
    return _curve(curve, baseline, "tokens returned", "recall, per cent")


def _curve(curve: pd.DataFrame, baseline: str, across: str, up: str) -> Figure:
    made = figure(max(4.0, 0.9 + LINE * len(curve.columns)), layout=None)
    axis = made.subplots(gridspec_kw={"left": 0.07, "bottom": 0.13, "top": 0.97})
    depths = curve.index.to_numpy(dtype=float)
    drawn_as = marks(curve.columns, baseline)
    for name, mark in drawn_as.items():
        line: Any = {"linestyle": mark.dashes, "marker": mark.dots, "markersize": 4, "markevery": 0.12}
        axis.plot(depths, 100 * curve[name].to_numpy(dtype=float), color=mark.colour, linewidth=1.9, **line)
    if len(depths) > 1:
        axis.set_xscale("log")
        axis.set_xlim(depths[0], depths[-1])
    ticks = [tick for e in range(6) for n in (1, 2, 5) if depths[0] <= (tick := n * 10**e) <= depths[-1]]
    axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axis.minorticks_off()
    lowest, highest = np.nanmin(curve.to_numpy(dtype=float)), np.nanmax(curve.to_numpy(dtype=float))
    bottom = 10 * math.floor(10 * float(lowest) - 1e-9)
    top = min(100.0, 10 * math.ceil(10 * float(highest) + 1e-9))
    axis.set_ylim(max(bottom, 0), max(top, bottom + 10) + 1)
    bare(axis)
    axis.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.7)
    axis.set_xlabel(across, fontsize=9.5, color=INK)
    axis.set_ylabel(up, fontsize=9.5, color=INK)
    drawn = curve.dropna(axis="columns", how="all")
    _name_lines(axis, {name: 100 * float(drawn[name].dropna().iloc[-1]) for name in drawn.columns}, drawn_as)
    return made


def _name_lines(axis: Axes, ends: Mapping[str, float], drawn_as: Mapping[str, Mark]) -> None:
    """Write each name beside the end of its line, moved apart where they would touch, with a piece of the line."""
    bottom, top = axis.get_ylim()
    figure = axis.get_figure(root=True)
    assert figure is not None
    gap = (top - bottom) * LINE / (figure.get_figheight() * axis.get_position().height)
    places: dict[str, float] = {}
    for name in sorted(ends, key=lambda name: -ends[name]):
        places[name] = min(ends[name], min(places.values(), default=math.inf) - gap)
    lift = max(0.0, bottom + gap / 2 - min(places.values()))
    texts, across = [], axis.get_yaxis_transform()
    for name, place in places.items():
        colour, dashes, dots = drawn_as[name]
        key: Any = {"color": colour, "linewidth": 1.9, "linestyle": dashes, "marker": dots, "markersize": 4}
        at = [0.15 * KEY, 0.5 * KEY, 0.85 * KEY]
        axis.plot(1 + np.array(at), [place + lift] * 3, markevery=[1], clip_on=False, **key, transform=across)
        style: Any = {"va": "center", "fontsize": 9, "parse_math": False, "color": INK, "transform": across}
        texts.append(axis.text(1 + KEY, place + lift, f"{name}  {ends[name]:.1f}", **style))
    _make_room(axis, texts)


def _make_room(axis: Axes, texts: Sequence[Text]) -> None:
    """Move the axes' right edge so that the texts beside it fit: constrained layout gives long ones too little."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = axis.get_figure(root=True)
    assert figure is not None
    canvas = FigureCanvasAgg(figure)
    widest = max(text.get_window_extent(canvas.get_renderer()).width for text in texts)
    room = (widest + 0.1 * figure.dpi) / (figure.get_figwidth() * figure.dpi)
    figure.subplots_adjust(right=(1 - min(room, 0.55) + KEY * figure.subplotpars.left) / (1 + KEY))
