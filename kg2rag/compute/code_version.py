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
