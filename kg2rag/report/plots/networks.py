"""A small networkx graph -> a matplotlib figure: a neighbourhood, or the way from a question to its gold."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from kg2rag.report.plots.marks import GREY, PALETTE
from kg2rag.report.plots.style import INK, figure

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LONGEST = 26  # letters of a name before it is cut
_LINE = "#B4B9C1"
_HALO: dict[str, Any] = {"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none", "alpha": 0.75}


def network(
    graph: nx.Graph,
    *,
    highlight: Collection[str] = (),
    relations: bool = True,
    size: tuple[float, float] = (9.4, 6.0),
    seed: int = 0,
) -> Figure:
    """Entities as labelled dots, triples as arrows that carry their relation; parallel triples share one arrow.

    Parameters
    ----------
    graph : as `KnowledgeGraph.to_networkx` gives it; edges with a `relation`, and a `strength` for their width.
    highlight : nodes drawn larger, with bold labels.
    relations : whether arrows are labelled.
    seed : of the spring layout; equal graphs and seeds give equal figures.

    Raises
    ------
    ValueError : a graph of more than 80 nodes, of which no picture can be read; draw a neighbourhood of it.
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
    arrows = _joined(graph)
    places = nx.spring_layout(nx.Graph(graph), seed=seed, k=1.6 / len(graph) ** 0.5, iterations=200)
    for (head, tail), (names, strength) in arrows.items():
        _arrow(axis, places[head], places[tail], "\n".join(names) if relations else "", 0.5 + strength / 8)
    for node, place in places.items():
        stands_out = node in highlight
        colour = PALETTE[1] if stands_out else PALETTE[0]
        axis.scatter(place[0], place[1], s=90 if stands_out else 40, color=colour, zorder=3)
        around = [places[other] - place for other in set(nx.all_neighbors(graph, node)) - {node}]
        _label(axis, place, str(node), around, weight="bold" if stands_out else "normal")
    axis.margins(0.16, 0.08)
    return picture


def _joined(graph: nx.Graph) -> dict[tuple[Any, Any], tuple[list[str], float]]:
    """(head, tail) -> the relations between them, each once, and the greatest strength."""
    arrows: dict[tuple[Any, Any], tuple[list[str], float]] = {}
    for head, tail, about in graph.edges(data=True):
        names, strength = arrows.get((head, tail), ([], 0.0))
        relation = str(about.get("relation", ""))
        if relation and relation not in names:
            names = [*names, relation]
        arrows[head, tail] = (names, max(strength, float(about.get("strength", 5.0))))
    return arrows


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
