"""Ending of a file's name -> its reader, and how large such a file may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kg2rag.datasets.documents.blocks import FileDocument
from kg2rag.datasets.documents.html import read_html
from kg2rag.datasets.documents.markdown import read_markdown
from kg2rag.datasets.documents.office import read_docx, read_opendocument, read_pptx
from kg2rag.datasets.documents.packed import read_epub, read_mail, read_mailbox, read_notebook
from kg2rag.datasets.documents.pdf import read_pdf
from kg2rag.datasets.documents.plain import FORMATS, read_markup, read_plain
from kg2rag.datasets.documents.tables import TABLES, read_json

Reader = Callable[[bytes, str], list[FileDocument]]
"""The bytes of a file and its name -> its documents."""

READERS: Mapping[str, Reader] = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mdx", ".qmd", ".rmd"), read_markdown),
    **dict.fromkeys((".txt", ".text"), read_plain),
    **dict.fromkeys((".html", ".htm", ".xhtml"), read_html),
    ".pdf": read_pdf,
    **dict.fromkeys((".docx", ".docm", ".dotx"), read_docx),
    **dict.fromkeys((".pptx", ".pptm"), read_pptx),
    **dict.fromkeys((".odt", ".odp"), read_opendocument),
    ".epub": read_epub,
    ".ipynb": read_notebook,
    ".eml": read_mail,
    ".mbox": read_mailbox,
    ".json": read_json,
    **dict.fromkeys(FORMATS, read_markup),
}
"""Ending -> the reader of documents."""
ENDINGS = (*READERS, *TABLES)
MAX_TEXT_BYTES = 32_000_000
"""Of a document of text; five hundred books have so many, and are read in less than a minute."""
MAX_RECORDS_BYTES = 64_000_000
"""Of a table or mailbox, which holds many documents."""
MAX_PDF_BYTES = 512_000_000
"""Of files that hold pictures beside their text."""
MAX_BYTES: Mapping[str, int] = {
    **dict.fromkeys(ENDINGS, MAX_TEXT_BYTES),
    **dict.fromkeys((*TABLES, ".json", ".mbox"), MAX_RECORDS_BYTES),
    **dict.fromkeys(
        (".pdf", ".docx", ".docm", ".pptx", ".pptm", ".odt", ".odp", ".epub"), MAX_PDF_BYTES
    ),
}
"""Ending -> the size of a file that is read at most."""
