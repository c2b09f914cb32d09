"""What shows itself as a printed table, in whatever place it is shown."""

from __future__ import annotations

from abc import ABC, abstractmethod

from kg2rag.report.markup import latex, markdown
from kg2rag.report.page import table_html
from kg2rag.report.table import Sheet
from kg2rag.report.terminal import TerminalTable


class Tabular(ABC):
    """A result with a `sheet`: Jupyter, the terminal, Markdown and LaTeX show that."""

    @property
    @abstractmethod
    def sheet(self) -> Sheet:
        """The content of the printed tables."""

    def _repr_html_(self) -> str:
        return table_html(self.sheet)

    def __rich__(self) -> TerminalTable:
        return TerminalTable(self.sheet)

    def to_markdown(self) -> str:
        """A table for a README: means in per cent, intervals, stars by Holm."""
        return markdown(self.sheet)

    def to_latex(self) -> str:
        """A `booktabs` table for a paper: means in per cent, intervals, stars by Holm."""
        return latex(self.sheet)
