"""The drawing of paths: what is drawn once, where it stands, and what it is joined to."""

from __future__ import annotations

import re

import numpy as np

from kg2rag.report.path_graph import MOST, path_graph
from kg2rag.types import Explanation, Triple, rank

IDS = [f"p{i}" for i in range(10)]


def explained(paths: dict[int, list[tuple[str, str, str]]], gold: str = "") -> Explanation:
    triples = {row: tuple(Triple(*one, f"p{row}") for one in path) for row, path in paths.items()}
    rows = np.arange(len(IDS))
    ranking = rank("q", rows, -rows.astype(float), IDS, 10, paths=triples)
    return ranking.explain(10, gold=[gold] if gold else ())


def boxes(drawing: str) -> dict[str, tuple[float, float]]:
    """The text of each box -> its left edge and its upper one."""
    found = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)".*?<text[^>]*>([^<]*)</text>', drawing, re.DOTALL)
    return {text: (float(x), float(y)) for x, y, text in found}


def test_without_paths_nothing_is_drawn() -> None:
    assert path_graph(explained({})) == ""


def test_entities_of_several_paths_are_drawn_once_in_columns_by_distance() -> None:
    drawing = path_graph(explained({0: [("A", "r", "B")], 1: [("A", "r", "B"), ("C", "r", "B")]}))
    places = boxes(drawing)
    assert sorted(places) == ["1 p0", "2 p1", "A", "B", "C"]
    assert places["A"][0] < places["B"][0] < places["C"][0] < places["1 p0"][0] == places["2 p1"][0]
    assert drawing.count("<polygon") == 2  # A to B once, C to B


def test_one_relation_is_said_once_and_several_stand_at_their_arrows() -> None:
    assert "every arrow: wrote" in path_graph(explained({0: [("A", "wrote", "B")]}))
    drawing = path_graph(explained({0: [("A", "wrote", "B"), ("B", "names", "C")]}))
    assert re.findall(r'class="relation"[^>]*>(\w+)<', drawing) == ["wrote", "names"]


def test_gold_is_marked_by_sign_and_line_not_by_colour_alone() -> None:
    drawing = path_graph(explained({0: [("A", "r", "B")], 1: [("A", "r", "C")]}, gold="p1"))
    assert {"1 p0", "2 ◆ p1"} <= set(boxes(drawing))
    assert drawing.count('stroke-width="2.4"') == 1


def test_a_large_graph_is_cut_by_rank_and_says_so() -> None:
    paths = {row: [(f"h{row}{i}", "r", f"h{row}{i + 1}") for i in range(5)] for row in range(10)}
    drawing = path_graph(explained(paths))
    assert len([name for name in boxes(drawing) if name.startswith("h")]) <= MOST
    assert "of 7 more, the list below tells" in drawing


def test_a_circle_and_a_loop_are_drawn() -> None:
    drawing = path_graph(explained({0: [("A", "r", "B"), ("B", "r", "A"), ("A", "r", "A")]}))
    assert set(boxes(drawing)) == {"A", "B", "1 p0"}


def test_it_has_no_style_attribute_and_escapes_every_text() -> None:
    drawing = path_graph(explained({0: [("<script>", '"', "&")]}))
    assert "style=" not in drawing
    assert "<script>" not in drawing
    assert "&lt;script&gt;" in drawing


def test_the_same_paths_give_the_same_drawing() -> None:
    paths = {0: [("A", "r", "B")], 3: [("C", "s", "B")]}
    assert path_graph(explained(paths)) == path_graph(explained(paths))
