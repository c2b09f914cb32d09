"""Notebooks, mail and e-books, which contain pages of Markdown, text or HTML -> their blocks."""

from __future__ import annotations

import mailbox
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
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
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.datasets.documents.html import page_document, read_html
from kg2rag.datasets.documents.markdown import markdown_document
from kg2rag.text.records import DataError, parse_json
from kg2rag.text.scripts import words

MAX_OUTPUT_CHARACTERS = 20_000
"""Longest output of a notebook's cell; a longer one is a table or a log, and is left out."""
_PART_READERS: Mapping[str, Callable[[str], FileDocument]] = {
    "text/html": page_document
}
_HEADERS = ("From", "To", "Cc", "Date")
# A line of a text that would begin a message is quoted by ">".
_QUOTED_FROM = re.compile(rb"(?m)^>(>*From )")
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


def read_mail(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a message: subject, sender, receivers and date, and its text; attachments are named."""
    return [_message_document(data)]


def read_mailbox(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """A document for each message of a mailbox."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "mailbox")
        file.write_bytes(data)
        with closing(mailbox.mbox(file, create=False)) as box:
            messages = [
                _QUOTED_FROM.sub(rb"\1", box.get_bytes(key))
                for key in box.keys()  # noqa: SIM118
            ]
    if not messages:
        raise DataError("it is no mailbox: no line begins with 'From '.")
    return [
        replace(_message_document(message), key=str(number))
        for number, message in enumerate(messages)
    ]


def read_web_archive(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a page that a browser saved as one file (MHTML); DataError: it has no page."""
    message = message_from_bytes(data, policy=policy.default)
    pages = [
        page_document(_content(part))
        for part in message.walk()
        if part.get_content_type() in ("text/html", "application/xhtml+xml")
    ]
    if not pages:
        raise DataError("it has no page of HTML. Is it a web archive, saved whole?")
    return [replace(joined_documents(pages), title=pages[0].title)]


def _message_document(data: bytes) -> FileDocument:
    """The document of a message: its header and texts; the remark names its attachments."""
    message = message_from_bytes(data, policy=policy.default)
    assert isinstance(message, EmailMessage)
    attached = [
        part.get_filename() or part.get_content_type()
        for part in message.walk()
        if _is_attached(part)
    ]
    pages = [_header_document(message, level=1), *_message_documents(message)]
    remark = f"attachments are not read: {', '.join(attached[:5])}" if attached else ""
    return joined_documents(pages, remark)


def _is_attached(part: Any) -> bool:
    """Whether a part of a message is an attachment: neither text nor a container of texts."""
    return part.get_content_maintype() not in ("text", "multipart", "message")


def _header_document(message: Any, level: int) -> FileDocument:
    """The document of a message's subject, a heading of this level, and of its other headers."""
    subject = one_line(str(message.get("Subject", "")))
    headers = [
        f"{header}: {one_line(str(message[header]))}"
        for header in _HEADERS
        if message[header]
    ]
    blocks = [Block(subject, level), Block("\n".join(headers))]
    return FileDocument(blocks, source="\n".join([subject, *headers]))


def _message_documents(part: Any) -> Iterator[FileDocument]:
    """The documents of the texts in a message or a part of it, in their order.

    Of alternative texts the one with the most words is read; forwarded messages have their headers.
    """
    kind = part.get_content_type()
    if kind == "message/rfc822" and part.is_multipart():
        [message] = part.get_payload()
        yield _header_document(message, level=2)
        yield from _message_documents(message)
    elif part.is_multipart():
        pages = [
            joined_documents(list(_message_documents(subpart)))
            for subpart in part.iter_parts()
        ]
        if kind == "multipart/alternative":
            pages = [_longest(pages)]
        yield from pages
    elif not _is_attached(part):
        read = _PART_READERS.get(kind, plain_document)
        yield read(_content(part))


def _longest(pages: list[FileDocument]) -> FileDocument:
    """The page with the most words; the others, which say the same, are left out."""
    longest = max(pages, key=lambda page: len(words(page.source)))
    others = [page.source for page in pages if page is not longest]
    return replace(longest, left_out="\n".join([longest.left_out, *others]))


def _content(part: Any) -> str:
    """The text of a part, in its declared encoding or, if that is wrong or unknown, in a guessed one."""
    return decode_text(
        part.get_payload(decode=True) or b"", part.get_content_charset("")
    ).text


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
