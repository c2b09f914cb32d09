"""Scores -> bars with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kg2rag.report.plots.style import GREY, INK, PAPER, WIDTH, bare, colours

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def bar_chart(scores: pd.DataFrame, baseline: str, scale: Mapping[str, float] | None = None) -> Figure:
    """One panel per metric: means as bars with their 95 % intervals, systems from top to bottom.

    Parameters
    ----------
    scores : columns system, metric, mean, ci_low, ci_high.
    scale : metric -> factor of the numbers shown, 1 where not given.
    """
    from matplotlib.figure import Figure

    metrics = list(dict.fromkeys(scores["metric"]))
    systems = list(dict.fromkeys(scores["system"]))
    across = 2 if len(metrics) == 4 else min(3, len(metrics))  # four make a square
    down = math.ceil(len(metrics) / across)
    figure = Figure(figsize=(WIDTH, down * (0.62 + 0.27 * len(systems))), layout="constrained")
    figure.get_layout_engine().set(hspace=0.07)  # type: ignore[union-attr, call-arg]
    axes = figure.subplots(down, across, squeeze=False, sharey=True)
    for axis, metric in zip(axes.flat, metrics, strict=False):
        part = scores[scores["metric"] == metric].set_index("system").loc[systems]
        _bar_panel(axis, part, metric, (scale or {}).get(metric, 1.0), baseline)
    for axis in axes.flat[len(metrics) :]:
        axis.set_visible(False)
    return figure


def _bar_panel(axis: Axes, part: pd.DataFrame, metric: str, factor: float, baseline: str) -> None:
    systems = list(part.index)
    mean, low, high = (part[column].to_numpy(dtype=float) * factor for column in ("mean", "ci_low", "ci_high"))
    places = np.arange(len(systems))
    colour = colours(systems, baseline)
    axis.barh(places, mean, height=0.62, color=[colour[name] for name in systems], alpha=0.85)
    error = np.maximum(np.vstack([mean - low, high - mean]), 0)
    axis.errorbar(mean, places, xerr=error, fmt="none", ecolor=INK, elinewidth=1.1, capsize=2.5, capthick=1.1)
    widest = max(float(high.max()), 1e-9)
    for place, value, end in zip(places, mean, high, strict=True):
        text = axis.text(
            end + 0.025 * widest, float(place), _number(value, factor), va="center", fontsize=8.5, color=INK
        )
        text.set_bbox({"facecolor": PAPER, "edgecolor": "none", "pad": 0.8})  # the baseline's line passes behind it
    axis.set_title(metric, loc="left", fontsize=10, color=INK, fontweight="bold", pad=6)
    axis.set_yticks(places, systems, parse_math=False)
    axis.set_ylim(len(systems) - 0.5, -0.5)
    axis.set_xlim(0, widest * 1.2)
    axis.set_xticks([])
    bare(axis)
    axis.spines["bottom"].set_visible(False)
    axis.axvline(float(mean[systems.index(baseline)]), color=GREY, linewidth=0.8, linestyle=(0, (2, 3)), zorder=0)


def _number(value: float, factor: float) -> str:
    return f"{value:.1f}" if factor == 100 else f"{value:.2f}"
