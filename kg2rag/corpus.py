"""A corpus and the questions asked of it: what a dataset loader returns and every other room reads.

`Corpus` is one Arrow table; passages become objects only when looked at, so millions of them do not live in RAM.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from kg2rag.corpus_changes import replacing, with_passages, without
from kg2rag.text import split_sentences
from kg2rag.types import IntArray, Passage, Query, Triple

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("title", pa.string()),
        ("text", pa.string()),
        ("doc_id", pa.string()),
        ("position", pa.int32()),
        ("sentences", pa.list_(pa.string())),
    ]
)


class Corpus(Sequence[Passage]):
    """The passages of a dataset, in a fixed order; a passage's *row* is its place in that order, from 0.

    Parameters
    ----------
    table : columns id, title, text, doc_id, position, sentences (`SCHEMA`); `sentences` is null where the source has
        no sentence split of its own.

    Raises
    ------
    ValueError : no passage, one without id, document or text, or an id that stands twice; the message names it.
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table.select(SCHEMA.names).cast(SCHEMA).combine_chunks()
        if not len(self.table):
            raise ValueError("A corpus needs at least one passage; this one is empty.")
        self.ids: list[str] = self.table["id"].to_pylist()
        for name in ("id", "doc_id"):
            if self.table[name].null_count:
                row = self.table[name].to_pylist().index(None)
                raise ValueError(f"The passage in row {row} has no {name}. Give it one.")
        self._row_of = {id_: row for row, id_ in enumerate(self.ids)}
        if len(self._row_of) < len(self.ids):
            seen: set[str] = set()
            twice = next(id_ for id_ in self.ids if id_ in seen or seen.add(id_))  # type: ignore[func-returns-value]
            raise ValueError(f"Passage id {twice!r} stands twice in the corpus. Ids must be unique.")
        for row, text in enumerate(self.table["text"].to_pylist()):
            if not (text and text.strip()):
                raise ValueError(f"Passage {self.ids[row]!r} (row {row}) has no text. Drop it or give it text.")

    @classmethod
    def from_passages(cls, passages: Iterable[Passage], sentences: Sequence[Sequence[str]] | None = None) -> Corpus:
        """A corpus of passages in the order given; `sentences`, one list a passage, is the source's own split."""
        rows = [(p.id, p.title, p.text, p.doc_id, p.position) for p in passages]
        columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * 5
        return cls(pa.table([*columns, sentences or [None] * len(rows)], schema=SCHEMA))

    @classmethod
    def open(cls, path: Path) -> Corpus:
        """A corpus that `save` wrote, memory-mapped."""
        with pa.memory_map(str(path)) as source:
            return cls(pa.ipc.open_file(source).read_all())

    def save(self, path: Path) -> None:
        """Write the table as one Arrow file."""
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
            writer.write_table(self.table)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, row: int) -> Passage:  # type: ignore[override]
        record = self.table.slice(range(len(self))[row], 1).to_pylist()[0]
        del record["sentences"]
        return Passage(**record)

    def __iter__(self) -> Iterator[Passage]:
        for batch in self.table.drop_columns("sentences").to_batches(max_chunksize=10_000):
            yield from (Passage(**record) for record in batch.to_pylist())

    def __contains__(self, id_: object) -> bool:
        return id_ in self._row_of

    def __repr__(self) -> str:
        return f"Corpus({len(self):,} passages, {len(set(self.doc_ids)):,} documents)"

    def row(self, id_: str) -> int:
        """The row of a passage id; KeyError names the unknown one."""
        try:
            return self._row_of[id_]
        except KeyError:
            raise KeyError(
                f"Unknown passage {id_!r}. The corpus has {len(self)} passages, such as {self.ids[0]!r}."
            ) from None

    def rows(self, ids: Iterable[str]) -> IntArray:
        """The rows of several ids, sorted, each once."""
        return np.unique(np.fromiter((self.row(id_) for id_ in ids), dtype=np.int64))

    @cached_property
    def titles(self) -> list[str]:
        """The title of every passage, by row; empty where it has none."""
        return [title or "" for title in self.table["title"].to_pylist()]

    @cached_property
    def doc_ids(self) -> list[str]:
        """The document of every passage, by row."""
        found: list[str] = self.table["doc_id"].to_pylist()
        return found

    @cached_property
    def contents(self) -> list[str]:
        """What is indexed and encoded of every passage, by row: title, line break, text."""
        return self.joined("\n")

    def joined(self, separator: str) -> list[str]:
        """Title, separator and text of every passage, by row; the text alone where there is no title."""
        texts = self.table["text"].to_pylist()
        return [f"{title}{separator}{text}" if title else text for title, text in zip(self.titles, texts, strict=True)]

    def sentences(self, row: int) -> list[str]:
        """The sentences of a passage: the source's own split where it has one, else ours."""
        given = self.table["sentences"][row].as_py()
        return given if given is not None else split_sentences(self.table["text"][row].as_py())

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over ids, titles, texts, documents and sentence splits: equal corpora have equal fingerprints."""
        digest = hashlib.sha256()
        for batch in self.table.to_batches(max_chunksize=10_000):
            for record in batch.to_pylist():
                digest.update(repr(tuple(record.values())).encode())
        return digest.hexdigest()

    # Functions of a module of their own; the corpus is their first argument

    with_passages = with_passages
    without = without
    replacing = replacing

    def __reduce__(self) -> tuple[type[Corpus], tuple[pa.Table]]:
        return Corpus, (self.table,)


@dataclass(frozen=True, slots=True)
class Question:
    """A query with what is known about it.

    `gold` maps the ids of the relevant passages (or documents, see `QADataset.unit`) to grades of 1 or more.
    `supporting` names the sentences that hold the facts, as (doc_id, sentence index from 0).
    `candidates` are the passages offered with this question in the official distractor setting.
    Unknown things are empty, None or "", never guessed.
    """

    id: str
    text: str
    gold: Mapping[str, int]
    answers: tuple[str, ...] = ()
    type: str = ""
    hops: int | None = None
    supporting: tuple[tuple[str, int], ...] = ()
    triples: tuple[tuple[str, str, str], ...] = ()
    candidates: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class QADataset:
    """Questions, their gold, and the corpus they are asked of.

    Attributes
    ----------
    setting : "pooled", every question searches the whole corpus; "distractor", each searches its own candidates.
    unit : what `gold` names, "passage" ids or "document" ids.
    source : where it came from: loader, file hashes or hub revision, options; every result records it.
    extras : files that lie beside the questions and may serve as a graph, by kind (`openie`, `subkgs`, `triples`).
    """

    name: str
    corpus: Corpus
    questions: tuple[Question, ...]
    setting: Literal["pooled", "distractor"] = "pooled"
    unit: Literal["passage", "document"] = "passage"
    source: Mapping[str, object] = field(default_factory=dict)
    extras: Mapping[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("setting", self.setting, ("pooled", "distractor")),
            ("unit", self.unit, ("passage", "document")),
        ):
            if value not in allowed:
                raise ValueError(f"{self.name}: unknown {name} {value!r}. Known: {', '.join(allowed)}.")
        known = set(self.corpus.ids if self.unit == "passage" else self.corpus.doc_ids)
        seen: set[str] = set()
        for question in self.questions:
            if question.id in seen:
                raise ValueError(f"{self._where(question)}: the id stands twice. Question ids must be unique.")
            seen.add(question.id)
            self._check(question, known)
        if not self.questions:
            raise ValueError(f"{self.name}: no question.")

    def _where(self, question: Question) -> str:
        return f"{self.name}, question {question.id!r}"

    def _check(self, question: Question, known: set[str]) -> None:
        where = self._where(question)
        if not question.text.strip():
            raise ValueError(f"{where}: the question is empty.")
        if not question.gold:
            raise ValueError(f"{where}: no gold {self.unit}. Leave out questions that cannot be judged.")
        missing = [id_ for id_ in question.gold if id_ not in known]
        if missing:
            raise ValueError(
                f"{where}: gold {self.unit} {missing[0]!r} is not in the corpus ({len(missing)} of "
                f"{len(question.gold)} missing). Are questions and corpus from the same split?"
            )
        for id_, grade in question.gold.items():
            if grade < 1:
                raise ValueError(
                    f"{where}: gold {self.unit} {id_!r} has grade {grade}. Leave out what is not relevant."
                )
        strangers = [id_ for id_ in question.candidates or () if id_ not in self.corpus._row_of]
        if strangers:
            raise ValueError(f"{where}: candidate {strangers[0]!r} is not in the corpus.")
        if self.setting == "distractor" and not question.candidates:
            raise ValueError(f"{where}: setting 'distractor' needs candidates for every question.")

    def __len__(self) -> int:
        return len(self.questions)

    def __repr__(self) -> str:
        return f"QADataset({self.name!r}, {len(self)} questions, {self.corpus!r}, {self.setting})"

    @cached_property
    def queries(self) -> list[Query]:
        """What a retriever sees: ids, texts, and in the distractor setting the candidates."""
        masked = self.setting == "distractor"
        return [Query(q.id, q.text, q.candidates if masked else None) for q in self.questions]

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        """Question id -> gold id -> grade."""
        return {question.id: dict(question.gold) for question in self.questions}

    def question(self, id_: str) -> Question:
        """The question of that id."""
        for question in self.questions:
            if question.id == id_:
                return question
        raise KeyError(f"{self.name} has no question {id_!r}; the first is {self.questions[0].id!r}.")

    def sample(self, limit: int, seed: int = 0) -> QADataset:
        """`limit` questions drawn without replacement, in their original order, over the same corpus."""
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit}.")
        if limit >= len(self):
            return self
        kept = np.sort(np.random.default_rng(seed).choice(len(self), size=limit, replace=False))
        source = {**self.source, "limit": limit, "seed": seed}
        return replace(self, questions=tuple(self.questions[i] for i in kept.tolist()), source=source)

    def to_frame(self) -> pd.DataFrame:
        """One row a question: id, text, type, hops, gold, answers."""
        import pandas as pd

        columns = ("id", "text", "type", "hops", "gold", "answers")
        rows = [(q.id, q.text, q.type, q.hops, list(q.gold), list(q.answers)) for q in self.questions]
        return pd.DataFrame(rows, columns=list(columns))


def gold_triples(question: Question, passage_id: str = "") -> tuple[Triple, ...]:
    """A question's gold facts as `Triple`s of full strength."""
    return tuple(Triple(head, relation, tail, passage_id, strength=10) for head, relation, tail in question.triples)
