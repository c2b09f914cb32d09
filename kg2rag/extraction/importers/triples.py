"""A table of triples (TSV, CSV, Parquet, JSON, JSON Lines or rows in memory) -> triples of the corpus and entities.

Columns go by any of the names in `field_names`. An `entities.jsonl` in the same folder is read for
types, descriptions and aliases; where triples name their ends by entity id, the ends take that
entity's name, so that resolved spellings meet.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kg2rag.extraction import Entity, Extraction
from kg2rag.extraction.importers import (
    Row,
    Statement,
    noting_encodings,
    triple_record,
    triples_of,
)
from kg2rag.extraction.importers.cypher_columns import query_ends
from kg2rag.extraction.importers.field_names import FIELDS, columns_of
from kg2rag.extraction.importers.headless_tables import headless_rows
from kg2rag.extraction.importers.json_graph import has_ends, read_json_values
from kg2rag.text.normalisation import entity_key
from kg2rag.text.records import (
    DataError,
    Record,
    delimiter_of,
    existing,
    file_fingerprint,
    first_line,
    read_delimited,
    read_jsonl,
    read_parquet,
    wrong,
)
from kg2rag.types import Corpus

TABLES = (".tsv", ".csv", ".txt")
FORMATS = (*TABLES, ".parquet", ".jsonl", ".ndjson", ".json")
OUTSIDE = "triples of passages outside the corpus"
NO_RELATION = "triples without a relation, called 'related to'"
NO_HEADER = "rows of a table without a header, read as edges by their order"
NAMES = ("name", "canonical_name")
USUAL_COLUMNS = {
    "head": "head, subject, source or from",
    "tail": "tail, object, target or to",
    "passage_id": "passage_id or chunk_id",
}
CYTOSCAPE_COLUMNS = {"shared name": "shared interaction", "name": "interaction"}
"""The name of an edge -> its relation, which is a part of the name."""
NAMED_RELATIONS = ("relation", "predicate", "relationship", "rel")
"""Columns that name the relation of every row: a row in which it is blank has lost it."""


@dataclass(frozen=True)
class TriplesFile:
    """Triples that another tool extracted.

    Parameters
    ----------
    path : a file with one of the suffixes `FORMATS`. Tables need a header; cells are apart by tabs, commas,
        semicolons or bars, whichever the header has most. An empty passage id means that no passage states the triple.
    entities : JSON Lines with name, and optionally id, type, description and aliases (strings, or objects whose
        `surface` is one); of two records of one name, the first counts. By default `entities.jsonl` beside `path`.
    rows : the records in place of `path`.
    needs_passages : whether a column must name the passages; without, a graph is linked to them by names.
    """

    path: Path | None = None
    entities: Path | None = None
    rows: tuple[Mapping[str, object], ...] | None = field(
        default=None, repr=False, hash=False
    )
    needs_passages: bool = True

    def __post_init__(self) -> None:
        if (self.path is None) == (self.rows is None):
            raise ValueError("TriplesFile needs a path, or rows.")
        if self.path is not None:
            file = existing(self.path, f"triples as {', '.join(FORMATS)}")
            if file.suffix.lower() not in FORMATS:
                raise ValueError(
                    f"{file}: unknown format {file.suffix!r}. Known: {', '.join(FORMATS)}."
                )
            object.__setattr__(self, "path", file)
            beside = file.with_name("entities.jsonl")
            if self.entities is None and beside.is_file() and beside != file:
                object.__setattr__(self, "entities", beside)
        if self.entities is not None:
            object.__setattr__(
                self, "entities", existing(self.entities, "entities as JSON Lines")
            )

    @property
    def fingerprint(self) -> str:
        """The kind and the checksums of the files, or of the rows."""
        files = {}
        if self.path is not None:
            files["path"] = self.path
        if self.entities is not None:
            files["entities"] = self.entities
        rows = hashlib.sha256(
            repr(self.rows).encode("utf-8", "surrogatepass")
        ).hexdigest()
        return file_fingerprint("triples-7", files, {"rows": rows})

    @noting_encodings
    def extract(self, corpus: Corpus) -> Extraction:
        """The triples whose passages the corpus has, in the file's order, and the entities at their ends.

        Of several records of one name, the first that has a type describes it, else the last.
        Weights become strengths, see `strengths`. `notes` counts triples with a blank part or of
        confidence 0, and those of other passages; their optional fields are not looked at.
        If no passage is known, the triples have none, or DataError if they need passages.
        DataError: a column is missing, or a value is of the wrong type or out of range.
        """
        notes: Counter[str] = Counter()
        extraction = self._extraction(frozenset(("", *corpus.ids)), notes)
        n_outside = notes[OUTSIDE]
        if extraction.triples or not n_outside:
            return extraction
        if self.needs_passages:
            raise DataError(
                f"{self.path or 'graph'}: none of its {n_outside} passages is in the corpus. Load the corpus that "
                "it was made from, or leave the column out: then names link the graph to the passages."
            )
        notes = Counter(
            {"triples of passages outside the corpus, without one": n_outside}
        )
        return self._extraction(None, notes)

    def _extraction(
        self, passage_ids: frozenset[str] | None, notes: Counter[str]
    ) -> Extraction:
        """The extraction of the triples of some passages; with None, of all triples, without passages."""
        described = DescribedEntities.read(self.entities)
        needed = (
            ["head", "tail", "passage_id"] if self.needs_passages else ["head", "tail"]
        )
        ends: list[Entity] = []
        statements: list[Statement] = []
        for row in self._rows(notes):
            _require_columns(row, needed)
            passage_id = "" if passage_ids is None else row.text("passage_id")
            cause = _fault(row)
            if not cause and passage_ids is not None and passage_id not in passage_ids:
                cause = OUTSIDE
            if cause:
                notes[cause] += 1
                continue
            head, tail = (described.of(row, end) for end in ("head", "tail"))
            ends += (head, tail)
            notes[NO_RELATION] += not row.relation
            statements.append(
                row.statement(head.name, row.relation, tail.name, passage_id)
            )
        return Extraction(
            triples_of(statements, notes), entities=_distinct(ends), notes=notes
        )

    def _rows(self, notes: Counter[str]) -> Iterator[Row]:
        """The rows of the file or of memory; `notes` counts those of a table without a header."""
        headless = self._headless_rows()
        notes[NO_HEADER] = len(headless)
        records = enumerate(headless, start=1) if headless else self.records()
        for number, record in records:
            yield Row(self.path or "graph", number, _with_ends(record))

    def records(self) -> Iterator[tuple[int, Mapping[str, object]]]:
        """Every record with its line or number, from 1."""
        if self.path is None:
            return enumerate(self.rows or (), start=1)
        suffix = self.path.suffix.lower()
        is_lines = suffix in (".jsonl", ".ndjson")
        if is_lines and not first_line(self.path).lstrip().startswith("["):
            return read_jsonl(self.path)
        if is_lines or suffix == ".json":
            return enumerate(_json_records(self.path), start=1)
        if suffix == ".parquet":
            batches = read_parquet(self.path).to_batches(10_000)
            return enumerate(
                (record for batch in batches for record in batch.to_pylist()), start=1
            )
        return read_delimited(self.path, delimiter_of(self.path), _is_one_line)

    def _headless_rows(self) -> list[Record]:
        """The rows of a table without a header; [] for any other file."""
        if self.path is None or self.path.suffix.lower() not in TABLES:
            return []
        return headless_rows(self.path)


def _distinct(entities: Iterable[Entity]) -> tuple[Entity, ...]:
    """The entities, each name once; of several with one name, the first with a type, else the last."""
    by_name: dict[str, Entity] = {}
    for entity in entities:
        if entity.name not in by_name or not by_name[entity.name].type:
            by_name[entity.name] = entity
    return tuple(by_name.values())


def _is_one_line(column: str) -> bool:
    """Whether the cells of a column of a CSV hold no line break."""
    return any(
        columns_of(name, (column,))
        for name in FIELDS
        if name not in ("description", "node_description")
    )


def _json_records(file: Path) -> list[Record]:
    """The triples of a JSON file, in lists at any depth: objects, or lists of head, relation and tail."""
    values = read_json_values(file)
    records = list(_triples_within(values, {}, file))
    if not records and isinstance(values, list):
        records = [
            _json_record(value, file, number)
            for number, value in enumerate(values, start=1)
        ]
    if not records:
        names = (
            f" Its fields: {', '.join(values)}." if isinstance(values, Mapping) else ""
        )
        raise DataError(
            f"{file}: no list of triples, and no graph. A triple is a list of three, or has head and tail.{names}"
        )
    return records


def _triples_within(value: object, passage: Record, file: Path) -> Iterator[Record]:
    """The triples in a value, each with the passage id of the innermost object around it.

    Stanford's CoreNLP has a list of triples in each sentence, other tools one for each document.
    `passage` : the columns of the passage id around the value.
    """
    if isinstance(value, Mapping):
        columns = columns_of("passage_id", tuple(map(str, value)))
        passage = {**passage, **{name: value[name] for name in columns}}
        value = list(value.values())
    if not isinstance(value, list):
        return
    if any(has_ends(triple_record(member)) for member in value):
        yield from (
            {**passage, **_json_record(member, file, n)}
            for n, member in enumerate(value, start=1)
        )
        return
    for member in value:
        yield from _triples_within(member, passage, file)


def _json_record(value: object, file: Path, number: int) -> Record:
    """The record of a triple, see `triple_record`; DataError: it is of another form."""
    record = triple_record(value)
    if record is None:
        wrong(
            file,
            number,
            "record",
            value,
            "an object, or a list of head, relation and tail",
        )
    return record


def _with_ends(record: Record) -> Record:
    """A row with columns for head, relation and tail, if it is of Cytoscape or Neo4j's browser.

    Cytoscape names an edge "Ida (steers) Aurora". Neo4j's browser has the columns of the query: n.name,
    type(r), m.name; Wikidata's query service has employer and employerLabel. Any other row is returned unchanged.
    """
    if has_ends(record):
        return record
    ends = query_ends(tuple(map(str, record)))
    if ends:
        fields = zip(("head", "relation", "tail"), ends, strict=True)
        return {field: record[column] for field, column in fields if column}
    variables = [name for name in record if f"{name}Label" in record]
    if (
        len(variables) == 2
    ):  # of a query of Wikidata, whose second variable is a property
        head, tail = variables
        labels = {"head": record[f"{head}Label"], "tail": record[f"{tail}Label"]}
        return {**labels, "relation": tail}
    for name, interaction in CYTOSCAPE_COLUMNS.items():
        middle = f" ({record.get(interaction)}) "
        parts = str(record.get(name)).split(middle)
        if record.get(interaction) and len(parts) == 2:
            return {
                **record,
                "head": parts[0],
                "relation": record[interaction],
                "tail": parts[1],
            }
    return record


def _require_columns(row: Row, fields: Sequence[str]) -> None:
    """DataError if the record has no column for a field."""
    columns = tuple(map(str, row.record))
    for name in fields:
        if not columns_of(name, columns):
            raise DataError(
                f"{row.file}, record {row.place}: no column for the {name.replace('_', ' ')}. Its columns: "
                f"{', '.join(columns) or 'none'}; call one {USUAL_COLUMNS[name]}. Is the first line no header? "
                "Write one."
            )


def _fault(row: Row) -> str:
    """The reason why a record is no triple, as counted in the notes; "" for a triple."""
    names_relations = any(
        str(column).lower() in NAMED_RELATIONS for column in row.record
    )
    has_ends = entity_key(row.text("head")) and entity_key(row.text("tail"))
    if not has_ends or (names_relations and not row.relation):
        return "triples with a blank part"
    if not row.has_word_of_confidence and row.number("confidence") == 0:
        return "triples of confidence 0"
    return ""


@dataclass(frozen=True)
class DescribedEntities:
    """The entities of a file, by id and by normalised name; of several with one name, the first counts."""

    by_id: dict[str, Entity]
    by_name: dict[str, Entity]

    @classmethod
    def read(cls, file: Path | None) -> DescribedEntities:
        """The entities of a file of JSON Lines; none without a file."""
        described = cls({}, {})
        for number, record in read_jsonl(file) if file else ():
            entity = _entity(Row(str(file), number, record))
            described.by_name.setdefault(entity_key(entity.name), entity)
            for id_ in (record.get("id"), record.get("entity_id")):
                if isinstance(id_, str):
                    described.by_id[id_] = entity
        return described

    def of(self, row: Row, end: str) -> Entity:
        """The entity at an end of a record, "head" or "tail", by its id, else by its name.

        It has the type of the record if the file gives it none.
        """
        name = row.text(end)
        entity = (
            self.by_id.get(row.text(f"{end}_id"))
            or self.by_name.get(entity_key(name))
            or Entity(name)
        )
        return replace(entity, type=entity.type or row.text(f"{end}_type"))


def _entity(row: Row) -> Entity:
    """An entity of `entities.jsonl`; DataError where its name is blank, or a field is of another type."""
    name = row.string(*NAMES)
    if not name.strip():
        wrong(
            row.file,
            row.place,
            " or ".join(NAMES),
            row.value(NAMES, str, ""),
            "a string that is not blank",
        )
    aliases = []
    for item in row.value(("aliases",), list, "a list") or []:
        alias = item.get("surface") if isinstance(item, dict) else item
        if not isinstance(alias, str):
            wrong(
                row.file,
                row.place,
                "aliases",
                item,
                "strings, or objects with a surface",
            )
        if alias != name and alias not in aliases:
            aliases.append(alias)
    return Entity(
        name.strip(), row.string("type"), row.string("description"), tuple(aliases)
    )
