"""Locks on files and folders that the operating system releases when their process ends, however it ends.

Process ids tell nothing across containers, and are given to others again; a lock is seen by all that share the disk.
Where there are no such locks (Windows, some network disks), everything counts as not locked.

A lease is a file of one process in a folder, locked until that process ends.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_leases: dict[tuple[Path, int], Path] = {}
"""The leases of this process by folder and process: a forked one takes its own."""


def take(path: Path, *, shared: bool = False, wait: bool = True) -> int | None:
    """A handle that locks a file or folder until it is closed; None where it cannot be locked, or not without waiting.

    A forked process has the lock as well, until it has closed the handle too.
    """
    if fcntl is None:
        return None
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(handle)
        return None
    return handle


def release(handle: int | None) -> None:
    """Give a lock back."""
    if handle is not None:
        os.close(handle)


def taken(path: Path) -> bool:
    """Whether a living process, of this or another container, holds the lock of a file or folder."""
    if fcntl is None or not path.exists():
        return False
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a disk without locks
        return False
    finally:
        os.close(handle)
    return False


@contextmanager
def held(path: Path, *, shared: bool = False) -> Iterator[None]:
    """A block that holds the lock of a file, made where it is missing; one that cannot be made locks nothing."""
    try:
        path.touch()
    except OSError:  # no such folder, or one that may not be written
        yield
        return
    handle = take(path, shared=shared)
    try:
        yield
    finally:
        release(handle)


def lease(folder: Path) -> None:
    """Take a lease in a folder, once for each process; none where the folder may not be written."""
    if (folder, os.getpid()) not in _leases:
        file = _leases[folder, os.getpid()] = folder / uuid.uuid4().hex
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            file.touch()
            take(file)  # never given back: the system does, when the process ends


def leased_since(folder: Path) -> float:
    """When the oldest lease of another living process was taken; infinite where there is none.

    Leases of processes that have ended are deleted.
    """
    since = float("inf")
    for file in sorted(folder.glob("*")):
        if file == _leases.get((folder, os.getpid())):
            continue
        try:
            if taken(file):
                since = min(since, file.stat().st_mtime)
            else:
                file.unlink()
        except FileNotFoundError:
            continue
    return since
