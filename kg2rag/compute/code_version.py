"""Paths in this package -> a checksum of their files, which stands for the rules in a key of the store.

A part in the store depends on the code that made it. With this checksum in its key, a changed rule
needs no version number that somebody must remember to raise: the part is built anew after any edit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
ROOMS = ("types", "text", "compute", "extraction", "knowledge", "retrievers", "llm")
"""The rooms of this package on whose code a ranking depends."""


@cache
def code_version(*paths: str) -> str:
    """A checksum of folders and files of this package, computed once in a process.

    `paths` are relative to the package, such as "text" or "knowledge/indexes/lexical.py".
    """
    return files_checksum(PACKAGE, paths)


def files_checksum(package: Path, paths: Iterable[str]) -> str:
    """A checksum of the names and contents of folders and files, given relative to a package."""
    digest = hashlib.sha256()
    for path in paths:
        for file in _files_in(package / path):
            digest.update(
                str(file.relative_to(package)).encode() + b"\0" + file.read_bytes()
            )
    return digest.hexdigest()


def _files_in(path: Path) -> list[Path]:
    """The file at a path, or all files below a folder, sorted, without compiled ones."""
    if path.is_file():
        return [path]
    return [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and file.parent.name != "__pycache__"
    ]


def _modification_state(file: Path) -> tuple[int, int] | None:
    """Modification time (ns) and size of a file; None if it does not exist."""
    if not file.is_file():
        return None
    state = file.stat()
    return state.st_mtime_ns, state.st_size


_STATES = {
    file: _modification_state(file)
    for room in ROOMS
    for file in _files_in(PACKAGE / room)
}
"""File of `ROOMS` -> its state when this module was imported, before the code that ranks."""


def edited_file() -> Path | None:
    """The first file of `ROOMS` that was written after Python had imported the package; else None."""
    for file, state in _STATES.items():
        if _modification_state(file) != state:
            return file
    return None
