"""Places in this package -> a checksum of their files, for the keys of the store.

A part in the store depends on the code that made it. With this checksum in its key, a changed rule
needs no version number that somebody must remember to raise: the part is built anew after any edit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


@cache
def code_version(*places: str) -> str:
    """A checksum of folders and files of this package, as they were when the process first asked.

    `places` : paths from the package down, such as "text" or "knowledge/indexes/lexical.py".
    """
    return files_checksum(PACKAGE, places)


def files_checksum(package: Path, places: Iterable[str]) -> str:
    """A checksum of the names and the contents, code and data, of folders and files of a package."""
    digest = hashlib.sha256()
    for place in places:
        for file in _files(package / place):
            digest.update(
                str(file.relative_to(package)).encode() + b"\0" + file.read_bytes()
            )
    return digest.hexdigest()


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    for file in sorted(place.rglob("*")):
        if file.is_file() and file.parent.name != "__pycache__":
            yield file
