"""A folder -> the files in it that may be documents, in a fixed order; the others with the reason why they are not.

Hidden files and folders, installed packages and links that lead out of the folder are left out and
counted.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

PACKAGE_FOLDERS = frozenset(
    "node_modules bower_components __pycache__ __MACOSX site-packages venv".split()
)
"""Folders of programs that others wrote; a virtual environment of any name is known by its pyvenv.cfg."""
# Sphinx keeps them beside its pages
_SPHINX_SOURCE = re.compile(r"(|.*/)_sources/(.+?)(?:\.\w+)?\.txt")
_PAGES = (".html", ".htm")
_PARTS_OF_PAGES = (".js", ".css", ".map", "search_index.json")


class ListedFile(NamedTuple):
    """A file or folder: its path, its name from the top folder with `/`, and why it is not read; "" if it is."""

    path: Path
    place: str
    reason: str = ""


class Listing(NamedTuple):
    """What a folder holds: files by place, and the number of hidden files and folders."""

    files: list[ListedFile]
    hidden: int


def list_folder(root: Path, leave_out: Path | None = None) -> Listing:
    """The files below a folder, or one file, sorted by the parts of their paths."""
    if not root.is_dir():
        return Listing([ListedFile(root, place_of(Path(root.name)))], 0)
    top = root.resolve()
    listed = list[ListedFile]()
    hidden = 0
    for folder, names, files, error in _walk(root):
        if error:
            place = place_of(folder.relative_to(root))
            listed.append(
                ListedFile(folder, place, f"the folder cannot be read: {error}")
            )
        hidden += sum(name.startswith(".") for name in (*names, *files))
        listed += _listed(folder, [*names, *files], root, top)
    listed = [
        file
        for file in listed
        if leave_out is None or os.path.realpath(file.path) != str(leave_out)
    ]
    listed.sort(key=lambda file: file.path.parts)
    return Listing(_mark_sources(listed), hidden)


def _listed(
    folder: Path, names: Sequence[str], root: Path, top: Path
) -> Iterator[ListedFile]:
    """The entries of a folder that are not hidden; of its folders only those that are not read."""
    for path in [folder / name for name in names if not name.startswith(".")]:
        reason = _reason(path, top)
        if reason or not path.is_dir():
            yield ListedFile(path, place_of(path.relative_to(root)), reason)


def _walk(root: Path) -> Iterator[tuple[Path, list[str], list[str], str]]:
    """Every folder below one with its folders and files; an error in place of them where it cannot be read."""
    errors = list[OSError]()
    for folder, names, files in os.walk(root, onerror=errors.append):
        path = Path(folder)
        yield path, list(names), files, ""
        names[:] = [
            name
            for name in names
            if not name.startswith(".")
            and name not in PACKAGE_FOLDERS
            and not _is_environment(path / name)
        ]
    for error in errors:
        yield Path(error.filename), [], [], error.strerror or type(error).__name__


def _is_environment(folder: Path) -> bool:
    return os.path.lexists(folder / "pyvenv.cfg")


def _reason(path: Path, top: Path) -> str:
    """Why a path is not read by its kind; "" for a plain file and a plain folder."""
    try:
        if path.is_symlink():
            return _reason_of_link(path.resolve(), top)
        kind = path.lstat().st_mode
    except (OSError, RuntimeError) as error:
        return f"it cannot be read: {getattr(error, 'strerror', None) or error}"
    if stat.S_ISREG(kind):
        return ""
    if not stat.S_ISDIR(kind):
        return "no regular file"
    if path.name in PACKAGE_FOLDERS or _is_environment(path):
        return "a folder of installed packages"
    return ""


def _reason_of_link(target: Path, top: Path) -> str:
    if not target.exists():
        return "a link that leads nowhere"
    if not target.is_relative_to(top):
        return "a link that leads out of the folder"
    if target.is_dir():
        return "a link to a folder"
    return ""


def _mark_sources(files: list[ListedFile]) -> list[ListedFile]:
    """The files, Sphinx's sources among them with the reason that their pages are read."""
    pages = {
        file.place.rpartition(".")[0]
        for file in files
        if file.path.suffix in _PAGES and not file.reason
    }
    marked = list[ListedFile]()
    for file in files:
        source = _SPHINX_SOURCE.fullmatch(file.place)
        if source and f"{source[1]}{source[2]}" in pages:
            file = file._replace(reason="the sources of HTML pages that are read")
        elif pages and file.place.endswith(_PARTS_OF_PAGES):
            file = file._replace(reason="programs, styles and indexes of HTML pages")
        folder = file.place.rpartition("/")[0]
        if folder.endswith("_files") and folder.removesuffix("_files") in pages:
            file = file._replace(reason="a part of a page that a browser saved")
        marked.append(file)
    return marked


def place_of(path: Path) -> str:
    """A relative path with `/`; bytes of a name that are not UTF-8 are taken for Windows-1252."""
    text = path.as_posix()
    try:
        text.encode()
    except UnicodeEncodeError:
        return os.fsencode(text).decode("cp1252", "backslashreplace")
    return text
