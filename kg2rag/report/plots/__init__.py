"""Score tables -> matplotlib figures, a family a file, and figures -> inline SVG.

Figures are made without pyplot, so nothing is shown, kept or shared; the baseline is always grey.
"""

from kg2rag.report.plots.bars import bars
from kg2rag.report.plots.curves import recall_curve, token_curve
from kg2rag.report.plots.groups import groups
from kg2rag.report.plots.reach import graph_reach
from kg2rag.report.plots.style import GREY, INK, PALETTE, PAPER, colours
from kg2rag.report.plots.svg import to_svg

__all__ = [
    "GREY",
    "INK",
    "PALETTE",
    "PAPER",
    "bars",
    "colours",
    "graph_reach",
    "groups",
    "recall_curve",
    "to_svg",
    "token_curve",
]
