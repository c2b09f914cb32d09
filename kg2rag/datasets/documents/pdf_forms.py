"""The values of a form in a PDF, each behind the name of its field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from ctypes import c_ushort
from typing import Any

from kg2rag.datasets.documents.blocks import Block, one_line

MAX_VALUE = 20_000
"""Longest value in characters."""
_OFF = ("", "Off")
"""Values of fields that are not filled in."""
_PATH = re.compile(r".*\.|\[\d+\]")
"""The fields above a field, and its number, in a full name such as `form[0].page[0].City[0]`."""


def form_blocks(document: Any) -> Iterator[Block]:
    """The values of the fields that are filled in, page by page, as "name: value"."""
    import pypdfium2.raw as pdfium

    document.init_forms()
    for number, page in enumerate(document, start=1):
        for index in range(pdfium.FPDFPage_GetAnnotCount(page.raw)):
            field = pdfium.FPDFPage_GetAnnot(page.raw, index)
            value = _text(pdfium.FPDFAnnot_GetFormFieldValue, document, field)
            label = _text(pdfium.FPDFAnnot_GetFormFieldAlternateName, document, field)
            name = _text(pdfium.FPDFAnnot_GetFormFieldName, document, field)
            pdfium.FPDFPage_CloseAnnot(field)
            if value not in _OFF:
                label = label or _PATH.sub("", name)
                yield Block(f"{label}: {value}", page=number, last_page=number)


def _text(read: Callable[..., int], document: Any, field: Any) -> str:
    """A text of a field by one of pdfium's functions, which fill a buffer of UTF-16; "" for none."""
    buffer = (c_ushort * MAX_VALUE)()
    n_bytes = read(document.formenv.raw, field, buffer, 2 * MAX_VALUE)
    data = bytes(buffer)[: min(n_bytes, 2 * MAX_VALUE)]
    return one_line(data.decode("utf-16-le", "replace").rstrip("\0"))
