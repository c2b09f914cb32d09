"""Notebooks that are kept as scripts -> their cells: Databricks' source, and cells of `# %%`.

Jupytext, VS Code and Spyder write the latter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kg2rag.datasets.documents.blocks import (
    CODE,
    Block,
    FileDocument,
    joined_documents,
    plain_document,
)
from kg2rag.datasets.documents.markdown import markdown_document

_DATABRICKS = re.compile(r"(#|--|//) Databricks notebook source[ \t]*\n")
_CELL = re.compile(r"(?m)^# ?%%(?:[ \t]+([^\n]*))?\n")
_KIND = re.compile(r"\[(\w+)\]|\b[\w.]+=\S+")
"""The kind of a cell of `# %%`, and its settings; the other words are its title."""
_HEADER = re.compile(r"\A# ---\n(?:#[^\n]*\n)*?# ---\n")
_COMMENT = re.compile(r"(?m)^# ?")
_QUOTES = re.compile(r'(?s)\s*r?("""|\'\'\')(.*)\1\s*')


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
    cells = [_code(top)]
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
        kind, _, rest = kind.partition(" ")
        if kind.startswith("%md"):
            yield markdown_document(f"{rest}\n{body}")
        else:
            yield _code(content)


def _percent_cell(header: str, cell: str) -> Iterator[FileDocument]:
    """The title of a cell of `# %%` and its text or code."""
    yield plain_document(_KIND.sub("", header).strip())
    kind = re.match(r"[^\[]*\[(\w+)\]", header)
    if kind is None or kind[1] not in ("markdown", "md"):
        yield _code(cell)
        return
    quoted = _QUOTES.fullmatch(cell)
    yield markdown_document(quoted[2] if quoted else _COMMENT.sub("", cell))


def _code(text: str) -> FileDocument:
    """The document of a cell of code."""
    return FileDocument([Block(text.strip("\n"), kind=CODE)], source=text)
