"""A content-addressed cache on disk: (stage, parameters, inputs) -> a directory of files, built once.

An entry is written whole (see `compute.atomic_write`) with a manifest of sizes and checksums, which a store checks when
it first opens the entry; a large file whose size and time of modification are the manifest's is not read for that
(`Store.verify` reads every byte). A damaged entry is reported and rebuilt, never used. While one process builds an
entry, others wait. Contents are Parquet, Arrow, `.npy` and JSON; nothing is ever unpickled. The time of a manifest is
that of the entry's last use. Beside the entries are `KeyedFile`s, each one SQLite file with something of many texts.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from filelock import FileLock
from pydantic import BaseModel

from kg2rag.compute.atomic_write import new_folder, remove_folder, remove_leftovers
from kg2rag.text.records import sha256

MANIFEST = "manifest.json"
_CHECKOUT = Path(__file__).resolve().parents[2]
LARGE = 8 << 20
"""Bytes from which a file is not read as long as size and time agree: writing so many takes longer than a tick."""
_NAME = re.compile(r"[0-9a-f]{32}")
SECONDS = 60  # of waiting for another process that writes
_ASKED = 10_000  # keys in one statement
version = cache(metadata.version)  # a library's description is a file that is parsed


class DamagedEntryWarning(UserWarning):
    """A part of the store was damaged and is made again."""


def default_root() -> Path:
    """`$KG2RAG_STORE`, else `data/cache` in a source checkout, else the user's cache directory."""
    if given := os.environ.get("KG2RAG_STORE"):
        return Path(given)
    if (_CHECKOUT / "pyproject.toml").is_file():
        return _CHECKOUT / "data" / "cache"
    from platformdirs import user_cache_path

    return user_cache_path("kg2rag")


class DamagedFileError(OSError):
    """A keyed file is no sound SQLite file."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a store, or one `KeyedFile`; its size in bytes and its last use in seconds, 0 without a manifest."""

    path: Path
    stage: str
    size: int
    used: float


class Store:
    """The cache under one root directory, `default_root()` by default; the first write creates it."""

    def __init__(self, root: Path | str | None = None) -> None:
        self.root = Path(root) if root is not None else default_root()
        self.verified: set[Path] = set()

    def __repr__(self) -> str:
        return f"Store({str(self.root)!r})"

    def entry(
        self, stage: str, key: Mapping[str, object], build: Callable[[Path], None], *, libraries: tuple[str, ...] = ()
    ) -> Path:
        """The directory of an entry; if it is missing or damaged, `build(directory)` fills a new one.

        Parameters
        ----------
        stage : what the entry is ("vectors", "bm25", "mentions"); one subdirectory of the store each.
        key : everything that its contents depend on, as JSON values.
        libraries : distributions whose version may change the contents.
        """
        path = self.place(stage, key, libraries=libraries)
        if path.is_dir() and self._damage(path) is None:
            return path
        locks = self.root / ".locks"
        locks.mkdir(parents=True, exist_ok=True)
        with FileLock(locks / f"{path.name}.lock"):
            damage = self._damage(path) if path.is_dir() else "it is missing"
            if damage and path.is_dir():
                warnings.warn(f"{path}: {damage}; rebuilding it.", DamagedEntryWarning, stacklevel=2)
                remove_folder(path)
            if damage:
                self._build(path, _full(stage, key, libraries), build)
        return path

    def find(self, stage: str, key: Mapping[str, object], *, libraries: tuple[str, ...] = ()) -> Path | None:
        """The directory of an entry; None if it is missing or damaged."""
        path = self.place(stage, key, libraries=libraries)
        return path if path.is_dir() and self._damage(path) is None else None

    def place(self, stage: str, key: Mapping[str, object], *, libraries: tuple[str, ...] = ()) -> Path:
        """Where an entry is, or would be."""
        return self.root / stage / entry_name(_full(stage, key, libraries))

    def _build(self, path: Path, key: Mapping[str, object], build: Callable[[Path], None]) -> None:
        with new_folder(path) as partial:
            build(partial)
            noted = {}
            for file in sorted(filter(Path.is_file, partial.rglob("*"))):
                size, modified = file.stat().st_size, file.stat().st_mtime_ns
                about = {"size": size, "sha256": sha256(file), "modified_ns": modified}
                noted[str(file.relative_to(partial))] = about
            manifest = {"stage": path.parent.name, "key": key, "created": time.time(), "files": noted}
            (partial / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False), encoding="utf-8")
        self.verified.add(path)

    def _damage(self, path: Path, *, thorough: bool = False) -> str | None:
        """What is wrong with an entry, or None; read once and then in use. `thorough` : every byte, and no use."""
        if path in self.verified and not thorough:
            return None
        if not thorough:
            with suppress(OSError):  # a store that may only be read is not pruned
                os.utime(path / MANIFEST)
        try:
            manifest = _Manifest.model_validate_json((path / MANIFEST).read_bytes())
            if entry_name(manifest.key) != path.name:
                raise ValueError("its key is not the one that names the entry")
        except (OSError, ValueError) as error:
            return f"its manifest cannot be read ({error})"
        for name, noted in manifest.files.items():
            file = path / name
            if not file.is_file():
                return f"{name} is missing"
            found = file.stat()
            if found.st_size != noted.size:
                return f"{name} has {found.st_size} bytes instead of {noted.size}"
            unread = noted.size >= LARGE and found.st_mtime_ns == noted.modified_ns and not thorough
            if not unread and sha256(file) != noted.sha256:
                return f"{name} does not match its checksum"
        self.verified.add(path)
        return None

    def entries(self) -> Iterator[Entry]:
        """Every entry, finished or without a manifest, and every keyed file, by stage and name."""
        for path in sorted(self.root.glob("*/[!.]*")):
            if not (_NAME.fullmatch(path.name) and path.is_dir()):
                continue
            size, used = 0, 0.0
            for file in path.rglob("*"):
                with suppress(OSError):
                    size += file.stat().st_size if file.is_file() else 0
                    used = file.stat().st_mtime if file.name == MANIFEST else used
            if path.is_dir():  # else another process has deleted it by now
                yield Entry(path, path.parent.name, size, used)
        for path in sorted(self.root.rglob("*.sqlite")):
            with suppress(FileNotFoundError):
                found, stage = path.stat(), path.stem if path.parent == self.root else path.parent.name
                yield Entry(path, stage, found.st_size, found.st_mtime)

    def remove(self, path: Path) -> None:
        """Delete an entry or a keyed file, if it is there."""
        self.verified.discard(path)
        path.unlink(missing_ok=True) if path.is_file() else remove_folder(path)

    def verify(self) -> dict[Path, str]:
        """Damaged entries and what is wrong with them; reads every byte of the store."""
        found: dict[Path, str | None] = {}
        for path in (entry.path for entry in self.entries()):
            if path.is_dir():
                found[path] = self._damage(path, thorough=True)
                continue
            try:
                with closing(sqlite3.connect(path, timeout=SECONDS)) as file:
                    (said,) = file.execute("PRAGMA integrity_check(1)").fetchone()
            except sqlite3.DatabaseError as error:
                said = str(error)
            found[path] = None if said == "ok" else said
        return {path: damage for path, damage in found.items() if damage is not None}

    def prune(self, older_than_days: float = 0.0) -> tuple[int, int]:
        """Delete entries unused for that many days, and leftovers of killed builds; (entries, bytes) freed."""
        limit = time.time() - older_than_days * 86_400
        unused = [entry for entry in self.entries() if entry.used <= limit]
        for entry in unused:
            self.remove(entry.path)
        size = sum(entry.size for entry in unused) + sum(remove_leftovers(folder) for folder in self.root.glob("*/"))
        return len(unused), size


def _full(stage: str, key: Mapping[str, object], libraries: tuple[str, ...]) -> dict[str, object]:
    return {"stage": stage, **key, "libraries": {name: version(name) for name in libraries}}


def entry_name(key: Mapping[str, object]) -> str:
    """The name of an entry's directory: a hash of its key as canonical JSON."""
    text = json.dumps(key, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class _File(BaseModel):
    size: int
    sha256: str
    modified_ns: int | None = None


class _Manifest(BaseModel):
    key: dict[str, Any]
    files: dict[str, _File]


@dataclass(frozen=True)
class KeyedFile:
    """Keys and their values in one SQLite file, the first value of a key stays; safe in threads and processes.

    `table`, `key` and `value` are their names in the file.
    """

    path: Path
    table: str
    key: str
    value: str

    def find(self, keys: Sequence[Any]) -> dict[Any, Any]:
        """The values of those keys that the file has; DamagedFileError where it cannot be read."""
        found: dict[Any, Any] = {}
        if not self.path.is_file():
            return found
        with suppress(OSError):  # of a file that may only be read
            os.utime(self.path)
        with self._opened() as file:
            for start in range(0, len(keys), _ASKED):
                asked = keys[start : start + _ASKED]
                wanted = f"WHERE {self.key} IN ({','.join('?' * len(asked))})"
                found.update(file.execute(f"SELECT {self.key}, {self.value} FROM {self.table} {wanted}", asked))  # noqa: S608
        return found

    def keep(self, rows: Iterable[tuple[Any, Any]]) -> None:
        """Keep values under their keys; OSError where the file cannot be written."""
        with self._opened() as file:
            file.executemany(f"INSERT OR IGNORE INTO {self.table} VALUES (?, ?)", rows)  # noqa: S608

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The file; its changes are written at the end of the block."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=SECONDS)) as file, file:
                file.execute("PRAGMA page_size = 16384")  # of a new file; a vector fills most of a smaller one
                file.execute(f"CREATE TABLE IF NOT EXISTS {self.table} ({self.key} UNIQUE, {self.value})")
                yield file
        except sqlite3.OperationalError as error:
            said = f"The store cannot be used: {error}. Free space, or name another folder by KG2RAG_STORE"
            raise OSError(errno.EIO, said, str(self.path)) from error
        except sqlite3.DatabaseError as error:
            raise DamagedFileError(errno.EIO, f"It is damaged: {error}", str(self.path)) from error
