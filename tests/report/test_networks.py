from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from kg2rag.report.plots import network


def graph(*edges: tuple[str, str, str]) -> nx.MultiDiGraph:
    drawn = nx.MultiDiGraph()
    for head, relation, tail in edges:
        drawn.add_edge(head, tail, relation=relation, strength=5.0)
    return drawn


def texts(figure: object) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]  # type: ignore[attr-defined]


def test_every_node_and_relation_is_written() -> None:
    written = texts(network(graph(("FastAPI", "built on", "Starlette"))))
    assert {"FastAPI", "Starlette", "built on"} <= set(written)


def test_parallel_triples_share_an_arrow_and_stack_their_relations() -> None:
    written = texts(
        network(graph(("A", "uses", "B"), ("A", "wraps", "B"), ("A", "uses", "B")))
    )
    assert "uses\nwraps" in written


def test_long_names_are_cut_with_a_sign_of_it() -> None:
    long = "An extraordinarily long name of an entity"
    assert any(
        text.endswith("…") and len(text) == 26
        for text in texts(network(graph((long, "is", "B"))))
    )


def test_a_graph_too_large_to_read_is_refused_with_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"100 .*graph\.ego"):
        network(nx.path_graph(100))


def test_no_name_covers_the_head_of_an_arrow() -> None:
    spokes = [(f"spoke {at}", "part of", "hub") for at in range(12)] + [
        ("spoke 0", "leads to", "spoke 1")
    ]
    figure = network(graph(*spokes), highlight=["hub"])
    figure.canvas.draw()
    axis = figure.axes[0]
    drawn = [
        text for text in axis.texts if getattr(text, "arrow_patch", None) is not None
    ]
    heads = [
        arrow
        for arrow in drawn
        if arrow.arrow_patch.get_arrowstyle().__class__.__name__ != "Curve"
    ]
    ends = [axis.transData.transform([arrow.xyann, arrow.xy]) for arrow in heads]
    tips = [
        end - (end - start) / np.hypot(*(end - start)) * 7 * figure.dpi / 72
        for start, end in ends
    ]
    names = [
        text.get_bbox_patch().get_window_extent()
        for text in axis.texts
        if text.get_text()
    ]
    assert len(tips) == 13
    assert not [(tip, box) for tip in tips for box in names if box.contains(*tip)]
