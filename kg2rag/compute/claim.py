"""The name of something that is about to be made -> a lock on it between threads and processes, freed by a kill."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock

LOCKS = ".locks"


@contextmanager
def claimed(folder: Path, name: str) -> Iterator[None]:
    """A block that one thread of one process runs at a time for a name in a folder; no lock file stays."""
    locks = folder / LOCKS
    locks.mkdir(parents=True, exist_ok=True)
    path = locks / f"{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.lock"
    with FileLock(path):
        try:
            yield
        finally:
            # Whoever waits finds that the file has lost its name, and begins again (filelock looks at st_nlink).
            with suppress(OSError):  # Windows keeps a file that is open
                path.unlink()
