"""A set of BEIR (corpus, queries, judgements) from the hub or a folder -> QADataset.

[1] Thakur et al., "BEIR", NeurIPS 2021 (datasets and benchmarks). Grades are kept. Judgements below
1, which mean that a document is not relevant, and queries of other splits are left out and counted.
Empty documents and judgements of unknown queries are errors in a folder of the user; in the copies
of the hub they are left out and counted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AliasChoices, Field, model_validator

from kg2rag.datasets.reading import (
    PARSED,
    Files,
    IdText,
    Record,
    Text,
    checked,
    find_graph_files,
)
from kg2rag.datasets.spec import DatasetSpec, HubCopy, LoadOptions, file_name
from kg2rag.text.records import DataError, delimited_rows, parse_json, quote
from kg2rag.text.registry import unknown
from kg2rag.types import Corpus, Passage, QADataset, Question

PREFIX = "beir/"
ON_HUB = (
    "arguana climate-fever dbpedia-entity fever fiqa hotpotqa msmarco nfcorpus nq quora scidocs scifact trec-covid "
    "webis-touche2020"
).split()
"""The public sets of [1] that have a repository under `BeIR` on the hub."""
PINNED = {
    "fiqa": "979c07a7cb5ccc6ca009792241fa1250b98055dd+252958f2d646e22cab6d0c72dd3f0d5de6d0655a",
    "hotpotqa": "a7e8bab212f5a89f9be1bc9b654aa6dfa317f32b+b15429e9244c8ec966985d7778427c3b1543b314",
    "nfcorpus": "b5026a0e96e8a7ac4f95f482a596389289d46269+a451b3b26d3ae1358f259c1a3a4dd61fcea35a65",
    "nq": "b7253e6c379163d024ddb1d6948152a91a2e3b46+519acd4e48bb3e5da22b2b888ce36c614f4f2bc9",
    "scifact": "b3b5335604bf5ee3c4447671af975ea25143d4f5+2938d17dc3b09882fdb8c12bbbe2e2dc0e75a029",
    "trec-covid": "7e16fde3016c639c7f856e803f4bab92645562c4+532ac68ee6756ac22c9346eebf65bd3c6a042e10",
}
"""Set -> default commits "A+B" of documents and of judgements; other sets are read at the newest."""
Judgement = tuple[str, str, str, int]
"""File and line (for errors), query id, document id, grade."""
QRELS_COLUMNS = ("query-id", "corpus-id", "score")
TABLE_ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".parquet", ".csv", ".tsv")
"""Endings of the files of a table, the most preferred first."""
QRELS_ENDINGS = (*TABLE_ENDINGS, ".txt")
_PART = re.compile(r"-\d{5}-of-\d{5}(?:-[0-9a-f]+)?$")
"""The end of the name of a part of a split in Parquet, on the hub."""
QRELS_PLACES = ("qrels/*", "qrels.*", "default/*", "data/*", "*-qrels/data/*")
"""Patterns of the files of judgements in the folder of a set, or of it and its repository of judgements."""
OWN_DOCUMENTS = "queries that are documents of the corpus, which stay hits of themselves (BEIR drops these)"
COMPARED_CHARACTERS = 60
TREC_COLUMNS = ("query-id", "iteration", "corpus-id", "score")


_QUERY_ID = ("query-id", "query_id", "qid")
_DOCUMENT_ID = ("corpus-id", "corpus_id", "doc_id", "docid", "pid")
TABLE_COLUMNS = frozenset(
    (*("_id", "id", "text", "title", "contents", "query"), *_QUERY_ID, *_DOCUMENT_ID)
)
"""Names of columns of documents and queries."""
R = TypeVar("R", bound=Record)


class Document(Record):
    """One document; in some sets it has only a title, or metadata such as an address."""

    id: IdText = Field(validation_alias=AliasChoices("_id", "id", *_DOCUMENT_ID))
    title: str = ""
    text: str | None = Field(validation_alias=AliasChoices("text", "contents"))
    metadata: Annotated[dict[str, Any], PARSED] = Field(default_factory=dict)


class BeirQuery(Record):
    """One query."""

    id: IdText = Field(validation_alias=AliasChoices("_id", "id", *_QUERY_ID))
    text: Text = Field(validation_alias=AliasChoices("text", "query"))


class Score(Record):
    """One judgement: the grade of a document for a query; 1 in a table of pairs (NanoBEIR)."""

    query: IdText = Field(validation_alias=AliasChoices(*_QUERY_ID))
    document: IdText = Field(validation_alias=AliasChoices(*_DOCUMENT_ID))
    score: int = Field(
        validation_alias=AliasChoices("score", "relevance", "label", "rel", "grade")
    )

    @model_validator(mode="before")
    @classmethod
    def _with_score(cls, row: Any) -> Any:
        """The row; a pair without any further column has the score 1."""
        is_pair = isinstance(row, Mapping) and len(row) == 2
        return {**row, "score": 1} if is_pair else row


def names() -> tuple[str, ...]:
    """The names of the sets that are on the hub."""
    return tuple(PREFIX + name for name in ON_HUB)


def spec_of(name: str) -> DatasetSpec:
    """The spec of "beir/NAME"; ValueError: BEIR has no such set on the hub."""
    short = name.removeprefix(PREFIX)
    if short not in ON_HUB:
        raise ValueError(
            f"{unknown('dataset', name, names())} Other folders of BEIR: 'beir' with `path` (--path)."
        )
    about = f"{short} of the BEIR benchmark, with its judgements"
    return replace(
        DATASET,
        name=name,
        summary=about,
        hub=HubCopy(f"BeIR/{short}", revision=PINNED.get(short, "main")),
    )


def load(options: LoadOptions) -> QADataset:
    """The data set in a folder, or in the two repositories of a set on the hub."""
    files = Files()
    graphs = dict[str, Path]()
    if options.path is None:
        name = options.spec.name
        title = file_name(name)
        tables, judgement_files, origin = _from_hub(options)
    else:
        if not options.path.is_dir():
            raise FileNotFoundError(
                f"{options.path} is no folder. Give one, or its ZIP archive, with corpus.jsonl, queries.jsonl, qrels."
            )
        name = title = options.path.resolve().name
        tables = sorted(options.path.glob("**/*"))
        judgement_files = _judgement_files(options.path)
        origin = {}
        graphs = find_graph_files(options.path)
    split, qrels = _judgements_of_split(judgement_files, options.split, name)
    documents = _records(files, Document, _table_files(tables, "corpus", name))
    queries = _records(files, BeirQuery, _table_files(tables, "queries", name))
    judgements = chain.from_iterable(_judgements(files, path) for path in qrels)
    corpus, questions, notes = collect(
        name, documents, queries, judgements, is_strict=options.path is not None
    )
    source = {**origin, "files": files.checksums, "split": split, "notes": notes}
    return QADataset(title, corpus, questions, source=source, graph_files=graphs)


def _judgement_files(folder: Path) -> list[Path]:
    """The files of judgements of a set, from the first of `QRELS_PLACES` that has any.

    The last place is the folder NAME-qrels beside the set (C-MTEB).
    """
    beside = folder.parent / f"{folder.name}-qrels"
    for paths in (*map(folder.glob, QRELS_PLACES), beside.glob("data/*")):
        files = sorted(
            path
            for path in paths
            if path.name.endswith(QRELS_ENDINGS)
            and _table_of(path) not in ("corpus", "queries")
        )
        if files:
            return files
    return []


def _table_of(path: Path) -> str:
    """The name of a file without its endings, and without the number of a part."""
    return _PART.sub("", path.name.partition(".")[0])


def _from_hub(options: LoadOptions) -> tuple[list[Path], list[Path], dict[str, object]]:
    """The files of documents and queries, the files of judgements, and their record in `source`.

    The revision in the record is "A+B", the commits of both repositories, and can be loaded again.
    """
    assert options.spec.hub is not None
    repo = options.spec.hub.repo
    revision, _, qrels_revision = (
        options.revision or options.spec.hub.revision
    ).partition("+")
    tables, commit = options.fetch(repo, revision, "corpus*", "queries*")
    judgements, qrels_commit = options.fetch(
        f"{repo}-qrels", qrels_revision or revision, "*.tsv"
    )
    origin: dict[str, object] = {
        "hub": repo,
        "judgements": f"{repo}-qrels",
        "revision": f"{commit}+{qrels_commit}",
    }
    return tables, judgements, origin


def _judgements(files: Files, path: Path) -> Iterator[Judgement]:
    """The judgements in a file, each with its line for errors."""
    if path.suffix in (".tsv", ".txt"):
        rows = [
            (f"{path.name}, line {number}", row)
            for number, row in _judgement_rows(files, path)
        ]
    elif path.suffix == ".json":
        rows = list(_judgements_of_json(files, path))
    else:
        rows = list(files.rows(path))
    scores = checked(rows, Score, path.name)
    for (location, _), score in zip(rows, scores, strict=True):
        yield location, score.query, score.document, score.score


def _judgement_rows(
    files: Files, path: Path
) -> Iterator[tuple[int, Mapping[str, object]]]:
    """The number of each line of judgements, from 1, and its cells by column.

    Without a header, the columns are those of BEIR, or the four of TREC.
    """
    lines = [line.rstrip("\r") for line in files.text(path).split("\n")]
    if "\t" not in lines[0]:
        lines = ["\t".join(line.split()) for line in lines]
    cells = lines[0].split("\t")
    if not cells[-1].strip().lstrip("-").isdecimal():
        return delimited_rows(lines, path.name, "\t")
    header = TREC_COLUMNS if len(cells) == len(TREC_COLUMNS) else QRELS_COLUMNS
    rows = delimited_rows(["\t".join(header), *lines], path.name, "\t")
    return ((number - 1, row) for number, row in rows)


def _judgements_of_json(files: Files, path: Path) -> Iterator[tuple[str, Any]]:
    """The location and the record of each judgement of a JSON list, or of {query: {document: grade}}."""
    value = parse_json(files.text(path), path.name)
    if not isinstance(value, Mapping):
        yield from files.rows(path)
        return
    for query, documents in value.items():
        if isinstance(documents, list):
            documents = dict.fromkeys(documents, 1)
        if not isinstance(documents, Mapping):
            raise DataError(
                f"{path.name}: {quote(query)} has {quote(documents)}; needed: an object of documents and grades."
            )
        for document, score in documents.items():
            row = {"query-id": query, "corpus-id": document, "score": score}
            yield f"{path.name}, {quote(query)}", row


def _table_files(files: Sequence[Path], table: str, name: str) -> list[Path]:
    """The file of a table, such as corpus.jsonl, or else its parts in a folder of its name.

    FileNotFoundError: there are neither. `name` is the set, for the error.
    """
    for ending in TABLE_ENDINGS:
        of_ending = [path for path in files if path.name.endswith(ending)]
        for path in of_ending:
            if path.name == table + ending:
                return [path]
        parts = [path for path in of_ending if _is_part_of(path, table)]
        if parts:
            return parts
    raise FileNotFoundError(
        f"{name} holds no BEIR {table}. Looked for: {table} with an ending {', '.join(TABLE_ENDINGS)}, or such files "
        f"in {table}/."
    )


def _records(files: Files, model: type[R], paths: Sequence[Path]) -> list[R]:
    """The records of a table, also of a TSV file of ids and texts without a header (MS MARCO, Anserini)."""
    if len(paths) > 1 or paths[0].suffix != ".tsv":
        return files.records(model, *paths)
    lines = files.text(paths[0]).split("\n")
    cells = [cell.strip().casefold() for cell in lines[0].split("\t")]
    if len(cells) != 2 or not TABLE_COLUMNS.isdisjoint(cells):
        return files.records(model, *paths)
    rows = delimited_rows(["_id\ttext", *lines], paths[0].name, "\t")
    located = ((f"{paths[0].name}, line {number - 1}", row) for number, row in rows)
    return checked(located, model, paths[0].name)


def _is_part_of(path: Path, table: str) -> bool:
    """Whether a file is in the folder of a table, or a numbered part (corpus-00000-of-00001.parquet)."""
    is_numbered = _table_of(path) == table and path.name.partition(".")[0] != table
    return is_numbered or path.parent.name == table


def _judgements_of_split(
    judgement_files: Sequence[Path], split: str | None, name: str
) -> tuple[str, list[Path]]:
    """The name and the files of a split; the default is the only split, or "test".

    The hub calls BEIR's "dev" "validation", so each name stands for the other.
    """
    if not judgement_files:
        raise FileNotFoundError(
            f"{name} holds no qrels/<split> with an ending {', '.join(QRELS_ENDINGS)}."
        )
    files_of = defaultdict[str, list[Path]](list)
    for path in judgement_files:
        files_of[_table_of(path)].append(path)
    if split is None and len(files_of) == 1:
        split = next(iter(files_of))
    split = split or "test"
    synonym = {"validation": "dev", "dev": "validation"}.get(split, split)
    for spelling in (split, synonym):
        if spelling in files_of:
            return split, files_of[spelling]
    raise ValueError(
        f"{name} has no split {split!r}. It offers: {', '.join(files_of)}."
    )


def collect(
    where: str,
    documents: Iterable[Document],
    queries: Iterable[BeirQuery],
    judgements: Iterable[Judgement],
    *,
    is_strict: bool,
) -> tuple[Corpus, tuple[Question, ...], dict[str, int]]:
    """The corpus, the questions with a relevant document, and counts of omitted or changed records.

    is_strict : True if empty documents are errors; otherwise they are left out and counted.

    DataError: a judged document that the corpus lacks, two different grades of one document for a
    query, or no question.
    """
    notes = Counter[str]()
    passages, empty = _passages(where, documents, notes, is_strict=is_strict)
    corpus = Corpus.from_passages(passages)
    texts = {query.id: query.text for query in queries}
    known = _Known(texts, frozenset(corpus.ids), empty)
    gold = _gold(judgements, known, notes)
    questions = tuple(
        Question(id_, text, gold[id_]) for id_, text in texts.items() if gold.get(id_)
    )
    if not questions:
        raise DataError(
            f"{where}: none of its {len(texts)} queries has a relevant document."
        )
    notes["queries without a relevant document in this split left out"] = len(
        texts
    ) - len(questions)
    notes[OWN_DOCUMENTS] = sum(
        _is_document(question, corpus)
        for question in questions
        if question.id in known.documents
    )
    return corpus, questions, {note: count for note, count in notes.items() if count}


def _passages(
    where: str, documents: Iterable[Document], notes: Counter[str], *, is_strict: bool
) -> tuple[list[Passage], set[str]]:
    """The passages of documents, and the ids of empty documents, which are errors if `is_strict`."""
    passages = list[Passage]()
    empty = set[str]()
    for number, document in enumerate(documents, start=1):
        passage = _passage(document, notes)
        if passage is not None:
            passages.append(passage)
        elif is_strict:
            raise DataError(
                f"{where}, document {number} ({document.id!r}): title and text are both empty. Leave it out."
            )
        else:
            notes["documents without title and text left out"] += 1
            empty.add(document.id)
    return passages, empty


def _is_document(question: Question, corpus: Corpus) -> bool:
    """Whether a question is, at the start, the text of the document with its id, as in ArguAna."""
    text = corpus[corpus.row(question.id)].text
    return text.strip().startswith(question.text.strip()[:COMPARED_CHARACTERS])


def _passage(document: Document, notes: Counter[str]) -> Passage | None:
    """The passage of a document, whose title is the text if it has none; None if it has neither."""
    title, text = document.title, document.text or ""
    if not (title + text).strip():
        return None
    if not text.strip():
        notes["documents without text, their title serves as text"] += 1
        title, text = "", title
    return Passage(document.id, title, text, document.id, metadata=document.metadata)


@dataclass(frozen=True)
class _Known:
    """The ids of queries and documents that judgements may name.

    empty : the ids of documents that were left out.
    """

    queries: Container[str]
    documents: Container[str]
    empty: Container[str]

    def has(
        self, location: str, query: str, document: str, notes: Counter[str]
    ) -> bool:
        """Whether a judgement's query and document exist; one that does not is counted in `notes`.

        DataError: the corpus never had the document.
        """
        if query not in self.queries or document in self.empty:
            kind = "documents" if query in self.queries else "queries"
            notes[f"judgements of {kind} without text left out"] += 1
            return False
        if document not in self.documents:
            raise DataError(
                f"{location}: {document!r}, judged for query {query!r}, is no document of the corpus. Are judgements "
                "and documents from the same version? kg2rag.from_frames takes what you can repair."
            )
        return True


def _gold(
    judgements: Iterable[Judgement], known: _Known, notes: Counter[str]
) -> dict[str, dict[str, int]]:
    """Query -> relevant document -> grade, from 1.

    DataError: a document is judged twice for a query, with different grades.
    """
    grades = dict[tuple[str, str], int]()
    gold = dict[str, dict[str, int]]()
    for location, query, document, grade in judgements:
        if not known.has(location, query, document, notes):
            continue
        former = grades.setdefault((query, document), grade)
        if former != grade:
            raise DataError(
                f"{location}: {query!r} and {document!r} are judged twice, {former} and {grade}."
            )
        if grade < 1:
            notes["judgements below 1 left out"] += 1
        elif document in gold.setdefault(query, {}):
            notes["repeated judgements left out"] += 1
        else:
            gold[query][document] = grade
    return gold


DATASET = DatasetSpec(
    name="beir",
    summary="a set of the BEIR benchmark, by its name on the hub (beir/scifact) or as a folder",
    load=load,
    licence="each set its own",
    citation="Thakur et al., BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of IR Models, NeurIPS 2021",
    homepage="https://github.com/beir-cellar/beir",
    splits=None,
)
