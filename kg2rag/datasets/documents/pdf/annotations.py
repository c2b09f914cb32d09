"""The annotations of a PDF -> the texts that were written on its pages, and the comments on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ctypes import c_ushort
from typing import Any, NamedTuple

from kg2rag.datasets.documents.blocks import Block, counted_remark, one_line
from kg2rag.datasets.documents.pdf.letters import PageText

MAX_CHARACTERS = 20_000
"""Longest text of an annotation that is read."""


class Annotations(NamedTuple):
    """The annotations of a document.

    Attributes
    ----------
    blocks : texts that stand on the pages, as people fill in a page that has no form.
    comments : notes, which a page shows when somebody opens them; they are left out.
    """

    blocks: list[Block]
    comments: list[str]


def annotations_of(pages: Sequence[PageText]) -> Annotations:
    """The annotations of a document, page by page."""
    import pypdfium2.raw as pdfium

    blocks = list[Block]()
    comments = list[str]()
    for number, page in enumerate(pages, start=1):
        for kind, text in _texts(page.text_page.page.raw):
            if kind == pdfium.FPDF_ANNOT_FREETEXT:
                blocks.append(Block(text, page=number, last_page=number))
            else:
                comments.append(text)
    return Annotations(blocks, comments)


def _texts(page: Any) -> Iterator[tuple[int, str]]:
    """The kind and the text of each annotation of a page but fields of forms, links and their windows."""
    import pypdfium2.raw as pdfium

    without_text = (
        pdfium.FPDF_ANNOT_WIDGET,
        pdfium.FPDF_ANNOT_LINK,
        pdfium.FPDF_ANNOT_POPUP,
    )
    for index in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        buffer = (c_ushort * MAX_CHARACTERS)()
        n_bytes = pdfium.FPDFAnnot_GetStringValue(
            annotation, b"Contents", buffer, 2 * MAX_CHARACTERS
        )
        pdfium.FPDFPage_CloseAnnot(annotation)
        data = bytes(buffer)[: min(n_bytes, 2 * MAX_CHARACTERS)]
        text = one_line(data.decode("utf-16-le", "replace").rstrip("\0"))
        if text and kind not in without_text:
            yield kind, text


def remark_on_attachments(document: Any) -> str:
    """The remark on files that are attached to a document; "" for none."""
    import pypdfium2.raw as pdfium

    n_files = pdfium.FPDFDoc_GetAttachmentCount(document.raw)
    return counted_remark("attached files are not read", n_files)
