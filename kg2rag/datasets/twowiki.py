"""2WikiMultihopQA's official JSON, its copy on the hub, or its questions over HippoRAG's corpus -> QADataset.

[1] Ho et al., "Constructing A Multi-hop QA Dataset for Comprehensive Evaluation of Reasoning Steps", COLING 2020.
`evidences` become the question's gold triples. Hops follow the question's type [1, Sec. 2]: four for
`bridge_comparison`, two for the others. Unlike HotpotQA's, the sentences carry no blank between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pydantic import Field, StrictInt

from kg2rag.datasets import hub
from kg2rag.datasets.entry import Entry, Request
from kg2rag.datasets.extras import beside
from kg2rag.datasets.hotpotqa import HotpotRecord, question_over_contexts
from kg2rag.datasets.hotpotqa import from_hub as hotpot_from_hub
from kg2rag.datasets.layout import patterns, use_corpus
from kg2rag.datasets.pool import Pool, Schema
from kg2rag.datasets.reading import Fact, Files, Identifier, Record, Text, check, first_keys, locate
from kg2rag.types.questions import QADataset, Question

FILES = {
    "validation": ("dev.json",),
    "train": ("train.json",),
    "": ("2wikimultihopqa.json", "questions.jsonl"),
}
HOPS = {"bridge_comparison": 4, "comparison": 2, "compositional": 2, "inference": 2}


class TwoWikiRecord(HotpotRecord):
    """HotpotQA's record and the triples that lead to the answer."""

    evidences: list[Fact] = Field(default_factory=list)


class TitledRecord(Record):
    """A question whose gold is a list of titles of HippoRAG's corpus; `gold_status` says how they were found."""

    id: Identifier
    question: Text
    answer: Text
    type: str = ""
    evidences: list[Fact] = Field(default_factory=list)
    gold_titles: list[Text] = Field(min_length=1)
    supporting_facts: list[tuple[Text, StrictInt]] | None = None
    gold_status: str = ""


def to_question(record: TwoWikiRecord, pool: Pool, where: str) -> Question | None:
    """An official record as a question."""
    return question_over_contexts(record, pool, where, hops=HOPS.get(record.type), blank=" ", triples=record.evidences)


def to_titled_question(record: TitledRecord, pool: Pool, where: str) -> Question:
    """A record of gold titles as a question; each title must stand once in the corpus."""
    supporting = record.supporting_facts or []
    named = dict.fromkeys((*record.gold_titles, *(title for title, _ in supporting)))
    ids = {title: _only(pool, title, where) for title in named}
    return Question(
        id=record.id,
        text=record.question,
        gold=dict.fromkeys((ids[title] for title in record.gold_titles), 1),
        answers=(record.answer,),
        type=record.type,
        hops=HOPS.get(record.type),
        supporting=tuple((pool.doc_id(ids[title]), index) for title, index in supporting),
        triples=tuple(record.evidences),
    )


def _only(pool: Pool, title: str, where: str) -> str:
    ids = pool.titled(title)
    if len(ids) != 1:
        lack = f"stands {len(ids)} times in" if ids else "is not in"
        raise ValueError(f"{where}: the gold title {title!r} {lack} {pool.closed_by or 'the corpus'}.")
    return ids[0]


SCHEMA = Schema(TwoWikiRecord, to_question)
TITLED = Schema(TitledRecord, to_titled_question)


def from_hub(row: Mapping[str, object]) -> dict[str, object]:
    """A row of the hub's copy in the official shape."""
    return {**hotpot_from_hub(row), "evidences": hub.transpose(row.get("evidences"), ("fact", "relation", "entity"))}


def load(request: Request) -> QADataset:
    """Read the official file, the questions over HippoRAG's corpus, or the hub's copy."""
    if request.path is None:
        rows = hub.rows("2wikimultihopqa", request.split, request.revision)
        records = check([from_hub(row) for row in rows.rows], TwoWikiRecord, rows.label)
        pool = SCHEMA.pool(request.passages)
        return _dataset(request, pool, SCHEMA.questions(records, pool, rows.label), dict(rows.origin))
    files = Files()
    path = locate(request.path, patterns(FILES, request), "2WikiMultihopQA questions")
    titled = "gold_titles" in first_keys(files.text(path))
    if titled and request.setting == "distractor":
        raise ValueError(
            f"{path.name} gives its questions no paragraphs of their own: only setting 'pooled' is possible."
        )
    pool = SCHEMA.pool(request.passages)
    if not use_corpus(path, "2wikimultihopqa", files, pool) and titled:
        raise FileNotFoundError(f"{path.name} names its gold by title: 2wikimultihopqa_corpus.json must lie beside it.")
    origin: dict[str, object] = {"files": files.checksums}
    if not titled:
        return _dataset(request, pool, SCHEMA.questions(files.records(path, TwoWikiRecord), pool, path.name), origin)
    records_of_titles = files.records(path, TitledRecord)
    origin["gold_status"] = dict(sorted(Counter(record.gold_status for record in records_of_titles).items()))
    return _dataset(request, pool, TITLED.questions(records_of_titles, pool, path.name), origin)


def _dataset(request: Request, pool: Pool, questions: list[Question], origin: dict[str, object]) -> QADataset:
    source = {**origin, "notes": dict(pool.notes)}
    graph_files = beside(request.path) if request.path else {}
    return QADataset(
        "2wikimultihopqa", pool.corpus(), tuple(questions), request.setting, source=source, graph_files=graph_files
    )


ENTRY = Entry(
    name="2wikimultihopqa",
    summary="two- and four-hop questions with the triples that answer them",
    load=load,
    aliases=("2wiki",),
    settings=("pooled", "distractor"),
    passages=("paragraph", "sentence"),
    splits=("validation", "train"),
    on_hub=True,
)
