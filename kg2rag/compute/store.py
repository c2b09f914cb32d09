"""A content-addressed cache: (stage, parameters, inputs) -> a directory of files, built once.

An entry is written atomically (see `compute.atomic_write`) with a manifest of sizes and checksums.
A store checks them when it first opens the entry; a large file is skipped if its size and
modification time match (`Store.verify` reads every byte). A damaged entry is reported and rebuilt.
While one process builds an entry, others wait. Contents are Parquet, Arrow, `.npy` and JSON;
nothing is unpickled. A manifest's mtime is the last access to the entry. `KeyedFile`s beside the
entries hold small values of many keys.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from kg2rag.compute.atomic_write import new_folder, remove_folder, remove_leftovers
from kg2rag.compute.keyed_file import DamagedEntryWarning, KeyedFile, claimed
from kg2rag.text.records import sha256

MANIFEST = "manifest.json"
_CHECKOUT = Path(__file__).resolve().parents[2]
LARGE_BYTES = 8 << 20
"""Files of at least this size are compared by size and modification time only."""
_NAME = re.compile(r"[0-9a-f]{32}")
version = cache(metadata.version)  # each call would parse a file


def default_root() -> Path:
    """`$KG2RAG_STORE`, else `data/cache` of a source checkout, else the user's cache directory."""
    if variable := os.environ.get("KG2RAG_STORE"):
        return Path(variable).expanduser()
    if (_CHECKOUT / "pyproject.toml").is_file():
        return _CHECKOUT / "data" / "cache"
    from platformdirs import user_cache_path

    return user_cache_path("kg2rag")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry or `KeyedFile` of a store: size in bytes, last access in seconds since 1970."""

    path: Path
    stage: str
    size: int
    last_access: float


class Store:
    """The cache under a root directory, `default_root()` by default; the first write makes it."""

    def __init__(self, root: Path | str | None = None) -> None:
        self.root = default_root() if root is None else Path(root).expanduser()
        self.verified: set[Path] = set()
        self._cleaned: set[Path] = set()

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
        """The directory of an entry; `build(directory)` fills it if it is missing or damaged.

        Parameters
        ----------
        stage : the kind of the entry ("vectors", "bm25", "mentions"), a subdirectory of the store.
        key : everything that the contents depend on, as JSON values.
        libraries : distributions whose version may change the contents.
        """
        path = self.entry_path(stage, key, libraries=libraries)
        if path.is_dir() and self._damage(path) is None:
            return path
        with claimed(self.root, path.name):
            if path.is_dir():
                damage = self._damage(path)
                if damage is None:  # another process has built it
                    return path
                warnings.warn(
                    f"{path}: {damage}; rebuilding it.",
                    DamagedEntryWarning,
                    stacklevel=2,
                )
                remove_folder(path)
            self._build(path, _full_key(stage, key, libraries), build)
        return path

    def find(
        self, stage: str, key: Mapping[str, object], *, libraries: tuple[str, ...] = ()
    ) -> Path | None:
        """The directory of an entry; None if it is missing or damaged."""
        path = self.entry_path(stage, key, libraries=libraries)
        return path if path.is_dir() and self._damage(path) is None else None

    def keyed_file(self, name: str) -> KeyedFile:
        """The keyed file of a name ("answers", "vectors/0123abcd"); its first `keep` creates it."""
        return KeyedFile(self.root / f"{name}.sqlite")

    def entry_path(
        self, stage: str, key: Mapping[str, object], *, libraries: tuple[str, ...] = ()
    ) -> Path:
        """The path of an entry, which need not exist."""
        return self.root / stage / entry_name(_full_key(stage, key, libraries))

    def _build(
        self, path: Path, key: Mapping[str, object], build: Callable[[Path], None]
    ) -> None:
        """Build an entry with its manifest; leftovers in its folder are removed once."""
        if path.parent not in self._cleaned:
            self._cleaned.add(path.parent)
            remove_leftovers(path.parent)
        with new_folder(path) as partial:
            build(partial)
            files = {}
            for file in sorted(filter(Path.is_file, partial.rglob("*"))):
                status = file.stat()
                record = {
                    "size": status.st_size,
                    "sha256": sha256(file),
                    "modified_ns": status.st_mtime_ns,
                }
                files[str(file.relative_to(partial))] = record
            manifest = {
                "stage": path.parent.name,
                "key": key,
                "created": time.time(),
                "files": files,
            }
            (partial / MANIFEST).write_text(
                json.dumps(manifest, indent=1, ensure_ascii=False), encoding="utf-8"
            )
        self.verified.add(path)

    def _damage(self, path: Path, *, thorough: bool = False) -> str | None:
        """A description of the damage of an entry; None if it is sound.

        By default the access is recorded, large files are not read, and an entry is checked once.
        `thorough` reads every byte and records nothing.
        """
        if not thorough:
            if path in self.verified:
                return None
            with suppress(OSError):  # the store is read-only
                os.utime(path / MANIFEST)
        try:
            manifest = _read_manifest(path)
        except (OSError, ValueError) as error:
            return f"its manifest cannot be read ({error})"
        for name, record in manifest.files.items():
            damage = _file_damage(path / name, record, thorough=thorough)
            if damage:
                return f"{name} {damage}"
        self.verified.add(path)
        return None

    def entries(self) -> Iterator[Entry]:
        """Every entry and keyed file, damaged ones too, by stage and name; no other files."""
        for path in sorted(self.root.glob("*/[!.]*")):
            if _NAME.fullmatch(path.name) and (path / MANIFEST).is_file():
                with suppress(FileNotFoundError):  # another process deletes the entry
                    size = sum(
                        file.stat().st_size
                        for file in path.rglob("*")
                        if file.is_file()
                    )
                    yield Entry(
                        path, path.parent.name, size, (path / MANIFEST).stat().st_mtime
                    )
        for path in sorted(
            [*self.root.glob("*.sqlite"), *self.root.glob("vectors/*.sqlite")]
        ):
            if KeyedFile(path).is_foreign():
                continue
            stage = path.stem if path.parent == self.root else path.parent.name
            with suppress(FileNotFoundError):
                status = path.stat()
                yield Entry(path, stage, status.st_size, status.st_mtime)

    def verify(self) -> dict[Path, str]:
        """Path -> damage of each damaged entry and keyed file; every byte of the store is read."""
        damages: dict[Path, str] = {}
        for entry in self.entries():
            if entry.path.is_dir():
                damage = self._damage(entry.path, thorough=True)
            else:
                damage = KeyedFile(entry.path).damage()
            if damage is not None:
                damages[entry.path] = damage
        return damages

    def prune(self, older_than_days: float = 0.0) -> tuple[int, int]:
        """Delete entries unused for some days, and leftovers of builds.

        Returns the number of entries and of bytes freed. An entry is deleted if its manifest names
        it and lists all its files, a keyed file if its header is ours. Other files remain.
        """
        limit = time.time() - older_than_days * 86_400
        count, size = 0, 0
        for entry in self.entries():
            if entry.last_access <= limit and _is_ours(entry.path):
                self.remove(entry.path)
                count += 1
                size += entry.size
        size += sum(remove_leftovers(folder) for folder in self.root.glob("*/"))
        return count, size

    def remove(self, path: Path) -> None:
        """Delete an entry or a keyed file, if it exists."""
        self.verified.discard(path)
        if path.is_file():
            KeyedFile(path).remove()
        else:
            remove_folder(path)


def _is_ours(path: Path) -> bool:
    """Whether a store certainly wrote every file of an entry, or a keyed file."""
    if path.is_file():
        return KeyedFile(path).is_ours()
    try:
        manifest = _read_manifest(path)
    except (OSError, ValueError):
        return False
    names = {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}
    return names <= {MANIFEST, *manifest.files}


def _full_key(
    stage: str, key: Mapping[str, object], libraries: tuple[str, ...]
) -> dict[str, object]:
    """A key with its stage and the versions of libraries, as in the manifest."""
    return {
        "stage": stage,
        **key,
        "libraries": {name: version(name) for name in libraries},
    }


def entry_name(key: Mapping[str, object]) -> str:
    """The name of an entry's directory: a hash of its key as canonical JSON."""
    return hashlib.sha256(
        json.dumps(key, sort_keys=True, ensure_ascii=False).encode()
    ).hexdigest()[:32]


class _File(BaseModel):
    """A file in a manifest; manifests of former versions lack the time."""

    size: int
    sha256: str
    modified_ns: int | None = None


class _Manifest(BaseModel):
    """The part of a manifest that is read again."""

    key: dict[str, Any]
    files: dict[str, _File]


def _file_damage(path: Path, record: _File, *, thorough: bool) -> str:
    """The damage of a file of an entry; "" if it is sound."""
    if not path.is_file():
        return "is missing"
    status = path.stat()
    if status.st_size != record.size:
        return f"has {status.st_size} bytes instead of {record.size}"
    is_untouched = (
        record.size >= LARGE_BYTES and status.st_mtime_ns == record.modified_ns
    )
    if (thorough or not is_untouched) and sha256(path) != record.sha256:
        return "does not match its checksum"
    return ""


def _read_manifest(path: Path) -> _Manifest:
    """The manifest of an entry.

    OSError, ValueError: it cannot be read, or belongs to another entry.
    """
    manifest = _Manifest.model_validate_json((path / MANIFEST).read_bytes())
    if entry_name(manifest.key) != path.name:
        raise ValueError("its key is not the one that names the entry")
    return manifest
