"""Packed files -> the files in them: each part of a ZIP archive, and the file in a .gz.

A part has the archive's place before its name, as if the archive were a folder.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath

from kg2rag.datasets.documents.archives import open_archive
from kg2rag.datasets.documents.listing import PACKAGE_FOLDERS, ListedFile
from kg2rag.datasets.documents.readers import ARCHIVES, limit_of
from kg2rag.datasets.documents.reading import FileBytes, file_bytes, read_bytes
from kg2rag.text.records import DataError

MAX_ARCHIVES = 3
"""Of archives within each other; exports of large wikis have two."""


def read_files(file: ListedFile) -> Iterator[FileBytes]:
    """The bytes of a file, or those of the files that are packed in it."""
    yield from _unpacked(read_bytes(file), 1)


def _unpacked(file: FileBytes, depth: int) -> Iterator[FileBytes]:
    if file.reason or not file.packing:
        yield file
    elif file.packing == ".gz":
        yield from _unpacked(_unzipped_file(file), depth)
    elif depth > MAX_ARCHIVES:
        yield file.skipped(f"more than {MAX_ARCHIVES} archives within each other")
    else:
        yield from _parts(file, depth)


def _unzipped_file(file: FileBytes) -> FileBytes:
    limit = limit_of(file.ending)
    packing = file.ending if file.ending in ARCHIVES else ""
    try:
        with gzip.open(BytesIO(file.data)) as stream:
            data = stream.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        return file.skipped(f"it cannot be unpacked: {error}")
    if len(data) > limit:
        return file.skipped(f"larger than {limit // 1_000_000} MB unpacked")
    return FileBytes(file.place, file.ending, data, file.checksum, packing=packing)


def _parts(file: FileBytes, depth: int) -> Iterator[FileBytes]:
    """The files of an archive, in the order of their names."""
    try:
        archive = open_archive(file.data, file.packing)
    except DataError as error:
        yield file.skipped(str(error))
        return
    names = [name for name in archive.names if _is_document(name)]
    if not names:
        yield file.skipped("no file in it")
    for name in names:
        place = Path(f"{file.place}/{name}")
        part = file_bytes(place, place.as_posix(), partial(archive.read, name))
        yield from _unpacked(part, depth + 1)


def _is_document(name: str) -> bool:
    """Whether a part is a file, and neither hidden nor of an installed package."""
    parts = PurePosixPath(name).parts
    is_hidden = any(part.startswith(".") for part in parts)
    return (
        not name.endswith("/") and not is_hidden and PACKAGE_FOLDERS.isdisjoint(parts)
    )
