"""Name -> QADataset: the table of known sets, with those of plugins, and the function `load`.

To add a set: one file with a `DatasetSpec`, and its line in `DATASETS`; see docs/extending.md.
Another package registers one under the entry-point group `kg2rag.datasets`.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from kg2rag.datasets import (
    beir,
    bundled,
    cosqa,
    hipporag,
    hotpotqa,
    irds,
    musique,
    twowiki,
)
from kg2rag.datasets.documents import ENDINGS, from_folder
from kg2rag.datasets.spec import DatasetSpec, LoadOptions
from kg2rag.text.decoding import guessed_encodings
from kg2rag.text.records import DataError, reading
from kg2rag.text.registry import Registry, unknown
from kg2rag.types import QADataset

DATASETS: Mapping[str, DatasetSpec] = {
    "2wiki-kg": twowiki.WITH_GRAPH,
    "2wikimultihopqa": twowiki.DATASET,
    "beir": beir.DATASET,
    "bundled": bundled.DATASET,
    "cosqa": cosqa.DATASET,
    "hipporag": hipporag.DATASET,
    "hotpotqa": hotpotqa.DATASET,
    "irds:NAME": irds.DATASET,
    "musique": musique.DATASET,
}
FAMILIES: Mapping[str, Callable[[str], DatasetSpec]] = {
    beir.PREFIX: beir.spec_of,
    irds.PREFIX: irds.spec_of,
}
"""Prefix of a name -> the function that returns the spec of such a name, from another catalogue."""
GROUP = "kg2rag.datasets"
_SIZE = re.compile(r"-\d+$")


def load(
    name: str | Path,
    *,
    path: str | Path | None = None,
    questions: str | Path | None = None,
    split: str | None = None,
    setting: str | None = None,
    passages: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    revision: str | None = None,
) -> QADataset:
    """Load a set by its name, from files, the hub or the package; or documents by their path.

    Parameters
    ----------
    name : one of `names()`, an alias, either with a size after it ("musique-100"), a set of BEIR on
        the hub ("beir/scifact"), or one of ir_datasets ("irds:beir/scifact/test"); or a folder or
        file of documents ("wiki/", "docs.jsonl"), see `from_folder`, which takes none of the
        options below but `questions` and `limit`.
    questions : a .jsonl or .csv file with questions about your documents, and their gold, see
        `Documents`.
    path : a folder or a file of the set, or a ZIP archive of the folder; None reads the hub's copy
        (for "bundled", the files of the package).
    split : "validation", "train", …; None takes the set's default, or the only file in the folder.
    setting : "pooled", every question searches the whole corpus, or "distractor", each searches
        only its paragraphs.
    passages : "paragraph" or "sentence".
    limit : draw that many questions, by `seed`; the corpus stays whole.
    revision : the hub's branch, tag or commit; `source["revision"]` holds the commit that was read.
        A set of BEIR has two repositories: "A+B" is A of its documents and B of its judgements.

    Raises ValueError: an option the set does not offer (the message lists those it offers), or a
    wrong record (it names file, record and field). FileNotFoundError: the path, or a file it should
    hold. ConnectionError: the hub cannot be reached. ImportError: a set of ir_datasets, if that
    package is not installed.

    Examples
    --------
    >>> load("musique", setting="open")
    Traceback (most recent call last):
    ...
    ValueError: Dataset 'musique' has no setting 'open'. It offers: pooled, distractor.
    """
    if not isinstance(name, str | Path):
        raise TypeError(
            "load reads a set by its name, or files. Texts, dicts and frames: kg2rag.from_texts(…)."
        )
    name = str(name)
    choices = {
        "split": split,
        "setting": setting,
        "passages": passages,
        "revision": revision,
    }
    if path is None and _is_path(name):
        data: QADataset = _load_documents(name, questions, choices)
    else:
        if questions is not None:
            raise ValueError(
                f"{name!r} comes with questions; {questions} goes with a folder of documents."
            )
        data = _load_set(name, path, choices)
    if limit is not None and data.questions:
        data = data.sample(limit, seed)
    return data


def _load_documents(
    name: str, questions: str | Path | None, choices: Mapping[str, str | None]
) -> QADataset:
    """The documents at a path, with questions if there are any.

    ValueError: a choice that only sets have, such as a split.
    """
    for choice, value in choices.items():
        if value is not None:
            raise ValueError(
                f"{name} is read as documents, which have no {choice}. Leave the option out."
            )
    documents = from_folder(name, leave_out=questions)
    if questions is None:
        return documents
    return documents.with_questions(questions)


def _load_set(
    name: str, path: str | Path | None, choices: Mapping[str, str | None]
) -> QADataset:
    """The set of a name, with loader, choices and licence in its `source`."""
    spec = resolve(name)
    if path is None and name not in (spec.name, *spec.aliases):
        # Without its folder, "musique-100" would silently become all of MuSiQue.
        raise ValueError(
            f"{name!r} names a part of {spec.name!r} that lies in a folder: give its `path` (--path). "
            "`kg2rag datasets get --list` names the parts that it brings."
        )
    options = spec.options(path, **choices)
    with (
        reading(
            options.path or name, "Are these files of the set, and whole?", ValueError
        ),
        unpacked(options) as options,
        guessed_encodings() as guesses,
    ):
        data = spec.load(options)
    if not all(file.is_file() for file in data.graph_files.values()):
        raise DataError(
            f"{path} holds {', '.join(file.name for file in data.graph_files.values())}: unpack it, so that the graph "
            "can be read later."
        )
    used = {
        "split": options.split,
        "setting": options.setting,
        "passages": options.passages,
    }
    if guesses:
        notes = cast("Mapping[str, object]", data.source["notes"])
        data = replace(data, source={**data.source, "notes": {**notes, **guesses}})
    return replace(
        data,
        source={"loader": spec.name, **used, **data.source, "licence": spec.licence},
    )


@contextmanager
def unpacked(options: LoadOptions) -> Iterator[LoadOptions]:
    """A context with the options; a ZIP archive is unpacked into a temporary folder, their path."""
    if options.path is None or not zipfile.is_zipfile(options.path):
        yield options
        return
    with TemporaryDirectory() as temporary, zipfile.ZipFile(options.path) as archive:
        folder = Path(temporary) / options.path.stem
        archive.extractall(folder)
        contents = [file for file in folder.iterdir() if file.name != "__MACOSX"]
        if len(contents) == 1 and contents[0].is_dir():
            folder = contents[0]
        yield replace(options, path=folder)


def _is_path(name: str) -> bool:
    """Whether a name is a path of documents: a file by its suffix, or a folder not named as a set."""
    if Path(name).suffix.lower() in ENDINGS:
        return True
    set_names = (*FAMILIES, *_registry().names())
    return Path(name).expanduser().is_dir() and not name.startswith(set_names)


def names() -> tuple[str, ...]:
    """The names of the sets that `load` knows, sorted, without those of BEIR and ir_datasets."""
    aliases = {alias for spec in DATASETS.values() for alias in spec.aliases}
    return tuple(name for name in _registry().names() if name not in aliases)


def resolve(name: str) -> DatasetSpec:
    """The spec of a name.

    Raises ValueError: an unknown name; the message lists the known names and the nearest one.
    RuntimeError: the set of another package cannot be imported, or is no `DatasetSpec` of that
    name.
    """
    for prefix, spec_of in FAMILIES.items():
        if name.startswith(prefix):
            return spec_of(name)
    registry = _registry()
    set_name = name if name in registry else _SIZE.sub("", name)
    if set_name not in registry:
        problem = unknown("dataset", name, (*registry.names(), *beir.names()))
        raise ValueError(
            f"{problem} There is no folder or file of documents of that name either."
        )
    spec: DatasetSpec = registry.entry(set_name)
    if not isinstance(spec, DatasetSpec) or set_name not in (spec.name, *spec.aliases):
        raise RuntimeError(
            f"The entry point {set_name!r} of {GROUP!r} is no DatasetSpec of that name: {spec!r}."
        )
    return spec


def _registry() -> Registry[DatasetSpec]:
    """The sets of this package, by name and alias, and those of other packages."""
    specs = {
        alias: spec
        for spec in DATASETS.values()
        for alias in (spec.name, *spec.aliases)
    }
    return Registry("dataset", specs, group=GROUP)


def describe(name: str) -> Mapping[str, object]:
    """The fields of a set's spec that a user reads, with the choices of options, default first."""
    spec = resolve(name)
    fields = (
        "name aliases summary settings passages splits hub licence citation homepage"
    )
    description = {field: getattr(spec, field) for field in fields.split()}
    if spec.splits is None:
        description["splits"] = ("the files decide",)
    if spec.hub:
        description["hub"] = spec.hub.repo
    return description
