"""Notebooks, mail and e-books -> their blocks: files that hold pages of Markdown, text or HTML."""

from __future__ import annotations

import mailbox
import posixpath
import tempfile
from collections.abc import Iterator, Mapping
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from kg2rag.datasets.documents.archives import Archive, attribute, named, resolve
from kg2rag.datasets.documents.blocks import CODE, Block, FileDocument, one_line, paragraphs
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.datasets.documents.html import page_document, read_html
from kg2rag.datasets.documents.markdown import markdown_document
from kg2rag.text.records import DataError, parse_json

MAX_OUTPUT_CHARACTERS = 20_000
"""Of one output of a notebook's cell; what is longer is a table or a log, and is left out."""
_HEADERS = ("From", "To", "Cc", "Date")


def read_notebook(data: bytes, name: str = "") -> list[FileDocument]:
    """The document of a Jupyter notebook of any version: its Markdown, its code, and outputs that are text."""
    notebook = parse_json(decode_text(data).text, name or "notebook")
    if not isinstance(notebook, Mapping):
        raise DataError("it is no notebook: its JSON is no object.")
    pages = [page for cell in _cells(notebook) for page in _cell_pages(cell)]
    return [
        FileDocument(
            [block for page in pages for block in page.blocks],
            source="\n".join(page.source for page in pages),
            left_out="\n".join(page.left_out for page in pages),
        )
    ]


def _cells(notebook: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    cells = notebook.get("cells")
    if cells is None:  # of version 3
        cells = [cell for sheet in notebook.get("worksheets") or [] for cell in sheet.get("cells") or []]
    if not isinstance(cells, list):
        raise DataError("it is no notebook: it has no list of cells.")
    return cells


def _cell_pages(cell: Mapping[str, Any]) -> Iterator[FileDocument]:
    """The text or code of a cell, and its outputs."""
    kind = cell.get("cell_type")
    text = _joined(cell.get("source", cell.get("input", "")))
    if kind == "heading":
        text = f"{'#' * int(cell.get('level', 1))} {text}"
    if kind in ("markdown", "heading"):
        yield markdown_document(text)
    else:
        yield _listing(text)
    for output in _outputs(cell):
        if len(output) > MAX_OUTPUT_CHARACTERS:
            yield FileDocument([], source=output, left_out=output)
        else:
            yield _listing(output)


def _listing(text: str) -> FileDocument:
    blocks = [Block(text.strip("\n"), kind=CODE)] if text.strip() else []
    return FileDocument(blocks, source=text)


def _joined(text: Any) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text or "")


def _outputs(cell: Mapping[str, Any]) -> Iterator[str]:
    """The outputs of a cell that are text."""
    for output in cell.get("outputs") or []:
        data = output.get("data", output)
        yield _joined(output.get("text", "") if "data" not in output else data.get("text/plain", ""))


def read_mail(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a message: subject, sender, receivers and date, and its text; attachments are named."""
    return [_message_document(data)]


def read_mailbox(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """A document for each message of a mailbox."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "mailbox")
        file.write_bytes(data)
        box = mailbox.mbox(file, create=False)
        try:
            messages = [box.get_bytes(key) for key in box.keys()]  # noqa: SIM118
        finally:
            box.close()
    if not messages:
        raise DataError("it is no mailbox: no line begins with 'From '.")
    documents = [_message_document(message) for message in messages]
    return [FileDocument(**{**vars(each), "key": str(number)}) for number, each in enumerate(documents)]


def _message_document(data: bytes) -> FileDocument:
    message = message_from_bytes(data, policy=policy.default)
    assert isinstance(message, EmailMessage)
    subject = one_line(str(message.get("Subject", "")))
    headers = [f"{header}: {one_line(str(message[header]))}" for header in _HEADERS if message[header]]
    body = message.get_body(("plain", "html"))
    text = _content(body) if body is not None else ""
    is_html = body is not None and body.get_content_type() == "text/html"
    page = page_document(text) if is_html else FileDocument(list(paragraphs(text)), source=text)
    attached = [part.get_filename() or part.get_content_type() for part in message.iter_attachments()]
    blocks = [Block(subject, 1)] if subject else []
    blocks += [Block("\n".join(headers))] if headers else []
    return FileDocument(
        [*blocks, *page.blocks],
        source="\n".join([subject, *headers, page.source]),
        left_out=page.left_out,
        remark=f"attachments are not read: {', '.join(attached[:5])}" if attached else "",
    )


def _content(part: Any) -> str:
    """The text of a part, by its declared encoding or, where that is wrong or unknown, by a guess."""
    data = part.get_payload(decode=True) or b""
    return decode_text(data, part.get_content_charset("")).text


def read_epub(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of an e-book: its pages in the order of its spine."""
    archive = Archive(data)
    if "META-INF/encryption.xml" in archive.names and "META-INF/rights.xml" in archive.names:
        raise DataError("it is encrypted.")
    rootfiles = [attribute(file, "full-path") for file in named(archive.xml("META-INF/container.xml"), "rootfile")]
    if not rootfiles:
        raise DataError("it is no e-book: its container names no package.")
    package = archive.xml(rootfiles[0])
    titles = ["".join(element.itertext()) for element in named(package, "title")]
    items = {attribute(item, "id"): item for item in named(package, "item")}
    order = [items.get(attribute(reference, "idref")) for reference in named(package, "itemref")]
    blocks, source, left_out = list[Block](), list[str](), list[str]()
    for item in order:
        if item is None or "nav" in attribute(item, "properties").split():
            continue
        part = resolve(rootfiles[0], attribute(item, "href"))
        if part not in archive.names:
            raise DataError(f"its page {posixpath.basename(part)!r} is lacking. Is the file complete?")
        [page] = read_html(archive.read(part))
        blocks += page.blocks
        source.append(page.source)
        left_out.append(page.left_out)
    title = one_line(titles[0]) if titles else ""
    heading = [Block(title, 1)] if title else []
    return [FileDocument([*heading, *blocks], source="\n".join(source), left_out="\n".join(left_out))]
