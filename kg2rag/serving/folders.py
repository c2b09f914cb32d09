"""A root folder -> the comparisons and sweeps saved below it, each known by its path from the root.

Only what is found here can be asked for, so that no address leads out of the root. A folder with a link that leads out
of it is named as damaged.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kg2rag.text.records import DataError, read_json

Kind = Literal["comparison", "sweep"]
MOST = 20_000
"""Folders that are looked into below the root."""
_OURS = ("runs", "parts")  # folders within a saved one
_CONFIG, _SWEEP = "config.json", "sweep.json"
_SIGNS = ("per_query.parquet", "per_query.csv.xz", "unfinished.json")


@dataclass(frozen=True)
class Saved:
    """A folder that holds, or was meant to hold, a comparison or a sweep; `at` is its path from the root."""

    at: str
    path: Path
    kind: Kind

    def state(self) -> tuple[tuple[str, int, int], ...]:
        """Name, time and size of each file: another state means that it was saved again."""
        return tuple((str(file), stat.st_mtime_ns, stat.st_size) for file in self._files() for stat in [file.lstat()])

    def require_inside(self, root: Path) -> None:
        """DataError where a file of the folder is a link that leads out of the root."""
        top = root.resolve()
        for file in self._files():
            if not file.resolve().is_relative_to(top):
                raise DataError(f"{file} is a link that leads out of the folder that is served. Copy the file here.")

    def _files(self) -> list[Path]:
        inner = [self.path / name for name in _OURS if (self.path / name).is_dir()]
        return [file for folder in (self.path, *inner) for file in sorted(folder.iterdir())]


def find(root: Path) -> dict[str, Saved]:
    """Path from the root -> what is saved there, in the order of the paths; hidden folders are left out.

    NotADirectoryError: the root is none. ValueError: it holds more than `MOST` folders.
    """
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is no folder. Name one that holds saved comparisons or sweeps.")
    found = [Saved(_name(root, path), path, kind) for path in _folders(root) if (kind := _kind(path))]
    return {one.at: one for one in sorted(found, key=lambda one: one.at)}


def _folders(root: Path) -> Iterator[Path]:
    for number, (place, names, _) in enumerate(os.walk(root)):  # links are not followed
        if number == MOST:
            raise ValueError(f"{root} holds more than {MOST:,} folders. Name one that is nearer to the results.")
        names[:] = sorted(name for name in names if not name.startswith(".") and name not in _OURS)
        yield Path(place)


def _name(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def _kind(path: Path) -> Kind | None:
    if (path / _SWEEP).is_file() or (path / "results.parquet").is_file():
        return "sweep"
    if any((path / name).is_file() for name in _SIGNS):
        return "comparison"
    return "comparison" if (path / _CONFIG).is_file() and _of_ours(path / _CONFIG) else None


def _of_ours(file: Path) -> bool:
    """Whether a config.json is a comparison's: models and other programs have files of that name."""
    try:
        config = read_json(file)
    except (DataError, OSError):
        return False
    return isinstance(config, dict) and "systems" in config and "baseline" in config
