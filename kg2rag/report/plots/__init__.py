"""Score tables -> matplotlib figures, and figures -> inline SVG.

Figures are made without pyplot, so that matplotlib neither displays nor stores them. The baseline
is always grey, and a system of the catalogue has the same colour in all figures.
"""

from kg2rag.report.plots.diagnosis import network, oracle_ladder, waterfall
from kg2rag.report.plots.scores import (
    bar_chart,
    difference_plot,
    graph_reach,
    heat_map,
    recall_curve,
    token_curve,
)
from kg2rag.report.plots.style import GREY, INK, PALETTE, marks, to_svg

__all__ = [
    "GREY",
    "INK",
    "PALETTE",
    "bar_chart",
    "difference_plot",
    "graph_reach",
    "heat_map",
    "marks",
    "network",
    "oracle_ladder",
    "recall_curve",
    "to_svg",
    "token_curve",
    "waterfall",
]
