"""A content-addressed cache on disk: (stage, parameters, inputs) -> a directory of files, built once.

An entry is written whole (see `compute.files`) with a manifest of sizes and checksums, which a store checks when it
first opens the entry; a large file whose size and time of modification are the manifest's is not read for that, so that
gigabytes open as fast as kilobytes (`Store.verify` reads every byte). A damaged entry is reported and rebuilt, never
used. While one process builds an entry, others wait for it. Contents are Parquet, Arrow, `.npy` and JSON; nothing is
ever unpickled. The time of a manifest is that of the entry's last use.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from filelock import FileLock

from kg2rag.compute.files import new_folder, remove_folder, remove_leftovers
from kg2rag.text.records import read_json, sha256

MANIFEST = "manifest.json"
_CHECKOUT = Path(__file__).resolve().parents[2]
LARGE = 8 << 20
"""Bytes from which a file is not read as long as size and time agree. Writing so many takes longer than a tick of the
file system's clock, so no later change has the same time."""
HELP = "Free space, allow writing, or name another folder by KG2RAG_STORE"
_NAME = re.compile(r"[0-9a-f]{32}")


class DamagedEntryWarning(UserWarning):
    """A store entry did not match its manifest and was rebuilt."""


def default_root() -> Path:
    """`$KG2RAG_STORE`, else `data/cache` in a source checkout, else the user's cache directory."""
    if given := os.environ.get("KG2RAG_STORE"):
        return Path(given)
    if (_CHECKOUT / "pyproject.toml").is_file():
        return _CHECKOUT / "data" / "cache"
    from platformdirs import user_cache_path

    return user_cache_path("kg2rag")


@cache
def version(library: str) -> str:
    """The installed version of a library, looked up once: its description is a file that is parsed."""
    return metadata.version(library)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry in the list of `Store.entries`; `created` and `used` in seconds, 0 for one that is damaged."""

    path: Path
    stage: str
    size: int
    created: float
    used: float
    key: Mapping[str, object]


class Store:
    """The cache under one root directory, `default_root()` by default; the first write creates it."""

    def __init__(self, root: Path | str | None = None) -> None:
        self.root = Path(root) if root is not None else default_root()
        self.verified: set[Path] = set()

    def __repr__(self) -> str:
        return f"Store({str(self.root)!r})"

    def entry(
        self,
        stage: str,
        key: Mapping[str, object],
        build: Callable[[Path], None],
        *,
        libraries: tuple[str, ...] = (),
    ) -> Path:
        """The directory of an entry; if it is missing or damaged, `build(directory)` fills a new one.

        Parameters
        ----------
        stage : what the entry is ("vectors", "bm25", "mentions"); one subdirectory of the store each.
        key : everything that its contents depend on, as JSON values.
        libraries : distributions whose version may change the contents.
        """
        path, full_key = self.place(stage, key, libraries=libraries), _full(stage, key, libraries)
        if path.is_dir() and self._damage(path) is None:
            return path
        try:
            locks = self.root / ".locks"
            locks.mkdir(parents=True, exist_ok=True)
            with FileLock(locks / f"{path.name}.lock"):
                if not (path.is_dir() and self._sound(path, "rebuilding it")):
                    self._build(path, full_key, build)
        except OSError as error:
            if not self._concerns(error):
                raise
            where, said = error.filename or str(self.root), error.strerror or error
            said = f"The store cannot be written: {said}. {HELP}"
            raise OSError(error.errno or errno.ENOSPC, said, where) from error
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
            files = {str(file.relative_to(partial)): _state(file) for file in _files(partial)}
            manifest = {"stage": path.parent.name, "key": key, "created": time.time(), "files": files}
            (partial / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False), encoding="utf-8")
        self.verified.add(path)

    def _concerns(self, error: OSError) -> bool:
        """Whether an error in a build is of the disk that the store is on, and not of what the build reads."""
        if error.filename is None:  # numpy gives no number where a file is cut short
            return type(error) is OSError and error.errno in (None, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        return str(error.filename).startswith(str(self.root))

    def _sound(self, path: Path, then: str) -> bool:
        """Whether an entry is intact; a damaged one is reported and deleted."""
        if (damage := self._damage(path)) is not None:
            warnings.warn(f"{path}: {damage}; {then}.", DamagedEntryWarning, stacklevel=3)
            remove_folder(path)
        return damage is None

    def _damage(self, path: Path, *, thorough: bool = False) -> str | None:
        """What is wrong with an entry, or None; it is read once, and in use from then on.

        `thorough` : every byte, of large files too, and no use.
        """
        if path in self.verified and not thorough:
            return None
        if not thorough:
            with suppress(OSError):  # a store that may only be read is not pruned
                os.utime(path / MANIFEST)
        try:
            files = _read_manifest(path)[2]
        except (OSError, ValueError) as error:
            return f"its manifest cannot be read ({error})"
        for name, (size, checksum, modified) in files.items():
            file = path / name
            if not file.is_file():
                return f"{name} is missing"
            found = file.stat()
            if found.st_size != size:
                return f"{name} has {found.st_size} bytes instead of {size}"
            unread = size >= LARGE and found.st_mtime_ns == modified and not thorough
            if not unread and sha256(file) != checksum:
                return f"{name} does not match its checksum"
        self.verified.add(path)
        return None

    def existing(self, stage: str, known: Collection[Path] = ()) -> list[Path]:
        """The intact entries of a stage but the known ones, by name; damaged ones are reported and deleted."""
        folder = self.root / stage
        paths = [path for path in sorted(folder.glob("[!.]*")) if path not in known and (path / MANIFEST).is_file()]
        return [path for path in paths if self._sound(path, "its contents will be rebuilt")]

    def entries(self) -> Iterator[Entry]:
        """Every finished entry and every one without a manifest, by stage and name."""
        found = (path for path in sorted(self.root.glob("*/[!.]*")) if _NAME.fullmatch(path.name) and path.is_dir())
        for path in found:
            size = 0
            for file in path.rglob("*"):
                with suppress(OSError):
                    size += file.stat().st_size if file.is_file() else 0
            try:
                key, created, _ = _read_manifest(path)
                used = max(created, (path / MANIFEST).stat().st_mtime)
            except (OSError, ValueError):  # `verify` reports the reason; `prune` treats it as the oldest
                key, created, used = {}, 0.0, 0.0
            if path.is_dir():  # else another process has deleted it by now
                yield Entry(path, path.parent.name, size, created, used, key)

    def remove(self, path: Path) -> None:
        """Delete an entry, if it is there."""
        self.verified.discard(path)
        remove_folder(path)

    def verify(self) -> dict[Path, str]:
        """Damaged entries and what is wrong with them; reads every byte of the store."""
        found = ((entry.path, self._damage(entry.path, thorough=True)) for entry in self.entries())
        return {path: damage for path, damage in found if damage is not None}

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


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file())


def entry_name(key: Mapping[str, object]) -> str:
    """The name of an entry's directory: a hash of its key as canonical JSON."""
    text = json.dumps(key, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _state(file: Path) -> dict[str, int | str]:
    """What the manifest notes of a file."""
    status = file.stat()
    return {"size": status.st_size, "sha256": sha256(file), "modified_ns": status.st_mtime_ns}


def _read_manifest(path: Path) -> tuple[dict[str, object], float, dict[str, tuple[int, str, object]]]:
    """The key of an entry, when it was made, and its files: name -> (bytes, sha256, time of modification or None).

    ValueError if the manifest is malformed or its key is not that of the directory.
    """
    record = read_json(path / MANIFEST)
    try:
        files = {
            name: (int(file["size"]), str(file["sha256"]), file.get("modified_ns"))
            for name, file in record["files"].items()
        }
        key, created = dict(record["key"]), float(record["created"])
    except (AttributeError, KeyError, OverflowError, TypeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if not math.isfinite(created):
        raise ValueError(f"it was created at {created}")
    if entry_name(key) != path.name:
        raise ValueError("its key is not the one that names the entry")
    return key, created, files
