"""The parts of public sets on which results are reported -> their files, from the hub.

`subsets/` has the question ids of every part, and checksums of its questions and corpus, which do
not depend on the format of the file. For a part whose corpus is not on the hub, `needs` names the
source.
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

from kg2rag.compute.atomic_write import new_folder
from kg2rag.datasets.reading import Files
from kg2rag.datasets.registry import DATASETS, load
from kg2rag.text.records import DataError
from kg2rag.text.registry import unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Subset:
    """A part of a set on which README and docs report; `subsets.toml` explains the fields."""

    dataset: str
    about: str
    ids: tuple[str, ...]
    questions: str
    corpus: str
    options: Mapping[str, Any] = field(default_factory=dict)
    split: str | None = None
    file: str | None = None
    needs: str = ""

    def check(self, folder: Path) -> None:
        """Raise DataError, which names the difference, if the folder has other data than reported."""
        # Slow to import, and `load` does not need it.
        from kg2rag.evaluation import provenance

        data = load(self.dataset, path=folder, **self.options)
        missing = set(self.ids) - {question.id for question in data.questions}
        if missing:
            raise DataError(
                f"{folder.name}: {len(missing)} of {len(self.ids)} reported questions are missing."
            )
        if data.corpus.fingerprint != self.corpus:
            raise DataError(
                f"{folder.name}: the {len(data.corpus)} passages are not those reported on."
            )
        if provenance.questions(data) != self.questions:
            raise DataError(
                f"{folder.name}: order, texts, gold or answers are not those reported on."
            )


@cache
def subsets() -> Mapping[str, Subset]:
    """Name -> reported part of a set."""
    folder = resources.files("kg2rag.datasets") / "subsets"
    listing = (folder / "subsets.toml").read_text(encoding="utf-8")
    parts = {}
    for name, about in tomllib.loads(listing).items():
        ids = (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        parts[name] = Subset(ids=tuple(ids), **about)
    return parts


def get(name: str, folder: str | Path) -> Path:
    """Download a reported part of a set into `folder / name`, and return this path.

    A folder that exists is only checked. `load(..., path=...)` reads it.

    ValueError: an unknown name, or a part that is not on the hub; the message names its source.
    DataError: the folder, or the hub, has other data than reported. ConnectionError: the hub cannot
    be reached.
    """
    if name not in subsets():
        raise ValueError(unknown("part to get", name, subsets()))
    part = subsets()[name]
    path = Path(folder) / name
    if path.is_dir():
        part.check(path)
        return path
    if part.file is None:
        raise ValueError(f"{name!r} is not on the hub: put into {path} {part.needs}.")
    paths, _ = DATASETS[part.dataset].options(split=part.split).from_hub()
    rows = {str(row.get("id", row.get("_id"))): row for _, row in Files().rows(*paths)}
    texts = (
        json.dumps(rows[id_], ensure_ascii=False) for id_ in part.ids if id_ in rows
    )
    with new_folder(path) as new_path:
        (new_path / part.file).write_text(
            "[" + ",\n".join(texts) + "]\n", encoding="utf-8"
        )
        part.check(new_path)
    return path
