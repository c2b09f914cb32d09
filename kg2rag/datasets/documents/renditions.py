"""Files of one name with different endings -> the words that they share; nearly equal ones are read once.

Programs write a text in several formats: a transcript as `talk.txt`, `talk.srt` and `talk.json`, a
paper as `paper.pdf` beside `paper.tex`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from kg2rag.datasets.documents.blocks import join_remarks
from kg2rag.datasets.documents.passages.entries import FileEntry
from kg2rag.datasets.documents.readers import ENDINGS
from kg2rag.text.scripts import words

EQUAL = 0.95
"""Least share of common words from which a file is not read beside another one."""
ALIKE = 0.5
"""Least share of common words that the report remarks on."""
REASON = "the same words as another file of its name"
_PREFERRED = (
    *(".docx", ".odt", ".md", ".qmd", ".rst", ".org", ".tex", ".adoc", ".html"),
    *(".htm", ".ipynb", ".epub", ".srt", ".vtt", ".txt", ".xml", ".pdf"),
)
"""Endings, the one that keeps most of a text's structure first; others come last."""


class _File(NamedTuple):
    """A file that was read, and how often it has each word."""

    path: str
    entry: FileEntry
    counts: Counter[str]


def remove_renditions(entries: Mapping[str, FileEntry]) -> None:
    """Give a reason to files with the words of another file of their name; remark on similar ones.

    Such files have no passages afterwards. Their remarks name the other file.
    """
    paths_of_name = defaultdict[str, list[str]](list)
    for path, entry in entries.items():
        if entry.rows:
            paths_of_name[_without_endings(path)].append(path)
    for paths in paths_of_name.values():
        if len(paths) > 1:
            _compare(
                [_File(path, entries[path], _counts(entries[path])) for path in paths]
            )


def _compare(files: Sequence[_File]) -> None:
    """Compare each file with those of its name that are preferred to it."""
    read = list[_File]()
    for file in sorted(files, key=lambda file: _preference(file.path)):
        shares = {other.path: _share(file.counts, other.counts) for other in read}
        nearest = max(shares, key=shares.__getitem__, default="")
        share = shares.get(nearest, 0.0)
        if share >= EQUAL:
            file.entry.rows.clear()
            file.entry.titles.clear()
            file.entry.names.clear()
            file.entry.reason = REASON
            file.entry.remark = f"the same words as {nearest}"
            continue
        read.append(file)
        if share >= ALIKE:
            remark = f"{share:.0%} of the words are those of {nearest}"
            file.entry.remark = join_remarks(file.entry.remark, remark)


def _without_endings(path: str) -> str:
    """A path without all its endings of files that are read; `paper.pdf.txt` has two."""
    name = PurePosixPath(path)
    while name.suffix.lower() in ENDINGS:
        name = name.with_suffix("")
    return str(name)


def _preference(path: str) -> tuple[int, str]:
    """The rank of a file among those of its name, the least first."""
    ending = PurePosixPath(path).suffix.lower()
    rank = _PREFERRED.index(ending) if ending in _PREFERRED else len(_PREFERRED)
    return rank, path


def _counts(entry: FileEntry) -> Counter[str]:
    """How often each word is in the passages of a file."""
    return Counter(word for row in entry.rows for word in words(row["text"]))


def _share(first: Counter[str], second: Counter[str]) -> float:
    """The number of common words by the number in either (Jaccard similarity of multisets)."""
    return (first & second).total() / max(1, (first | second).total())
