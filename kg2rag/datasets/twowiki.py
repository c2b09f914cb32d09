"""2WikiMultihopQA (official, hub, HippoRAG's corpus, or with an LLM's graph) -> QADataset.

[1] Ho et al., "Constructing A Multi-hop QA Dataset for Comprehensive Evaluation of Reasoning
Steps", COLING 2020. `evidences` are the gold triples of a question. The number of hops depends on
its type [1, Sec. 2]: four for `bridge_comparison`, two for the others. Unlike HotpotQA's, the
sentences of a paragraph are joined by blanks.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, StrictInt

from kg2rag.datasets.bundled import read_questions
from kg2rag.datasets.hotpotqa import FACTS, HotpotRecord, question_over_contexts
from kg2rag.datasets.pool import Pool, Schema, pooled
from kg2rag.datasets.reading import (
    PARSED,
    Fact,
    Files,
    Identifier,
    Record,
    SentenceName,
    Text,
    find_graph_files,
    locate,
    tuples_of,
)
from kg2rag.datasets.spec import DatasetSpec, HubCopy, LoadOptions
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Passage, QADataset, Question

CITATION = "Ho et al., Constructing A Multi-hop QA Dataset for Comprehensive Evaluation of Reasoning Steps, COLING 2020"
HOPS = {"bridge_comparison": 4, "comparison": 2, "compositional": 2, "inference": 2}
EVIDENCES = tuples_of("fact", "relation", "entity")


class TwoWikiRecord(HotpotRecord):
    """HotpotQA's record and the triples that lead to the answer."""

    evidences: Annotated[list[Fact], EVIDENCES] = Field(default_factory=list)


class TitledRecord(Record):
    """A question whose gold is titles of HippoRAG's corpus; `gold_status` is their origin."""

    id: Identifier
    question: Text
    answer: Text
    type: str = ""
    evidences: Annotated[list[Fact], EVIDENCES] = Field(default_factory=list)
    gold_titles: Annotated[list[Text], PARSED] = Field(min_length=1)
    supporting_facts: Annotated[list[SentenceName] | None, FACTS] = None
    gold_status: str = ""


def to_question(record: TwoWikiRecord, pool: Pool, where: str) -> Question | None:
    """The question of an official record; see `question_over_contexts`."""
    return question_over_contexts(
        record,
        pool,
        where,
        hops=HOPS.get(record.type),
        blank=" ",
        triples=record.evidences,
    )


def to_titled_question(record: TitledRecord, pool: Pool, where: str) -> Question:
    """The question of a record of gold titles; DataError: a title is not unique in the corpus."""
    facts = record.supporting_facts or []
    passage_of = dict[str, Passage]()
    for title in (*record.gold_titles, *(title for title, _ in facts)):
        paragraphs = pool.titled(title)
        if len(paragraphs) != 1:
            fault = f"occurs {len(paragraphs)} times in" if paragraphs else "is not in"
            raise DataError(
                f"{where}: the gold title {title!r} {fault} {pool.closed_by}."
            )
        passage_of[title] = paragraphs[0].passage
    return Question(
        record.id,
        record.question,
        gold={passage_of[title].id: 1 for title in record.gold_titles},
        answers=(record.answer,),
        type=record.type,
        hops=HOPS.get(record.type),
        supporting=tuple((passage_of[title].doc_id, index) for title, index in facts),
        triples=tuple(record.evidences),
    )


SCHEMA = Schema("evidences", TwoWikiRecord, to_question)
COUNTED = {"gold_status": "gold_status"}
TITLED = Schema(
    "gold_titles", TitledRecord, to_titled_question, names_corpus=True, counted=COUNTED
)


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


CHUNK_LIST = "graph_corpus_ids.txt"
QUESTION_LIST = "test_ids.txt"


class Chunk(Record):
    """One passage: a paragraph of a Wikipedia introduction."""

    chunk_id: Text
    source_title: str
    source_para_idx: StrictInt
    text: Text


def _select_listed(chunks: Sequence[Chunk], ids: Sequence[str]) -> list[Chunk]:
    """The chunks with these ids, in the order of the corpus; DataError: an id without a chunk."""
    _require_listed(
        CHUNK_LIST, ids, "corpus.jsonl", {chunk.chunk_id for chunk in chunks}
    )
    listed = set(ids)
    return [chunk for chunk in chunks if chunk.chunk_id in listed]


def load_with_graph(options: LoadOptions) -> QADataset:
    """The data set in a folder of 2wiki-kg: corpus, questions and triples as JSON Lines.

    The graph covers only the chunks of `graph_corpus_ids.txt`. The default split "test" has these
    chunks and the questions of `test_ids.txt`, and is meant for graph methods. Split "all" has
    every question and chunk, and no triples file, since 79 % of the gold of the other questions has
    no triple.
    """
    files = Files()
    split = options.split or "test"
    folder = locate(options.path or Path(), ["corpus.jsonl"], "2wiki-kg corpus").parent
    chunks = files.records(Chunk, folder / "corpus.jsonl")
    graphs = find_graph_files(folder)
    path = locate(folder, ["questions.jsonl"], "2wiki-kg file")
    question_ids: list[str] | None = None
    if split == "test":
        covered = files.lines(locate(folder, [CHUNK_LIST], "2wiki-kg file"))
        question_ids = files.lines(locate(folder, [QUESTION_LIST], "2wiki-kg file"))
        chunks = _select_listed(chunks, covered)
    else:
        partial = ("triples", "entities")
        graphs = {
            kind: file for kind, file in graphs.items() if not kind.startswith(partial)
        }
    corpus = Corpus.from_passages(map(_passage, chunks))
    questions = tuple(read_questions(files, path, corpus, question_ids))
    if question_ids is not None:
        ids = {question.id for question in questions}
        _require_listed(QUESTION_LIST, question_ids, "questions.jsonl", ids)
    source = {"files": files.checksums, "split": split, "notes": {}}
    return QADataset("2wiki-kg", corpus, questions, source=source, graph_files=graphs)


def _passage(chunk: Chunk) -> Passage:
    """The passage of a chunk; its document is the title or, without one, the chunk itself."""
    document = chunk.source_title or chunk.chunk_id
    return Passage(
        chunk.chunk_id, chunk.source_title, chunk.text, document, chunk.source_para_idx
    )


def _require_listed(
    listing: str, listed_ids: Sequence[str], origin: str, ids: Container[str]
) -> None:
    """Raise DataError if `ids`, those of the file `origin`, lack an id of the file `listing`."""
    missing = [id_ for id_ in listed_ids if id_ not in ids]
    if missing:
        raise DataError(
            f"{listing} names {missing[0]!r}, which {origin} lacks ({len(missing)} such ids)."
        )


WITH_GRAPH = DatasetSpec(
    name="2wiki-kg",
    summary="2WikiMultihopQA over short chunks, with a graph extracted by a language model",
    load=load_with_graph,
    licence="Apache-2.0 (2WikiMultihopQA), MIT (graph)",
    citation=CITATION,
    homepage="https://github.com/Alab-NII/2wikimultihop",
    splits=("test", "all"),
)
