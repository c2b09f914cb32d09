"""Sections of short items, strongest first -> one text within a budget of tokens, of which every section has its share.

Items are added one by one, always to the section that has spent least so far, so that no hub crowds out another section
and what one section does not need goes to the others. The whole text is counted with every item: the budget holds for
any tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from kg2rag.answers.context.budget import Dropped
from kg2rag.compute import TokenCounter


class Item(NamedTuple):
    """A text, and how strong the relation is that it states; infinite for what is no relation."""

    text: str
    strength: float = inf


@dataclass(frozen=True)
class Line:
    """A label and the items after it, strongest first; of those that do not fit, no weaker one is written either."""

    label: str
    items: Sequence[Item]
    separator: str = ", "


@dataclass(frozen=True)
class Section:
    """A heading and the lines below it; the heading is written with the first item, or alone where there is none.

    `yields` : an item waits until the stronger ones of the other sections are written, and goes with them.
    """

    heading: str
    lines: Sequence[Line] = ()
    yields: bool = False


@dataclass
class _Filling:
    """A section as far as it is written: the items of each line, those left, and what they have cost."""

    section: Section
    written: list[int]
    left: list[int]
    started: bool = False
    spent: int = 0

    @property
    def text(self) -> str:
        lines = [
            f"{line.label}{line.separator.join(item.text for item in line.items[:written])}"
            for line, written in zip(self.section.lines, self.written, strict=True)
            if written
        ]
        return "\n".join([self.section.heading, *lines]) if self.started else ""

    def next(self) -> int | None:
        """The line that takes the next item, the one with the fewest; None where no item is left."""
        open_ = [at for at, left in enumerate(self.left) if left]
        return min(open_, key=lambda at: self.written[at], default=None)

    def item(self, at: int) -> Item:
        """The next item of a line."""
        return self.section.lines[at].items[self.written[at]]

    def close(self, at: int) -> list[Dropped]:
        """Leave out the items of a line that are not written."""
        line, self.left[at] = self.section.lines[at], 0
        return [Dropped(f"{line.label}{item.text}", "budget") for item in line.items[self.written[at] :]]


@dataclass
class _Page:
    top: str
    fillings: Sequence[_Filling]
    budget: int
    counter: TokenCounter
    tokens: int
    missed: float = 0.0
    dropped: list[Dropped] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n\n".join([self.top, *(text for filling in self.fillings if (text := filling.text))])

    def fill(self) -> None:
        """Add items until none is left."""
        for filling in self.fillings:
            if not filling.section.lines and not self._add(filling, None):
                self.dropped.append(Dropped(filling.section.heading, "budget"))
        while open_ := [(filling, at) for filling in self.fillings if (at := filling.next()) is not None]:
            strongest = max((f.item(at).strength for f, at in open_ if not f.section.yields), default=0.0)
            ready = [(f, at) for f, at in open_ if not f.section.yields or f.item(at).strength >= strongest]
            filling, at = min(ready, key=lambda each: each[0].spent)
            strength = filling.item(at).strength
            weaker = filling.section.yields and strength < self.missed
            if weaker or not self._add(filling, at):
                self.dropped += filling.close(at)
                if not filling.section.yields and strength < inf:
                    self.missed = max(self.missed, strength)

    def _add(self, filling: _Filling, at: int | None) -> bool:
        """Write the next item of a line, or the heading alone, where that fits."""
        before = filling.started, list(filling.written), list(filling.left)
        filling.started = True
        if at is not None:
            filling.written[at] += 1
            filling.left[at] -= 1
        tokens = self.counter.count([self.text])[0]
        if tokens > self.budget:
            filling.started, filling.written, filling.left = before
            return False
        filling.spent += tokens - self.tokens
        self.tokens = tokens
        return True


def shared(
    top: str, sections: Sequence[Section], budget: int, counter: TokenCounter
) -> tuple[str, int, tuple[Dropped, ...]]:
    """The text that fits, its tokens, and what was left out; nothing fits where `top`, its first lines, does not.

    Each section takes the first item of every line, then the second of every line that has one, and so on.
    """
    tokens = counter.count([top])[0]
    if tokens > budget:
        return "", 0, (Dropped(top, "budget"),)
    fillings = [_Filling(each, [0] * len(each.lines), [len(line.items) for line in each.lines]) for each in sections]
    page = _Page(top, fillings, budget, counter, tokens)
    page.fill()
    return page.text, page.tokens, tuple(page.dropped)
