"""Archives, Office files and spreadsheets -> their parts; sizes are checked before unpacking."""

from __future__ import annotations

import posixpath
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from datetime import datetime, time
from io import BytesIO
from typing import Any
from urllib.parse import unquote

from kg2rag.datasets.documents.archive_names import parts_by_name
from kg2rag.datasets.documents.percents import Cells, percent_cells, shown_percents
from kg2rag.text.records import SPREADSHEETS, DataError, as_csv, sheets_of

TARS = (".tar", ".tgz", ".jex")
"""Endings of tar archives, packed or not; `.jex` is that of Joplin."""
_NOTES, _FORMULAS = "notes of cells.txt", "formulas"
"""Names of the parts of a workbook that are no tables."""
_SHEET_OR_COMMENTS = re.compile(
    r"xl/(?:worksheets/[^/]+|comments/?[^/]+|threadedComments/[^/]+)\.xml"
)
# The value of a formula may be an empty text.
_FORMULA_WITHOUT_VALUE = re.compile(
    rb"""<c\b(?![^>]*\bt="str")[^>]*><f\b[^>]*(?:/>|>[^<]*</f>)(?:<v */>|<v></v>)?</c>"""
)
MAX_PART_BYTES = 50_000_000
"""Largest part after unpacking: the text of some twenty books."""
MAX_ARCHIVE_BYTES = 200_000_000
"""Largest sum of the parts that are read from one archive."""


class Archive:
    """The parts of a ZIP file; `names` are sorted. DataError: it is no ZIP file."""

    def __init__(self, data: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError) as error:
            raise DataError(
                f"it is no whole ZIP archive ({error}), as files of this kind are."
            ) from None
        self._parts = parts_by_name(self._zip.infolist())
        self.names = sorted(self._parts)
        self._bytes_read = 0

    def read(self, name: str) -> bytes:
        """The bytes of a part; DataError: it is missing, damaged or too large."""
        try:
            size = self._parts[name].file_size
        except KeyError:
            raise DataError(f"it has no part {name!r}. Is the file complete?") from None
        self._bytes_read += size
        if size > MAX_PART_BYTES or self._bytes_read > MAX_ARCHIVE_BYTES:
            raise DataError(
                f"its part {name!r} has {size:,} bytes unpacked; at most {MAX_PART_BYTES:,} are read."
            )
        try:
            with self._zip.open(self._parts[name]) as part:
                data = part.read(size + 1)  # a part may be longer than its entry says
        except (
            zipfile.BadZipFile,
            RuntimeError,
            NotImplementedError,
            OSError,
            EOFError,
        ) as error:
            raise DataError(
                f"its part {name!r} cannot be unpacked ({error})."
            ) from None
        if len(data) > size:
            raise DataError(f"its part {name!r} is longer than the archive says.")
        return data

    def xml(self, name: str) -> Any:
        """The root element of a part in XML."""
        return parse_xml(self.read(name), name)

    def relations(self, name: str) -> dict[str, tuple[str, str]]:
        """The relations of a part of an Office file: id -> (kind, target).

        The kind is the last part of the relation's type, such as "hyperlink"; the target is the
        name of a part, or an address.
        """
        folder, base = posixpath.split(name)
        file = posixpath.join(folder, "_rels", f"{base}.rels")
        if file not in self.names:
            return {}
        targets = {}
        for relation in named(self.xml(file), "Relationship"):
            kind = relation.get("Type", "").rpartition("/")[2]
            target = relation.get("Target", "")
            if relation.get("TargetMode") != "External":
                target = resolve(name, target)
            targets[relation.get("Id", "")] = (kind, target)
        return targets


class TarArchive:
    """The files of a tar archive, with gzip or without; DataError: it is no archive, or too large."""

    def __init__(self, data: bytes) -> None:
        self._files = dict[str, bytes]()
        n_bytes = 0
        try:
            with tarfile.open(fileobj=BytesIO(data)) as tar:
                for member in filter(tarfile.TarInfo.isfile, tar):
                    n_bytes += member.size
                    if n_bytes > MAX_ARCHIVE_BYTES:
                        raise DataError(
                            f"it has more than {MAX_ARCHIVE_BYTES:,} bytes unpacked."
                        )
                    self._files[member.name] = tar.extractfile(member).read()  # type: ignore[union-attr]
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            raise DataError(f"it is no whole tar archive ({error}).") from None
        self.names = sorted(self._files)

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        return self._files[name]


class Workbook:
    """The tables of a spreadsheet, each as a file of comma-separated values, and the notes of its cells.

    Formulas of .xlsx without values, which programs write that do not calculate, are a part that
    cannot be read, and so are notes and formats in a sheet that is too large.

    DataError: the package `python-calamine` is not installed.
    """

    def __init__(self, data: bytes) -> None:
        tables = sheets_of(data)
        parts = dict[str, bytes]()
        percents = dict[str, Cells]()
        self._fault = ""
        if zipfile.is_zipfile(BytesIO(data)):
            try:
                parts = _parts_of_workbook(Archive(data))
                percents = percent_cells(Archive(data))
            except DataError as error:
                self._fault = f"notes and formats of cells are not read: {error}"
        self._tables = {
            f"{name}.csv": shown_percents(
                table.map(_without_midnight),
                percents.get(name, {}),
            )
            for name, table in tables.items()
        }
        self._notes = "\n\n".join(_notes_of_cells(parts))
        self._n_empty = sum(
            len(_FORMULA_WITHOUT_VALUE.findall(part))
            for name, part in parts.items()
            if "/worksheets/" in name
        )
        self.names = [
            *self._tables,
            *([_NOTES] if self._notes or self._fault else ()),
            *([_FORMULAS] if self._n_empty else ()),
        ]

    def read(self, name: str) -> bytes:
        """The bytes of a table, without empty rows and columns, or of the notes."""
        if name == _NOTES and self._fault:
            raise DataError(self._fault)
        if name == _NOTES:
            return self._notes.encode()
        if name == _FORMULAS:
            raise DataError(
                f"formulas without values: {self._n_empty}. Open the workbook in Excel or LibreOffice and save it."
            )
        return b"sep=,\n" + as_csv(self._tables[name])


def _parts_of_workbook(archive: Archive) -> dict[str, bytes]:
    """The sheets and comments of a workbook in XML, by name; {} for one of another format."""
    names = filter(_SHEET_OR_COMMENTS.fullmatch, archive.names)
    return {name: archive.read(name) for name in names}


def _notes_of_cells(parts: Mapping[str, bytes]) -> Iterator[str]:
    """The notes and comments of cells, each behind the name of its cell.

    The author of a note that only repeats a comment, for older programs, begins with "tc=".
    """
    for name, part in parts.items():
        if "omments" not in name:
            continue
        root = parse_xml(part, name)
        authors = ["".join(author.itertext()) for author in named(root, "author")]
        for note in named(root, "comment", "threadedComment"):
            author = authors[int(note.get("authorId", 0))] if authors else ""
            text = " ".join("".join(note.itertext()).split())
            if text and not author.startswith("tc="):
                yield f"{note.get('ref', '')}: {text}"


def _without_midnight(cell: Any) -> Any:
    """A cell; of a date and time at midnight, which is how a date is stored, the date."""
    if isinstance(cell, datetime) and cell.time() == time.min:
        return cell.date()
    return cell


def open_archive(data: bytes, packing: str) -> Archive | TarArchive | Workbook:
    """The archive of some bytes; `packing` is the ending of its name.

    DataError: it is damaged or too large.
    """
    if packing in TARS:
        return TarArchive(data)
    if packing in SPREADSHEETS:
        return Workbook(data)
    return Archive(data)


def resolve(part: str, target: str) -> str:
    """The name of the part to which `part` refers by `target`, a relative or absolute path."""
    if target.startswith("/"):
        return target[1:]
    return posixpath.normpath(posixpath.join(posixpath.dirname(part), unquote(target)))


def parse_xml(data: bytes, name: str) -> Any:
    """The root element of XML; entities are not expanded, and no other file is read."""
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise DataError(f"its part {name!r} is not valid XML ({error}).") from None


def local_name(element: Any) -> str:
    """The name of an element without its namespace; "" for comments and instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """The attribute of that name in any namespace; "" if there is none."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return ""


def named(element: Any, *names: str) -> Iterator[Any]:
    """An element and those below it that have one of these local names, in document order."""
    yield from element.iter(*(f"{{*}}{name}" for name in names))
