"""MuSiQue's official JSON or JSONL, or its copy on the hub -> QADataset.

[1] Trivedi et al., "MuSiQue: Multihop Questions via Single-hop Question Composition", TACL 2022.
Paragraphs with `is_supporting` are gold. The id of a question begins with the shape of its
reasoning graph ("3hop1__…", [1, Table 1]), which is its type and tells the number of hops. Its
decomposition names the paragraph of each hop.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import AliasChoices, Field

from kg2rag.datasets.pool import Pool, Schema, pooled
from kg2rag.datasets.reading import (
    AS_LIST,
    AS_RECORDS,
    PARSED,
    Identifier,
    Record,
    Text,
)
from kg2rag.datasets.spec import DatasetSpec, HubCopy
from kg2rag.text.records import DataError
from kg2rag.types import Question

_SHAPE = re.compile(r"((\d)hop\d*)__")


class Paragraph(Record):
    """A paragraph of a question; `idx` is the number by which a hop names it, None for its index."""

    idx: int | None = None
    title: str
    paragraph_text: str = Field(validation_alias=AliasChoices("paragraph_text", "text"))
    is_supporting: bool


class Hop(Record):
    """A single-hop question, and the number of the paragraph that answers it, None for none."""

    paragraph_support_idx: int | None = None


class MusiqueRecord(Record):
    """One question with its twenty paragraphs."""

    id: Identifier
    question: Text
    answer: Annotated[list[Text], AS_LIST] = Field(
        validation_alias=AliasChoices("answer", "reference", "obj"), min_length=1
    )
    answer_aliases: Annotated[list[str], PARSED] = Field(
        default_factory=list,
        validation_alias=AliasChoices("answer_aliases", "possible_answers"),
    )
    answerable: bool = True
    paragraphs: Annotated[list[Paragraph], AS_RECORDS] = Field(
        validation_alias=AliasChoices("paragraphs", "contexts"), min_length=1
    )
    question_decomposition: Annotated[list[Hop], AS_RECORDS] = Field(
        default_factory=list
    )

    @property
    def key(self) -> object:
        """The id, and whether the question is answerable: MuSiQue-Full has two of each id."""
        return self.id, self.answerable


def to_question(record: MusiqueRecord, pool: Pool, where: str) -> Question | None:
    """The question of a record; None for an unanswerable one, which is counted.

    DataError: no paragraph is gold, or a gold one is not in the corpus file.
    """
    if not record.answerable:
        pool.notes["unanswerable questions left out"] += 1
        return None
    passages = [_passage_id(paragraph, pool, where) for paragraph in record.paragraphs]
    passage_of = _passage_of_number(record.paragraphs, passages, where)
    is_complete = True  # the pool has every paragraph with text
    gold = dict[str, int]()
    for paragraph, id_ in zip(record.paragraphs, passages, strict=True):
        if id_ is None:
            is_complete = is_complete and not paragraph.paragraph_text.strip()
        elif paragraph.is_supporting:
            gold[id_] = 1
    if not gold:
        raise DataError(
            f"{where}: no paragraph has is_supporting true; the test split cannot be judged."
        )
    type_, hops = _type_and_hops(record)
    return Question(
        record.id,
        record.question,
        gold,
        answers=tuple(dict.fromkeys([*record.answer, *record.answer_aliases])),
        type=type_,
        hops=hops,
        candidates=tuple(dict.fromkeys(passage_of.values())) if is_complete else None,
        chain=_chain(record, passage_of, gold),
    )


def _passage_of_number(
    paragraphs: Sequence[Paragraph], ids: Sequence[str | None], where: str
) -> dict[int, str]:
    """The number of each paragraph -> the id of its passage, without paragraphs not in the pool.

    DataError: two paragraphs have the same number.
    """
    passage_of = dict[int, str]()
    for index, (paragraph, id_) in enumerate(zip(paragraphs, ids, strict=True)):
        if id_ is not None:
            number = index if paragraph.idx is None else paragraph.idx
            if number in passage_of:
                raise DataError(f"{where}: two paragraphs have the idx {number}.")
            passage_of[number] = id_
    return passage_of


def _passage_id(paragraph: Paragraph, pool: Pool, where: str) -> str | None:
    """The id of a paragraph's passage; None if the pool does not have it.

    DataError: the pool does not have a gold paragraph.
    """
    pooled_paragraph = pool.find_or_add(paragraph.title, paragraph.paragraph_text)
    if pooled_paragraph is not None:
        return pooled_paragraph.passage.id
    if paragraph.is_supporting:
        source = pool.closed_by or "the pool, since it has no text"
        raise DataError(
            f"{where}: the supporting paragraph {paragraph.title!r} is not in {source}."
        )
    return None


def _type_and_hops(record: MusiqueRecord) -> tuple[str, int | None]:
    """The shape of the reasoning graph, "" if the id has none, and the number of hops, or None."""
    shape = _SHAPE.match(record.id)
    if shape:
        return shape[1], int(shape[2])
    return "", len(record.question_decomposition) or None


def _chain(
    record: MusiqueRecord, passage_of: Mapping[int, str], gold: Mapping[str, int]
) -> tuple[str, ...]:
    """The gold passages in the order of the hops; empty if hops and gold do not match."""
    hops = record.question_decomposition
    numbers = [
        hop.paragraph_support_idx
        for hop in hops
        if hop.paragraph_support_idx is not None
    ]
    chain = tuple(passage_of.get(number, "") for number in numbers)
    return chain if len(chain) == len(hops) and set(chain) == set(gold) else ()


SCHEMA = Schema("paragraphs", MusiqueRecord, to_question, titles_are_documents=True)
CONTEXTS = Schema("contexts", MusiqueRecord, to_question, titles_are_documents=True)
"""Natural Questions and PopQA in HippoRAG's form: MuSiQue's records with other names and no hops."""


DATASET = DatasetSpec(
    name="musique",
    summary="two- to four-hop questions composed of single-hop ones",
    load=pooled(SCHEMA),
    licence="CC BY 4.0",
    citation="Trivedi et al., MuSiQue: Multihop Questions via Single-hop Question Composition, TACL 2022",
    homepage="https://github.com/StonyBrookNLP/musique",
    settings=("pooled", "distractor"),
    splits=("validation", "train"),
    files={
        "validation": ("musique_ans_v1.0_dev.jsonl", "musique_full_v1.0_dev.jsonl"),
        "train": ("musique_ans_v1.0_train.jsonl", "musique_full_v1.0_train.jsonl"),
        "": ("musique.json", "musique.jsonl"),
    },
    # Re-uploaded by a user of the hub: the authors publish no copy there.
    hub=HubCopy(
        "dgslibisey/MuSiQue",
        {
            "validation": "musique_ans_v1.0_dev.jsonl",
            "train": "musique_ans_v1.0_train.jsonl",
        },
        "c8f4f8c9465fb69d31a8eae894c3fd509c4ca321",
    ),
)
