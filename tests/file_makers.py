"""Small files of Word, PDF and Jupyter, as bytes."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping

from kg2rag.datasets import Documents

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def zip_of(parts: Mapping[str, str | bytes]) -> bytes:
    """A ZIP archive."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return sink.getvalue()


def docx_of(body: str, **parts: str) -> bytes:
    """A Word file of the elements of its body."""
    document = (
        f'<w:document xmlns:w="{W}" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
        f'xmlns:r="{OFFICE}"><w:body>{body}</w:body></w:document>'
    )
    return zip_of(
        {
            "word/document.xml": document,
            **{f"word/{name}.xml": text for name, text in parts.items()},
        }
    )


def paragraph(text: str, style: str = "") -> str:
    """A paragraph of Word."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def notebook_of(*cells: Mapping[str, object]) -> str:
    """A notebook of version 4."""
    return json.dumps(
        {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells)}
    )


def pdf_of(*pages: list[str]) -> bytes:
    """A PDF in Helvetica of 12 points."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * page} 0 R" for page in range(count))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {count}>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for page, lines in enumerate(pages):
        text = " T* ".join(f"({line}) Tj" for line in lines)
        stream = f"BT /F1 12 Tf 24 TL 72 720 Td {text} ET".encode()
        resources = b"/Resources<</Font<</F1 3 0 R>>>>"
        contents = 5 + 2 * page
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %d 0 R%s>>"
            % (contents, resources)
        )
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
    body = b"".join(
        b"%d 0 obj%s\nendobj\n" % (number, each)
        for number, each in enumerate(objects, start=1)
    )
    return b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R>>\n%%EOF"


def passages_of(documents: Documents) -> dict[str, tuple[str, str]]:
    """Id -> title and text of each passage."""
    return {passage.id: (passage.title, passage.text) for passage in documents.corpus}
