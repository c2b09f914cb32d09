"""Ending of a file's name -> its reader and the largest size that is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePath

from kg2rag.datasets.documents.archives import TARS
from kg2rag.datasets.documents.blocks import FileDocument
from kg2rag.datasets.documents.markup.markdown import read_markdown
from kg2rag.datasets.documents.markup.packed import (
    read_canvas,
    read_epub,
    read_notebook,
)
from kg2rag.datasets.documents.markup.references import (
    TAGGED_ENDINGS,
    read_references,
    read_tagged_references,
)
from kg2rag.datasets.documents.markup.xml import XML_ENDINGS, read_xml
from kg2rag.datasets.documents.messages.mail import (
    read_mail,
    read_mailbox,
    read_web_archive,
)
from kg2rag.datasets.documents.messages.subtitles import (
    SUBTITLE_ENDINGS,
    read_subtitles,
)
from kg2rag.datasets.documents.office.reader import (
    read_docx,
    read_opendocument,
    read_pptx,
)
from kg2rag.datasets.documents.pdf.reader import read_pdf
from kg2rag.datasets.documents.records.json_texts import (
    read_json,
    read_json_lines,
    read_yaml,
)
from kg2rag.datasets.documents.records.tables import TABLES
from kg2rag.datasets.documents.texts.plain import (
    FORMATS,
    read_manual,
    read_markup,
    read_plain,
    read_unknown,
)
from kg2rag.datasets.documents.web.html import read_html
from kg2rag.text.decoding import SAMPLE_BYTES
from kg2rag.text.records import SPREADSHEETS

Reader = Callable[[bytes, str], list[FileDocument]]
"""A function of the bytes of a file and its name that returns the documents in it."""

TEXT_ENDINGS = (".txt", ".text")
MANUAL_ENDINGS = (".man", *(f".{section}" for section in range(1, 9)))
READERS: Mapping[str, Reader] = {
    **dict.fromkeys(
        (".md", ".markdown", ".mdown", ".mdx", ".qmd", ".rmd"), read_markdown
    ),
    **dict.fromkeys(TEXT_ENDINGS, read_plain),
    "": read_unknown,
    **dict.fromkeys((".html", ".htm"), read_html),
    **dict.fromkeys(XML_ENDINGS, read_xml),
    ".pdf": read_pdf,
    **dict.fromkeys((".docx", ".docm", ".dotx"), read_docx),
    **dict.fromkeys((".pptx", ".pptm"), read_pptx),
    **dict.fromkeys((".odt", ".odp"), read_opendocument),
    ".epub": read_epub,
    ".ipynb": read_notebook,
    ".eml": read_mail,
    **dict.fromkeys((".mht", ".mhtml"), read_web_archive),
    ".mbox": read_mailbox,
    ".json": read_json,
    **dict.fromkeys((".jsonl", ".ndjson"), read_json_lines),
    **dict.fromkeys((".yaml", ".yml"), read_yaml),
    ".canvas": read_canvas,
    ".bib": read_references,
    **dict.fromkeys(TAGGED_ENDINGS, read_tagged_references),
    **dict.fromkeys(SUBTITLE_ENDINGS, read_subtitles),
    **dict.fromkeys(MANUAL_ENDINGS, read_manual),
    **dict.fromkeys(FORMATS, read_markup),
}
"""Ending -> the reader of documents."""
PAGE_ENDINGS = frozenset(
    ending
    for ending, reader in READERS.items()
    if reader in (read_markdown, read_plain, read_markup, read_html)
)
"""Endings of pages in a markup, or of text that may have one."""
ARCHIVES = (".zip", *TARS, *SPREADSHEETS)
"""Endings of files that are read as folders; a spreadsheet is a folder of tables."""
ENDINGS = tuple(filter(None, (*READERS, *TABLES, *ARCHIVES)))
MEDIA = frozenset(
    """.png .jpg .jpeg .gif .webp .bmp .tif .tiff .ico .svg .psd .heic .mp3 .wav .ogg .flac .m4a .aac .mp4 .m4v .mov
    .avi .mkv .webm .wmv .eps .ps .ttf .otf .woff .woff2 .eot .pfb .afm .tfm .exe .dll .so .iso .dmg .pyc .class
    .jar""".split()
)
"""Endings of pictures, sound, fonts and programs, which are not opened."""
# Lines of a mail's header, with a sender and a subject or id.
_HEADER = (
    rb"(?=(?:[^\r\n]+\r?\n)*?(?i:From):)(?=(?:[^\r\n]+\r?\n)*?(?i:Subject|Message-ID):)"
    rb"[A-Za-z][\w.-]*:[^\n]*\n(?:[A-Za-z][\w.-]*:|[ \t]+\S)"
)
_ENDINGS_OF_MAIL = (
    # `MailThreads` puts "From -" above a message and those that it may quote.
    (re.compile(rb"(?:From -\n)?" + _HEADER), ".eml"),
    (re.compile(rb"From [^\n]+\n" + _HEADER), ".mbox"),
)
_ENDING_OF_START = (
    *_ENDINGS_OF_MAIL,
    (re.compile(rb"%PDF-"), ".pdf"),
    (re.compile(rb"<\?xml"), ".xml"),
    (re.compile(rb"(?i)<!doctype html|<html"), ".html"),
    (re.compile(rb"\{\"[^\n]*\}\n"), ".jsonl"),
    (re.compile(rb"\{\s*\"|\[\s*[{\"]"), ".json"),
)
"""(pattern of the first bytes of a file, the ending that such a file should have)."""
MAX_TEXT_BYTES = 32_000_000
"""Largest text document: that of some thirty books, read in less than a minute."""
MAX_RECORDS_BYTES = 64_000_000
"""Largest table or mailbox, which has many documents."""
MAX_PACKED_BYTES = 512_000_000
"""Largest file that may contain pictures."""
_RECORDS = (*TABLES, ".json", ".mbox", ".xml")
_PACKED = (*".pdf .docx .docm .dotx .pptx .pptm .odt .odp .epub".split(), *ARCHIVES)
# wget names a file by the address of a page, "page.html?id=3".
_QUERY = re.compile(r"[?@].*")


def ending_of_content(data: bytes, ending: str = "") -> str:
    """The ending that a file should have by its first bytes.

    ending : the ending of its name if that is one of texts, which may be mail; "" for an unknown
    one. It is returned if the first bytes tell nothing.
    """
    start = data[:SAMPLE_BYTES].lstrip()
    marks = _ENDINGS_OF_MAIL if ending else _ENDING_OF_START
    return next(
        (start_ending for mark, start_ending in marks if mark.match(start)), ending
    )


def ending_of(name: str) -> str:
    """The ending of a file's name in lower case, such as ".md"; "" for none."""
    return _QUERY.sub("", PurePath(name).suffix).lower()


def limit_of(ending: str) -> int:
    """The largest size in bytes of a file with this ending."""
    if ending in _PACKED:
        return MAX_PACKED_BYTES
    if ending in _RECORDS:
        return MAX_RECORDS_BYTES
    return MAX_TEXT_BYTES
