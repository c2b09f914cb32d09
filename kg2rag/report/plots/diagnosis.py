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
_NARROWEST = 0.035  # share of the axis from which a segment shows its count
_LONGEST = 26  # letters of the longest name that is not cut
_LINE = "#B4B9C1"
_HALO: dict[str, Any] = {
    "boxstyle": "round,pad=0.12",
    "fc": "white",
    "ec": "none",
    "alpha": 0.75,
}


class _NodeStyle(NamedTuple):
    """The size of a node's dot in square points, its colour, and the font weight of its name."""

    size: int
    colour: str
    weight: str


_PLAIN = _NodeStyle(40, PALETTE[0], "normal")
_HIGHLIGHTED = _NodeStyle(90, PALETTE[1], "bold")


def waterfall(totals: pd.DataFrame, title: str) -> Figure:
    """A figure of all gold less the losses of each stage; below it, the shares by question type.

    totals : index type, "all" last; one column for each of `LOST_AT`, and "gold".
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
    """Draw bars of all gold, of each loss, which ends where the previous bar begins, and of found gold.

    whole : the row "all" of the totals.
    """
    names = ["all gold", *losses, "found"]
    counts = [int(whole[name]) for name in ("gold", *losses, "found")]
    gold = counts[0]
    remaining = [gold, *(gold - np.cumsum(counts[1:-1])).tolist()]
    colours = [GREY, *(COLOURS[name] for name in names[1:])]
    bars = zip([0, *remaining[1:], 0], counts, colours, strict=True)
    for y, (start, count, colour) in enumerate(bars):
        axis.barh(y, count, left=start, height=0.66, color=colour, alpha=0.9)
        _write_count(axis, y, (start, start + count), count, gold)
    dotted: Any = {"color": GREY, "linewidth": 0.8, "linestyle": (0, (2, 3))}
    for y, level in enumerate(remaining):
        axis.plot([level, level], [y - 0.33, y + 1.33], **dotted)
    axis.set_yticks(range(len(names)), list(map(visible, names)))
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlim(0, gold)
    bare(axis, edge=False)


def _write_count(
    axis: Axes, y: int, ends: tuple[int, int], count: int, gold: int
) -> None:
    """Write the count of a bar right of it or, near the end of the axis, inside or left of it.

    ends : the start and the end of the bar.
    gold : the number of all gold passages, the length of the axis.
    """
    text = f"{count}  ({100 * count / gold:.1f} %)" if count < gold else str(count)
    start, end = ends
    if end <= 0.85 * gold:
        x, shift, side, colour = end, 4, "left", INK
    elif count > 0.2 * gold:
        x, shift, side, colour = end, -4, "right", PAPER
    else:
        x, shift, side, colour = start, -4, "right", INK
    style: Any = {"ha": side, "va": "center", "color": colour, "fontsize": 9}
    axis.annotate(text, (x, y), (shift, 0), textcoords="offset points", **style)


def _stacks(axis: Axes, totals: pd.DataFrame) -> None:
    """Draw a stacked bar per question type: found gold, then losses from the last stage to the first."""
    ends = np.zeros(len(totals))
    positions = list(range(len(totals)))
    gold = totals["gold"].to_numpy(dtype=float)
    style: Any = {"ha": "center", "va": "center", "fontsize": 8.5, "color": PAPER}
    for loss in (loss for loss in reversed(LOST_AT) if totals[loss].any()):
        counts = totals[loss].to_numpy(dtype=float)
        widths = counts / gold
        axis.barh(
            positions,
            widths,
            left=ends,
            height=0.66,
            color=COLOURS[loss],
            alpha=0.9,
            label=loss,
        )
        for y, width, end, count in zip(positions, widths, ends, counts, strict=True):
            if width >= _NARROWEST:
                axis.text(end + width / 2, y, f"{count:.0f}", **style)
        ends += widths
    labels = [
        f"{name}  ({count:.0f})" for name, count in zip(totals.index, gold, strict=True)
    ]
    axis.set_yticks(positions, list(map(visible, labels)), parse_math=False)
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
    """A figure of one bar per rung, the first, the system itself, in grey; a blank rung has its note.

    table : columns rung, note and the metric, in [0, 1] or NaN.
    """
    drawing = figure(0.42 * len(table) + 0.7)
    axis = drawing.subplots()
    values = table[metric].to_numpy(dtype=float)
    for y, (value, note) in enumerate(zip(values, table["note"], strict=True)):
        if np.isnan(value):
            style: Any = {
                "va": "center",
                "fontsize": 8.5,
                "color": GREY,
                "parse_math": False,
            }
            axis.text(0.01, y, f"not measured: {note}", **style)
            continue
        text = f"{100 * value:.1f}"
        colour = GREY
        if y > 0:
            text += f"  ({100 * (value - values[0]):+z.1f})"
            colour = PALETTE[0]
        axis.barh(y, value, height=0.62, color=colour, alpha=0.9)
        axis.text(value + 0.01, y, text, va="center", fontsize=9, color=INK)
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
    """A figure of a small graph: entities are labelled dots, triples are arrows with relations.

    Triples with the same head and tail share an arrow.

    Parameters
    ----------
    graph : the result of `KnowledgeGraph.to_networkx`; edges have a `relation`, and a `strength`
        for the width.
    highlight : nodes that are larger, with bold labels.
    relations : whether arrows are labelled.
    size : width and height in inches.

    ValueError: the graph has more than 80 nodes, whose picture cannot be read.
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
    position_of = nx.spring_layout(
        nx.Graph(graph), seed=0, k=1.6 / len(graph) ** 0.5, iterations=200
    )
    _draw_triples(axis, graph, position_of, relations=relations)
    for node, (x, y) in position_of.items():
        style = _HIGHLIGHTED if node in highlight else _PLAIN
        axis.scatter(x, y, s=style.size, color=style.colour, zorder=3)
        neighbours = set(nx.all_neighbors(graph, node)) - {node}
        directions = [position_of[other] - position_of[node] for other in neighbours]
        _write_name(axis, (x, y), str(node), directions, style.weight)
    axis.margins(0.16, 0.08)
    return picture


def _draw_triples(
    axis: Axes, graph: nx.Graph, position_of: Any, *, relations: bool
) -> None:
    """Draw an arrow per head and tail, with their relations, as wide as their strongest triple.

    position_of : node -> array (x, y).
    """
    arrows: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for head, tail, attributes in graph.edges(data=True):
        arrows.setdefault((head, tail), []).append(attributes)
    for (head, tail), triples in arrows.items():
        names = [
            str(triple["relation"]) for triple in triples if triple.get("relation")
        ]
        text = "\n".join(dict.fromkeys(names)) if relations else ""
        strength = max(float(triple.get("strength", 5.0)) for triple in triples)
        ends = position_of[head], position_of[tail]
        _draw_arrow(axis, *ends, text, width=0.5 + strength / 8)


def _draw_arrow(axis: Axes, start: Any, end: Any, text: str, width: float) -> None:
    """Draw a line, a label on it, and a head, which the label does not cover."""
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


def _write_name(
    axis: Axes,
    position: tuple[float, float],
    text: str,
    directions: Sequence[Any],
    weight: str,
) -> None:
    """Write the name of a node above or below it, on the side with fewer arrows.

    It is farther away if both sides have arrows.

    directions : the vectors (x, y) to the neighbours of the node.
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
    axis.annotate(short, position, zorder=4, bbox=_HALO, **style)
