"""HotpotQA's official JSON, or its copy on the hub -> QADataset.

[1] Yang et al., "HotpotQA: A Dataset for Diverse, Explainable Multi-hop Question Answering", EMNLP
2018. Every question is written over two paragraphs [1, Sec. 2], so `hops` is 2; its type is
`bridge` or `comparison`. The text of a paragraph is its joined sentences, as in [1] and HippoRAG.
Most sentences begin with a blank in the file; a sentence as a passage is without it, and
`Corpus.joined(exact=True)` has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from kg2rag.datasets.pool import Paragraph, Pool, Schema, pooled
from kg2rag.datasets.reading import (
    Fact,
    Identifier,
    Record,
    SentenceName,
    Text,
    tuples_of,
)
from kg2rag.datasets.spec import DatasetSpec, HubCopy
from kg2rag.text.records import DataError
from kg2rag.types import Question

DISTRACTOR = "Contexts of a fullwiki file were retrieved and often lack the gold: take the distractor file."
FACTS = tuples_of("title", "sent_id|sent_idx")
CONTEXT = tuples_of("title", "sentences|content")


class HotpotRecord(Record):
    """One question; a paragraph in its context is `[title, [sentence, …]]`."""

    id: Identifier
    question: Text
    answer: Text
    type: str = ""
    level: str = ""
    supporting_facts: Annotated[list[SentenceName], FACTS] = Field(min_length=1)
    context: Annotated[list[tuple[Text, list[str]]], CONTEXT] = Field(min_length=1)


def question_over_contexts(
    record: HotpotRecord,
    pool: Pool,
    where: str,
    *,
    hops: int | None,
    blank: str = "",
    triples: Sequence[Fact] = (),
) -> Question | None:
    """The question of a record whose gold is (title, sentence index): HotpotQA, 2WikiMultihopQA.

    Official files name a few sentences that their paragraph does not have. These are counted and
    left out of `supporting`; their paragraph stays gold. If sentences are the passages, a question
    without gold is counted, and None is returned. DataError: the context lacks a supporting title.

    where : file and record, for errors.
    hops : number of hops, None if unknown.
    blank : the text that joins the sentences of a paragraph.
    triples : the gold triples.
    """
    paragraphs, is_complete = _add_context(record, pool, blank)
    gold, supporting = _gold_and_supporting(record, pool, paragraphs, where)
    if not gold:
        pool.notes["questions left without gold"] += 1
        return None
    candidates = list[str]()
    for paragraph in dict.fromkeys(paragraphs.values()):
        candidates += paragraph.ids(pool.passages).values()
    return Question(
        record.id,
        record.question,
        gold,
        answers=(record.answer,),
        type=record.type,
        hops=hops,
        supporting=tuple(dict.fromkeys(supporting)),
        triples=tuple(triples),
        candidates=tuple(candidates) if is_complete else None,
    )


def _add_context(
    record: HotpotRecord, pool: Pool, blank: str
) -> tuple[dict[str, Paragraph], bool]:
    """The paragraphs of a context by title, and whether the pool has every paragraph with text."""
    paragraphs = dict[str, Paragraph]()
    is_complete = True
    for title, sentences in record.context:
        pieces = [sentence.strip() for sentence in sentences] if blank else sentences
        text = blank.join(pieces).strip()
        paragraph = pool.find_or_add(title, text, sentences)
        if paragraph is None:
            is_complete = is_complete and not text
        elif paragraphs.setdefault(title, paragraph) is not paragraph:
            pool.notes["titles with two texts in one context, the first taken"] += 1
    return paragraphs, is_complete


def _gold_and_supporting(
    record: HotpotRecord, pool: Pool, paragraphs: Mapping[str, Paragraph], where: str
) -> tuple[dict[str, int], list[tuple[str, int]]]:
    """Gold passage -> grade, and the supporting sentences as (document, index)."""
    titles = {title for title, _ in record.context}
    gold = dict[str, int]()
    supporting = list[tuple[str, int]]()
    for title, index in record.supporting_facts:
        paragraph = paragraphs.get(title)
        if title not in titles or (paragraph is None and pool.closed_by):
            raise _missing_title(title, pool, title in titles, where)
        if paragraph is None or not paragraph.has(index):
            pool.notes["supporting sentences that their paragraph does not have"] += 1
        else:
            supporting.append((paragraph.passage.doc_id, index))
        if paragraph is not None:
            gold |= _grades(paragraph, index, pool)
    return gold, supporting


def _grades(paragraph: Paragraph, index: int, pool: Pool) -> dict[str, int]:
    """The passage that has a sentence of a paragraph -> grade 1; empty if no passage has it."""
    passages = paragraph.ids(pool.passages)
    if pool.passages == "paragraph":
        return dict.fromkeys(passages.values(), 1)
    return {id_: 1 for number, id_ in passages.items() if number == index}


def _missing_title(title: str, pool: Pool, in_context: bool, where: str) -> DataError:
    """The error for a supporting title that is not in the context, or not in the corpus file."""
    source = pool.closed_by if in_context else "its context"
    advice = "" if pool.closed_by else f" {DISTRACTOR}"
    return DataError(
        f"{where}: supporting_facts names {title!r}, which is not in {source}.{advice}"
    )


SCHEMA = Schema(
    "context",
    HotpotRecord,
    partial(question_over_contexts, hops=2),
    counted={"levels": "level"},
)


DATASET = DatasetSpec(
    name="hotpotqa",
    summary="two-hop questions over Wikipedia introductions, with supporting sentences",
    load=pooled(SCHEMA),
    licence="CC BY-SA 4.0",
    citation="Yang et al., HotpotQA: A Dataset for Diverse, Explainable Multi-hop Question Answering, EMNLP 2018",
    homepage="https://hotpotqa.github.io",
    settings=("distractor", "pooled"),
    passages=("paragraph", "sentence"),
    splits=("validation", "train"),
    files={
        "validation": ("hotpot_dev_distractor_v1.json", "hotpot_dev_distractor*.json"),
        "train": ("hotpot_train_v1.1.json", "hotpot_train*.json"),
        "": ("hotpotqa.json",),
    },
    # The contexts of "fullwiki" come from a retriever and often lack the gold.
    hub=HubCopy(
        "hotpotqa/hotpot_qa",
        {"validation": "distractor/validation-*", "train": "distractor/train-*"},
        "1908d6afbbead072334abe2965f91bd2709910ab",
    ),
)
