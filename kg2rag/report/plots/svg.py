"""Figures -> inline SVG that follows the page's colours."""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

from kg2rag.report.plots.style import INK, PAPER

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def to_svg(figure: Figure, name: str) -> str:
    """The figure as an SVG element for a page: scales with its column, text in the page's colour and typeface.

    Parameters
    ----------
    name : of the figure on its page, for ids that no other figure has; the same figure and name give the same bytes.
    """
    from matplotlib import rc_context

    buffer = StringIO()
    with rc_context({"svg.hashsalt": "kg2rag", "svg.fonttype": "none", "font.family": "DejaVu Sans"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = svg.replace(INK.lower(), "currentColor").replace(PAPER.lower(), "var(--paper, #fff)")
    svg = re.sub(r"'DejaVu Sans'(, [^;\"]*)?", "inherit", svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg).replace("url(#", f"url(#{name}-").replace('href="#', f'href="#{name}-')
    return re.sub(r'^<svg([^>]*?) width="[^"]*"', r"<svg\1", re.sub(r'^(<svg[^>]*?) height="[^"]*"', r"\1", svg))
