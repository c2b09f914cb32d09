"""Recall against what was returned -> lines that bear their names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.report.plots.style import GREY, INK, bare, colours, figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text


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
    made = figure(4.0, layout=None)
    axis = made.subplots(gridspec_kw={"left": 0.07, "bottom": 0.13, "top": 0.97})
    depths = curve.index.to_numpy(dtype=float)
    colour = colours(list(curve.columns), baseline)
    for name in curve.columns:
        style: Any = (0, (5, 2)) if name == baseline else "-"
        axis.plot(depths, 100 * curve[name].to_numpy(dtype=float), color=colour[name], linewidth=1.9, linestyle=style)
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
    _name_lines(axis, {name: 100 * float(drawn[name].dropna().iloc[-1]) for name in drawn.columns}, colour)
    return made


def _name_lines(axis: Axes, ends: Mapping[str, float], colour: Mapping[str, str]) -> None:
    """Write each name beside the end of its line, moved apart where they would touch."""
    bottom, top = axis.get_ylim()
    gap = (top - bottom) * 0.058
    places: dict[str, float] = {}
    for name in sorted(ends, key=lambda name: -ends[name]):
        places[name] = min(ends[name], min(places.values(), default=math.inf) - gap)
    lift = max(0.0, bottom + gap / 2 - min(places.values()))
    style: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center", "fontsize": 9}
    style |= {"annotation_clip": False, "parse_math": False}
    _make_room(
        axis,
        [
            axis.annotate(f"{name}  {ends[name]:.1f}", (1, place + lift), xytext=(8, 0), color=colour[name], **style)
            for name, place in places.items()
        ],
    )


def _make_room(axis: Axes, texts: Sequence[Text]) -> None:
    """Move the axes' right edge so that the texts beside it fit: constrained layout gives long ones too little."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = axis.get_figure(root=True)
    assert figure is not None
    canvas = FigureCanvasAgg(figure)
    widest = max(text.get_window_extent(canvas.get_renderer()).width for text in texts)
    room = (widest + 0.2 * figure.dpi) / (figure.get_figwidth() * figure.dpi)
    figure.subplots_adjust(right=1 - min(room, 0.6))
