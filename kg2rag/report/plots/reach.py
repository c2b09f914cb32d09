"""What a graph reaches -> a panel a type of question."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kg2rag.report.plots.style import GREY, INK, PALETTE, WIDTH, bare

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


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
        bare(axis)
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
