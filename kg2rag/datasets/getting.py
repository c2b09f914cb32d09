"""A part of a set that is reported -> its questions in a folder, from the hub, checked by what they come to.

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
from kg2rag.text.records import DataError
from kg2rag.text.registry import unknown
from kg2rag.types import QADataset


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


def get(name: str, folder: str | Path) -> Path:
    """Bring a reported part of a set into a folder: downloaded once, checked each time.

    Parameters
    ----------
    name : of the part ("musique-100", …). Whole sets need no folder: `load("musique")` reads the hub's copy.
    folder : the folder of the sets; this one lies in `folder / name`.

    Returns
    -------
    The folder, for `load(..., path=...)`.

    Raises
    ------
    ValueError : an unknown name, or a part that the hub does not give; it says where it is from.
    DataError : what is there, or what the hub gave, is not what was reported.
    ConnectionError : the hub cannot be reached.
    """
    if name not in subsets():
        raise ValueError(unknown("part to get", name, subsets()))
    part, place = subsets()[name], Path(folder) / name
    if place.is_dir():
        require(name, load(part.dataset, path=place, **part.options))
        return place
    if part.file is None:
        raise ValueError(f"{name!r} is not given by the hub: put into {place} {part.needs}.")
    paths, _ = fetch_split(DATASETS[part.dataset], part.split, None)
    rows = {str(row.get("id", row.get("_id"))): row for _, row in Files().rows(*paths)}
    texts = (json.dumps(rows[id_], ensure_ascii=False) for id_ in part.ids if id_ in rows)
    with new_folder(place) as made:
        (made / part.file).write_text("[" + ",\n".join(texts) + "]\n", encoding="utf-8")
        require(name, load(part.dataset, path=made, **part.options))
    return place


def require(name: str, data: QADataset) -> None:
    """DataError: a set that was loaded is not the reported part of that name; it says in what they differ."""
    from kg2rag.evaluation import provenance  # slow to import, and `load` needs none of it

    part, ids = subsets()[name], {question.id for question in data.questions}
    if missing := [id_ for id_ in part.ids if id_ not in ids]:
        raise DataError(f"{name}: {len(missing)} of {len(part.ids)} reported questions are missing ({missing[0]!r}).")
    if data.corpus.fingerprint != part.corpus:
        raise DataError(f"{name}: the {len(data.corpus)} passages are not those that were reported on.")
    if provenance.questions(data) != part.questions:
        raise DataError(f"{name}: order, texts, gold or answers of the questions are not those that were reported on.")
