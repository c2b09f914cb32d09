"""Score tables -> matplotlib figures, and figures -> inline SVG that follows the page's colours.

Figures are made without pyplot, so nothing is shown, kept or shared. Colours are Okabe & Ito's, told apart by
colour-blind readers; the baseline is always grey.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C6BB1", "#B15928")
GREY = "#8A919C"
INK = "#1B2733"  # becomes the page's text colour in `to_svg`
PAPER = "#FCFCFB"  # becomes the page's background there
_WIDTH = 9.4


def colours(systems: Sequence[str], baseline: str) -> dict[str, str]:
    """A colour a system, the same in every figure; they repeat from the ninth on."""
    others = [name for name in systems if name != baseline]
    return {baseline: GREY} | {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(others)}


def bars(scores: pd.DataFrame, baseline: str, scale: Mapping[str, float] | None = None) -> Figure:
    """One panel a metric: means as bars with their 95 % intervals, systems from top to bottom.

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
    figure = Figure(figsize=(_WIDTH, down * (0.62 + 0.27 * len(systems))), layout="constrained")
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
    _bare(axis)
    axis.spines["bottom"].set_visible(False)
    axis.axvline(float(mean[systems.index(baseline)]), color=GREY, linewidth=0.8, linestyle=(0, (2, 3)), zorder=0)


def recall_curve(curve: pd.DataFrame, baseline: str) -> Figure:
    """Mean recall against depth, on a log axis; each line is named at its end.

    Parameters
    ----------
    curve : index k from 1, one column a system, values in [0, 1].
    """
    return _curve(curve, baseline, "passages retrieved, k", "recall@k, per cent")


def token_curve(curve: pd.DataFrame, baseline: str) -> Figure:
    """Mean recall against the tokens returned, on a log axis; each line is named at its end.

    Parameters
    ----------
    curve : index tokens from 1, one column a system, values in [0, 1]; a line ends where they are blank (NaN).
    """
    return _curve(curve, baseline, "tokens returned", "recall, per cent")


def _curve(curve: pd.DataFrame, baseline: str, across: str, up: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, 4.0))
    axis = figure.subplots(gridspec_kw={"left": 0.07, "bottom": 0.13, "top": 0.97})
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
    _bare(axis)
    axis.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.7)
    axis.set_xlabel(across, fontsize=9.5, color=INK)
    axis.set_ylabel(up, fontsize=9.5, color=INK)
    drawn = curve.dropna(axis="columns", how="all")
    _name_lines(axis, {name: 100 * float(drawn[name].dropna().iloc[-1]) for name in drawn.columns}, colour)
    return figure


def _name_lines(axis: Axes, ends: Mapping[str, float], colour: Mapping[str, str]) -> None:
    """Write each name beside the end of its line, moved apart where they would touch."""
    bottom, top = axis.get_ylim()
    gap = (top - bottom) * 0.058
    places: dict[str, float] = {}
    texts = []
    for name in sorted(ends, key=lambda name: -ends[name]):
        above = min(places.values(), default=math.inf)
        places[name] = min(ends[name], above - gap)
    lift = max(0.0, bottom + gap / 2 - min(places.values()))
    for name, place in places.items():
        text = axis.annotate(
            f"{name}  {ends[name]:.1f}",
            (1, place + lift),
            xycoords=("axes fraction", "data"),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=colour[name],
            annotation_clip=False,
            parse_math=False,
        )
        texts.append(text)
    _make_room(axis, texts)


def _make_room(axis: Axes, texts: Sequence[Text]) -> None:
    """Move the axes' right edge so that the texts beside it fit: constrained layout gives long ones too little."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = axis.get_figure(root=True)
    assert figure is not None
    canvas = FigureCanvasAgg(figure)
    widest = max(text.get_window_extent(canvas.get_renderer()).width for text in texts)
    room = (widest + 0.2 * figure.dpi) / (figure.get_figwidth() * figure.dpi)
    figure.subplots_adjust(right=1 - min(room, 0.6))


def graph_reach(reach: pd.DataFrame) -> Figure:
    """One panel a type of question: the shares of gold and of all passages that a walk of so many triples reaches.

    Parameters
    ----------
    reach : columns type, hops, questions, gold, all_gold and passages; shares of 0 to 1.
    """
    from matplotlib.figure import Figure

    types = list(dict.fromkeys(reach["type"]))
    across = min(3, len(types))
    down = math.ceil(len(types) / across)
    figure = Figure(figsize=(_WIDTH, 0.5 + 2.3 * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False, sharey=True)
    lines = {"gold": (PALETTE[0], "-"), "all_gold": (PALETTE[1], "-"), "passages": (GREY, (0, (5, 2)))}
    for axis, type_ in zip(axes.flat, types, strict=False):
        part = reach[reach["type"] == type_]
        hops = part["hops"].to_numpy()
        for column, (colour, style) in lines.items():
            shares = 100 * part[column].to_numpy(dtype=float)
            axis.plot(hops, shares, color=colour, linestyle=style, linewidth=1.9, marker="o", markersize=3.5)
        title = f"{type_}, {part['questions'].iloc[0]} questions"
        axis.set_title(title, loc="left", fontsize=10, color=INK, fontweight="bold", parse_math=False)
        axis.set_xticks(hops, [str(hop) for hop in hops])
        axis.set_ylim(-2, 103)
        _bare(axis)
        axis.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.7)
    for axis in axes.flat[len(types) :]:
        axis.set_visible(False)
    names = {"gold": "gold passages", "all_gold": "questions with all gold", "passages": "all passages"}
    handles = [axes.flat[0].lines[place] for place in range(len(lines))]
    figure.legend(
        handles,
        [names[column] for column in lines],
        loc="outside upper left",
        ncols=3,
        frameon=False,
        fontsize=9,
        labelcolor=INK,
    )
    figure.supxlabel("triples walked from the question's entities", fontsize=9.5, color=INK)
    figure.supylabel("reached, per cent", fontsize=9.5, color=INK)
    return figure


def to_svg(figure: Figure, name: str) -> str:
    """The figure as an SVG element for a page: scales with its column, text in the page's colour and typeface.

    Parameters
    ----------
    name : of the figure on its page, for ids that no other figure has; the same figure and name give the same bytes.
    """
    from matplotlib import rc_context

    buffer = StringIO()
    with rc_context({"svg.hashsalt": "kg2rag", "svg.fonttype": "none", "font.family": "DejaVu Sans"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = svg.replace(INK.lower(), "currentColor").replace(PAPER.lower(), "var(--paper, #fff)")
    svg = re.sub(r"'DejaVu Sans'(, [^;\"]*)?", "inherit", svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg).replace("url(#", f"url(#{name}-").replace('href="#', f'href="#{name}-')
    return re.sub(r'^<svg([^>]*?) width="[^"]*"', r"<svg\1", re.sub(r'^(<svg[^>]*?) height="[^"]*"', r"\1", svg))


def _bare(axis: Axes) -> None:
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color(GREY)
    axis.tick_params(length=0, labelsize=9, labelcolor=INK, color=GREY)
    axis.patch.set_alpha(0)


def _number(value: float, factor: float) -> str:
    return f"{value:.1f}" if factor == 100 else f"{value:.2f}"
