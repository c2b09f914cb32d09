"""Pieces of text, strongest first -> one text that never has more tokens than its budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from kg2rag.compute.tokens import TokenCounter

Written = TypeVar("Written")


class Dropped(NamedTuple):
    """A piece that a context lacks, and why: "budget", "limit", or the key of the passage that it repeats."""

    what: str
    why: str


class BudgetedText:
    """A text that grows by whole pieces; make it through `fit`, which holds the budget.

    A piece is taken to cost what it and its separator cost alone. For WordPiece, which never joins across white space,
    that is exact; other tokenizers may differ at the seams, so `recount` counts the whole text with every piece.
    """

    def __init__(self, budget: int, counter: TokenCounter, *, recount: bool) -> None:
        self.budget = budget
        self.counter = counter
        self.recount = recount
        self.text = ""
        self.tokens = 0
        self.dropped: list[Dropped] = []

    def add(self, piece: str, separator: str = "\n") -> bool:
        """Append a piece if it fits; the separator goes before it unless it is the first."""
        addition = f"{separator}{piece}" if self.text else piece
        text = self.text + addition
        tokens = self.counter.count([text])[0] if self.recount else self.tokens + self.counter.count([addition])[0]
        if tokens > self.budget:
            return False
        self.text, self.tokens = text, tokens
        return True

    def add_section(self, heading: str, pieces: Sequence[str], separator: str, before: str) -> None:
        """Append a heading with the pieces below it that fit; what does not is noted as dropped.

        Parameters
        ----------
        separator : between the heading and its pieces; `before` : above the heading, unless it is the first.

        A heading never stands without its pieces, except where it has none to begin with.
        """
        if not pieces and not self.add(heading, before):
            self.drop(heading)
        started = False
        for piece in pieces:
            added = self.add(piece, separator) if started else self.add(f"{heading}{separator}{piece}", before)
            started = started or added
            if not added:
                self.drop(piece)

    def drop(self, what: str, why: str = "budget") -> None:
        """Note what is left out."""
        self.dropped.append(Dropped(what, why))


def fit(budget: int, counter: TokenCounter, write: Callable[[BudgetedText], Written]) -> tuple[BudgetedText, Written]:
    """A page that `write` fills, and what that returns; its `tokens` are those of the whole text, counted at the end.

    Where the pieces turn out to cost more together than alone, the page is written again, counted whole each time.
    """
    page = BudgetedText(budget, counter, recount=False)
    written = write(page)
    page.tokens = counter.count([page.text])[0]
    if page.tokens > budget:
        page = BudgetedText(budget, counter, recount=True)
        written = write(page)
    return page, written
