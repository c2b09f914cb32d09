"""A name -> QADataset: the registry of sets, and the one function that loads any of them.

To add a set: one file with an `ENTRY`, and one line here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kg2rag.datasets import beir, bundled, cosqa, hipporag, hotpotqa, musique, twowiki, twowiki_kg, world
from kg2rag.datasets.entry import Entry
from kg2rag.datasets.frames import from_frames
from kg2rag.datasets.lint import Finding, info, lint
from kg2rag.datasets.sources import SOURCES
from kg2rag.text.nearest import unknown
from kg2rag.types.questions import QADataset

ENTRIES: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        twowiki_kg.ENTRY,
        twowiki.ENTRY,
        beir.ENTRY,
        bundled.ENTRY,
        cosqa.ENTRY,
        hipporag.ENTRY,
        hotpotqa.ENTRY,
        musique.ENTRY,
        world.ENTRY,
    )
}
_SIZE = re.compile(r"-\d+$")


def load(
    name: str,
    *,
    path: str | Path | None = None,
    split: str | None = None,
    setting: str | None = None,
    passages: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    revision: str | None = None,
) -> QADataset:
    """Load a set by name, from files, from the hub or from the package.

    Parameters
    ----------
    name : one of `names()`, an alias, or either with a size after it ("musique-100").
    path : a folder or a file of the set; None reads the hub's copy (or, for "bundled", the package's own files).
    split : "validation", "train", …; None takes the set's default, or the only file in the folder.
    setting : "pooled", every question searches the whole corpus, or "distractor", each searches its own paragraphs.
    passages : "paragraph" or "sentence".
    limit : draw that many questions, by `seed`; the corpus stays whole.
    revision : the hub's branch, tag or commit; `source["revision"]` holds the commit that was read.

    Raises
    ------
    ValueError : an option the set does not offer (the message lists what it does), or a record that is wrong (the
        message names file, record and field).
    FileNotFoundError : the path, or a file it should hold.
    ConnectionError : the hub cannot be reached.

    Examples
    --------
    >>> load("musique", setting="open")
    Traceback (most recent call last):
    ...
    ValueError: Dataset 'musique' has no setting 'open'. It offers: pooled, distractor.
    """
    entry = resolve(name)
    if path is None and name not in (entry.name, *entry.aliases):
        # Without its folder, "musique-100" would quietly become all of MuSiQue.
        raise ValueError(f"{name!r} names a part of {entry.name!r} that lies in a folder: give its `path` (--path).")
    request = entry.request(path, split, setting, passages, revision)
    data = entry.load(request)
    options = {"split": request.split, "setting": request.setting, "passages": request.passages}
    licence = {"licence": SOURCES[entry.name].licence}
    data = replace(data, source={"loader": entry.name, **options, **data.source, **licence})
    return data if limit is None else data.sample(limit, seed)


def names() -> tuple[str, ...]:
    """The sets that `load` knows, sorted."""
    return tuple(sorted(ENTRIES))


def resolve(name: str) -> Entry:
    """The entry of a name; ValueError lists the known ones."""
    known = {alias: entry for entry in ENTRIES.values() for alias in (entry.name, *entry.aliases)}
    for candidate in (name, _SIZE.sub("", name)):
        if candidate in known:
            return known[candidate]
    raise ValueError(unknown("dataset", name, known))


def describe(name: str) -> Mapping[str, object]:
    """What a set is and what `load` may be asked for, the default first; without reading it."""
    entry = resolve(name)
    source = SOURCES[entry.name]
    return {
        "name": entry.name,
        "aliases": entry.aliases,
        "summary": entry.summary,
        "settings": entry.settings,
        "passages": entry.passages,
        "splits": entry.splits if entry.splits is not None else ("the files decide",),
        "hub": source.repo or None,
        "licence": source.licence,
        "citation": source.citation,
        "homepage": source.homepage,
    }


__all__ = ["ENTRIES", "Finding", "describe", "from_frames", "info", "lint", "load", "names", "resolve"]
