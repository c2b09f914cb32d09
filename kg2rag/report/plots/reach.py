"""What a graph reaches -> a panel per type of question."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kg2rag.report.plots.style import GREY, INK, PALETTE, WIDTH, bare

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LINES: dict[str, tuple[str, str, Any]] = {
    "gold": ("gold passages", PALETTE[0], "-"),
    "all_gold": ("questions with all gold", PALETTE[1], "-"),
    "passages": ("all passages", GREY, (0, (5, 2))),
}


def graph_reach(reach: pd.DataFrame) -> Figure:
    """One panel per type of question: the shares of gold and of all passages that a walk of so many triples reaches.

    Parameters
    ----------
    reach : columns type, hops, questions, gold, all_gold and passages; shares of 0 to 1.
    """
    from matplotlib.figure import Figure

    types = list(dict.fromkeys(reach["type"]))
    across = min(3, len(types))
    down = math.ceil(len(types) / across)
    figure = Figure(figsize=(WIDTH, 0.5 + 2.3 * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False, sharey=True)
    for axis, type_ in zip(axes.flat, types, strict=False):
        _panel(axis, type_, reach[reach["type"] == type_])
    for axis in axes.flat[len(types) :]:
        axis.set_visible(False)
    figure.legend(
        axes.flat[0].lines[: len(_LINES)],
        [label for label, _, _ in _LINES.values()],
        loc="outside upper left",
        ncols=3,
        frameon=False,
        fontsize=9,
        labelcolor=INK,
    )
    figure.supxlabel("triples walked from the question's entities", fontsize=9.5, color=INK)
    figure.supylabel("reached, per cent", fontsize=9.5, color=INK)
    return figure


def _panel(axis: Axes, type_: str, reach: pd.DataFrame) -> None:
    hops = reach["hops"].to_numpy()
    for column, (_, colour, style) in _LINES.items():
        shares = 100 * reach[column].to_numpy(dtype=float)
        axis.plot(hops, shares, color=colour, linestyle=style, linewidth=1.9, marker="o", markersize=3.5)
    title = f"{type_}, {reach['questions'].iloc[0]} questions"
    axis.set_title(title, loc="left", fontsize=10, color=INK, fontweight="bold", parse_math=False)
    axis.set_xticks(hops, [str(hop) for hop in hops])
    axis.set_ylim(-2, 103)
    bare(axis)
    axis.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.7)
