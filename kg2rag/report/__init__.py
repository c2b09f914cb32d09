"""Score tables -> HTML, Markdown, LaTeX and terminal tables; nothing is computed here.

The same conventions everywhere: means in per cent (counts and gains as they are); stars if a system
differs from the baseline by Holm-corrected p < .05, .01, .001; the best mean bold only if it is
significantly above every other system; † if a parameter of a system was chosen with access to the
set; ‡ if a system returns more than the others.
"""

from kg2rag.report.html import Frame, HtmlPage
from kg2rag.report.labelling import Labelling
from kg2rag.report.markup import latex, markdown
from kg2rag.report.notes import notes
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
    "rows",
    "stars",
    "text_table",
]
