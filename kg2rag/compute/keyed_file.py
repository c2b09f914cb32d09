"""Keys -> values in one SQLite file of a store, with a digest per row; safe across processes.

A row that does not match its digest counts as missing. If SQLite calls a file malformed, its sound
rows are copied into a new file. Many small values belong here: an entry of the store costs three
files, a row none.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b, sha256
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock

LOCKS = ".locks"
APPLICATION_ID = 0x6B673272  # "kg2r", in the header of the file
TIMEOUT_SECONDS = 60  # the maximum wait for a writing process
KEYS_PER_QUERY = 10_000
DIGEST_BYTES = 8
LARGEST_ROWID = 2**62
PAGE_BYTES = 16_384  # a vector fills most of SQLite's default page of 4,096
_MAGIC = b"SQLite format 3\0"
# SQLite would apply a remaining journal to the next file with this name.
_COMPANIONS = ("", "-journal", "-wal", "-shm")
_CREATE = "CREATE TABLE IF NOT EXISTS entries (key UNIQUE, value, digest)"
_SELECT = "SELECT key, value, digest FROM entries"
_INSERT = """
    INSERT INTO entries VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, digest = excluded.digest
    WHERE NOT is_sound(entries.key, entries.value, entries.digest)
"""
Key = TypeVar("Key", str, bytes)
Result = TypeVar("Result")
Row = tuple[bytes, bytes, bytes]


class DamagedEntryWarning(UserWarning):
    """A damaged part of the store is rebuilt."""


class DamagedFileError(OSError):
    """A keyed file is malformed, or another program wrote it."""


@contextmanager
def claimed(folder: Path, name: str) -> Iterator[None]:
    """A block that holds a lock on a name in a folder, across threads and processes.

    A kill releases the lock, and no file remains.
    """
    locks = folder / LOCKS
    locks.mkdir(parents=True, exist_ok=True)
    path = locks / f"{sha256(_as_bytes(name)).hexdigest()[:32]}.lock"
    with FileLock(path):
        try:
            yield
        finally:
            # A waiting process sees that the file was unlinked, and begins again (filelock reads
            # st_nlink).
            with suppress(OSError):  # Windows deletes no open file
                path.unlink()


@dataclass(frozen=True)
class KeyedFile:
    """Keys and their values in the SQLite file at `path`; the first value of a key remains."""

    path: Path

    def find(self, keys: Sequence[Key]) -> dict[Key, bytes]:
        """Key -> value, for those of some keys that have a stored value.

        A malformed file is renamed with a DamagedEntryWarning; its sound rows are copied into a new
        file.
        """
        if not self.path.is_file():
            return {}
        with suppress(OSError):  # the file is read-only
            os.utime(self.path)
        requested = {_as_bytes(key): key for key in keys}

        def select(file: sqlite3.Connection) -> dict[Key, bytes]:
            values = {}
            names = list(requested)
            for start in range(0, len(names), KEYS_PER_QUERY):
                part = names[start : start + KEYS_PER_QUERY]
                marks = ",".join("?" * len(part))
                for row in file.execute(f"{_SELECT} WHERE key IN ({marks})", part):
                    if is_sound(*row) and row[0] in requested:
                        values[requested[row[0]]] = row[1]
            return values

        return self._with_recovery(select)

    def keep(self, rows: Iterable[tuple[str | bytes, bytes]]) -> None:
        """Store values under their keys; OSError if the file cannot be written."""
        complete = []
        for key, value in rows:
            name = _as_bytes(key)
            complete.append((name, value, _digest(name, value)))
        self._with_recovery(lambda file: file.executemany(_INSERT, complete))

    def claim(self, key: str) -> AbstractContextManager[None]:
        """A lock on a key, across threads and processes; a kill releases it.

        Use it around a paid request, and look the key up again inside: another process may have
        paid meanwhile.
        """
        return claimed(self.path.parent, f"{self.path.name} {key}")

    def damage(self) -> str | None:
        """A description of the file's damage, None if it is sound; every byte is read."""
        try:
            with self._connection() as file:
                (message,) = file.execute("PRAGMA integrity_check(1)").fetchone()
                rows = file.execute(_SELECT)
                sound = [is_sound(*row) for row in rows]
        except DamagedFileError as error:
            return error.strerror
        if message != b"ok":
            return str(message.decode(errors="replace"))
        if not all(sound):
            return f"{sound.count(False):,} of {len(sound):,} rows do not match their digests"
        return None

    def is_ours(self) -> bool:
        """Whether the file has this package's header."""
        header = self._first_page()
        return header.startswith(_MAGIC) and header[68:72] == APPLICATION_ID.to_bytes(
            4, "big"
        )

    def is_foreign(self) -> bool:
        """Whether the file is a SQLite file of another program."""
        header = self._first_page()
        return (
            header.startswith(_MAGIC)
            and not self.is_ours()
            and b"entries (key UNIQUE" not in header
        )

    def remove(self) -> None:
        """Delete the file with its journal."""
        for ending in _COMPANIONS:
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)

    def set_aside(self) -> Path:
        """Rename the file, so that a new one is begun, and return its new path."""
        names = (f"{self.path.name}.damaged{number}" for number in count(1))
        paths = map(self.path.with_name, names)
        aside = next(path for path in paths if not path.exists())
        for ending in _COMPANIONS:
            with suppress(FileNotFoundError):
                self.path.with_name(self.path.name + ending).rename(
                    aside.with_name(aside.name + ending)
                )
        return aside

    def _with_recovery(self, use: Callable[[sqlite3.Connection], Result]) -> Result:
        """The result of `use` on the file, or on a recovered one if it is malformed."""
        try:
            with self._connection() as file:
                return use(file)
        except DamagedFileError as error:
            with claimed(self.path.parent, self.path.name):
                if self.damage() is not None:  # no other process has recovered it
                    self._recover(str(error.strerror))
        with self._connection() as file:
            return use(file)

    def _recover(self, damage: str) -> None:
        """Rename a malformed file, and copy its sound rows into a new one."""
        aside = self.set_aside()
        with self._connection() as file:
            file.executemany(_INSERT, _sound_rows(aside))
            (n_rows,) = file.execute("SELECT count(*) FROM entries").fetchone()
        warnings.warn(
            f"{self.path} is damaged ({damage}). It is renamed to {aside.name}. {n_rows:,} of its rows were read; the "
            "others are computed again, or paid again if they were answers: stop here if you have a copy of the file.",
            DamagedEntryWarning,
            stacklevel=4,
        )

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection to the file; its changes are committed at the end of the block."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with (
                closing(sqlite3.connect(self.path, timeout=TIMEOUT_SECONDS)) as file,
                file,
            ):
                file.text_factory = bytes  # damaged text cannot be decoded
                file.create_function("is_sound", 3, is_sound, deterministic=True)
                (application,) = file.execute("PRAGMA application_id").fetchone()
                if application != APPLICATION_ID:
                    self._begin(file)
                file.execute(_CREATE)
                yield file
        except sqlite3.DatabaseError as error:
            if self._is_damage(error):
                raise self._damage_error(str(error)) from error
            raise OSError(
                errno.EIO,
                f"The store cannot be used: {error}. Free space, or name another folder by KG2RAG_STORE",
                str(self.path),
            ) from error

    def _begin(self, file: sqlite3.Connection) -> None:
        """Set the header of an empty file; DamagedFileError if it has tables."""
        (tables,) = file.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables:
            raise self._damage_error("its header is not that of a file of kg2rag")
        file.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        file.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def _is_damage(self, error: sqlite3.DatabaseError) -> bool:
        """Whether an error means damaged bytes, not a full disk, permissions or another process."""
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith("SQLITE_READONLY"):
            return os.access(self.path, os.W_OK) and os.access(
                self.path.parent, os.W_OK
            )
        return not isinstance(error, sqlite3.OperationalError) or name == "SQLITE_ERROR"

    def _damage_error(self, reason: str) -> DamagedFileError:
        """The error about damage of this file."""
        return DamagedFileError(errno.EIO, reason, str(self.path))

    def _first_page(self) -> bytes:
        """The first page of the file, which has the header; b"" if it cannot be read."""
        try:
            with self.path.open("rb") as stream:
                return stream.read(PAGE_BYTES)
        except OSError:
            return b""


def is_sound(key: Any, value: Any, digest: Any) -> bool:
    """Whether a row is unchanged: key and value are bytes that match the digest."""
    return (
        isinstance(key, bytes)
        and isinstance(value, bytes)
        and _digest(key, value) == digest
    )


def _digest(key: bytes, value: bytes) -> bytes:
    """The digest of a row, over the length of its key, its key and its value."""
    return blake2b(b"%d " % len(key) + key + value, digest_size=DIGEST_BYTES).digest()


def _sound_rows(path: Path) -> Iterator[Row]:
    """The readable rows of a malformed file that match their digests."""
    query = (
        "SELECT rowid, key, value, digest FROM entries WHERE rowid > ? ORDER BY rowid"
    )
    last, step = (
        -1,
        1,
    )  # the last row read, and the rows to skip after an unreadable page
    with closing(sqlite3.connect(path, timeout=TIMEOUT_SECONDS)) as file:
        file.text_factory = bytes
        while last < LARGEST_ROWID:
            try:
                for rowid, key, value, digest in file.execute(query, (last,)):
                    last, step = rowid, 1
                    if is_sound(key, value, digest):
                        yield key, value, digest
                return
            except sqlite3.DatabaseError:
                last += step
                step *= 2


def _as_bytes(key: str | bytes) -> bytes:
    """A key as bytes; lone surrogates are allowed."""
    if isinstance(key, str):
        return key.encode("utf-8", "surrogatepass")
    return key
