"""The blocks of a document -> the remark on parts that its reader took for text and that may be none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kg2rag.datasets.documents.blocks import PROSE, Block, join_remarks
from kg2rag.text.records import quote

MIN_MARKS = 3
"""Fewest marks of a wiki or template in a page that are told: a text may explain one or two."""
_MARK = re.compile(
    r"\[\[[^\W\d][^\[\]\n]{0,200}\]\]|\{\{[^{}\n]{1,200}\}\}|\{%[^{}\n]{1,200}%\}|^:{3,}[^\n]*$",
    re.MULTILINE,
)
_UNKNOWN = re.compile("[\ufffd\ufffe\uffff]")
_RUN = re.compile(r"[A-Za-z0-9+/]{60,}={0,2}")


def doubtful_text(blocks: Sequence[Block], *, has_marks: bool) -> str:
    """The remark on characters that stand for none, encoded data and, with `has_marks`, marks; "" for none.

    >>> doubtful_text([Block("See [[a|A]], [[b|B]] and {{c}}.")], has_marks=True)
    "marks left in the text: 3, such as '[[a|A]]'"
    >>> doubtful_text([Block("Caf\ufffd " + 16 * "aG9y" + "=")], has_marks=False)
    'unknown characters in the text: 1; encoded data in the text: 1'
    """
    remarks = [_remark_on_marks(blocks)] if has_marks else []
    n_unknown = sum(len(_UNKNOWN.findall(block.text)) for block in blocks)
    if n_unknown:
        remarks.append(f"unknown characters in the text: {n_unknown}")
    n_encoded = sum(map(_n_encoded, blocks))
    if n_encoded:
        remarks.append(f"encoded data in the text: {n_encoded}")
    return join_remarks(*filter(None, remarks))


def _remark_on_marks(blocks: Iterable[Block]) -> str:
    """The remark on marks of a wiki or of templates in prose; "" for fewer than `MIN_MARKS`."""
    marks = [
        mark
        for block in blocks
        if block.kind == PROSE
        for mark in _MARK.findall(block.text)
    ]
    if len(marks) < MIN_MARKS:
        return ""
    return f"marks left in the text: {len(marks)}, such as {quote(marks[0])}"


def _n_encoded(block: Block) -> int:
    """The number of runs in prose that base64 may have written: small and capital letters and digits."""
    if block.kind != PROSE:
        return 0
    return sum(
        not run.isalpha() and run.lower() != run and run.upper() != run
        for run in _RUN.findall(block.text)
    )
