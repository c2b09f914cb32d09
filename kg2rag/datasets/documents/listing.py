"""A folder -> its files in a fixed order, each with the reason why it is not read, if any.

Installed packages and links that lead out of the folder are not read; hidden files and folders are
only counted.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kg2rag.datasets.documents.derived_files import derived_files

PACKAGE_FOLDERS = frozenset(
    "node_modules bower_components __MACOSX site-packages venv".split()
)
"""Folders of installed packages; a virtual environment of any name is known by its pyvenv.cfg."""
COMPILED_FOLDER = "__pycache__"
"""What Python compiled. It comes and goes as programs run, so that no report may mention it."""


class ListedFile(NamedTuple):
    """A file or folder.

    `relative_path` is its path from the listed folder, with `/`; `reason` says why it is not read,
    and is "" for a file that is.
    """

    path: Path
    relative_path: str
    reason: str = ""


class Listing(NamedTuple):
    """The files of a folder, sorted by path, and the number of hidden files and folders."""

    files: list[ListedFile]
    hidden: int


def list_folder(root: Path, leave_out: Path | None = None) -> Listing:
    """The files below a folder, or the one file at `root`, without `leave_out`."""
    if not root.is_dir():
        return Listing([ListedFile(root, posix_text(Path(root.name)))], 0)
    top = root.resolve()
    listed = list[ListedFile]()
    hidden = 0
    for folder, names, files, error in _walk(root):
        if error:
            relative_path = posix_text(folder.relative_to(root))
            listed.append(
                ListedFile(folder, relative_path, f"the folder cannot be read: {error}")
            )
        hidden += sum(name.startswith(".") for name in (*names, *files))
        listed += _entries_of(folder, [*names, *files], root, top)
    if leave_out is not None:
        listed = [
            file for file in listed if os.path.realpath(file.path) != str(leave_out)
        ]
    listed.sort(key=lambda file: file.path.parts)
    return Listing(_with_reasons(listed), hidden)


def _with_reasons(files: Sequence[ListedFile]) -> list[ListedFile]:
    """The files; those that programs made beside documents have a reason."""
    reasons = derived_files([file.relative_path for file in files if not file.reason])
    return [
        file._replace(reason=reasons.get(file.relative_path, file.reason))
        for file in files
    ]


def _entries_of(
    folder: Path, names: Sequence[str], root: Path, top: Path
) -> Iterator[ListedFile]:
    """The files of a folder that are not hidden, and those of its folders that are not entered."""
    for path in [folder / name for name in names if not name.startswith(".")]:
        reason = _why_path_is_skipped(path, top)
        if reason or not path.is_dir():
            yield ListedFile(path, posix_text(path.relative_to(root)), reason)


def _walk(root: Path) -> Iterator[tuple[Path, list[str], list[str], str]]:
    """For every folder at or below `root`: path, names of folders, names of files, and "".

    For a folder that cannot be read, the names are empty and the last member is the error.
    """
    errors = list[OSError]()
    for folder, names, files in os.walk(root, onerror=errors.append):
        path = Path(folder)
        names[:] = [name for name in names if name != COMPILED_FOLDER]
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
    """Whether a folder is a virtual environment of Python."""
    return os.path.lexists(folder / "pyvenv.cfg")


def _why_path_is_skipped(path: Path, top: Path) -> str:
    """Why a path is not read; "" for a file that is read and for a folder that is entered."""
    try:
        if path.is_symlink():
            return _why_link_is_skipped(path.resolve(), top)
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


def _why_link_is_skipped(target: Path, top: Path) -> str:
    """Why a symbolic link is not followed; "" for a link to a file below `top`."""
    if not target.exists():
        return "a link that leads nowhere"
    if not target.is_relative_to(top):
        return "a link that leads out of the folder"
    if target.is_dir():
        return "a link to a folder"
    return ""


def posix_text(path: Path) -> str:
    """A path with `/`; bytes of a name that are not UTF-8 are decoded as Windows-1252."""
    text = path.as_posix()
    try:
        text.encode()
    except UnicodeEncodeError:
        return os.fsencode(text).decode("cp1252", "backslashreplace")
    return text
