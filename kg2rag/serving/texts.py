"""Folders of data sets -> the questions and passages of a comparison that was saved without texts.

A set is joined where its files, and then its questions and passages, have the checksums that the comparison has of
them; anything else is refused and the page says why. Files are only read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kg2rag.datasets import load
from kg2rag.evaluation import provenance
from kg2rag.text.records import sha256
from kg2rag.types import QADataset

MOST = 1000
"""Folders of sets that are looked at in each folder that is named."""


class MismatchError(ValueError):
    """Files of a data set that are not those of the comparison."""


class Joined(NamedTuple):
    """A data set and the name of the folder that it was read from."""

    data: QADataset
    folder: str


class Texts:
    """Where data sets lie.

    Parameters
    ----------
    folders : each the folder of a set, or one that holds such folders.

    Raises
    ------
    NotADirectoryError : a folder that is none. ValueError: one with more than `MOST` folders.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.folders = tuple(folders)
        for folder in folders:
            if not folder.is_dir():
                raise NotADirectoryError(f"{folder} is no folder. Name that of a data set, or one that holds such.")
        self._places = [place for folder in folders for place in _places(folder)]

    def place(self, config: Mapping[str, Any]) -> Path | None:
        """The folder whose files are those that a comparison was made of, by their checksums; None for none.

        `config` : the comparison's. MismatchError: a folder has files of these names, and they are others.
        """
        files: Mapping[str, str] = _source(config).get("files") or {}
        outside = [name for name in files if Path(name).is_absolute() or ".." in Path(name).parts]
        if outside:
            raise MismatchError(f"config.json names {outside[0]!r}, which is no file in the folder of a data set.")
        other = ""
        for place in self._places if files else ():
            if not all((place / name).is_file() for name in files):
                continue
            sums = {name: sha256(place / name) for name in files}
            changed = next((name for name in files if sums[name] != files[name]), None)
            if changed is None:
                return place
            other = other or (
                f"{place.name}/{changed} is not the file that was compared on: its sha256 is {sums[changed]}, "
                f"config.json has {files[changed]}."
            )
        if other:
            raise MismatchError(other)
        return None

    def join(self, config: Mapping[str, Any]) -> Joined | None:
        """The data set of a comparison; None where no folder has its files.

        MismatchError: other files, or files that now make other questions or passages.
        """
        place, source, about = self.place(config), _source(config), config["data"]
        if place is None:
            return None
        options = {name: source[name] for name in ("split", "setting", "passages", "limit", "seed") if source.get(name)}
        data = load(source["loader"], path=_path(place, source), **options)
        found = {"questions_sha256": provenance.questions(data), "corpus_fingerprint": data.corpus.fingerprint}
        for name, value in found.items():
            if value != about[name]:
                raise MismatchError(
                    f"{place.name} has other questions or passages than were compared on: {name} is {value}, "
                    f"config.json has {about[name]}."
                )
        return Joined(data, place.name)


def wanted(config: Mapping[str, Any]) -> str:
    """The files of a comparison's data set, in words; nothing where its configuration names none."""
    source = _source(config)
    return f"{', '.join(source['files'])} ({source.get('loader', 'data set')})" if source.get("files") else ""


def _source(config: Mapping[str, Any]) -> Mapping[str, Any]:
    found = config.get("data", {}).get("source", {})
    return found if isinstance(found, Mapping) and found.get("loader") else {}


def _places(folder: Path) -> Iterator[Path]:
    inner = sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))
    if len(inner) > MOST:
        raise ValueError(f"{folder} holds more than {MOST:,} folders. Name one that holds those of data sets.")
    yield from (folder.resolve(), *inner)


def _path(place: Path, source: Mapping[str, Any]) -> Path:
    """What the loader is given: the folder, or the only file, which may be one of several in its folder."""
    files = list(source["files"])
    return place / files[0] if len(files) == 1 else place
