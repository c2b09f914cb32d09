"""Figures -> inline SVG that follows the page's colours."""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

from kg2rag.report.plots.style import INK, PAPER

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure


def to_svg(figure: Figure, name: str) -> Markup:
    """The figure as an SVG element for a page: scales with its column, text in the page's colour and typeface.

    Templates insert it as it is: matplotlib has escaped its texts.

    Parameters
    ----------
    name : unique on its page: it prefixes the ids inside. The same figure and name give the same bytes.
    """
    from markupsafe import Markup
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
    svg = re.sub(r'^(<svg[^>]*?) height="[^"]*"', r"\1", svg)
    return Markup(re.sub(r'^<svg([^>]*?) width="[^"]*"', r"<svg\1", svg))  # noqa: S704
