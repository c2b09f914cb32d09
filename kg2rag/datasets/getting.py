"""A set, or a part of one that is reported -> its official file in a folder, from the hub, checked by what it comes to.

`subsets/` has the ids of every reported part, and checksums of its questions and corpus as they are when loaded: they
hold whatever the hub did to the file. A part whose corpus is not on the hub has its ids here and says what it needs.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from kg2rag.compute.files import new_folder
from kg2rag.datasets.hub import fetch_split
from kg2rag.datasets.reading import Files
from kg2rag.datasets.registry import DATASETS, load
from kg2rag.text.records import DataError, reading, sha256
from kg2rag.text.registry import unknown
from kg2rag.types import QADataset

SOURCE = "source.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subset:
    """A part of a set that README and docs report.

    Attributes
    ----------
    dataset, options : what `load` takes beside the path.
    ids : of its questions, in their order.
    split, file : how the hub's copy gives it; None where it does not, and `needs` says what is needed.
    questions, corpus : checksums of what is loaded.
    """

    dataset: str
    about: str
    ids: tuple[str, ...]
    questions: str
    corpus: str
    options: Mapping[str, Any] = field(default_factory=dict)
    split: str | None = None
    file: str | None = None
    needs: str = ""


@cache
def subsets() -> Mapping[str, Subset]:
    """Name -> a reported part of a set."""
    folder = resources.files("kg2rag.datasets") / "subsets"
    listed: dict[str, dict[str, Any]] = tomllib.loads((folder / "subsets.toml").read_text(encoding="utf-8"))
    ids = {name: tuple((folder / f"{name}.txt").read_text(encoding="utf-8").splitlines()) for name in listed}
    return {name: Subset(ids=ids[name], **about) for name, about in listed.items()}


def get(name: str, folder: str | Path, *, split: str | None = None, revision: str | None = None) -> Path:
    """Bring a set into a folder: downloaded once, checked each time.

    Parameters
    ----------
    name : a set of the hub ("musique", "hotpotqa", "2wikimultihopqa") or a reported part ("musique-100", …).
    folder : the folder of the sets; this one lies in `folder / name`.
    split : of a whole set; its default otherwise.
    revision : the hub's branch, tag or commit; the one of the spec otherwise. What was read stands in source.json.

    Returns
    -------
    The folder, for `load(..., path=...)`.

    Raises
    ------
    ValueError : an unknown name, or a set that the hub does not give; it says where it is from.
    DataError : what is there, or what the hub gave, is not what was reported, or has changed since it was got.
    ConnectionError : the hub cannot be reached.
    """
    part, given = subsets().get(name), [one for one, spec in DATASETS.items() if spec.hub and spec.hub.files]
    if part is None and name not in given:
        raise ValueError(unknown("set to get", name, (*given, *subsets())))
    spec = DATASETS[name if part is None else part.dataset]
    if part is None:
        split = spec.options(split=split).split or next(iter(spec.files))
        file = spec.files[split][0]
    else:
        split, file = part.split, part.file or ""
    place = Path(folder) / name
    if not place.is_dir():
        if split is None or not file:
            raise ValueError(f"{name!r} is not given by the hub: put into {place} {part and part.needs}.")
        paths, origin = fetch_split(spec, split, revision)
        rows = [row for _, row in Files().rows(*paths)]
        with new_folder(place) as made:
            (made / file).write_text(_text(rows if part is None else _chosen(name, part, rows), file), encoding="utf-8")
            about = {"name": name, **origin, "file": file, "sha256": sha256(made / file), "licence": spec.licence}
            (made / SOURCE).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            if part is not None:
                require(name, load(part.dataset, path=made, **part.options))
        return place
    if part is not None:
        require(name, load(part.dataset, path=place, **part.options))
    if part is None or (place / SOURCE).is_file():  # of a part, the files may have been put there by hand
        _require_record(place, revision, file)
    return place


def _require_record(place: Path, revision: str | None, file: str) -> None:
    """DataError: the file is not as it was got, or was got from another revision than the one asked for now."""
    advice = f"Delete {place} and get it again."
    with reading(place / SOURCE, advice):
        about = json.loads((place / SOURCE).read_text(encoding="utf-8"))
        there, checksum, got = about["file"], about["sha256"], about["revision"]
    if there != file:
        raise DataError(f"{place} holds {there}, not {file}. Get this split into another folder.")
    if not (place / file).is_file() or sha256(place / file) != checksum:
        raise DataError(f"{place / file} is not as it was got. {advice}")
    if revision not in (None, got):
        raise DataError(f"{place} was got from revision {got}, and {revision!r} is asked for. {advice}")


def require(name: str, data: QADataset) -> None:
    """DataError: a set that was loaded is not the reported part of that name; it says in what they differ."""
    from kg2rag.evaluation import provenance  # slow to import, and `load` needs none of it

    part = subsets()[name]
    missing = [id_ for id_ in part.ids if id_ not in {question.id for question in data.questions}]
    if missing:
        raise DataError(
            f"{name}: {len(missing)} of the {len(part.ids)} reported questions are missing ({missing[0]!r})."
        )
    if data.corpus.fingerprint != part.corpus:
        raise DataError(f"{name}: the {len(data.corpus)} passages are not those that were reported on.")
    if provenance.questions(data) != part.questions:
        raise DataError(f"{name}: order, texts, gold or answers of the questions are not those that were reported on.")


def _chosen(name: str, part: Subset, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records of a part, in its order."""
    found = {str(row.get("id", row.get("_id"))): row for row in rows}
    if missing := [id_ for id_ in part.ids if id_ not in found]:
        raise DataError(f"{name}: the hub's copy lacks {len(missing)} of {len(part.ids)} questions ({missing[0]!r}).")
    return [found[id_] for id_ in part.ids]


def _text(rows: list[dict[str, Any]], file: str) -> str:
    """JSON as official files have it: a list, or a record a line."""
    texts = [json.dumps(row, ensure_ascii=False) for row in rows]
    return "".join(f"{text}\n" for text in texts) if file.endswith(".jsonl") else "[" + ",\n".join(texts) + "]\n"
