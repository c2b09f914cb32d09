"""Scores, group means, recall curves and graph reach -> bars, heat map and line plots."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.report.plots.style import (
    GREY,
    INK,
    PALETTE,
    PAPER,
    Mark,
    bare,
    figure,
    marks,
    panels,
)
from kg2rag.report.score_sheet import decimals, scales
from kg2rag.text.cells import visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINE = 0.2  # height of a line of text in inches
KEY = 0.055  # length of the line sample beside a name, as a share of the width of the axes
_LINES: dict[str, tuple[str, str, Any]] = {
    "gold": ("gold passages", PALETTE[0], "-"),
    "all_gold": ("questions with all gold", PALETTE[1], "-"),
    "passages": ("all passages", GREY, (0, (5, 2))),
}

_CURVE_LABELS = {
    "k": ("passages retrieved, k", "recall@k, per cent"),
    "tokens": ("tokens returned", "recall, per cent"),
}


def bar_chart(scores: pd.DataFrame, baseline: str, shown: str = "") -> Figure:
    """A figure of one panel per metric: a bar for the mean of each system, with its 95 % interval.

    Metrics in [0, 1] are in per cent, as in the tables.

    scores : columns system, metric, mean, ci_low, ci_high.
    shown : the metric of all panels, if the column "metric" has data sets; "" otherwise.
    """
    metrics = list(dict.fromkeys(scores["metric"]))
    systems = list(dict.fromkeys(scores["system"]))
    n_columns = 2 if len(metrics) == 4 else min(3, len(metrics))  # four make a square
    drawing, axes = panels(len(metrics), n_columns, 0.62 + 0.27 * len(systems))
    drawing.get_layout_engine().set(hspace=0.07)  # type: ignore[union-attr, call-arg]
    factors = scales(scores, shown)
    for axis, metric in zip(axes, metrics, strict=True):
        part = scores[scores["metric"] == metric].set_index("system").loc[systems]
        _bar_panel(axis, part, metric, factors[metric], baseline)
    return drawing


def _bar_panel(
    axis: Axes, part: pd.DataFrame, metric: str, factor: float, baseline: str
) -> None:
    """Draw the panel of one metric.

    part : index system, columns mean, ci_low and ci_high.
    factor : the factor of printed numbers.
    """
    systems = list(part.index)
    mean = part["mean"].to_numpy(dtype=float) * factor
    low = part["ci_low"].to_numpy(dtype=float) * factor
    high = part["ci_high"].to_numpy(dtype=float) * factor
    positions = np.arange(len(systems))
    hues = [mark.colour for mark in marks(systems, baseline).values()]
    axis.barh(positions, mean, height=0.62, color=hues, alpha=0.85)
    error = np.maximum(np.vstack([mean - low, high - mean]), 0)
    axis.errorbar(
        mean,
        positions,
        xerr=error,
        fmt="none",
        ecolor=INK,
        elinewidth=1.1,
        capsize=2.5,
        capthick=1.1,
    )
    # Equal scores in an unbounded metric have no interval.
    ends = np.where(np.isnan(high), mean, high)
    widest = max(float(ends.max()), 1e-9)
    for y, value, end in zip(positions, mean, ends, strict=True):
        number = f"{value:.{decimals(factor)}f}"
        text = axis.text(
            end + 0.025 * widest,
            float(y),
            number,
            va="center",
            fontsize=8.5,
            color=INK,
        )
        # The box hides the line of the baseline behind the number.
        text.set_bbox({"facecolor": PAPER, "edgecolor": "none", "pad": 0.8})
    axis.set_title(metric, loc="left", fontsize=10, color=INK, fontweight="bold", pad=6)
    axis.set_yticks(positions, systems, parse_math=False)
    axis.set_ylim(len(systems) - 0.5, -0.5)
    axis.set_xlim(0, widest * 1.2)
    bare(axis, edge=False)
    dotted: Any = {"color": GREY, "linewidth": 0.8, "linestyle": (0, (2, 3))}
    axis.axvline(float(mean[systems.index(baseline)]), zorder=0, **dotted)


def difference_plot(table: pd.DataFrame) -> Figure:
    """A figure of one panel per group: a point per name for the difference, with its interval.

    All panels have the same rows and the same scale. A point is filled if the interval excludes 0.

    table : columns group, name, difference, low and high, the latter three in [-1, 1]. A name that
    a group lacks has an empty row in its panel.
    """
    groups = list(dict.fromkeys(table["group"]))
    names = list(dict.fromkeys(table["name"]))
    drawing, axes = panels(len(groups), min(3, len(groups)), 0.62 + 0.24 * len(names))
    lowest = 100 * min(0, table["low"].min())
    highest = 100 * max(0, table["high"].max())
    margin = 0.05 * (highest - lowest)
    for axis, group in zip(axes, groups, strict=True):
        axis.set_xlim(lowest - margin, highest + margin)
        part = table[table["group"] == group]
        positions = np.array([names.index(name) for name in part["name"]])
        middle = 100 * part["difference"].to_numpy(dtype=float)
        low = 100 * part["low"].to_numpy(dtype=float)
        high = 100 * part["high"].to_numpy(dtype=float)
        axis.axvline(0, color=GREY, linewidth=0.8, zorder=0)
        axis.hlines(positions, low, high, color=PALETTE[0], linewidth=1.6)
        filled = np.where((low > 0) | (high < 0), PALETTE[0], PAPER)
        axis.scatter(
            middle,
            positions,
            s=26,
            c=filled,
            edgecolors=PALETTE[0],
            linewidths=1.2,
            zorder=3,
        )
        axis.set_title(
            group,
            loc="left",
            fontsize=10,
            color=INK,
            fontweight="bold",
            pad=6,
            parse_math=False,
        )
        axis.set_yticks(range(len(names)), names, parse_math=False)
        axis.set_ylim(len(names) - 0.5, -0.5)
        bare(axis, grid="x")
    return drawing


def heat_map(means: pd.DataFrame, baseline: str) -> Figure:
    """A figure of means in per cent, one row per system (best on top) and one column per group.

    The colour is the difference from the baseline in that group, orange above and purple below. The
    best means of a group are framed. Significance is not marked.

    means : index group, one column per system, values in [0, 1]; the result of
    `compare_by(…)[metric].unstack("system")`.

    Raises ValueError: the baseline is none of the systems.
    """
    from matplotlib.patches import Rectangle

    if baseline not in means.columns:
        raise ValueError(
            f"Unknown baseline {baseline!r}. Known: {', '.join(map(str, means.columns))}."
        )
    order = means.mean().sort_values(ascending=False, kind="stable").index
    values = 100 * means[order].T.to_numpy(dtype=float)
    differences = values - 100 * means[baseline].to_numpy(dtype=float)
    limit = max(float(np.nanmax(np.abs(differences))), 1.0)
    drawing = figure(0.7 + 0.3 * len(order))
    axis = drawing.subplots()
    image = axis.imshow(
        differences, cmap="PuOr_r", vmin=-limit, vmax=limit, aspect="auto", alpha=0.75
    )
    for (row, column), value in np.ndenumerate(values):
        # Light numbers on dark cells.
        ink = PAPER if abs(differences[row, column]) > 0.7 * limit else INK
        axis.text(
            column, row, f"{value:.0f}", ha="center", va="center", fontsize=9, color=ink
        )
        if value == np.nanmax(values[:, column]):
            corner = (column - 0.48, row - 0.46)
            frame = Rectangle(
                corner, 0.96, 0.92, fill=False, edgecolor=INK, linewidth=1.4
            )
            axis.add_patch(frame)
    axis.set_xticks(
        range(len(means.index)),
        [visible(str(group)) for group in means.index],
        parse_math=False,
    )
    axis.set_yticks(range(len(order)), [str(name) for name in order], parse_math=False)
    axis.tick_params(
        length=0,
        labelsize=9,
        labelcolor=INK,
        top=False,
        labeltop=True,
        bottom=False,
        labelbottom=False,
    )
    axis.spines[:].set_visible(False)
    bar = drawing.colorbar(image, ax=axis, pad=0.01, shrink=0.6)
    bar.set_label(f"points from {baseline}", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8, labelcolor=INK)
    return drawing


def graph_reach(reach: pd.DataFrame) -> Figure:
    """A figure of one panel per question type: the shares of gold and passages in reach, by hops.

    reach : columns type, hops, questions, gold, all_gold and passages; shares of 0 to 1.
    """
    types = list(dict.fromkeys(reach["type"]))
    drawing, axes = panels(len(types), min(3, len(types)), 2.3, extra_height=0.5)
    for axis, type_ in zip(axes, types, strict=True):
        part = reach[reach["type"] == type_]
        for column, (_, colour, style) in _LINES.items():
            shares = 100 * part[column].to_numpy(dtype=float)
            line: Any = {"color": colour, "linestyle": style, "linewidth": 1.9}
            axis.plot(part["hops"], shares, marker="o", markersize=3.5, **line)
        title = f"{type_}, {part['questions'].iloc[0]} questions"
        axis.set_title(
            title,
            loc="left",
            fontsize=10,
            color=INK,
            fontweight="bold",
            parse_math=False,
        )
        axis.set_xticks(part["hops"], list(map(str, part["hops"])))
        axis.set_ylim(-2, 103)
        bare(axis, grid="y")
    labels = [label for label, _, _ in _LINES.values()]
    text = {"fontsize": 9.5, "color": INK}
    drawing.legend(
        axes[0].lines,
        labels,
        loc="outside upper left",
        ncols=3,
        frameon=False,
        fontsize=9,
        labelcolor=INK,
    )
    drawing.supxlabel("triples walked from the question's entities", **text)
    drawing.supylabel("reached, per cent", **text)
    return drawing


def recall_curve(curve: pd.DataFrame, baseline: str) -> Figure:
    """A figure of mean recall against depth or tokens, on a logarithmic axis.

    The name of each system is at the end of its line.

    curve : index "k" or "tokens" from 1, one column per system, values in [0, 1]; a line ends
    where its values are NaN.
    """
    drawing = figure(max(4.0, 0.9 + LINE * len(curve.columns)), layout=None)
    axis = drawing.subplots(gridspec_kw={"left": 0.07, "bottom": 0.13, "top": 0.97})
    depths = curve.index.to_numpy(dtype=float)
    mark_of = marks(curve.columns, baseline)
    for name, mark in mark_of.items():
        recall = 100 * curve[name].to_numpy(dtype=float)
        axis.plot(depths, recall, markevery=0.12, **_line_style(mark))
    _log_axis(axis, float(depths[0]), float(depths[-1]))
    recalls = curve.to_numpy(dtype=float)
    bottom = 10 * math.floor(10 * float(np.nanmin(recalls)) - 1e-9)
    top = min(100.0, 10 * math.ceil(10 * float(np.nanmax(recalls)) + 1e-9))
    axis.set_ylim(max(bottom, 0), max(top, bottom + 10) + 1)
    bare(axis, grid="y")
    x_label, y_label = _CURVE_LABELS[str(curve.index.name)]
    axis.set_xlabel(x_label, fontsize=9.5, color=INK)
    axis.set_ylabel(y_label, fontsize=9.5, color=INK)
    ends = 100 * curve.ffill().iloc[-1].dropna()
    _name_lines(axis, {str(name): float(end) for name, end in ends.items()}, mark_of)
    return drawing


token_curve = recall_curve


def _line_style(mark: Mark) -> dict[str, Any]:
    """The arguments of `Axes.plot` for a system's line."""
    style = {"color": mark.colour, "linestyle": mark.dashes, "linewidth": 1.9}
    return {**style, "marker": mark.dots, "markersize": 4}


def _log_axis(axis: Axes, first: float, last: float) -> None:
    """Give an axis a logarithmic scale from `first` to `last`, with ticks at 1, 2, 5, 10, 20, …."""
    if last > first:
        axis.set_xscale("log")
        axis.set_xlim(first, last)
    ticks = [step * 10**exponent for exponent in range(6) for step in (1, 2, 5)]
    ticks = [tick for tick in ticks if first <= tick <= last]
    axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axis.minorticks_off()


def _name_lines(
    axis: Axes, ends: Mapping[str, float], mark_of: Mapping[str, Mark]
) -> None:
    """Write each name, with a sample of its line, at the end of the line; names do not overlap.

    ends : system -> recall at the end of its line, in per cent.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    bottom, top = axis.get_ylim()
    figure = axis.get_figure(root=True)
    assert figure is not None
    gap = (top - bottom) * LINE / (figure.get_figheight() * axis.get_position().height)
    heights: dict[str, float] = {}
    for name in sorted(ends, key=lambda name: -ends[name]):
        heights[name] = min(ends[name], min(heights.values(), default=math.inf) - gap)
    lift = max(0.0, bottom + gap / 2 - min(heights.values()))
    texts = []
    across = axis.get_yaxis_transform()
    key_points = 1 + np.array([0.15, 0.5, 0.85]) * KEY
    text_style: Any = {"va": "center", "fontsize": 9, "parse_math": False, "color": INK}
    for name, height in heights.items():
        key: Any = {"markevery": [1], "clip_on": False, "transform": across}
        axis.plot(key_points, [height + lift] * 3, **key, **_line_style(mark_of[name]))
        label = f"{name}  {ends[name]:.1f}"
        texts.append(
            axis.text(1 + KEY, height + lift, label, transform=across, **text_style)
        )
    # Constrained layout leaves too little room for long names, so the right edge moves here.
    renderer = FigureCanvasAgg(figure).get_renderer()
    widest = max(text.get_window_extent(renderer).width for text in texts)
    room = (widest + 0.1 * figure.dpi) / (figure.get_figwidth() * figure.dpi)
    figure.subplots_adjust(
        right=(1 - min(room, 0.55) + KEY * figure.subplotpars.left) / (1 + KEY)
    )
