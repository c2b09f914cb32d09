"""2WikiMultihopQA's official JSON, its copy on the hub, or its questions over HippoRAG's corpus -> QADataset.

[1] Ho et al., "Constructing A Multi-hop QA Dataset for Comprehensive Evaluation of Reasoning Steps", COLING 2020.
`evidences` become the question's gold triples. Hops follow the question's type [1, Sec. 2]: four for
`bridge_comparison`, two for the others. Unlike HotpotQA's, the sentences carry no blank between them.
"""

from __future__ import annotations

from pydantic import Field

from kg2rag.datasets.hotpotqa import HotpotRecord, question_over_contexts
from kg2rag.datasets.pool import Pool, Schema, pooled
from kg2rag.datasets.reading import Fact, Identifier, Record, SentenceName, Text
from kg2rag.datasets.spec import DatasetSpec, HubCopy
from kg2rag.text.records import DataError
from kg2rag.types import Question

CITATION = "Ho et al., Constructing A Multi-hop QA Dataset for Comprehensive Evaluation of Reasoning Steps, COLING 2020"
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
    supporting_facts: list[SentenceName] | None = None
    gold_status: str = ""


def to_question(record: TwoWikiRecord, pool: Pool, where: str) -> Question | None:
    """An official record as a question."""
    return question_over_contexts(record, pool, where, hops=HOPS.get(record.type), blank=" ", triples=record.evidences)


def to_titled_question(record: TitledRecord, pool: Pool, where: str) -> Question:
    """A record of gold titles as a question; each title must be unique in the corpus."""
    supporting = record.supporting_facts or []
    ids = {}
    for title in (*record.gold_titles, *(title for title, _ in supporting)):
        found = pool.titled(title)
        if len(found) != 1:
            lack = f"occurs {len(found)} times in" if found else "is not in"
            raise DataError(f"{where}: the gold title {title!r} {lack} {pool.closed_by}.")
        ids[title] = found[0]
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


SCHEMA = Schema("evidences", TwoWikiRecord, to_question)
COUNTED = {"gold_status": "gold_status"}
TITLED = Schema("gold_titles", TitledRecord, to_titled_question, names_corpus=True, counted=COUNTED)


DATASET = DatasetSpec(
    name="2wikimultihopqa",
    summary="two- and four-hop questions with the triples that answer them",
    load=pooled(TITLED, SCHEMA),
    licence="Apache-2.0",
    citation=CITATION,
    homepage="https://github.com/Alab-NII/2wikimultihop",
    aliases=("2wiki",),
    settings=("pooled", "distractor"),
    passages=("paragraph", "sentence"),
    splits=("validation", "train"),
    files={
        "validation": ("dev.json",),
        "train": ("train.json",),
        "": ("2wikimultihopqa.json", "questions.jsonl"),
    },
    # Re-uploaded by a user of the hub: the authors publish no copy there.
    hub=HubCopy(
        "framolfese/2WikiMultihopQA",
        {"validation": "data/validation-*", "train": "data/train-*"},
        "fe713bfbd1afbca1a65246741a75890405d56a3a",
    ),
)
