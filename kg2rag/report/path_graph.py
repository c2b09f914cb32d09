"""The paths of some hits -> one small drawing: entities in columns by their distance from the start, hits at the right.

Entities that several paths share are drawn once. The result is SVG without any style attribute, so that a page with the
strictest policy may hold it; every text is escaped by the template.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kg2rag.text.templates import render
from kg2rag.types import Explanation, Hit, Triple

MOST = 18
"""Entities in a drawing; paths of later hits, which would need more, are left to the list."""
_COLUMNS = 3  # of entities; what lies deeper shares the last one
_ROW, _BOX = 34, 22
_LETTER = 6.2  # width of a letter, in the units of the drawing, as the stylesheet sets it
_WIDEST = 110
_GAP = 50


@dataclass
class _Box:
    """An entity, or a hit where `rank` is not 0."""

    text: str
    column: int
    rank: int = 0
    gold: bool = False
    row: float = 0.0
    x: float = 0.0
    width: float = 0.0

    @property
    def y(self) -> float:
        return 8 + _ROW * self.row + _BOX / 2

    @property
    def label(self) -> str:
        """What fits into the box."""
        text = f"{self.rank}{' ◆' if self.gold else ''} {self.text}" if self.rank else self.text
        return cut(text, int((_WIDEST - 12) / _LETTER))


@dataclass
class _Graph:
    boxes: dict[str, _Box] = field(default_factory=dict)
    hits: list[_Box] = field(default_factory=list)
    arrows: dict[tuple[str, str], list[Triple]] = field(default_factory=dict)
    ends: list[tuple[str, _Box]] = field(default_factory=list)


def path_graph(explanation: Explanation) -> str:
    """The drawing of the paths of the hits shown; nothing where no hit has one."""
    drawn: list[tuple[int, Hit, bool, str]] = []
    names: set[str] = set()
    for rank, hit in enumerate(explanation.hits(), start=1):
        new = {name for triple in hit.path for name in (triple.head, triple.tail)}
        if hit.path and len(names | new) <= MOST:
            names |= new
            drawn.append((rank, hit, explanation.is_gold(hit), explanation.texts.get(hit.passage_id, "")))
    if not drawn:
        return ""
    graph = _placed(_built(drawn))
    boxes = [*graph.boxes.values(), *graph.hits]
    relations = {triple.relation for triples in graph.arrows.values() for triple in triples}
    left_out = sum(bool(hit.path) for hit in explanation.hits()) - len(drawn)
    return render(
        "path_graph.html.j2",
        width=round(max(box.x + box.width for box in boxes) + 8),
        height=round(max(box.y for box in boxes) + _BOX / 2 + 8),
        box=_BOX,
        boxes=boxes,
        arrows=[_arrow(graph, *pair, len(relations) > 1) for pair in graph.arrows],
        ends=[_link(graph.boxes[name], hit) for name, hit in graph.ends],
        relation=next(iter(relations)) if len(relations) == 1 else "",
        left_out=left_out,
    )


def cut(text: str, letters: int) -> str:
    """A text of at most so many letters' width; those of East Asian scripts count twice.

    >>> cut("Hugging Face Datasets", 12), cut("知識グラフ検索", 8)
    ('Hugging Fac…', '知識グ…')
    """
    used, flat = 0, " ".join(text.split())
    for at, letter in enumerate(flat):
        used += _width(letter)
        if used > letters:
            kept = flat[:at]
            while kept and sum(map(_width, kept)) > letters - 1:
                kept = kept[:-1]
            return f"{kept}…"
    return flat


def _width(letter: str) -> int:
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _built(drawn: Iterable[tuple[int, Hit, bool, str]]) -> _Graph:
    graph, starts = _Graph(), []
    for rank, found, gold, text in drawn:
        path = found.path
        for triple in path:
            graph.arrows.setdefault((triple.head, triple.tail), []).append(triple)
            for name in (triple.head, triple.tail):
                graph.boxes.setdefault(name, _Box(name, -1))
        starts.append(_free(path[0], path[1:2], path[0].head))
        hit = _Box(found.passage_id, 0, rank, gold)
        graph.hits.append(hit)
        graph.ends.append((_end(path, text), hit))
    for name, depth in _depths(graph.arrows, starts).items():
        graph.boxes[name].column = min(depth, _COLUMNS - 1)
    last = 1 + max(box.column for box in graph.boxes.values())
    for hit in graph.hits:
        hit.column = last
    return graph


def _end(path: Sequence[Triple], text: str) -> str:
    """The entity that a passage is joined to: the one it is titled after, else the last that the path comes to."""
    last = path[-1]
    titled = [name for name in (last.head, last.tail) if text.casefold().startswith(f"{name.casefold()}:")]
    return titled[0] if titled else _free(last, path[:-1], last.tail)


def _free(triple: Triple, others: Sequence[Triple], otherwise: str) -> str:
    """The entity of a triple that other triples do not have: a path need not follow its arrows."""
    met = {name for other in others for name in (other.head, other.tail)}
    free = [name for name in (triple.head, triple.tail) if name not in met]
    return free[0] if met and len(free) == 1 else otherwise


def _depths(arrows: Iterable[tuple[str, str]], starts: Iterable[str]) -> Mapping[str, int]:
    """Steps from the nearest start, against arrows too; 0 for what no start reaches."""
    beside: dict[str, list[str]] = {}
    for head, tail in arrows:
        beside.setdefault(head, []).append(tail)
        beside.setdefault(tail, []).append(head)
    depths = dict.fromkeys(starts, 0)
    queue = list(depths)
    for name in queue:
        for other in beside[name]:
            if other not in depths:
                depths[other] = depths[name] + 1
                queue.append(other)
    return {name: depths.get(name, 0) for name in beside}


def _placed(graph: _Graph) -> _Graph:
    """Give every box its place; within a column, near what it is joined to in the column before."""
    boxes = [*graph.boxes.values(), *graph.hits]
    columns: dict[int, list[_Box]] = {}
    for box in boxes:
        columns.setdefault(box.column, []).append(box)
    joined = [(graph.boxes[head], graph.boxes[tail]) for head, tail in graph.arrows]
    joined += [(graph.boxes[name], hit) for name, hit in graph.ends]
    tallest, x = max(map(len, columns.values())), 8.0
    for number in sorted(columns):
        column = columns[number]
        before = {id(box): _mean_row(box, joined) for box in column}
        if number:
            column.sort(key=lambda box: before[id(box)])
        width = max(_LETTER * sum(map(_width, box.label)) + 12 for box in column)
        for at, box in enumerate(column):
            box.row, box.x, box.width = at + (tallest - len(column)) / 2, x, width
        x += width + _GAP
    return graph


def _mean_row(box: _Box, joined: Iterable[tuple[_Box, _Box]]) -> float:
    rows = [a.row if b is box else b.row for a, b in joined if box in (a, b) and min(a.column, b.column) < box.column]
    return sum(rows) / len(rows) if rows else 0.0


def _arrow(graph: _Graph, head: str, tail: str, named: bool) -> dict[str, object]:
    """A curve from one box to another, the point of its head, its label and what it says when pointed at."""
    triples = graph.arrows[head, tail]
    line = _link(graph.boxes[head], graph.boxes[tail])
    relations = list(dict.fromkeys(triple.relation for triple in triples))
    return {
        **line,
        "label": cut(", ".join(relations), 16) if named else "",
        "told": "; ".join(dict.fromkeys(f"{one} (strength {one.strength:.3g})" for one in triples)),
        "thick": f"{0.8 + max(one.strength for one in triples) / 6:.2f}",
    }


def _link(start: _Box, end: _Box) -> dict[str, object]:
    """A curve between the sides that face each other; between boxes of one column it bows to the right."""
    a, b = start.x + start.width, end.x + end.width
    if start.column < end.column:
        x1, x2, bend = a, end.x, (_GAP / 2, -_GAP / 2)
    elif start.column > end.column:
        x1, x2, bend = start.x, b, (-_GAP / 2, _GAP / 2)
    else:
        x1, x2, bend = a, b, (_GAP / 2, _GAP / 2)
    point = 6 if bend[1] > 0 else -6  # the arrow's head lies before the box
    stop = x2 + point
    curve = f"M{x1:.1f} {start.y:.1f} C{x1 + bend[0]:.1f} {start.y:.1f} {stop + bend[1]:.1f} {end.y:.1f}"
    return {
        "curve": f"{curve} {stop:.1f} {end.y:.1f}",
        "plain": f"{curve} {x2:.1f} {end.y:.1f}",
        "head": f"{x2:.1f},{end.y:.1f} {stop:.1f},{end.y - 3.5:.1f} {stop:.1f},{end.y + 3.5:.1f}",
        "x": (x1 + stop) / 2 + 0.375 * (bend[0] + bend[1]),
        "y": (start.y + end.y) / 2,
    }
