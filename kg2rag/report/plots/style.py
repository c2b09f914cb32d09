"""What all figures share: colours that colour-blind readers can distinguish (Okabe & Ito's), and bare axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C6BB1", "#B15928")
GREY = "#8A919C"
INK = "#1B2733"  # becomes the page's text colour in `to_svg`
PAPER = "#FCFCFB"  # becomes the page's background there
WIDTH = 9.4


def colours(systems: Sequence[str], baseline: str) -> dict[str, str]:
    """A colour per system, the same in every figure; they repeat from the ninth on."""
    others = [name for name in systems if name != baseline]
    return {baseline: GREY} | {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(others)}


def bare(axis: Axes, *, edge: bool = True) -> None:
    """Leave the axis its data and, where `edge`, its lower edge with ticks."""
    for side in ("top", "right", "left", *(() if edge else ("bottom",))):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color(GREY)
    axis.tick_params(length=0, labelsize=9, labelcolor=INK, color=GREY)
    if not edge:
        axis.set_xticks([])
    axis.patch.set_alpha(0)
