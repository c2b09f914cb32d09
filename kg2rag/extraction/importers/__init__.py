"""Graphs of other tools -> extractions, one module per format; their shared file and records."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from kg2rag.extraction import Extraction
from kg2rag.extraction.importers.field_names import (
    columns_with,
    joined,
    relation_of,
    values_of,
    words_joined,
)
from kg2rag.extraction.importers.strengths import (
    DEFAULT_STRENGTH,
    filled_strengths,
    is_missing,
    number_of,
)
from kg2rag.text.decoding import guessed_encodings
from kg2rag.text.records import DataError, Record, existing, file_fingerprint, wrong
from kg2rag.types import Corpus, Triple

MAX_STRENGTH = 10.0
MAX_CONFIDENCE = 1.0


@dataclass(frozen=True)
class FileSource:
    """A graph source that reads a file, `path`; a subclass adds `extract`.

    All other fields are options.

    Attributes
    ----------
    kind : the name of the format with a version, which a change of `extract` raises; part of the fingerprint.
    wanted : the description of the file, for the error that it is missing.
    """

    kind: ClassVar[str]
    wanted: ClassVar[str]

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", existing(self.path, self.wanted))

    def files(self) -> Mapping[str, Path]:
        """Name in the fingerprint -> file, for all files that are read."""
        return {"path": self.path}

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the kind, the options and the files' contents, not of their paths."""
        options = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != "path"
        }
        return file_fingerprint(self.kind, self.files(), options)


def nearest_file(folder: Path, *names: str) -> Path | None:
    """The file with the first of these names in a folder or up to three levels below; None without one.

    The nearest level counts. DataError: several folders of that level have such a file.
    """
    for depth in ("", "*/", "*/*/", "*/*/*/"):
        files = {
            file.parent: file
            for name in reversed(names)
            for file in sorted(folder.glob(depth + name))
        }
        if len(files) > 1:
            raise DataError(
                f"{folder} holds several graphs, in {', '.join(map(str, sorted(files)))}. Give one of them."
            )
        if files:
            return next(iter(files.values()))
    return None


@dataclass(frozen=True)
class Row:
    """A record and its number in the file (`place`), from 1.

    `value`, `string`, `unquoted` and `strings` take the names of columns: the first that the record
    has counts. `text`, `joined`, `number` and `relation` take a field of `field_names`: the first
    column that is not blank counts.
    """

    file: Path | str
    place: int
    record: Record

    def value(
        self, names: tuple[str, ...], kinds: type | tuple[type, ...], needed: str
    ) -> Any:
        """The value of the first column that the record has; None if it is null or missing.

        `kinds` : the allowed types. `needed` : their description, for the error.
        """
        value = next((self.record[name] for name in names if name in self.record), None)
        if value is not None and not isinstance(value, kinds):
            wrong(self.file, self.place, names[0], value, needed)
        return value

    def string(self, *names: str) -> str:
        """A string as it is; "" if it is null or missing."""
        return self.value(names, str, "a string") or ""

    def unquoted(self, *names: str) -> str:
        """A string without quotation marks around it, see `unquoted`."""
        return unquoted(self.string(*names))

    def strings(self, name: str) -> tuple[str, ...]:
        """A list of strings, each once; none if it is null or missing."""
        value = self.value((name,), list, "a list of strings") or []
        if not all(isinstance(member, str) for member in value):
            wrong(self.file, self.place, name, value, "a list of strings")
        return tuple(dict.fromkeys(value))

    def text(self, field: str) -> str:
        """A stripped string, or a number as one; "" if it is missing."""
        for column, cell in columns_with(field, self.record).items():
            value = words_joined(cell)
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                wrong(self.file, self.place, column, value, "a string")
            value = (
                int(value) if isinstance(value, float) and value.is_integer() else value
            )
            # Names and passages occur in many rows.
            return sys.intern(str(value).strip())
        return ""

    def joined(self, field: str) -> str:
        """A value as text, members of a list separated by semicolons; "" if it is missing."""
        return next(
            (joined(value, "; ") for value in values_of(field, self.record)), ""
        )

    def number(self, field: str, greatest: float | None = None) -> float | None:
        """The number of a field, perhaps from text; None if it is missing.

        With `greatest` it must be above 0 and at most `greatest`.
        """
        for column, value in columns_with(field, self.record).items():
            number = number_of(value)
            if is_missing(value):
                return None
            if number is None:
                wrong(self.file, self.place, column, value, "a number")
            if greatest is not None and not 0 < number <= greatest:
                wrong(
                    self.file,
                    self.place,
                    column,
                    value,
                    f"above 0, at most {greatest:g}",
                )
            return number
        return None

    @property
    def relation(self) -> str:
        """The name of the relation; "" if it is missing."""
        return sys.intern(relation_of(self.record))

    def statement(
        self, head: str, relation: str, tail: str, passage_id: str
    ) -> Statement:
        """The triple that the record states, "related to" if it has no relation."""
        confidence = None
        if not self.has_word_of_confidence:
            confidence = self.number("confidence", MAX_CONFIDENCE)
        triple = Triple(
            head,
            relation or "related to",
            tail,
            passage_id,
            DEFAULT_STRENGTH,
            1.0 if confidence is None else confidence,
            self.joined("description"),
        )
        return Statement(
            triple,
            self.number("strength", MAX_STRENGTH),
            self.number("weight"),
            self.has_word_of_confidence,
        )

    @property
    def has_word_of_confidence(self) -> bool:
        """Whether the record has a word such as "high" in place of a confidence."""
        value = next(iter(values_of("confidence", self.record)), None)
        is_word = isinstance(value, str) and value.strip().isalpha()
        return is_word and number_of(value) is None and not is_missing(value)


class Statement(NamedTuple):
    """A triple with the default strength, and the `strength` and `weight` of the source or None.

    `has_word_of_confidence` says whether the source has a word in place of a confidence.
    """

    triple: Triple
    strength: float | None
    weight: float | None
    has_word_of_confidence: bool = False


def noting_encodings(
    extract: Callable[[Any, Corpus], Extraction],
) -> Callable[[Any, Corpus], Extraction]:
    """The method `extract` of a source of files; its `notes` count files whose encoding was guessed."""

    @wraps(extract)
    def extract_and_note(source: Any, corpus: Corpus) -> Extraction:
        with guessed_encodings() as guesses:
            extraction = extract(source, corpus)
        return replace(extraction, notes={**extraction.notes, **guesses})

    return extract_and_note


def triples_of(
    statements: Sequence[Statement], notes: Counter[str]
) -> tuple[Triple, ...]:
    """The triples with their strengths, see `filled_strengths`; `notes` counts words of confidence.

    Parallel edges add up: equal triples of no passage all get the sum of their weights. `notes` counts
    those beyond the first.
    """
    n_words = sum(statement.has_word_of_confidence for statement in statements)
    if n_words:
        notes["relations whose confidence is a word, of confidence 1"] += n_words
    weights = _summed_weights(statements, notes)
    strengths = filled_strengths([s.strength for s in statements], weights, notes)
    pairs = zip(statements, strengths, strict=True)
    return tuple(
        replace(statement.triple, strength=strength) for statement, strength in pairs
    )


def _summed_weights(
    statements: Sequence[Statement], notes: Counter[str]
) -> list[float | None]:
    """(n,) the weight of each statement; if some are repeated, the sum over its repetitions.

    A statement without a weight then counts 1. Those of a passage or with a strength keep their weight.
    """
    edges = list(filter(_is_edge, statements))
    sums: defaultdict[Triple, float] = defaultdict(float)
    for edge in edges:
        sums[edge.triple] += 1.0 if edge.weight is None else edge.weight
    n_repeated = len(edges) - len(sums)
    if n_repeated == 0:
        return [statement.weight for statement in statements]
    notes["parallel edges, their weights added up"] += n_repeated
    return [
        sums[statement.triple] if _is_edge(statement) else statement.weight
        for statement in statements
    ]


def _is_edge(statement: Statement) -> bool:
    """Whether a statement has neither a passage nor a strength."""
    return statement.strength is None and not statement.triple.passage_id


def triple_record(value: object) -> Record | None:
    """The record of a triple that is an object or a list of three; None for other values."""
    if isinstance(value, list | tuple) and len(value) == 3:
        return dict(zip(("head", "relation", "tail"), value, strict=True))
    return value if isinstance(value, Mapping) else None


def unquoted(value: str) -> str:
    """A stripped value without the quotation marks of early GraphRAG and LightRAG."""
    value = value.strip()
    return (
        value[1:-1].strip()
        if len(value) > 1 and value[0] == value[-1] == '"'
        else value
    )
