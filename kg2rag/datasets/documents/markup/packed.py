"""Notebooks, canvases and e-books, which contain pages of Markdown, text or HTML -> their blocks.

A notebook may be kept as a script: Databricks' source, or cells of `# %%`, which Jupytext, VS Code
and Spyder write. A canvas (Obsidian, JSON Canvas) has cards and arrows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

from kg2rag.datasets.documents.archives import Archive, attribute, named, resolve
from kg2rag.datasets.documents.blocks import (
    CODE,
    Block,
    FileDocument,
    joined_documents,
    one_line,
    plain_document,
)
from kg2rag.datasets.documents.markup.markdown import markdown_document
from kg2rag.datasets.documents.terminal import shown_on_terminal
from kg2rag.datasets.documents.web.html import page_document, read_html
from kg2rag.text.decoding import decode_text
from kg2rag.text.records import DataError, parse_json

MAX_OUTPUT_CHARACTERS = 20_000
"""Longest output of a notebook's cell; a longer one is a table or a log, and is left out."""
_OBJECT = re.compile(r"<[\w.]+ object[^<>]*>")  # how Python prints most objects
_ADDRESSES = re.compile(
    r"[\[(]?(?:<[\w.]+(?: object)? at 0x[0-9a-fA-F]+>[,\s]*)+[\])]?"
)
"""Objects of Python by their addresses, as a call that draws returns them."""
_PRINTED_OBJECT = re.compile(r"<[^<>]*>")
_DATABRICKS = re.compile(r"(#|--|//) Databricks notebook source[ \t]*\n")
_CELL = re.compile(r"(?m)^# ?%%(?:[ \t]+([^\n]*))?\n")
_KIND = re.compile(r"\[(\w+)\]|\b[\w.]+=\S+")
"""The kind of a cell of `# %%`, and its settings; the other words are its title."""
_HEADER = re.compile(r"\A# ---\n(?:#[^\n]*\n)*?# ---\n")
_COMMENT = re.compile(r"(?m)^# ?")
_FRONT = frozenset(
    "cover title-page titlepage halftitle halftitlepage copyright-page".split()
)
"""Kinds of pages of an e-book, in its guide and in `epub:type`, that are no text of the book."""
_DIVISIONS = frozenset(("frontmatter", "bodymatter", "backmatter"))
_KIND_OF_PART = re.compile(
    rb"""<(?:body|section|article|div|nav)\b[^>]*\bepub:type=["']([\w\s:-]+)["']"""
)
_QUOTES = re.compile(r'(?s)\s*r?("""|\'\'\')(.*)\1\s*')


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
    for output in _joined_streams(cell.get("outputs") or []):
        yield _output_page(output)


def _joined_streams(
    outputs: Iterable[Mapping[str, Any]],
) -> Iterator[Mapping[str, Any]]:
    """The outputs of a cell; adjacent parts of a stream, such as states of a progress bar, are one."""
    for stream, group in groupby(outputs, lambda output: output.get("name")):
        parts = list(group)
        if stream is None or any("text" not in part for part in parts):
            yield from parts
        else:
            yield {**parts[0], "text": "".join(_joined(part["text"]) for part in parts)}


def _output_page(output: Mapping[str, Any]) -> FileDocument:
    """The text of an output as a page; that of an error is its message.

    Richer forms of an output are read only if the plain text is empty or names an object
    (`<… object>`). What Python prints of a figure is left out beside its picture.
    """
    data = output.get("data", output)
    text = _joined(data.get("text/plain", data.get("text", "")))
    if "ename" in output:
        text = f"{output['ename']}: {output.get('evalue', '')}"
    is_picture = any(kind.startswith("image/") for kind in data)
    if is_picture and _PRINTED_OBJECT.fullmatch(text.strip()):
        return FileDocument([], source=text, left_out=text)
    is_address = _ADDRESSES.fullmatch(text.strip()) is not None
    if is_address or _OBJECT.fullmatch(text.strip()) or not text.strip():
        unshown = FileDocument([], source=text, left_out=text)
        return _rich_form(data) or (unshown if is_address else _printed(text))
    return _printed(text)


def _printed(text: str) -> FileDocument:
    """A document of what a cell printed, as a terminal shows it; a long one is left out."""
    text = shown_on_terminal(text)
    if len(text) > MAX_OUTPUT_CHARACTERS:
        return FileDocument([], source=text, left_out=text)
    return _code_document(text)


def _rich_form(data: Mapping[str, Any]) -> FileDocument | None:
    """An output as Markdown, HTML or LaTeX, the first that it has."""
    markdown = _joined(data.get("text/markdown", data.get("markdown", "")))
    if markdown:
        return markdown_document(markdown)
    page = _joined(data.get("text/html", data.get("html", "")))
    if page:
        return page_document(page)
    latex = _joined(data.get("text/latex", data.get("latex", "")))
    return _printed(latex) if latex else None


def _code_document(text: str) -> FileDocument:
    """A document of one block of code."""
    return FileDocument([Block(text.strip("\n"), kind=CODE)], source=text)


def _joined(text: Any) -> str:
    """The text of a field of a notebook, which may be a list of lines; "" for none."""
    if isinstance(text, list):
        return "".join(map(str, text))
    return str(text or "")


def script_notebook(text: str, remark: str = "") -> FileDocument | None:
    """The document of a notebook in a script; None for any other text."""
    databricks = _DATABRICKS.match(text)
    if databricks:
        cells = list(_databricks_cells(text[databricks.end() :], databricks[1]))
        return joined_documents(cells, remark)
    if not _CELL.search(text):
        return None
    header = _HEADER.match(text)
    left_out = header[0] if header else ""
    top, *parts = _CELL.split(text[len(left_out) :])
    cells = [_code_document(top)]
    for title, cell in zip(parts[::2], parts[1::2], strict=True):
        cells += _percent_cell(title or "", cell)
    settings = FileDocument([], source=left_out, left_out=left_out)
    return joined_documents([settings, *cells], remark)


def _databricks_cells(text: str, mark: str) -> Iterator[FileDocument]:
    """The cells of Databricks' source; `mark` begins a comment in the language of the script."""
    mark = re.escape(mark)
    title = re.compile(rf"(?m)^{mark} DBTITLE \d+,([^\n]*)\n?")
    magic = re.compile(rf"(?m)^{mark} MAGIC ?")
    for cell in re.split(rf"(?m)^{mark} COMMAND -+[ \t]*$", text):
        yield from map(plain_document, title.findall(cell))
        content = magic.sub("", title.sub("", cell)).strip()
        kind, _, body = content.partition("\n")
        kind, _, title_line = kind.partition(" ")
        if kind.startswith("%md"):
            yield markdown_document(f"{title_line}\n{body}")
        else:
            yield _code_document(content)


def _percent_cell(header: str, cell: str) -> Iterator[FileDocument]:
    """The title of a cell of `# %%` and its text or code."""
    yield plain_document(_KIND.sub("", header).strip())
    kind = re.match(r"[^\[]*\[(\w+)\]", header)
    if kind is None or kind[1] not in ("markdown", "md"):
        yield _code_document(cell)
        return
    quoted = _QUOTES.fullmatch(cell)
    yield markdown_document(quoted[2] if quoted else _COMMENT.sub("", cell))


def read_epub(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of an e-book: its pages in the order of its spine, without title pages and copyright pages."""
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
    fronts = _front_pages(package, rootfiles[0])
    pages = list[FileDocument]()
    for part in _spine(package, rootfiles[0]):
        data = archive.read(part)
        is_front = part in fronts or _is_front_page(data)
        documents = read_html(data)
        pages += map(_left_out, documents) if is_front else documents
    titles = [
        one_line("".join(element.itertext())) for element in named(package, "title")
    ]
    headings = [Block(title, 1) for title in titles[:1]]
    return [joined_documents([FileDocument(headings), *pages])]


def _front_pages(package: Any, package_name: str) -> set[str]:
    """The names of the pages that the guide of an e-book calls cover, title page and so on."""
    return {
        resolve(package_name, attribute(reference, "href").partition("#")[0])
        for reference in named(package, "reference")
        if attribute(reference, "type").casefold() in _FRONT
    }


def _is_front_page(page: bytes) -> bool:
    """Whether all parts of a page with a kind are of the front matter, such as a title page."""
    kinds = [set(names.decode().split()) for names in _KIND_OF_PART.findall(page)]
    specific = [kind - _DIVISIONS for kind in kinds if kind - _DIVISIONS]
    return bool(specific) and not any(map(_FRONT.isdisjoint, specific))


def _left_out(page: FileDocument) -> FileDocument:
    """A page without blocks, whose text is left out."""
    return replace(page, blocks=[], left_out=page.source)


def _spine(package: Any, package_name: str) -> Iterator[str]:
    """The names of an e-book's pages in reading order, without its table of contents."""
    items = {attribute(item, "id"): item for item in named(package, "item")}
    for reference in named(package, "itemref"):
        item = items.get(attribute(reference, "idref"))
        if item is not None and "nav" not in attribute(item, "properties").split():
            yield resolve(package_name, attribute(item, "href"))


def read_canvas(data: bytes, name: str = "") -> list[FileDocument]:
    """The document of a canvas: the texts, labels, files and addresses of its cards and arrows.

    DataError: it is no canvas.
    """
    canvas = parse_json(decode_text(data).text, name or "canvas")
    if not isinstance(canvas, Mapping) or not isinstance(canvas.get("nodes"), list):
        raise DataError("it is no canvas: its JSON has no list of nodes.")
    cards = joined_documents(
        [
            markdown_document("\n\n".join(_texts(part)))
            for part in [*canvas["nodes"], *(canvas.get("edges") or [])]
            if isinstance(part, Mapping)
        ]
    )
    # A heading of level 1 names a card, not the canvas.
    blocks = [
        block._replace(level=block.level + bool(block.level)) for block in cards.blocks
    ]
    return [replace(cards, blocks=blocks)]


def _texts(part: Mapping[str, Any]) -> Iterator[str]:
    """The label, text, address and file of a card or an arrow, as Markdown."""
    for name in ("label", "text", "url"):
        yield str(part.get(name) or "")
    if part.get("file"):
        yield f"[[{part['file']}]]"
