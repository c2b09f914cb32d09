"""`FileSource`: what importers share: a file that must exist, a fingerprint of its bytes and the options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

from kg2rag.text.records import existing, file_fingerprint


@dataclass(frozen=True)
class FileSource:
    """A graph source that reads a file; a subclass is an extractor once it has `extract`.

    Parameters
    ----------
    path : the file. Every other field of a subclass is an option, and part of the fingerprint.

    Attributes
    ----------
    kind : of the file, with a version; begins the fingerprint, so that a change of `extract` can change it.
    wanted : what the file is, for the error where it is missing.
    by_id : the file knows a passage by its id or title. Where a passage is replaced, its statements about the old text
        must be dropped (`kg2rag.knowledge.changes`); a file that has the texts themselves does not match any more.
    strict : every passage that the file names must be in the corpus, and no option allows otherwise.
    """

    kind: ClassVar[str]
    wanted: ClassVar[str]
    by_id: ClassVar[bool] = False
    strict: ClassVar[bool] = False

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", existing(self.path, self.wanted))

    def files(self) -> Mapping[str, Path]:
        """The files that are read, by the names under which the fingerprint has their checksums."""
        return {"path": self.path}

    @property
    def fingerprint(self) -> str:
        """The kind, the options and the files' checksums, not their places."""
        options = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "path"}
        return file_fingerprint(self.kind, self.files(), options)
