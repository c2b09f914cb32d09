"""The effects of a sweep's parameters on the dev score -> a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kg2rag.experiments.sweep.effects import ScoredConfigurations, effects, is_number
from kg2rag.report.plots import GREY, INK, PALETTE
from kg2rag.report.plots.style import bare, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS_IN_A_ROW, PANEL_INCHES = 3, 2.7
SLANTED_CHARACTERS = 30  # of all values of a panel, from which their labels are slanted


def main_effects(result: ScoredConfigurations, system: str) -> Figure:
    """One panel per parameter: the mean dev score of each value with its 95 % interval.

    The title says "no difference" if the test finds none.

    Numbers are joined by a line; other values have a bar each.
    """
    table = effects(result, system)
    names = list(dict.fromkeys(table["parameter"]))
    figure, axes = panels(names, min(PANELS_IN_A_ROW, len(names)), PANEL_INCHES)
    for axis, name in zip(axes, names, strict=True):
        _draw_parameter(axis, name, table[table["parameter"] == name])
    axes[0].set_ylabel(f"dev {result.objective}, per cent", fontsize=9, color=INK)
    return figure


def _draw_parameter(axis: Axes, name: str, rows: pd.DataFrame) -> None:
    """Draw the panel of one parameter."""
    places = np.arange(len(rows))
    low = 100 * rows["low"].to_numpy(dtype=float)
    high = 100 * rows["high"].to_numpy(dtype=float)
    mean = 100 * rows["mean"].to_numpy(dtype=float)
    if all(map(is_number, rows["value"])):
        axis.fill_between(places, low, high, color=PALETTE[0], alpha=0.12, linewidth=0)
        axis.plot(
            places, mean, color=PALETTE[0], marker="o", markersize=4.5, linewidth=1.6
        )
    else:
        axis.vlines(places, low, high, color=PALETTE[0], alpha=0.25, linewidth=7)
        axis.scatter(places, mean, color=PALETTE[0], s=24, zorder=3)
    axis.set_xlim(-0.5, len(rows) - 0.5)
    slant: dict[str, Any] = {}
    if sum(len(value) + 2 for value in rows["value"]) > SLANTED_CHARACTERS:
        slant = {"rotation": 30, "ha": "right"}
    axis.set_xticks(places, list(rows["value"]), parse_math=False, **slant)
    says = rows["says"].iloc[0]
    title = f"{name}: {says}" if says else name
    axis.set_title(
        title, loc="left", fontsize=10, color=INK, fontweight="bold", parse_math=False
    )
    bare(axis)
    axis.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.7)
