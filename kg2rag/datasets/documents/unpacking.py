"""Packed files -> the files in them: the parts of an archive, and the file in a .gz, .bz2 or .xz.

The path of a part begins with that of the archive, as if the archive were a folder.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache, partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

from kg2rag.datasets.documents.archives import TARS, Archive, TarArchive
from kg2rag.datasets.documents.derived_files import derived_files
from kg2rag.datasets.documents.inclusion import Inclusions
from kg2rag.datasets.documents.listing import (
    COMPILED_FOLDER,
    PACKAGE_FOLDERS,
    ListedFile,
)
from kg2rag.datasets.documents.messages.chats import (
    NAME_FILES,
    is_day_of_channel,
    names_of_export,
)
from kg2rag.datasets.documents.messages.mail import MailThreads
from kg2rag.datasets.documents.office.workbooks import Workbook
from kg2rag.datasets.documents.readers import ARCHIVES, ending_of, limit_of
from kg2rag.datasets.documents.reading import (
    COMPRESSIONS,
    FileBytes,
    failure,
    file_bytes,
    read_bytes,
)
from kg2rag.text.records import SPREADSHEETS

_OPEN: Mapping[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
MAX_ARCHIVES = 3
"""Depth of nested archives; exports of large wikis have two."""


def read_files(file: ListedFile) -> Iterator[FileBytes]:
    """The bytes of a file, or those of the files that are packed in it."""
    contents = read_bytes(file)
    # The names of an export stand beside the folders of its channels; above the listed folder
    # nothing is read.
    if is_day_of_channel(file.path) and "/" in file.relative_path:
        export = file.path.parent.parent
        times = tuple(_time_of(export / name) for name in NAME_FILES)
        contents = replace(contents, names=_names_of_folder(export, times))
    yield from _unpack(contents, 1)


def _time_of(path: Path) -> int:
    """The time of the last change of a file; 0 if there is none."""
    return path.stat().st_mtime_ns if path.is_file() else 0


@lru_cache(maxsize=1)
def _names_of_folder(folder: Path, times: tuple[int, ...]) -> Mapping[str, str]:  # noqa: ARG001
    """The names of a Slack export; `times`, those of its files, are a part of the cache's key."""
    return names_of_export(lambda name: (folder / name).read_bytes())


def _names_of_archive(
    archive: Archive | TarArchive | Workbook, export: PurePosixPath
) -> Mapping[str, str]:
    """The names of a Slack export in an archive."""
    return names_of_export(lambda name: archive.read(str(export / name)))


def _unpack(file: FileBytes, depth: int) -> Iterator[FileBytes]:
    """A file, or the files that are packed in it at any depth; `depth` counts archives from 1."""
    if file.reason or not file.packing:
        yield file
    elif file.packing in COMPRESSIONS:
        yield from _unpack(_decompress(file), depth)
    elif depth > MAX_ARCHIVES:
        reason = f"more than {MAX_ARCHIVES} archives within each other"
        yield FileBytes(file.relative_path, reason=reason)
    else:
        yield from _parts(file, depth)


def _decompress(file: FileBytes) -> FileBytes:
    """The file in a compressed one, or the reason why it is not read."""
    ending = ending_of(file.name)
    limit = limit_of(ending)
    try:
        with _OPEN[file.packing](BytesIO(file.data)) as stream:
            data = stream.read(limit + 1)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        return FileBytes(file.relative_path, reason=f"it cannot be unpacked: {error}")
    if len(data) > limit:
        reason = f"larger than {limit // 1_000_000} MB unpacked"
        return FileBytes(file.relative_path, reason=reason)
    return replace(file, data=data, packing=ending if ending in ARCHIVES else "")


def _parts(file: FileBytes, depth: int) -> Iterator[FileBytes]:
    """The files of an archive, sorted by name."""
    try:
        archive = open_archive(file.data, file.packing)
    except Exception as error:  # noqa: BLE001 (libraries raise many kinds for a damaged file)
        yield FileBytes(file.relative_path, reason=failure(error, file.data))
        return
    names = [name for name in archive.names if _is_document(name)]
    if not names:
        yield FileBytes(file.relative_path, reason="no file in it")
    inclusions = Inclusions(names, archive.read)
    threads = MailThreads(names, archive.read)
    reasons = {**derived_files(names), **inclusions.reasons}
    names_of = cache(partial(_names_of_archive, archive))
    for name in names:
        relative_path = Path(f"{file.relative_path}/{name}").as_posix()
        if name in reasons:
            part = FileBytes(relative_path, reason=reasons[name])
        else:
            part = file_bytes(
                relative_path, partial(_whole_part, archive, inclusions, threads, name)
            )
            if is_day_of_channel(PurePosixPath(name)):
                part = replace(part, names=names_of(PurePosixPath(name).parent.parent))
        yield from _unpack(part, depth + 1)


def _whole_part(
    archive: Archive | TarArchive | Workbook,
    inclusions: Inclusions,
    threads: MailThreads,
    name: str,
) -> bytes:
    """The bytes of a file of an archive, with those of the files that it includes or may quote."""
    return threads.whole(name, inclusions.whole(name, archive.read(name)))


def _is_document(name: str) -> bool:
    """Whether a part is a file, and neither hidden nor compiled nor of an installed package."""
    parts = PurePosixPath(name).parts
    is_hidden = any(part.startswith(".") for part in parts)
    left_out = {*PACKAGE_FOLDERS, COMPILED_FOLDER}
    return not name.endswith("/") and not is_hidden and left_out.isdisjoint(parts)


def open_archive(data: bytes, packing: str) -> Archive | TarArchive | Workbook:
    """The archive of some bytes; `packing` is the ending of its name.

    DataError: it is damaged or too large.
    """
    if packing in TARS:
        return TarArchive(data)
    if packing in SPREADSHEETS:
        return Workbook(data)
    return Archive(data)
