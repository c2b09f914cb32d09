"""Score tables -> matplotlib figures, one family per file, and figures -> inline SVG.

Figures are made without pyplot: nothing is displayed or kept by the library. The baseline is always
grey, and a named system is drawn alike in all of them.
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
