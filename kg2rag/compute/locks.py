"""Locks on files and folders that the operating system releases when their process ends, however it ends.

Process ids tell nothing across containers, and are given to others again; a lock is seen by all that share the disk.
Where there are no such locks (Windows, some network disks), everything counts as not locked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


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
