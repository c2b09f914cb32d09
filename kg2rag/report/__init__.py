"""Score tables -> HTML, Markdown and terminal tables; nothing is computed here.

The same conventions everywhere: means in per cent (counts and gains as they are), stars where a system differs from the
baseline by Holm-corrected p < .05, .01, .001, the best mean bold only where it is significantly above every other
system, † where a number of a system was chosen with the set in view, and ‡ where one returns more than the others.
"""

from kg2rag.report.html import Frame, HtmlPage
from kg2rag.report.labelling import Labelling
from kg2rag.report.markup import markdown
from kg2rag.report.notes import notes
from kg2rag.report.page import Tabular, page
from kg2rag.report.questions import MEGABYTES, questions_json
from kg2rag.report.table import Sheet, headline, rows, stars
from kg2rag.report.terminal import TerminalTable, placebo_table, text_table

__all__ = ["MEGABYTES", "Frame", "HtmlPage", "Labelling", "Sheet", "Tabular", "TerminalTable", "headline", "markdown"]
__all__ += ["notes", "page", "placebo_table", "questions_json", "rows", "stars", "text_table"]
