"""Systems -> how each is drawn, in every figure alike: a hue for each kind of retrieval, dashes and dots within a kind.

Hues are Okabe & Ito's and three more, which colour-blind readers can distinguish. Two systems of one hue differ in
dashes or dots, so that none is told by its colour alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from kg2rag.retrievers import systems as catalogue

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C6BB1", "#B15928")
SLATE = "#44546A"
GREY = "#8A919C"
DASHES: tuple[Any, ...] = ("-", (0, (6, 1.6)), (0, (1.2, 1.2)), (0, (7, 1.6, 1.4, 1.6)))
DOTS = ("", "o", "s", "^", "D", "v", "P", "X")
_STEM = re.compile(r"[.@=:(-].*")


class Mark(NamedTuple):
    """How a system is drawn: its colour, matplotlib's line style, and the marker on its line ("" for none)."""

    colour: str
    dashes: Any
    dots: str

    @property
    def point(self) -> str:
        """The marker of a system that is points without a line; other dashes, another shape."""
        return self.dots or dict(zip(DASHES, "os^D", strict=True)).get(self.dashes, "o")


_BASELINE = Mark(GREY, (0, (5, 2)), "")


def marks(systems: Iterable[str], baseline: str) -> dict[str, Mark]:
    """A mark per system, no two alike among the first 288; the baseline is grey and dashed.

    A system of the catalogue has its own hue in every figure, and so has a variant such as "kg2rag.llm"; any other name
    has the hue that the figure uses least. Systems of one hue get their dashes in the order given.
    """
    names = [name for name in dict.fromkeys(systems) if name != baseline]
    own = {name: catalogue.colour(_STEM.sub("", name)) for name in names}
    used = [hue for hue in own.values() if hue is not None]
    given: dict[str, Mark] = {baseline: _BASELINE}
    drawn: Counter[str] = Counter()
    for name in names:
        if (hue := own[name]) is None:
            hue = min(PALETTE, key=used.count)
            used.append(hue)
        at = drawn[hue]
        given[name] = Mark(hue, DASHES[at % len(DASHES)], DOTS[at // len(DASHES) % len(DOTS)])
        drawn[hue] += 1
    return {name: given[name] for name in dict.fromkeys(systems)}


def colours(systems: Iterable[str], baseline: str) -> dict[str, str]:
    """The colours of `marks` alone, for figures that write each system's name beside it."""
    return {name: mark.colour for name, mark in marks(systems, baseline).items()}
