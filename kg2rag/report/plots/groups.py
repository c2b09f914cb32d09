"""Means by group -> a heat map: which system for which kind of question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kg2rag.report.plots.style import INK, WIDTH

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def heat_map(means: pd.DataFrame, baseline: str) -> Figure:
    """One row per system, one column per group, best systems on top; a cell shows its mean in per cent.

    The colour is the difference from the baseline in that group, orange above and purple below; the best mean of a
    group is framed, several where they tie. It marks no significance.

    Parameters
    ----------
    means : index group, one column per system, values in [0, 1]; `compare_by(…)[metric].unstack("system")`.

    Raises
    ------
    ValueError : the baseline is none of the systems.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    if baseline not in means.columns:
        raise ValueError(f"Unknown baseline {baseline!r}. Known: {', '.join(map(str, means.columns))}.")
    order = means.mean().sort_values(ascending=False, kind="stable").index
    values = 100 * means[order].T.to_numpy(dtype=float)
    apart = values - 100 * means[baseline].to_numpy(dtype=float)
    limit = max(float(np.nanmax(np.abs(apart))), 1.0)
    figure = Figure(figsize=(WIDTH, 0.7 + 0.3 * len(order)), layout="constrained")
    axis = figure.subplots()
    image = axis.imshow(apart, cmap="PuOr_r", vmin=-limit, vmax=limit, aspect="auto", alpha=0.75)
    for (row, column), value in np.ndenumerate(values):
        axis.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=9, color=INK)
        if value == np.nanmax(values[:, column]):
            axis.add_patch(Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, fill=False, edgecolor=INK, linewidth=1.4))
    axis.set_xticks(range(len(means.index)), [str(group) for group in means.index], parse_math=False)
    axis.set_yticks(range(len(order)), [str(name) for name in order], parse_math=False)
    axis.tick_params(length=0, labelsize=9, labelcolor=INK, top=False, labeltop=True, bottom=False, labelbottom=False)
    for side in axis.spines.values():
        side.set_visible(False)
    bar = figure.colorbar(image, ax=axis, pad=0.01, shrink=0.6)
    bar.set_label(f"points from {baseline}", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8, labelcolor=INK)
    return figure
