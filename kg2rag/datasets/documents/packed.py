"""Notebooks and e-books, which contain pages of Markdown, text or HTML -> their blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kg2rag.datasets.documents.archives import Archive, attribute, named, resolve
from kg2rag.datasets.documents.blocks import (
    CODE,
    Block,
    FileDocument,
    joined_documents,
    one_line,
)
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.datasets.documents.html import page_document, read_html
from kg2rag.datasets.documents.markdown import markdown_document
from kg2rag.text.records import DataError, parse_json

MAX_OUTPUT_CHARACTERS = 20_000
"""Longest output of a notebook's cell; a longer one is a table or a log, and is left out."""
_OBJECT = re.compile(r"<[\w.]+ object[^<>]*>")  # how Python prints most objects


def read_notebook(data: bytes, name: str = "") -> list[FileDocument]:
    """The document of a Jupyter notebook of any version: its Markdown, code, and text outputs."""
    notebook = parse_json(decode_text(data).text, name or "notebook")
    if not isinstance(notebook, Mapping):
        raise DataError("it is no notebook: its JSON is no object.")
    return [
        joined_documents(
            [page for cell in _cells(notebook) for page in _cell_pages(cell)]
        )
    ]


def _cells(notebook: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The cells of a notebook; DataError: it has no list of cells."""
    cells = notebook.get("cells")
    if cells is None:  # format 3 has worksheets
        cells = [
            cell
            for sheet in notebook.get("worksheets") or []
            for cell in sheet.get("cells") or []
        ]
    if not isinstance(cells, list):
        raise DataError("it is no notebook: it has no list of cells.")
    return cells


def _cell_pages(cell: Mapping[str, Any]) -> Iterator[FileDocument]:
    """The page of a cell's text or code, and the pages of its outputs."""
    kind = cell.get("cell_type")
    text = _joined(cell.get("source", cell.get("input", "")))
    if kind == "heading":
        text = f"{'#' * int(cell.get('level', 1))} {text}"
    if kind in ("markdown", "heading"):
        yield markdown_document(text)
    else:
        yield _code_document(text)
    for output in cell.get("outputs") or []:
        yield _output_page(output)


def _output_page(output: Mapping[str, Any]) -> FileDocument:
    """The text of an output as a page; that of an error is its message.

    Richer forms of an output are read only if the plain text is empty or names an object
    (`<… object>`).
    """
    data = output.get("data", output)
    text = _joined(data.get("text/plain", data.get("text", "")))
    if "ename" in output:
        text = f"{output['ename']}: {output.get('evalue', '')}"
    if _OBJECT.fullmatch(text.strip()) or not text.strip():
        if markdown := _joined(data.get("text/markdown", data.get("markdown", ""))):
            return markdown_document(markdown)
        if page := _joined(data.get("text/html", data.get("html", ""))):
            return page_document(page)
        text = _joined(data.get("text/latex", data.get("latex", ""))) or text
    if len(text) > MAX_OUTPUT_CHARACTERS:
        return FileDocument([], source=text, left_out=text)
    return _code_document(text)


def _code_document(text: str) -> FileDocument:
    """A document of one block of code."""
    return FileDocument([Block(text.strip("\n"), kind=CODE)], source=text)


def _joined(text: Any) -> str:
    """The text of a field of a notebook, which may be a list of lines; "" for none."""
    return "".join(map(str, text)) if isinstance(text, list) else str(text or "")


def read_epub(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of an e-book: its pages in the order of its spine."""
    archive = Archive(data)
    if (
        "META-INF/encryption.xml" in archive.names
        and "META-INF/rights.xml" in archive.names
    ):
        raise DataError("it is encrypted.")
    rootfiles = [
        attribute(file, "full-path")
        for file in named(archive.xml("META-INF/container.xml"), "rootfile")
    ]
    if not rootfiles:
        raise DataError("it is no e-book: its container names no package.")
    package = archive.xml(rootfiles[0])
    pages = [
        page
        for part in _spine(package, rootfiles[0])
        for page in read_html(archive.read(part))
    ]
    titles = [
        one_line("".join(element.itertext())) for element in named(package, "title")
    ]
    headings = [Block(title, 1) for title in titles[:1]]
    return [joined_documents([FileDocument(headings), *pages])]


def _spine(package: Any, package_name: str) -> Iterator[str]:
    """The names of an e-book's pages in reading order, without its table of contents."""
    items = {attribute(item, "id"): item for item in named(package, "item")}
    for reference in named(package, "itemref"):
        item = items.get(attribute(reference, "idref"))
        if item is not None and "nav" not in attribute(item, "properties").split():
            yield resolve(package_name, attribute(item, "href"))
