"""Score tables -> matplotlib figures, one family per file, and figures -> inline SVG.

Figures are made without pyplot: nothing is displayed or kept by the library. The baseline is always grey, and a named
system is drawn alike in all of them.
"""

from kg2rag.report.plots.diagnosis import network as network
from kg2rag.report.plots.diagnosis import oracle_ladder as oracle_ladder
from kg2rag.report.plots.diagnosis import waterfall as waterfall
from kg2rag.report.plots.scores import bar_chart as bar_chart
from kg2rag.report.plots.scores import difference_plot as difference_plot
from kg2rag.report.plots.scores import graph_reach as graph_reach
from kg2rag.report.plots.scores import heat_map as heat_map
from kg2rag.report.plots.scores import recall_curve as recall_curve
from kg2rag.report.plots.scores import token_curve as token_curve
from kg2rag.report.plots.style import GREY as GREY
from kg2rag.report.plots.style import INK as INK
from kg2rag.report.plots.style import PALETTE as PALETTE
from kg2rag.report.plots.style import marks as marks
from kg2rag.report.plots.style import to_svg as to_svg
