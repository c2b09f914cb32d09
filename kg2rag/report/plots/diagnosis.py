"""Lost passages, oracles and small graphs -> figures: waterfall, ladder, network."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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
_HUES = (
    GREY,
    "#5C6875",
    PALETTE[1],
    PALETTE[5],
    PALETTE[3],
    PALETTE[0],
    PALETTE[6],
    FOUND,
)
COLOURS: dict[str, str] = dict(zip(LOST_AT, _HUES, strict=True))
_NARROWEST = 0.035  # of the axis: counts of narrower segments are only in the table
_LONGEST = 26  # letters of a name before it is cut
_LINE = "#B4B9C1"
_HALO: dict[str, Any] = {
    "boxstyle": "round,pad=0.12",
    "fc": "white",
    "ec": "none",
    "alpha": 0.75,
}


class _NodeStyle(NamedTuple):
    size: int  # of the dot, in square points
    colour: str
    weight: str  # of the name


_PLAIN, _HIGHLIGHTED = (
    _NodeStyle(40, PALETTE[0], "normal"),
    _NodeStyle(90, PALETTE[1], "bold"),
)


def waterfall(totals: pd.DataFrame, title: str) -> Figure:
    """Gold passages from all to found, loss by loss; below, shares by question type.

    `totals` : index type, "all" last; a column for each of `LOST_AT`, and "gold".
    """
    losses = [loss for loss in LOST_AT[:-1] if totals[loss].iloc[-1]]
    heights = [0.36 * (len(losses) + 2) + 0.2]
    if len(totals) > 1:
        heights.append(0.36 * len(totals) + 0.2)
    drawing = figure(sum(heights) + 0.9)
    drawing.suptitle(
        title,
        x=0.01,
        ha="left",
        fontsize=11,
        fontweight="bold",
        color=INK,
        parse_math=False,
    )
    axes = drawing.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    _fall(axes[0], totals.iloc[-1], losses)
    if len(totals) > 1:
        _stacks(axes[1], totals)
    return drawing


def _fall(axis: Axes, whole: pd.Series, losses: Sequence[str]) -> None:
    """Bars of all gold, of each loss from the end of the bar before, and of the found gold."""
    names = ["all gold", *losses, "found"]
    counts = [int(whole[name]) for name in ("gold", *losses, "found")]
    gold = counts[0]
    remaining = [gold, *(gold - np.cumsum(counts[1:-1])).tolist()]
    colours = [GREY, *(COLOURS[name] for name in names[1:])]
    bars = zip([0, *remaining[1:], 0], counts, colours, strict=True)
    for place, (start, count, colour) in enumerate(bars):
        axis.barh(place, count, left=start, height=0.66, color=colour, alpha=0.9)
        _count(axis, place, (start, start + count), count, gold)
    dotted: Any = {"color": GREY, "linewidth": 0.8, "linestyle": (0, (2, 3))}
    for place, level in enumerate(remaining):
        axis.plot([level, level], [place - 0.33, place + 1.33], **dotted)
    axis.set_yticks(range(len(names)), list(map(visible, names)))
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlim(0, gold)
    bare(axis, edge=False)


def _count(
    axis: Axes, place: int, ends: tuple[int, int], count: int, gold: int
) -> None:
    """Write a bar's count right of it; at the end of the axis, inside it or left of it."""
    text = f"{count}  ({100 * count / gold:.1f} %)" if count < gold else str(count)
    start, end = ends
    if end <= 0.85 * gold:
        x, shift, side, colour = end, 4, "left", INK
    elif count > 0.2 * gold:
        x, shift, side, colour = end, -4, "right", PAPER
    else:
        x, shift, side, colour = start, -4, "right", INK
    style: Any = {"ha": side, "va": "center", "color": colour, "fontsize": 9}
    axis.annotate(text, (x, place), (shift, 0), textcoords="offset points", **style)


def _stacks(axis: Axes, totals: pd.DataFrame) -> None:
    """Stacked bars: found gold first, then the losses from the last stage to the first."""
    ends = np.zeros(len(totals))
    places = list(range(len(totals)))
    gold = totals["gold"].to_numpy(dtype=float)
    style: Any = {"ha": "center", "va": "center", "fontsize": 8.5, "color": PAPER}
    for loss in (loss for loss in reversed(LOST_AT) if totals[loss].any()):
        counts = totals[loss].to_numpy(dtype=float)
        widths = counts / gold
        axis.barh(
            places,
            widths,
            left=ends,
            height=0.66,
            color=COLOURS[loss],
            alpha=0.9,
            label=loss,
        )
        for place, width, end, count in zip(places, widths, ends, counts, strict=True):
            if width >= _NARROWEST:
                axis.text(end + width / 2, place, f"{count:.0f}", **style)
        ends += widths
    labels = [
        f"{name}  ({count:.0f})" for name, count in zip(totals.index, gold, strict=True)
    ]
    axis.set_yticks(places, list(map(visible, labels)), parse_math=False)
    axis.set_ylim(len(totals) - 0.4, -0.6)
    axis.set_xlim(0, 1)
    axis.legend(
        loc="upper left",
        bbox_to_anchor=(0, -0.04),
        ncols=6,
        frameon=False,
        fontsize=8.5,
        handlelength=1,
        handleheight=1,
        columnspacing=1.2,
        borderaxespad=0,
        labelcolor=INK,
    )
    bare(axis, edge=False)


def oracle_ladder(table: pd.DataFrame, metric: str, title: str) -> Figure:
    """One bar per rung, the system's own in grey; rungs that were not measured give their note.

    `table` : columns rung, note and the metric, in [0, 1] or NaN.
    """
    drawing = figure(0.42 * len(table) + 0.7)
    axis = drawing.subplots()
    values = table[metric].to_numpy(dtype=float)
    for place, (value, note) in enumerate(zip(values, table["note"], strict=True)):
        if np.isnan(value):
            style: Any = {
                "va": "center",
                "fontsize": 8.5,
                "color": GREY,
                "parse_math": False,
            }
            axis.text(0.01, place, f"not measured: {note}", **style)
            continue
        text = f"{100 * value:.1f}"
        colour = GREY
        if place > 0:
            text += f"  ({100 * (value - values[0]):+z.1f})"
            colour = PALETTE[0]
        axis.barh(place, value, height=0.62, color=colour, alpha=0.9)
        axis.text(value + 0.01, place, text, va="center", fontsize=9, color=INK)
    axis.set_yticks(range(len(table)), list(table["rung"]), parse_math=False)
    axis.set_ylim(len(table) - 0.5, -0.5)
    axis.set_xlim(0, 1.15)
    axis.set_title(
        title, loc="left", fontsize=10.5, fontweight="bold", color=INK, parse_math=False
    )
    bare(axis, edge=False)
    return drawing


def network(
    graph: nx.Graph,
    *,
    highlight: Collection[str] = (),
    relations: bool = True,
    size: tuple[float, float] = (9.4, 6.0),
) -> Figure:
    """Entities as labelled dots, triples as arrows with relations; parallel triples share an arrow.

    graph : as `KnowledgeGraph.to_networkx` gives it; edges with a `relation`, and a `strength` for
    their width.
    highlight : nodes drawn larger, with bold labels.
    relations : whether arrows are labelled.
    size : width and height in inches.

    ValueError : a graph of more than 80 nodes, whose picture cannot be read; draw a neighbourhood
    of it.
    """
    import networkx as nx

    if len(graph) > 80:
        raise ValueError(
            f"A picture of {len(graph)} nodes cannot be read: draw graph.ego(entity, limit=20)."
        )
    picture = figure(size[1], size[0])
    axis = picture.subplots()
    axis.set_axis_off()
    if not len(graph):
        axis.text(0.5, 0.5, "an empty graph", ha="center", va="center", color=GREY)
        return picture
    places = nx.spring_layout(
        nx.Graph(graph), seed=0, k=1.6 / len(graph) ** 0.5, iterations=200
    )
    _draw_triples(axis, graph, places, relations=relations)
    for node, place in places.items():
        style = _HIGHLIGHTED if node in highlight else _PLAIN
        axis.scatter(place[0], place[1], s=style.size, color=style.colour, zorder=3)
        neighbours = set(nx.all_neighbors(graph, node)) - {node}
        directions = [places[neighbour] - place for neighbour in neighbours]
        _label(axis, place, str(node), directions, style.weight)
    axis.margins(0.16, 0.08)
    return picture


def _draw_triples(axis: Axes, graph: nx.Graph, places: Any, *, relations: bool) -> None:
    """One arrow per head and tail, labelled with the relations, as wide as the strongest triple."""
    arrows: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for head, tail, attributes in graph.edges(data=True):
        arrows.setdefault((head, tail), []).append(attributes)
    for (head, tail), triples in arrows.items():
        names = [
            str(triple["relation"]) for triple in triples if triple.get("relation")
        ]
        text = "\n".join(dict.fromkeys(names)) if relations else ""
        strength = max(float(triple.get("strength", 5.0)) for triple in triples)
        _arrow(axis, places[head], places[tail], text, width=0.5 + strength / 8)


def _arrow(axis: Axes, start: Any, end: Any, text: str, width: float) -> None:
    """A line with its label, and a head above both, so that none is covered."""
    style: Any = {"color": _LINE, "lw": width, "shrinkA": 6, "shrinkB": 7}
    axis.annotate(
        "",
        xy=tuple(end),
        xytext=tuple(start),
        arrowprops={**style, "arrowstyle": "-"},
        zorder=1,
    )
    last = tuple(start + 0.7 * (end - start))
    head = {**style, "arrowstyle": "-|>", "shrinkA": 0, "mutation_scale": 11}
    axis.annotate("", xy=tuple(end), xytext=last, arrowprops=head, zorder=1)
    if text:
        # The label stands nearer to the start, because the arrowhead is at the end.
        x, y = start + 0.42 * (end - start)
        label: Any = {"fontsize": 7, "color": GREY, "ha": "center", "va": "center"}
        axis.text(x, y, text, zorder=2, bbox=_HALO, **label)


def _label(
    axis: Axes, place: Any, text: str, directions: Sequence[Any], weight: str
) -> None:
    """A node's name above or below it, on the side with fewer arrows.

    It stands farther away if both sides have arrows.
    """
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    n_above = sum(abs(x) < 2 * y for x, y in directions)
    n_below = sum(abs(x) < -2 * y for x, y in directions)
    distance = 16 if n_above and n_below else 7
    side, alignment = 1, "bottom"
    if n_below < n_above:
        side, alignment = -1, "top"
    style: Any = {
        "ha": "center",
        "va": alignment,
        "fontsize": 8.5,
        "color": INK,
        "weight": weight,
    }
    style |= {"xytext": (0, side * distance), "textcoords": "offset points"}
    axis.annotate(short, tuple(place), zorder=4, bbox=_HALO, **style)
