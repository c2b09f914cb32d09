"""Atomic writes of files and folders: built beside their path, flushed to disk, then renamed.

A killed process leaves `.partial-<process>-<machine>-<random>-<name>.tmp`; `remove_leftovers`
removes it.

"""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The host name; that of a container is its own, as its process ids are.
MACHINE = re.sub(r"\W", "_", platform.node())
_LEFTOVER = re.compile(
    r"\.partial-(?P<process>\d+)-(?P<machine>\w*)-[0-9a-f]{12}-.*\.tmp", re.DOTALL
)
# The age at which a leftover of another machine, such as a deleted container, counts as abandoned.
LEFTOVER_DAYS = 7


def write(path: Path, content: bytes) -> None:
    """Write a file; an existing one is replaced."""
    with new_file(path) as partial:
        partial.write_bytes(content)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A path to write a file to, renamed to `path` at the end of the block.

    A block that raises leaves nothing.
    """
    with temporary_path(path) as partial, disk_error_naming(path):
        partial.touch()
        yield partial
        flush(partial)
        partial.replace(path)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """An empty folder to fill, renamed to `path` at the end of the block.

    A block that raises leaves nothing. An empty folder at `path` is replaced. FileExistsError:
    `path` is something else that exists at the end.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary_path(path) as partial, disk_error_naming(path):
        partial.mkdir()
        yield partial
        for file in filter(Path.is_file, partial.rglob("*")):
            flush(file)
        try:
            partial.rename(path)
        except OSError as error:
            if path.exists():
                raise FileExistsError(
                    f"{path} exists. Choose another name, or delete it."
                ) from error
            raise


def mapped(path: Path) -> NDArray[Any]:
    """The array of an `.npy` file, read-only and memory-mapped."""
    import numpy as np

    # Look-ups in an `np.memmap` are slower.
    return np.asarray(np.load(path, mmap_mode="r"))


def remove_folder(path: Path) -> None:
    """Delete a folder, if it exists.

    It is renamed first, so that no other process opens a partly deleted folder.
    """
    with temporary_path(path) as doomed, suppress(FileNotFoundError):
        path.rename(doomed)


def remove_leftovers(folder: Path) -> int:
    """Delete the leftovers of killed processes in a folder; the number of bytes freed.

    Those of this machine go if their process has ended, others after `LEFTOVER_DAYS`.
    """
    freed = 0
    for partial in folder.glob(".partial-*.tmp"):
        with suppress(FileNotFoundError):  # another process removes it, too
            if _is_abandoned(partial):
                paths = (partial, *partial.rglob("*"))
                freed += sum(path.stat().st_size for path in paths if path.is_file())
                _remove(partial)
    return freed


def _is_abandoned(partial: Path) -> bool:
    """Whether no process writes a temporary file or folder any more."""
    name = _LEFTOVER.fullmatch(partial.name)
    if name is None:
        return False
    if name["machine"] == MACHINE:
        return not _is_alive(int(name["process"]))
    changes = [path.stat().st_mtime for path in (partial, *partial.rglob("*"))]
    return time.time() - max(changes) > LEFTOVER_DAYS * 86_400


def _is_alive(process: int) -> bool:
    """Whether a process with this id runs on this machine."""
    try:
        os.kill(process, 0)
    except PermissionError:  # the process belongs to another user
        return True
    except OSError:
        return False
    return True


@contextmanager
def disk_error_naming(path: Path) -> Iterator[None]:
    """Add the path to the error about a full disk, which names no file.

    That of numpy has no error number either.
    """
    try:
        yield
    except OSError as error:
        is_short_write = type(error) is OSError and str(error).endswith(" written")
        if error.filename is not None or not (is_short_write or error.errno):
            raise
        raise OSError(
            error.errno or errno.ENOSPC, error.strerror or str(error), str(path)
        ) from error


def flush(file: Path) -> None:
    """Flush the bytes of a file to the disk."""
    with file.open("rb") as stream:
        os.fsync(stream.fileno())


@contextmanager
def temporary_path(path: Path) -> Iterator[Path]:
    """A path beside `path`; the file or folder under it is removed at the end of the block."""
    partial = path.with_name(
        f".partial-{os.getpid()}-{MACHINE}-{uuid.uuid4().hex[:12]}-{path.name}.tmp"
    )
    try:
        yield partial
    finally:
        _remove(partial)


def _remove(path: Path) -> None:
    """Delete a file or folder, if it exists."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
