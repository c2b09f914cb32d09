from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag import plots, systems


def scores(systems: int, metrics: int) -> pd.DataFrame:
    rows = [
        (f"s{s}", f"recall@{m + 1}", 0.5, 0.4, 0.6)
        for s in range(systems)
        for m in range(metrics)
    ]
    return pd.DataFrame(rows, columns=["system", "metric", "mean", "ci_low", "ci_high"])


def curve(**ends: float) -> pd.DataFrame:
    return pd.DataFrame(
        {name: [0.1, end] for name, end in ends.items()},
        index=pd.Index([1, 100], name="k"),
    )


def test_no_two_of_all_systems_are_drawn_alike():
    names = [*systems.SYSTEMS.names()]
    drawn = plots.marks(names, "dense")
    assert len(set(drawn.values())) == len(names) > 18
    assert set(plots.PALETTE) <= {mark.colour for mark in drawn.values()}


def test_variants_have_the_hue_of_their_system_and_other_names_the_least_used():
    drawn = plots.marks(
        ["kg2rag.llm", "kg2rag.none", "kg2rag", "mine", "other"], "kg2rag"
    )
    assert (
        drawn["kg2rag.llm"].colour
        == drawn["kg2rag.none"].colour
        == plots.marks(["kg2rag"], "")["kg2rag"].colour
    )
    assert drawn["kg2rag.llm"] != drawn["kg2rag.none"]
    assert drawn["mine"].colour != drawn["other"].colour
    assert drawn["kg2rag"].colour == plots.GREY


@given(
    st.lists(
        st.from_regex(r"[a-z]{1,3}(\.[a-z]{1,2})?", fullmatch=True),
        min_size=1,
        max_size=60,
        unique=True,
    )
)
def test_names_of_any_kind_and_number_are_told_apart(names):
    assert len(set(plots.marks(names, names[0]).values())) == len(names)


@pytest.mark.parametrize(("metrics", "end"), [(1, 0.4), (4, float("nan")), (5, 0.4)])
def test_every_metric_has_its_panel_with_bars_as_long_as_its_means(metrics, end):
    shown = [
        one
        for one in plots.bar_chart(scores(2, metrics).assign(ci_low=end), "s0").axes
        if one.get_visible()
    ]
    assert len(shown) == metrics
    assert [bar.get_width() for bar in shown[-1].patches] == [50, 50]
    assert shown[0].texts[0].get_text() == "50.0"


@pytest.mark.parametrize(
    "ends",
    [
        {"a": 0.9, "b": 0.9, "c": 0.9, "d": 0.899, "e": 0.1},
        {f"a_system_with_a_long_name_{i}": 0.0 for i in range(9)},
        dict.fromkeys(systems.names(), 0.98),
    ],
)
def test_the_names_of_lines_do_not_touch_and_stay_inside_the_figure(ends):
    figure = plots.recall_curve(curve(**ends), "dense")
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    boxes = sorted(
        (text.get_window_extent() for text in figure.axes[0].texts),
        key=lambda box: box.y0,
    )
    assert all(low.y1 <= high.y0 + 0.5 for low, high in pairwise(boxes))
    assert all(
        0 <= box.x0 <= box.x1 <= width and 0 <= box.y0 <= box.y1 <= height
        for box in boxes
    )


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_flat_scores_and_a_single_depth_can_be_drawn(value):
    flat = pd.DataFrame({"a": [value]}, index=pd.Index([1], name="k"))
    assert plots.to_svg(plots.recall_curve(flat, "a"), "x")
    table = scores(1, 1).assign(mean=value, ci_low=value, ci_high=value)
    assert plots.to_svg(plots.bar_chart(table, "s0"), "x")


def test_a_line_by_tokens_ends_where_it_is_blank_and_is_named_with_its_last_value():
    frame = pd.DataFrame(
        {"a": [0.2, 0.4, 0.6], "b": [0.1, 0.3, float("nan")]},
        index=pd.Index([100, 500, 1000], name="tokens"),
    )
    axis = plots.token_curve(frame, "a").axes[0]
    assert sorted(text.get_text() for text in axis.texts) == ["a  60.0", "b  30.0"]
    assert axis.get_xlabel() == "tokens returned"
    assert [label.get_text() for label in axis.get_xticklabels()] == [
        "100",
        "200",
        "500",
        "1,000",
    ]


def test_svg_is_well_formed_and_takes_the_colour_of_the_page():
    svg = plots.to_svg(plots.recall_curve(curve(a=0.5, b=0.7), "a"), "curve")
    root = ElementTree.fromstring(svg)
    assert "width" not in root.attrib
    assert root.attrib["viewBox"]
    assert "currentColor" in svg
    assert plots.INK.lower() not in svg.lower()


def test_names_in_svg_are_escaped_and_no_formula():
    svg = plots.to_svg(
        plots.recall_curve(curve(**{"<script>": 0.5, "a$_b$": 0.7}), "none"), "x"
    )
    assert "<script" not in svg
    assert ">a$_b$  70.0<" in svg


def test_groups_put_the_best_system_on_top_and_frame_the_best_of_each_group():
    means = pd.DataFrame(
        {"dense": [0.5, 0.5], "graph": [0.9, 0.4], "tie": [0.5, 0.5]},
        index=["two hops", "one hop"],
    )
    axis = plots.heat_map(means, "dense").axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == [
        "graph",
        "dense",
        "tie",
    ]
    assert [text.get_text() for text in axis.texts] == [
        "90",
        "40",
        "50",
        "50",
        "50",
        "50",
    ]
    framed = {
        (round(patch.get_x() + 0.48), round(patch.get_y() + 0.46))
        for patch in axis.patches
    }
    assert framed == {(0, 0), (1, 1), (1, 2)}
    with pytest.raises(ValueError, match=r"'bm25'.*dense"):
        plots.heat_map(means, "bm25")


def test_differences_stand_on_the_row_of_their_name_and_are_filled_where_the_interval_leaves_out_none():
    rows = [
        ("A", "x", 0.1, 0.05, 0.2),
        ("A", "y", -0.1, -0.2, 0.1),
        ("B", "y", 0.3, 0.2, 0.4),
    ]
    figure = plots.difference_plot(
        pd.DataFrame(rows, columns=["group", "name", "difference", "low", "high"])
    )
    first, second = figure.axes
    points = [axis.collections[1] for axis in (first, second)]
    assert [points[0].get_offsets().tolist(), points[1].get_offsets().tolist()] == [
        [[10, 0], [-10, 1]],
        [[30, 1]],
    ]
    filled, empty = points[0].get_facecolors()
    assert (filled != empty).any()
    assert first.get_xlim() == second.get_xlim()
    assert [label.get_text() for label in first.get_yticklabels()] == ["x", "y"]
