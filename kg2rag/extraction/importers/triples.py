"""A table of triples (TSV, CSV, Parquet, JSON Lines or a DataFrame) -> triples of the corpus, entities and all.

Columns go by any of the names in `triple_rows.COLUMNS`. An `entities.jsonl` in the same folder is read for types,
descriptions and aliases; where triples name their ends by entity id, the ends take that entity's name, so that resolved
spellings meet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kg2rag.extraction import Entity, Extraction
from kg2rag.extraction.columns import Codes, Numbering, TripleColumns
from kg2rag.extraction.importers.entity_file import EntityFile
from kg2rag.extraction.importers.triple_rows import BLANK, DOUBTED, OUTSIDE, REQUIRED, TEXTS, TripleRows, read_rows
from kg2rag.text.records import DataError, existing, file_fingerprint, wrong
from kg2rag.types import Corpus

if TYPE_CHECKING:
    import pandas as pd
FORMATS = (".tsv", ".csv", ".parquet", ".jsonl")


@dataclass(frozen=True)
class TriplesFile:
    """Triples that another tool extracted.

    Parameters
    ----------
    path : a .tsv, .csv, .parquet or .jsonl file. Tables need a header. An empty passage id means that no passage states
        the triple.
    entities : JSON Lines with name, type, description, aliases; by default `entities.jsonl` in the folder of `path`.
    partial : count triples of passages that the corpus lacks, instead of raising; one must match even so.
    table : what `from_frame` fills in place of `path`.
    """

    by_id: ClassVar[bool] = True

    path: Path | None = None
    entities: Path | None = None
    partial: bool = True
    table: pa.Table | None = field(default=None, repr=False, hash=False)

    def __post_init__(self) -> None:
        if (self.path is None) == (self.table is None):
            raise ValueError("TriplesFile needs a path. Of a DataFrame, make one with TriplesFile.from_frame.")
        if self.path is not None:
            file = existing(self.path, f"triples as {', '.join(FORMATS)}")
            if file.suffix not in FORMATS:
                raise ValueError(f"{file}: unknown format {file.suffix!r}. Known: {', '.join(FORMATS)}.")
            object.__setattr__(self, "path", file)
            beside = file.with_name("entities.jsonl")
            if self.entities is None and beside.is_file() and beside != file:
                object.__setattr__(self, "entities", beside)
        if self.entities is not None:
            object.__setattr__(self, "entities", existing(self.entities, "entities as JSON Lines"))

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, entities: Path | None = None, partial: bool = True) -> TriplesFile:
        """The triples of a DataFrame, with the same columns as a file; its index is left out."""
        return cls(table=pa.Table.from_pandas(frame, preserve_index=False), entities=entities, partial=partial)

    @property
    def fingerprint(self) -> str:
        """The kind, the options and the checksums of the files, or of the frame's contents."""
        given = {"path": self.path, "entities": self.entities}
        files = {name: file for name, file in given.items() if file is not None}
        options: dict[str, object] = {"partial": self.partial}
        if self.table is not None:
            options["table"] = hashlib.sha256(repr(self.table.to_pylist()).encode()).hexdigest()
        return file_fingerprint("triples", files, options)

    def extract(self, corpus: Corpus) -> Extraction:
        """The triples whose passages the corpus has, in the file's order, and the entities at their ends.

        `notes` counts triples with a blank part or of confidence 0, and those of other passages.

        Raises
        ------
        ValueError : a column is missing, a value is of the wrong type or out of range, a passage is unknown (unless
            `partial`), or every passage is.
        """
        known = frozenset(corpus.ids)
        rows = read_rows(self.path or self.table, known)
        notes, kept = self._sorted_out(rows, known)
        if notes.get(OUTSIDE) and not len(kept):
            raise DataError(f"{self.path or 'DataFrame'}: none of its {notes[OUTSIDE]} passages is in the corpus.")
        ends = np.stack([_pairs(rows, end)[kept] for end in ("head", "tail")], axis=1).reshape(-1)
        types = np.stack([rows.codes[f"{end}_type"][kept] for end in ("head", "tail")], axis=1).reshape(-1)
        found, at = np.unique(ends, return_inverse=True)
        ids, names = rows.texts["id"], rows.texts["name"]
        described = EntityFile(self.entities)
        entities = [described.entity(names[pair // len(ids)], ids[pair % len(ids)]) for pair in found.tolist()]
        numbering = Numbering[str]()
        named = numbering.codes(entity.name for entity in entities)[at].reshape(-1, 2)
        columns = TripleColumns(
            names=numbering.values,
            relations=rows.texts["relation"],
            passage_ids=rows.texts["passage"],
            heads=named[:, 0],
            tails=named[:, 1],
            relation_codes=rows.codes["relation"][kept],
            passage_codes=rows.codes["passage_id"][kept],
            strengths=rows.weights["strength"][kept],
            confidences=rows.weights["confidence"][kept],
            descriptions=rows.texts["description"],
            description_codes=rows.codes["description"][kept],
        )
        return Extraction(columns, entities=_typed(entities, at, types, rows.texts["type"]), notes=notes)

    def _sorted_out(self, rows: TripleRows, known: frozenset[str]) -> tuple[dict[str, int], NDArray[np.int64]]:
        """How many rows are left out, by cause, and the others."""
        blank = np.zeros(len(rows.numbers), dtype=bool)
        for part in REQUIRED[:3]:
            texts = rows.texts[TEXTS[part]]
            blank |= np.array([not text for text in texts], dtype=bool)[rows.codes[part]]
        doubted = ~blank & (rows.weights["confidence"] == 0)
        foreign = np.array([bool(id_) and id_ not in known for id_ in rows.texts["passage"]], dtype=bool)
        outside = ~blank & ~doubted & foreign[rows.codes["passage_id"]]
        if outside.any() and not self.partial:
            row = int(np.argmax(outside))
            id_ = rows.texts["passage"][rows.codes["passage_id"][row]]
            allowed = "a passage of the corpus (or partial=True)"
            wrong(str(self.path or "DataFrame"), int(rows.numbers[row]), "passage_id", id_, allowed)
        counts = {BLANK: blank, DOUBTED: doubted, OUTSIDE: outside}
        met = sorted((int(np.argmax(where)), cause) for cause, where in counts.items() if where.any())
        notes = {cause: int(counts[cause].sum()) for _, cause in met}
        return notes, np.flatnonzero(~(blank | doubted | outside))


def _pairs(rows: TripleRows, end: str) -> NDArray[np.int64]:
    """(n_rows,) name and id of an end as one number: ends of one number are one entity."""
    return rows.codes[end].astype(np.int64) * len(rows.texts["id"]) + rows.codes[f"{end}_id"]


def _typed(entities: Sequence[Entity], at: NDArray[np.int64], types: Codes, texts: Sequence[str]) -> tuple[Entity, ...]:
    """The entities at the ends, each name once, in the order of their first appearance.

    Of several records of one name, the first that has a type describes it, else the last.

    Parameters
    ----------
    at : (2 * n_triples,) the entity of each end, in the order in which they are read.
    types : (2 * n_triples,) the type that it is given there.
    """
    kinds = at.astype(np.int64) * len(texts) + types
    seen, first = np.unique(kinds, return_index=True)
    last = len(kinds) - 1 - np.unique(kinds[::-1], return_index=True)[1]
    described: dict[str, tuple[bool, int, Entity]] = {}
    for index in np.argsort(first).tolist():
        number, type_ = divmod(int(seen[index]), len(texts))
        entity = entities[number]
        typed = entity.type or texts[type_]
        better = (True, -int(first[index])) if typed else (False, int(last[index]))
        if entity.name not in described or better > described[entity.name][:2]:
            described[entity.name] = *better, replace(entity, type=typed) if typed != entity.type else entity
    return tuple(entity for _, _, entity in described.values())
