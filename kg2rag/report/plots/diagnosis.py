"""Lost passages, oracles and small graphs -> figures: a waterfall, a ladder, a neighbourhood of a graph."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.report.plots.style import GREY, INK, PALETTE, PAPER, bare, figure
from kg2rag.text.cells import visible
from kg2rag.types import LOST_AT

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOUND = PALETTE[2]
COLOURS: dict[str, str] = dict(
    zip(LOST_AT, (GREY, "#5C6875", PALETTE[1], PALETTE[5], PALETTE[3], PALETTE[0], PALETTE[6], FOUND), strict=True)
)
_NARROWEST = 0.035  # of the axis: counts of narrower segments are only in the table
_LONGEST = 26  # letters of a name before it is cut
_LINE = "#B4B9C1"
_HALO: dict[str, Any] = {"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none", "alpha": 0.75}


def waterfall(totals: pd.DataFrame, title: str) -> Figure:
    """Gold passages falling from all to found, loss by loss; below, each question type in per cent, with counts.

    `totals` : index type, "all" last; a column for each of `LOST_AT`, and "gold".
    """
    losses, several = [loss for loss in LOST_AT[:-1] if totals[loss].iloc[-1]], len(totals) > 1
    heights = [0.36 * (len(losses) + 2) + 0.2, *([0.36 * len(totals) + 0.2] if several else [])]
    made = figure(sum(heights) + 0.9)
    made.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold", color=INK, parse_math=False)
    axes = made.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    _fall(axes[0], totals.iloc[-1], losses)
    if several:
        _stacks(axes[1], totals)
    return made


def _fall(axis: Axes, whole: pd.Series, losses: Sequence[str]) -> None:
    """All, each loss where the bars before it end, and what is left."""
    gold, left = int(whole["gold"]), int(whole["gold"])
    names = ["all gold", *losses, "found"]
    for place, name in enumerate(names):
        count = gold if name == "all gold" else int(whole[name])
        start = left - count if name in losses else 0
        axis.barh(place, count, left=start, height=0.66, color=GREY if name == "all gold" else COLOURS[name], alpha=0.9)
        _count(axis, place, (start, start + count), count, gold)
        left = start if name in losses else left
        if place < len(names) - 1:
            axis.plot([left, left], [place - 0.33, place + 1.33], color=GREY, linewidth=0.8, linestyle=(0, (2, 3)))
    axis.set_yticks(range(len(names)), list(map(visible, names)))
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlim(0, gold)
    bare(axis, edge=False)


def _count(axis: Axes, place: int, ends: tuple[int, int], count: int, gold: int) -> None:
    """Write a bar's count: right of it, inside it where the axis ends there, or left of it where it is too slim."""
    text = f"{count}  ({100 * count / gold:.1f} %)" if count < gold else str(count)
    beside, inside = ends[1] <= 0.85 * gold, count > 0.2 * gold
    style: Any = {"ha": "left" if beside else "right", "color": INK if beside or not inside else PAPER, "fontsize": 9}
    at, shift = (ends[1] if beside or inside else ends[0], place), (4 if beside else -4, 0)
    axis.annotate(text, at, shift, textcoords="offset points", va="center", **style)


def _stacks(axis: Axes, totals: pd.DataFrame) -> None:
    """Found first, then the losses from the last step to the first, so that the nearest to found is beside it."""
    ends, places, gold = np.zeros(len(totals)), list(range(len(totals))), totals["gold"].to_numpy(dtype=float)
    for loss in (loss for loss in reversed(LOST_AT) if totals[loss].any()):
        counts = totals[loss].to_numpy(dtype=float)
        widths = counts / gold
        axis.barh(places, widths, left=ends, height=0.66, color=COLOURS[loss], alpha=0.9, label=loss)
        for place, width, end, count in zip(places, widths, ends, counts, strict=True):
            if width >= _NARROWEST:
                axis.text(end + width / 2, place, f"{count:.0f}", ha="center", va="center", fontsize=8.5, color=PAPER)
        ends += widths
    labels = [f"{name}  ({count:.0f})" for name, count in zip(totals.index, gold, strict=True)]
    axis.set_yticks(places, list(map(visible, labels)), parse_math=False)
    axis.set_ylim(len(totals) - 0.4, -0.6)
    axis.set_xlim(0, 1)
    keys: Any = {"handlelength": 1, "handleheight": 1, "columnspacing": 1.2, "borderaxespad": 0, "labelcolor": INK}
    axis.legend(loc="upper left", bbox_to_anchor=(0, -0.04), ncols=6, frameon=False, fontsize=8.5, **keys)
    bare(axis, edge=False)


def oracle_ladder(table: pd.DataFrame, metric: str, title: str) -> Figure:
    """One bar per rung, the system's own in grey; rungs that were not measured give their note.

    `table` : columns rung, note and the metric, in [0, 1] or NaN.
    """
    made = figure(0.42 * len(table) + 0.7)
    axis = made.subplots()
    values = table[metric].to_numpy(dtype=float)
    for place, (value, note) in enumerate(zip(values, table["note"], strict=True)):
        if np.isnan(value):
            axis.text(0.01, place, f"not measured: {note}", va="center", fontsize=8.5, color=GREY, parse_math=False)
            continue
        axis.barh(place, value, height=0.62, color=PALETTE[0] if place else GREY, alpha=0.9)
        gain = f"  (+{100 * (value - values[0]):.1f})".replace("+-", "-") if place else ""
        axis.text(value + 0.01, place, f"{100 * value:.1f}{gain}", va="center", fontsize=9, color=INK)
    axis.set_yticks(range(len(table)), list(table["rung"]), parse_math=False)
    axis.set_ylim(len(table) - 0.5, -0.5)
    axis.set_xlim(0, 1.15)
    axis.set_title(title, loc="left", fontsize=10.5, fontweight="bold", color=INK, parse_math=False)
    bare(axis, edge=False)
    return made


def network(
    graph: nx.Graph, *, highlight: Collection[str] = (), relations: bool = True, size: tuple[float, float] = (9.4, 6.0)
) -> Figure:
    """Entities as labelled dots, triples as arrows that carry their relation; parallel triples share one arrow.

    graph : as `KnowledgeGraph.to_networkx` gives it; edges with a `relation`, and a `strength` for their width.
    highlight : nodes drawn larger, with bold labels.
    relations : whether arrows are labelled.
    size : width and height in inches.

    ValueError : a graph of more than 80 nodes, whose picture cannot be read; draw a neighbourhood of it.
    """
    import networkx as nx

    if len(graph) > 80:
        raise ValueError(f"A picture of {len(graph)} nodes cannot be read: draw graph.ego(entity, limit=20).")
    picture = figure(size[1], size[0])
    axis = picture.subplots()
    axis.set_axis_off()
    if not len(graph):
        axis.text(0.5, 0.5, "an empty graph", ha="center", va="center", color=GREY)
        return picture
    places = nx.spring_layout(nx.Graph(graph), seed=0, k=1.6 / len(graph) ** 0.5, iterations=200)
    arrows: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for head, tail, about in graph.edges(data=True):
        arrows.setdefault((head, tail), []).append(about)
    for (head, tail), parallel in arrows.items():
        names = filter(None, dict.fromkeys(str(one.get("relation", "")) for one in parallel))
        strength = max(float(one.get("strength", 5.0)) for one in parallel)
        _arrow(axis, places[head], places[tail], "\n".join(names) if relations else "", 0.5 + strength / 8)
    for node, place in places.items():
        dot, colour, weight = (90, PALETTE[1], "bold") if node in highlight else (40, PALETTE[0], "normal")
        axis.scatter(place[0], place[1], s=dot, color=colour, zorder=3)
        around = [places[other] - place for other in set(nx.all_neighbors(graph, node)) - {node}]
        _label(axis, place, str(node), around, weight=weight)
    axis.margins(0.16, 0.08)
    return picture


def _arrow(axis: Axes, start: Any, end: Any, text: str, width: float) -> None:
    """A line with its label, and a head above both, so that none is covered."""
    style: Any = {"color": _LINE, "lw": width, "shrinkA": 6, "shrinkB": 7}
    axis.annotate("", xy=tuple(end), xytext=tuple(start), arrowprops={**style, "arrowstyle": "-"}, zorder=1)
    last = tuple(start + 0.7 * (end - start))
    head = {**style, "arrowstyle": "-|>", "shrinkA": 0, "mutation_scale": 11}
    axis.annotate("", xy=tuple(end), xytext=last, arrowprops=head, zorder=1)
    if text:
        at = start + 0.42 * (end - start)  # nearer to where it comes from: the head is at the other end
        axis.text(at[0], at[1], text, fontsize=7, color=GREY, ha="center", va="center", zorder=2, bbox=_HALO)


def _label(axis: Axes, place: Any, text: str, around: Sequence[Any], weight: str) -> None:
    """A node's name above or below it, where fewer arrows are; beyond their heads where they come from both sides."""
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    up = [abs(x) < 2 * y for x, y in around].count(True)  # arrows through where the name would stand
    down = [abs(x) < -2 * y for x, y in around].count(True)
    side, away = (1, up) if up <= down else (-1, down)
    style: Any = {"textcoords": "offset points", "ha": "center", "fontsize": 8.5, "color": INK, "weight": weight}
    style |= {"xytext": (0, side * (16 if away else 7)), "va": "bottom" if side > 0 else "top"}
    axis.annotate(short, tuple(place), zorder=4, bbox=_HALO, **style)
