"""Text of data -> text for a terminal or a drawing: characters that steer what shows them become visible."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

INSTEAD = "\N{REPLACEMENT CHARACTER}"
LONGEST = 10_000
"""Characters of a text on a terminal; rich takes minutes to wrap a word of a million."""
_JOINERS = "\u200c\u200d"  # which Persian, Indic scripts and emoji need
_STEERING = {
    code: INSTEAD
    for code in (*range(0x20), *range(0x7F, 0xA0), 0xAD, *range(0x200B, 0x2070), 0xFEFF)
    if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cn") and chr(code) not in "\n\t" + _JOINERS
}


def visible(text: str) -> str:
    r"""A text with replacement characters for control characters and for those of direction and of no width.

    >>> visible("a\x1b[31mb\u202ec\n")
    'a�[31mb�c\n'
    """
    return text.translate(_STEERING)


def console(**given: Any) -> Console:
    """A console of rich that shows texts by `visible`; its own colours remain."""
    from rich import console as rich
    from rich.segment import Segment

    class VisibleConsole(rich.Console):
        def render_str(self, text: str, **options: Any) -> Any:
            return super().render_str(text if len(text) <= LONGEST else text[:LONGEST] + "…", **options)

        def render(self, *arguments: Any, **options: Any) -> Any:
            for segment in super().render(*arguments, **options):
                yield segment if segment.control else Segment(visible(segment.text), segment.style)

    return VisibleConsole(**given)
