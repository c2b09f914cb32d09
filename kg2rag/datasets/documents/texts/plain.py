"""Files of text -> their documents; light markup and other kinds of text are recognised by their marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from kg2rag.datasets.documents.blocks import (
    FileDocument,
    join_remarks,
    plain_document,
)
from kg2rag.datasets.documents.markup.packed import script_notebook
from kg2rag.datasets.documents.markup.pandoc import markup_document
from kg2rag.datasets.documents.markup.references import (
    is_tagged_list,
    tagged_documents,
)
from kg2rag.datasets.documents.messages.armour import without_armour
from kg2rag.datasets.documents.messages.calendars import calendar_documents, is_calendar
from kg2rag.datasets.documents.messages.chats import chat_document
from kg2rag.datasets.documents.pdf.reader import pdf_blocks
from kg2rag.datasets.documents.terminal import shown_on_terminal
from kg2rag.datasets.documents.texts.libraries import is_library_text, library_documents
from kg2rag.datasets.documents.texts.text_collections import (
    collection_documents,
    is_collection,
)
from kg2rag.datasets.documents.wiki_folders import DOKUWIKI_HEADING
from kg2rag.text.decoding import decode_text
from kg2rag.text.records import DataError

MAX_MARKUP_BYTES = 5_000_000
"""Largest file that pandoc reads; a book has one million bytes."""
FORMATS = {
    ".rst": "rst",
    ".rest": "rst",
    ".org": "org",
    ".tex": "latex",
    ".latex": "latex",
    ".bbl": "latex",
    ".adoc": "asciidoc",
    ".asciidoc": "asciidoc",
    ".textile": "textile",
    ".mediawiki": "mediawiki",
    ".wiki": "mediawiki",
    ".typ": "typst",
    ".rtf": "rtf",
    ".creole": "creole",
    ".dj": "djot",
    ".dokuwiki": "dokuwiki",
    ".jira": "jira",
    ".muse": "muse",
    ".pod": "pod",
    ".t2t": "t2t",
}
"""Ending -> pandoc's name of the format."""
_MDOC = re.compile(r"(?m)^\.Dd\b")
_DIRECTIVE = re.compile(r"(?m)^[ \t]*\.\. [\w:-]+::")
_PAGE_FOOT = re.compile(r"(?m)^[^\n]+\[Page [\divxlc]+\][ \t]*$")
"""The last line of a page of an RFC."""
_JIRA_HEADING = re.compile(r"(?m)^h[1-6]\. ")
_ROLE = re.compile(r":[a-z]+(?::[a-z]+)?:`[^`\n]+`")
_UNDERLINE = re.compile(r"(?m)^(\S[^\n]{2,100})\n([=\-~^\"'*+#]){3,}[ \t]*$")


def read_plain(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The documents of a text file.

    It may be reStructuredText or DokuWiki, of one of the `_KINDS`, a chat, or else plain text.
    """
    text, remark = decode_text(data)
    if "\x1b[" in text:  # a log with colours
        text = shown_on_terminal(text)
    markup = _kind_of_text(text)
    if markup and len(data) <= MAX_MARKUP_BYTES:
        return [markup_document(text, markup, remark)]
    for is_kind, documents_of in _KINDS:
        if is_kind(text):
            return list(documents_of(text, remark))
    document = plain_document(text, remark)
    return [chat_document(text, remark) or without_armour(document)]


def read_unknown(data: bytes, name: str = "") -> list[FileDocument]:
    """The documents of a file of unknown kind, as plain text or as a notebook kept as a script.

    DataError: its bytes are no text.
    """
    notebook = script_notebook(*decode_text(data))
    if notebook:
        return [notebook]
    documents = read_plain(data, name)
    if documents and documents[0].key:
        return documents
    return [
        replace(document, remark=join_remarks(document.remark, "plain text"))
        for document in documents
    ]


def _has_pages(text: str) -> bool:
    """Whether a text has form feeds, or the last lines of pages of an RFC."""
    return "\f" in text or len(_PAGE_FOOT.findall(text)) > 1


def _paged_documents(text: str, remark: str) -> Iterator[FileDocument]:
    """The document of a text whose pages end with form feeds, without running heads and feet."""
    if "\f" not in text:
        text = _PAGE_FOOT.sub("\\g<0>\f", text)
    pages = [
        [line.strip() for line in page.strip().split("\n")] for page in text.split("\f")
    ]
    blocks, left_out, source = pdf_blocks(pages, {})
    yield FileDocument(
        blocks, source=source, left_out="\n".join(left_out), remark=remark
    )


_KINDS: Sequence[
    tuple[Callable[[str], bool], Callable[[str, str], Iterable[FileDocument]]]
] = (
    (is_tagged_list, tagged_documents),
    (is_collection, collection_documents),
    (is_library_text, library_documents),
    (_has_pages, _paged_documents),
    (is_calendar, calendar_documents),
)
"""(whether a text is of a kind, its documents): references, collections, books, pages, calendars."""


def _kind_of_text(text: str) -> str:
    """The format of a text by its markup, "rst" or "dokuwiki"; "" for plain text."""
    if looks_like_rst(text):
        return "rst"
    if DOKUWIKI_HEADING.search(text[:100_000]):
        return "dokuwiki"
    return ""


def looks_like_rst(text: str) -> bool:
    """Whether a text is reStructuredText.

    It has two directives or roles, or one of them and an underlined heading.
    """
    sample = text[:100_000]
    n_marks = len(_DIRECTIVE.findall(sample)) + len(_ROLE.findall(sample))
    return n_marks > 1 or (n_marks == 1 and bool(_UNDERLINE.search(sample)))


def read_markup(data: bytes, name: str) -> list[FileDocument]:
    """The document of a file in light markup; the ending of its name tells the format.

    DataError: it has more than `MAX_MARKUP_BYTES`, or is no text.
    """
    ending = name[name.rfind(".") :].lower()
    if len(data) > MAX_MARKUP_BYTES:
        raise DataError(
            f"it has {len(data):,} bytes; of this kind at most {MAX_MARKUP_BYTES:,} are read. Divide it."
        )
    decoded = decode_text(data)
    kind = FORMATS[ending]
    if ending == ".wiki" and _JIRA_HEADING.search(decoded.text):
        kind = "jira"
    return [markup_document(decoded.text, kind, decoded.remark)]


def read_manual(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a manual page in roff; a file that begins with no request is plain text."""
    decoded = decode_text(data)
    if decoded.text.lstrip()[:1] not in (".", "'"):
        return [plain_document(*decoded)]
    kind = "mdoc" if _MDOC.search(decoded.text) else "man"
    return [markup_document(decoded.text, kind, decoded.remark)]
