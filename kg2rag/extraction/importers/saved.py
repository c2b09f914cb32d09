"""A folder of `kg2rag build` -> its extraction, over the corpus that it was built on.

`build.json` records the corpus, the extractor and the losses of the graph; it is written last, so that
a folder without it has no graph. `extraction/` has the triples, mentions and entities as JSON Lines,
as the extractor wrote them and in its order; the graph in the folder is built from them.
`triples(FOLDER)/extraction/triples.jsonl` reads them as well.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.text.records import (
    DataError,
    file_fingerprint,
    read_json,
    read_jsonl,
    sha256,
    wrong,
)
from kg2rag.types import Corpus, Triple

ABOUT = "build.json"
FAILED = "failed.jsonl"
TABLES: Mapping[str, type[Any]] = {
    "extraction/triples.jsonl": Triple,
    "extraction/mentions.jsonl": Mention,
    "extraction/entities.jsonl": Entity,
}


class CorpusMark(BaseModel):
    """The identity of the corpus on which a graph was built."""

    name: str
    passages: int
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.name} ({self.passages:,} passages, fingerprint {self.fingerprint[:12]})"


class About(BaseModel):
    """The contents of `build.json`.

    Attributes
    ----------
    extractor, fingerprint : the `repr` and the fingerprint of the extractor.
    notes : the notes of the extraction: counts of what was cleaned, dropped or failed, by cause.
    usage : the usage of the language model; None without one.
    files : name -> checksum, for the other files of the folder.
    """

    version: str
    corpus: CorpusMark
    extractor: str
    fingerprint: str
    notes: dict[str, int]
    failed_passages: int = 0
    usage: dict[str, Any] | None = None
    files: dict[str, str] = {}


def read_about(directory: Path) -> About:
    """The contents of `build.json` in a folder.

    FileNotFoundError: it is no folder, or has no finished build. DataError: `build.json` is of another
    program.
    """
    file = directory / ABOUT
    if not file.is_file():
        if (directory / FAILED).is_file():
            why = f"its build left failed passages, see {directory / FAILED}. Run it again with --retry-failed"
            raise FileNotFoundError(
                f"{directory} holds no graph: {why}, or take what there is with --allow-failed."
            )
        state = f"has no {ABOUT}" if directory.is_dir() else "is no folder"
        raise FileNotFoundError(
            f"{directory} {state}. Give a folder that `kg2rag build --out` wrote; "
            "one that KnowledgeGraph.save wrote is read by KnowledgeGraph.load."
        )
    try:
        return About.model_validate(read_json(file))
    except ValidationError as error:
        raise DataError(
            f"{file} is not what `kg2rag build` writes ({error.errors()[0]['msg']})."
        ) from None


@dataclass(frozen=True)
class SavedGraph:
    """The extraction in a folder that `kg2rag build` wrote; as a graph source, `graph(FOLDER)`."""

    directory: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "directory", Path(self.directory).expanduser())
        read_about(self.directory)

    @property
    def fingerprint(self) -> str:
        """The kind and the checksums of the tables."""
        return file_fingerprint(
            "graph", {name: self.directory / name for name in TABLES}, self.about.notes
        )

    @cached_property
    def about(self) -> About:
        """The corpus, the extractor and the losses of the graph."""
        return read_about(self.directory)

    def extract(self, corpus: Corpus) -> Extraction:
        """The extraction in the folder.

        DataError: the graph was built on another corpus, or a file was changed since.
        """
        built_on = self.about.corpus
        if corpus.fingerprint != built_on.fingerprint:
            searched = CorpusMark(
                name="the one given",
                passages=len(corpus),
                fingerprint=corpus.fingerprint,
            )
            raise DataError(
                f"{self.directory} was built on the corpus {built_on}, but is to be used over {searched}. Load the set "
                "with the options it was built with, or build a graph for this corpus."
            )
        for name, checksum in self.about.files.items():
            file = self.directory / name
            if not file.is_file() or sha256(file) != checksum:
                raise DataError(
                    f"{file} was changed or removed since `kg2rag build` wrote it. Build it again."
                )
        passage_ids = frozenset(corpus.ids)
        triples, mentions, entities = (
            tuple(_rows(self.directory / name, kind, passage_ids))
            for name, kind in TABLES.items()
        )
        return Extraction(triples, mentions, entities, notes=self.about.notes)


def _rows(file: Path, kind: type[Any], passage_ids: Collection[str]) -> Iterator[Any]:
    """The records of a table, of type `kind`.

    DataError: a record is of another form, or its passage is not in `passage_ids`.
    """
    reader = TypeAdapter(kind)
    for number, record in read_jsonl(file):
        try:
            yield reader.validate_python(record)
        except ValidationError as error:
            fault = error.errors()[0]
            wrong(
                file,
                number,
                ".".join(map(str, fault["loc"])) or "record",
                fault["input"],
                fault["msg"],
            )
        passage = record.get("passage_id")
        if passage and passage not in passage_ids:
            wrong(file, number, "passage_id", passage, "a passage of the corpus")


def write_tables(extraction: Extraction, directory: Path) -> None:
    """Write the three tables of an extraction into a folder."""
    (directory / "extraction").mkdir(parents=True, exist_ok=True)
    tables: tuple[Sequence[Any], ...] = (
        extraction.triples,
        extraction.mentions,
        extraction.entities,
    )
    for name, rows in zip(TABLES, tables, strict=True):
        write_jsonl(map(asdict, rows), directory / name)


def write_jsonl(records: Iterable[Mapping[str, object]], file: Path) -> None:
    """Write one JSON object a line."""
    with file.open("w", encoding="utf-8") as stream:
        stream.writelines(
            json.dumps(record, ensure_ascii=False) + "\n" for record in records
        )
