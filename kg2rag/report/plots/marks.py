"""Systems -> how each is drawn, in every figure alike: a hue for each kind of retrieval, dashes and dots within a kind.

Hues are Okabe & Ito's and three more, which colour-blind readers can distinguish. Two systems of one hue differ in
dashes or dots, so that none is told by its colour alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C6BB1", "#B15928")
SLATE = "#44546A"
GREY = "#8A919C"
DASHES: tuple[Any, ...] = ("-", (0, (6, 1.6)), (0, (1.2, 1.2)), (0, (7, 1.6, 1.4, 1.6)))
DOTS = ("", "o", "s", "^", "D", "v", "P", "X")
KINDS: Mapping[str, tuple[str, ...]] = {
    "#0072B2": ("mention_ppr", "linear"),
    "#D55E00": ("mention_chains",),
    "#009E73": ("graph_augmented", "confidence_gated", "vector_first"),
    "#CC79A7": ("hippo2", "hippo1"),
    "#56B4E9": ("bm25", "pattern"),
    "#E69F00": ("kg2rag", "kg2rag_official"),
    "#8C6BB1": ("hybrid", "dynamic_hybrid", "rerank"),
    "#B15928": ("expansion_queries", "path", "practical"),
    SLATE: ("dense",),
}
"""Hue -> the named systems that have it; the first is drawn through, the others dashed in this order."""
_NAMED = {name: (hue, at) for hue, names in KINDS.items() for at, name in enumerate(names)}
_STEM = re.compile(r"[.@=:-].*")


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

    A named system has the same mark in every figure. A variant such as "kg2rag.llm" has the hue of its system, any
    other name the hue that the figure uses least, in the order given.
    """
    names = list(dict.fromkeys(systems))
    taken = {_NAMED[name] for name in names if name in _NAMED and name != baseline}
    given: dict[str, tuple[str, int]] = {}
    for name in names:
        if name in _NAMED:
            given[name] = _NAMED[name]
        elif name != baseline:
            hue = _hue(name, taken)
            at = next(at for at in range(len(names)) if (hue, at) not in taken)
            given[name] = (hue, at)
            taken.add((hue, at))
    return {name: _BASELINE if name == baseline else _mark(*given[name]) for name in names}


def colours(systems: Iterable[str], baseline: str) -> dict[str, str]:
    """The colours of `marks` alone, for figures that write each system's name beside it."""
    return {name: mark.colour for name, mark in marks(systems, baseline).items()}


def _mark(hue: str, at: int) -> Mark:
    return Mark(hue, DASHES[at % len(DASHES)], DOTS[at // len(DASHES) % len(DOTS)])


def _hue(name: str, taken: Iterable[tuple[str, int]]) -> str:
    """The hue of the system that a name is a variant of, else the least used one, the first of several."""
    stem = _NAMED.get(_STEM.sub("", name))
    used = [hue for hue, _ in taken]
    return stem[0] if stem else min(PALETTE, key=used.count)
