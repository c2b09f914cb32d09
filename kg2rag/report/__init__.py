"""Score tables -> HTML, Markdown and terminal tables; nothing is computed here.

The same conventions everywhere: means in per cent (counts and gains as they are), stars where a system differs from the
baseline by Holm-corrected p < .05, .01, .001, the best mean bold only where it is significantly above every other
system, † where a number of a system was chosen with the set in view, and ‡ where one returns more than the others.
"""

from kg2rag.report.html import Frame as Frame
from kg2rag.report.html import HtmlPage as HtmlPage
from kg2rag.report.labelling import Labelling as Labelling
from kg2rag.report.markup import markdown as markdown
from kg2rag.report.notes import notes as notes
from kg2rag.report.page import Tabular as Tabular
from kg2rag.report.page import page as page
from kg2rag.report.questions import MEGABYTES as MEGABYTES
from kg2rag.report.questions import questions_json as questions_json
from kg2rag.report.table import Sheet as Sheet
from kg2rag.report.table import headline as headline
from kg2rag.report.table import rows as rows
from kg2rag.report.table import stars as stars
from kg2rag.report.terminal import TerminalTable as TerminalTable
from kg2rag.report.terminal import placebo_table as placebo_table
from kg2rag.report.terminal import text_table as text_table
