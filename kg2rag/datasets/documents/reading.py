"""One file -> its `FileEntry`: passages and report. The checksum of a file is part of its key."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from urllib.parse import unquote

from kg2rag.compute.code_version import code_version
from kg2rag.datasets.documents.blocks import (
    Block,
    FileDocument,
    join_remarks,
    lost_words,
    one_line,
)
from kg2rag.datasets.documents.doubtful_text import doubtful_text
from kg2rag.datasets.documents.listing import ListedFile
from kg2rag.datasets.documents.passages.entries import FileEntry, table_entry
from kg2rag.datasets.documents.passages.splitting import Splitter
from kg2rag.datasets.documents.readers import (
    ARCHIVES,
    ENDINGS,
    MEDIA,
    PAGE_ENDINGS,
    READERS,
    TEXT_ENDINGS,
    ending_of,
    ending_of_content,
    limit_of,
)
from kg2rag.datasets.documents.records.json_texts import json_records
from kg2rag.datasets.documents.records.json_values import load_lines, load_value
from kg2rag.datasets.documents.records.layout import (
    SAMPLE_LINES,
    layout_documents,
    layout_documents_of_lines,
)
from kg2rag.datasets.documents.records.tables import TABLES, VALUES, parse_table
from kg2rag.text.decoding import decode_text
from kg2rag.text.records import DataError, quote
from kg2rag.text.scripts import words

TITLE_CHARACTERS = 200
"""Longest title."""
READ_AS_ADVICE = "Is the file whole, and of the kind that its name says?"
_GENERIC_NAME = re.compile(r"(?i)(readme|index|main|home|default)")
# The headings with which every manual page begins.
_MANUAL_HEADING = re.compile(r"(?i)(name|synopsis)( [—|-] .*)?$")

_BINARY_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""First bytes of a compound file of Microsoft, which also holds encrypted files of Office."""
_VERSION = re.compile(r"(?i)[\W_]*v?\d[\d\W_]*")
# The number of a section as reports have it: lists of steps have a dot or bracket behind it.
_FIRST_SECTION = re.compile(r"1 +[^\W\d]")

COMPRESSIONS = (".gz", ".bz2", ".xz")
"""Endings of single compressed files."""


def _without_compression(path: str) -> str:
    """A path without the ending of a compression, if it has one."""
    stem, dot, ending = path.rpartition(".")
    return stem if f"{dot}{ending.lower()}" in COMPRESSIONS else path


@dataclass(frozen=True)
class FileBytes:
    """The contents of a file.

    Attributes
    ----------
    relative_path : its path from the listed folder.
    reason : why the file is not read; "" if it is.
    packing : one of `COMPRESSIONS` or the ending of an archive if the contents are packed, else "".
    names : id -> name of the users and channels of a Slack export, for a file with messages.
    read_as : the ending whose reader reads it; "" for that of its name.
    is_named_note : whether it is a note that its program names by the file, see `named_notes`.
    """

    relative_path: str
    data: bytes = b""
    reason: str = ""
    packing: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    read_as: str = ""
    is_named_note: bool = False

    @property
    def name(self) -> str:
        """The path without the ending of a compression, as readers see it."""
        return _without_compression(self.relative_path)

    @cached_property
    def ending(self) -> str:
        """The ending that selects the reader: that of the name, or else by the first bytes.

        Mail is recognised in files `.txt`, too.
        """
        ending = self.read_as or ending_of(self.name)
        if ending in TEXT_ENDINGS:
            return ending_of_content(self.data, ending)
        return ending if ending in ENDINGS else ending_of_content(self.data)

    @cached_property
    def checksum(self) -> str:
        """The SHA-256 of the contents."""
        return hashlib.sha256(self.data).hexdigest()

    def key(self, folder: str, tokens: int) -> str:
        """The key of the file's entry in the store."""
        code = code_version("types", "text", "datasets")
        names = sorted(self.names.items())
        parts = [
            code,
            self.checksum,
            self.relative_path,
            folder,
            tokens,
            names,
            self.ending,
            self.is_named_note,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def read_bytes(file: ListedFile) -> FileBytes:
    """The contents of a listed file, or the reason why it is not read."""
    if file.reason:
        return FileBytes(file.relative_path, reason=file.reason)
    return file_bytes(
        file.relative_path, file.path.read_bytes, lambda: file.path.stat().st_size
    )


def file_bytes(
    relative_path: str, read: Callable[[], bytes], size: Callable[[], int] = int
) -> FileBytes:
    """The contents of a file or part of an archive, or the reason why it is not read.

    Files of `MEDIA` and files above the limit of their kind are not read.

    read, size : functions that return the bytes, and their number if it is known before reading.
    """
    suffix = PurePath(relative_path).suffix.lower()
    ending = ending_of(_without_compression(relative_path))
    if ending in MEDIA:
        return FileBytes(relative_path, reason=f"files {ending} are not read")
    limit = limit_of(ending)
    try:
        if size() > limit:
            reason = f"larger than {limit // 1_000_000} MB, the limit for this kind"
            return FileBytes(relative_path, reason=reason)
        packing = suffix if suffix in (*COMPRESSIONS, *ARCHIVES) else ""
        return FileBytes(relative_path, read(), packing=packing)
    except OSError as error:
        reason = f"it cannot be read: {error.strerror or error}"
    except DataError as error:
        reason = str(error)
    return FileBytes(relative_path, reason=reason)


def failure(error: Exception, data: bytes = b"") -> str:
    """Why a file cannot be read, from its first bytes or the error of its reader, which may be of any kind.

    ImportError is raised again: a library is missing, and no file is at fault.
    """
    if isinstance(error, ImportError):
        raise error
    if data.startswith(_BINARY_OFFICE):
        return (
            "a file of Office with a password, or of its old formats .doc, .ppt or .msg: save it "
            "without a password as .docx, .pptx or .eml."
        )
    if isinstance(error, DataError):
        return str(error)
    return f"{type(error).__name__}: {quote(str(error))}. {READ_AS_ADVICE}"


def read_entry(file: FileBytes, folder: str, splitter: Splitter) -> FileEntry:
    """The entry of a file; if its reader raises an error, an entry without passages but a reason.

    folder : the name of the listed folder, which may become a title.
    """
    divided_before = splitter.divided
    try:
        if is_table(file):
            table = parse_table(file.data, file.name, file.ending, file.names)
            entry = table_entry(table, file.relative_path, splitter)
        else:
            entry = _document_entry(file, folder, splitter)
    except Exception as error:  # noqa: BLE001
        reason = failure(error, file.data).removeprefix(f"{file.relative_path}: ")
        return FileEntry(reason=reason, failed=True)
    entry.divided = splitter.divided - divided_before
    return entry


def is_table(file: FileBytes) -> bool:
    """Whether a file has records: a table, or JSON or YAML with records of texts.

    The elements of a page's layout are no records.
    """
    if file.ending in (".jsonl", ".ndjson"):
        return not _has_layout(file)
    if file.ending not in VALUES:
        return file.ending in TABLES
    try:
        value = load_value(decode_text(file.data).text, file.name)
    except DataError:
        return False
    return not layout_documents(value) and json_records(value) is not None


def _has_layout(file: FileBytes) -> bool:
    """Whether the first lines of a file of JSON Lines are of the layout of pages."""
    first_lines = decode_text(file.data).text.split("\n", SAMPLE_LINES)[:SAMPLE_LINES]
    try:
        lines = load_lines("\n".join(first_lines), file.name)
    except DataError:
        return False
    return bool(layout_documents_of_lines(lines))


def _document_entry(file: FileBytes, folder: str, splitter: Splitter) -> FileEntry:
    """The entry of a file of documents."""
    entry = FileEntry()
    lost = list[str]()
    remarks = list[str]()
    name = file.name + file.read_as
    for document in READERS[file.ending](file.data, name):
        if any(block.text.strip() for block in document.blocks):
            lost += _add_document(entry, document, file, folder, splitter)
        doubtful = doubtful_text(document.blocks, has_marks=file.ending in PAGE_ENDINGS)
        remarks += filter(None, (document.remark, doubtful))
    if not entry.rows:
        entry.reason = ": ".join(["no text in it", *remarks[:1]])
    entry.remark = join_remarks(*remarks)
    entry.count_lost(lost)
    return entry


def _add_document(
    entry: FileEntry,
    document: FileDocument,
    file: FileBytes,
    folder: str,
    splitter: Splitter,
) -> list[str]:
    """Add the passages of a document to the entry of its file; returns the words that they lack."""
    relative_path = file.relative_path
    id_ = f"{relative_path}#{document.key}" if document.key else relative_path
    heading, blocks = split_title(document.blocks, is_named=file.is_named_note)
    titles = _titles(heading or document.title, blocks, relative_path, folder)
    fields = {"file": relative_path, **document.metadata}
    rows = splitter.passages(id_, titles[0], blocks or [Block(heading)], fields)
    source = words(document.source)
    entry.rows += rows
    entry.titles[id_] = titles
    entry.names[id_] = list(document.names)
    entry.words += len(source)
    entry.left_out += len(words(document.left_out))
    texts = [heading, document.title, document.left_out, *(row["text"] for row in rows)]
    return lost_words(source, texts)


def split_title(
    blocks: Sequence[Block], *, is_named: bool = False
) -> tuple[str, list[Block]]:
    """The heading that is the title of a document, "" if there is none, and the other blocks.

    A heading that repeats the title is left out of these.

    is_named : whether the name of the file is the title unless there is one of level 1.
    """
    index = _title_index(blocks)
    if index is None or len(blocks[index].text) > TITLE_CHARACTERS:
        return "", list(blocks)
    if is_named and blocks[index].level > 1:
        return "", list(blocks)
    title = blocks[index].text
    following = blocks[index + 1 :]
    if following and following[0].level and following[0].text == title:
        following = following[1:]
    return title, [*blocks[:index], *following]


def _title_index(blocks: Sequence[Block]) -> int | None:
    """The index of the block that is the title; None if there is none.

    It is the first block, if that is a heading of level 1 or the only one of the highest level, or
    else the only heading of level 1. In a list of releases, many headings have the highest level,
    or are versions of level 1. A first heading without a number is a title above numbered ones, as
    programs write that convert PDF files, with all headings of one level.
    """
    levels = [block.level for block in blocks]
    headings = [level for level in levels if level]
    if headings and levels[0] == min(headings):
        peers = [block.text for block in blocks[1:] if block.level == levels[0]]
        if _is_title(blocks[0], peers):
            return 0
    return levels.index(1) if headings.count(1) == 1 else None


def _is_title(heading: Block, peers: Sequence[str]) -> bool:
    """Whether the first heading of a document is its title; `peers` are others of its level."""
    if not peers or (heading.level == 1 and not _VERSION.fullmatch(heading.text)):
        return True
    are_numbered = any(map(_FIRST_SECTION.match, peers))
    return are_numbered and not heading.text[:1].isdigit()


def _titles(
    title: str, blocks: Sequence[Block], relative_path: str, folder: str
) -> list[str]:
    """The possible titles of a document, best first; the last one is made of the file's name.

    title : the heading or title of the document, "" for none.
    blocks : the other blocks; a heading that is the first of them may be a title, too.
    """
    by_name = title_of_name(relative_path, folder)
    title = one_line(title)
    if not title or len(title) > TITLE_CHARACTERS or _MANUAL_HEADING.match(title):
        return [by_name]
    following = [
        block.text
        for block in blocks[:1]
        if block.level and len(block.text) <= TITLE_CHARACTERS
    ]
    return [title, *following, by_name]


def title_of_name(relative_path: str, folder: str) -> str:
    """A title made of a file's name, or of its folder's for a name such as "index"."""
    path = Path(relative_path)
    name = path.stem.removesuffix(".excalidraw")
    if _GENERIC_NAME.fullmatch(name):
        name = path.parent.name or folder
    # The section of a manual page, "dot.1".
    name = re.sub(r"(?<=[^\W\d])\.[1-8]\w{0,4}$", "", name)
    name = one_line(re.sub(r"[\s_-]+", " ", name))
    # Signs that a wiki or a program that saves web pages writes as %2D, but not half of a sign.
    decoded = unquote(name)
    return (name if "\ufffd" in decoded else decoded) or folder
