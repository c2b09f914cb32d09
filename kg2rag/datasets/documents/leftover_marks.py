"""Marks of a wiki or of templates that the reader of a page has taken for text -> a remark.

Of 500 pages of documentation of packages, two have three or more such marks outside their code:
tests of wiki links and of templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kg2rag.datasets.documents.blocks import PROSE, Block
from kg2rag.text.records import quote

MIN_MARKS = 3
"""Fewest marks that are told: a text may explain one or two."""
_MARK = re.compile(
    r"\[\[[^\W\d][^\[\]\n]{0,200}\]\]|\{\{[^{}\n]{1,200}\}\}|\{%[^{}\n]{1,200}%\}|^:{3,}[^\n]*$",
    re.MULTILINE,
)


def remark_on_marks(blocks: Iterable[Block]) -> str:
    """The remark on marks in the prose of a document; "" for fewer than `MIN_MARKS`.

    >>> remark_on_marks([Block("See [[a|A]], [[b|B]] and {{c}}.")])
    "marks left in the text: 3, such as '[[a|A]]'"
    """
    marks = [
        mark
        for block in blocks
        if block.kind == PROSE
        for mark in _MARK.findall(block.text)
    ]
    if len(marks) < MIN_MARKS:
        return ""
    return f"marks left in the text: {len(marks)}, such as {quote(marks[0])}"
