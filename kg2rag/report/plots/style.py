"""Shared parts of all figures: bare axes, sizes, SVG, and the marks of systems.

Each kind of retrieval has a hue; the systems of a kind differ in dashes and dots. The hues, those of
Okabe & Ito and three more, can be distinguished by colour-blind readers.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kg2rag.retrievers import systems as catalogue
from kg2rag.text.cells import visible

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#E69F00",
    "#8C6BB1",
    "#B15928",
)
GREY = "#8A919C"
DASHES: tuple[Any, ...] = ("-", (0, (6, 1.6)), (0, (1.2, 1.2)), (0, (7, 1.6, 1.4, 1.6)))
DOTS = ("", "o", "s", "^", "D", "v", "P", "X")
_STEM = re.compile(r"[.@=:(-].*")

INK = "#1B2733"  # becomes the page's text colour in `to_svg`
PAPER = "#FCFCFB"  # becomes the page's background there
WIDTH = 9.4


def bare(axis: Axes, *, edge: bool = True, grid: Literal["x", "y", ""] = "") -> None:
    """Hide all parts of an axis but its data, its lower edge and the lines of a grid.

    edge : whether the lower edge and its ticks are shown.
    grid : the direction whose grid lines are drawn; "" for none.
    """
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.spines["bottom"].set_color(GREY)
    axis.tick_params(length=0, labelsize=9, labelcolor=INK, color=GREY)
    if not edge:
        axis.spines["bottom"].set_visible(False)
        axis.set_xticks([])
    if grid:
        axis.grid(axis=grid, color=GREY, alpha=0.25, linewidth=0.7)
    axis.patch.set_alpha(0)


def figure(height: float, width: float = WIDTH, **options: Any) -> Figure:
    """An empty figure, its size in inches, whose texts are never read as formulas.

    options : arguments of matplotlib's `Figure`.
    """
    from matplotlib.figure import Figure

    class PlainFigure(Figure):
        def draw(self, renderer: Any) -> None:
            with _without_formulas(self):
                super().draw(renderer)

    return PlainFigure(figsize=(width, height), **{"layout": "constrained", **options})


@contextmanager
def _without_formulas(figure: Figure) -> Iterator[None]:
    """A context in which no text of a figure is read as TeX or as control characters."""
    from matplotlib import rc_context
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_parse_math(False)
        text.set_text(visible(text.get_text()))
    # Texts of ticks are made only when they are drawn.
    with rc_context({"text.parse_math": False}):
        yield


def panels(
    n_panels: int, n_columns: int, row_height: float, extra_height: float = 0
) -> tuple[Figure, list[Axes]]:
    """A figure of panels that share the vertical axis, and the axes of the panels, row by row.

    row_height, extra_height : height of each row, and of the figure beyond its rows, in inches.
    """
    n_rows = math.ceil(n_panels / n_columns)
    drawing = figure(extra_height + n_rows * row_height)
    axes = list(drawing.subplots(n_rows, n_columns, squeeze=False, sharey=True).flat)
    for axis in axes[n_panels:]:
        axis.set_visible(False)
    return drawing, axes[:n_panels]


def to_svg(figure: Figure, name: str) -> Markup:
    """A figure as an SVG element that scales with its column and has the colours of the page.

    Its texts are escaped by matplotlib. The same figure and name give the same bytes.

    name : prefix of the ids in the element, which must be unique on a page.
    """
    from markupsafe import Markup
    from matplotlib import rc_context

    buffer = StringIO()
    style = {
        "svg.hashsalt": "kg2rag",
        "svg.fonttype": "none",
        "font.family": "DejaVu Sans",
    }
    with rc_context(style), _without_formulas(figure):
        figure.savefig(
            buffer,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Creator": None},
        )
    svg = buffer.getvalue()[buffer.getvalue().index("<svg") :].strip()
    svg = re.sub(
        r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL
    )
    svg = re.sub(r' style="([^"]*)"', _attributes, svg)
    svg = svg.replace(INK.lower(), "currentColor").replace(
        PAPER.lower(), "var(--paper, #fff)"
    )
    svg = re.sub(r"'DejaVu Sans'(, [^;\"]*)?", "inherit", svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = svg.replace("url(#", f"url(#{name}-").replace('href="#', f'href="#{name}-')
    strokes = r'\1 stroke-linejoin="round" stroke-linecap="butt"'
    svg = re.sub(r'^(<svg[^>]*?) height="[^"]*"', strokes, svg)
    return Markup(re.sub(r'^<svg([^>]*?) width="[^"]*"', r"<svg\1", svg))  # noqa: S704


def _attributes(style: re.Match[str]) -> str:
    """The declarations of an inline style, which the policy of a page forbids, as attributes."""
    pairs = (
        declaration.split(":", 1)
        for declaration in style[1].split(";")
        if ":" in declaration
    )
    return "".join(f' {name.strip()}="{value.strip()}"' for name, value in pairs)


class Mark(NamedTuple):
    """The colour, line style and marker ("" for none) of a system."""

    colour: str
    dashes: Any
    dots: str


_BASELINE = Mark(GREY, (0, (5, 2)), "")


def marks(systems: Iterable[str], baseline: str) -> dict[str, Mark]:
    """System -> its mark; the marks of up to 288 systems differ, and the baseline is dashed grey.

    A system of the catalogue has the same hue in every figure, and so has a variant such as
    "kg2rag.llm". Any other system has the hue that the figure uses least. The dashes of systems of
    one hue follow their order.
    """
    colour_of = {name: catalogue.colour(_STEM.sub("", name)) for name in systems}
    used = [
        colour
        for name, colour in colour_of.items()
        if colour is not None and name != baseline
    ]
    n_drawn: Counter[str] = Counter()
    mark_of = {}
    for name, colour in colour_of.items():
        if name == baseline:
            mark_of[name] = _BASELINE
            continue
        if colour is None:
            colour = min(PALETTE, key=used.count)
            used.append(colour)
        n_full_turns, dashes = divmod(n_drawn[colour], len(DASHES))
        mark_of[name] = Mark(colour, DASHES[dashes], DOTS[n_full_turns % len(DOTS)])
        n_drawn[colour] += 1
    return mark_of
