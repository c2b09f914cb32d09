"""Pieces of text, strongest first -> one text within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from kg2rag.compute import TokenCounter

Written = TypeVar("Written")


class Dropped(NamedTuple):
    """A piece left out of a context, and why: "budget", "limit", or the key of the passage that it repeats."""

    what: str
    why: str


class BudgetedText:
    """A text that grows by whole pieces; made by `fit`, which keeps the budget.

    The cost of a piece is that of it and its separator alone. For WordPiece, which never joins across white space,
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
        """Append a heading with the pieces below it that fit; the others are noted as dropped.

        Parameters
        ----------
        separator : between the heading and its pieces; `before` : above the heading, unless it is the first.

        A heading is never written without a piece, unless it was given none.
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
    """The text that `write` fills, with what `write` returns; its `tokens` are counted over the whole text at the end.

    Where the pieces cost more together than alone, `write` runs again and the whole text is counted with every piece.
    """
    text = BudgetedText(budget, counter, recount=False)
    written = write(text)
    text.tokens = counter.count([text.text])[0]
    if text.tokens > budget:
        text = BudgetedText(budget, counter, recount=True)
        written = write(text)
    return text, written
