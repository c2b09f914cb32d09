"""One file -> its passages and what a report says of it, read once; kept in the store by the checksum of its bytes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath

from kg2rag.datasets.documents.blocks import (
    Block,
    FileDocument,
    join_remarks,
    lost_words,
    one_line,
)
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.datasets.documents.entries import FileEntry, table_entry
from kg2rag.datasets.documents.json_texts import json_records, load_value
from kg2rag.datasets.documents.listing import ListedFile
from kg2rag.datasets.documents.readers import (
    ARCHIVES,
    ENDINGS,
    MEDIA,
    READERS,
    ending_of,
    ending_of_content,
    limit_of,
)
from kg2rag.datasets.documents.splitting import Splitter
from kg2rag.datasets.documents.tables import (
    TABLES,
    VALUES,
    parse_table,
)
from kg2rag.text.records import DataError, quote
from kg2rag.text.scripts import words

VERSION = 14
"""Of how files become passages: raise it, and all files are read again."""
TITLE_CHARACTERS = 200
READ_AS_ADVICE = "Is the file whole, and of the kind that its name says?"
_GENERIC_NAME = re.compile(r"(?i)(readme|index|main|home|default)")
# with which every page of a manual begins
_MANUAL_HEADING = re.compile(r"(?i)(name|synopsis)( [—|-] .*)?$")


@dataclass(frozen=True)
class FileBytes:
    """A file's content, read once; `reason` says why there is none.

    `packing` : ".gz" or the ending of an archive where the content is packed, else "".
    """

    relative_path: str
    data: bytes = b""
    reason: str = ""
    packing: str = ""

    @property
    def name(self) -> str:
        """The relative_path without the ending of a packed file, as readers see it."""
        return self.relative_path.removesuffix(".gz")

    @cached_property
    def ending(self) -> str:
        """The ending by which the file is read: of its name or, if that has no reader, by its first bytes."""
        ending = ending_of(self.name)
        return ending if ending in ENDINGS else ending_of_content(self.data)

    @cached_property
    def checksum(self) -> str:
        """The checksum of the content."""
        return hashlib.sha256(self.data).hexdigest()

    def key(self, folder: str, tokens: int) -> str:
        """The key of the file's entry in the store."""
        parts = [VERSION, self.checksum, self.relative_path, folder, tokens]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def read_bytes(file: ListedFile) -> FileBytes:
    """The bytes of a file, and a reason in place of them where they cannot be had."""
    if file.reason:
        return FileBytes(file.relative_path, reason=file.reason)
    return file_bytes(
        file.relative_path, file.path.read_bytes, lambda: file.path.stat().st_size
    )


def file_bytes(
    relative_path: str, read: Callable[[], bytes], size: Callable[[], int] = int
) -> FileBytes:
    """The bytes that `read` gives of a file that may be text and no more than `size` allows; else the reason."""
    suffix = PurePath(relative_path).suffix.lower()
    name = relative_path[: -len(suffix)] if suffix == ".gz" else relative_path
    ending = ending_of(name)
    if ending in MEDIA:
        return FileBytes(relative_path, reason=f"files {ending} are not read")
    limit = limit_of(ending)
    try:
        if size() > limit:
            reason = f"larger than {limit // 1_000_000} MB, the limit for this kind"
            return FileBytes(relative_path, reason=reason)
        packing = suffix if suffix in (".gz", *ARCHIVES) else ""
        return FileBytes(relative_path, read(), packing=packing)
    except OSError as error:
        reason = f"it cannot be read: {error.strerror or error}"
    except DataError as error:
        reason = str(error)
    return FileBytes(relative_path, reason=reason)


def failure(error: Exception) -> str:
    """Why a file cannot be read, by the error of its reader; a library's for a damaged file may be of any kind."""
    if isinstance(error, ImportError):
        raise error
    if isinstance(error, DataError):
        return str(error)
    return f"{type(error).__name__}: {quote(str(error))}. {READ_AS_ADVICE}"


def read_entry(file: FileBytes, folder: str, splitter: Splitter) -> FileEntry:
    """The passages of a file; whatever goes wrong in a reader is the reason why there are none."""
    divided_before = splitter.divided
    try:
        entry = (
            table_entry(
                parse_table(file.data, file.name, file.ending),
                file.relative_path,
                splitter,
            )
            if is_table(file)
            else _document_entry(file, folder, splitter)
        )
    except Exception as error:  # noqa: BLE001
        reason = failure(error).removeprefix(f"{file.relative_path}: ")
        return FileEntry(reason=reason, failed=True)
    entry.divided = splitter.divided - divided_before
    return entry


def is_table(file: FileBytes) -> bool:
    """Whether a file holds records: by its ending, or JSON with a list of texts."""
    if file.ending not in VALUES:
        return file.ending in TABLES
    try:
        value = load_value(decode_text(file.data).text, file.name)
    except DataError:
        return False
    return json_records(value) is not None


def _document_entry(file: FileBytes, folder: str, splitter: Splitter) -> FileEntry:
    """The passages of a file's documents."""
    entry = FileEntry()
    lost, remarks = list[str](), list[str]()
    for document in READERS[file.ending](file.data, file.name):
        if any(block.text.strip() for block in document.blocks):
            lost += _add_document(entry, document, file.relative_path, folder, splitter)
        if document.remark:
            remarks.append(document.remark)
    if not entry.rows:
        entry.reason = ": ".join(["no text in it", *remarks[:1]])
    entry.remark = join_remarks(*remarks)
    entry.count_lost(lost)
    return entry


def _add_document(
    entry: FileEntry,
    document: FileDocument,
    relative_path: str,
    folder: str,
    splitter: Splitter,
) -> list[str]:
    """Add the passages of a document to the entry of its file; the words that no passage has."""
    id_ = f"{relative_path}#{document.key}" if document.key else relative_path
    heading, blocks = split_title(document.blocks)
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


def split_title(blocks: Sequence[Block]) -> tuple[str, list[Block]]:
    """The heading that is a document's title, and the other blocks: the first block, or the only one of level 1.

    A first heading below level 1 beside which others stand, as in a list of releases, is no title.
    """
    row = _title_row([block.level for block in blocks])
    if row is None or len(blocks[row].text) > TITLE_CHARACTERS:
        return "", list(blocks)
    title, following = blocks[row], blocks[row + 1 :]
    if following and following[0].level and following[0].text == title.text:
        following = following[1:]
    return title.text, [*blocks[:row], *following]


def _title_row(levels: Sequence[int]) -> int | None:
    if not levels:
        return None
    tops = [row for row, level in enumerate(levels) if level == 1]
    is_above_all = levels[0] > 0 and all(
        level == 0 or level > levels[0] for level in levels[1:]
    )
    if levels[0] == 1 or is_above_all:
        return 0
    return tops[0] if len(tops) == 1 else None


def _titles(
    title: str, blocks: Sequence[Block], relative_path: str, folder: str
) -> list[str]:
    """The titles that a document may have, best first; the last one is made of the file's name."""
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
    """A title of a file's name, or of its folder's where the name says nothing."""
    path = Path(relative_path)
    name = path.stem
    if _GENERIC_NAME.fullmatch(name):
        name = path.parent.name or folder
    # A page of a manual, "dot.1".
    name = re.sub(r"(?<=[^\W\d])\.[1-8]\w{0,4}$", "", name)
    return re.sub(r"[\s_-]+", " ", name).strip() or folder
