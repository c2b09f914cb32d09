"""Score tables -> tables in HTML, Markdown, LaTeX and the terminal, pages and figures.

All tables have the same conventions: means are in per cent, counts are not; stars mark a difference
from the baseline with Holm-corrected p < .05, .01 or .001; the best mean is bold only if it is
significantly above every other system; † marks a system with a parameter that was chosen with
access to the set; ‡ marks a system that returns more than the others.
"""

from kg2rag.report.html import Frame, HtmlPage
from kg2rag.report.labelling import Labelling
from kg2rag.report.markup import latex, markdown
from kg2rag.report.notes import notes, remark_lines
from kg2rag.report.page import Tabular, page
from kg2rag.report.questions import MEGABYTES, questions_json
from kg2rag.report.score_sheet import ScoreSheet, headline, rows, stars
from kg2rag.report.terminal import TerminalTable, placebo_table, text_table

__all__ = [
    "MEGABYTES",
    "Frame",
    "HtmlPage",
    "Labelling",
    "ScoreSheet",
    "Tabular",
    "TerminalTable",
    "headline",
    "latex",
    "markdown",
    "notes",
    "page",
    "placebo_table",
    "questions_json",
    "remark_lines",
    "rows",
    "stars",
    "text_table",
]
