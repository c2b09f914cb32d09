"""Rankings and the gold of their questions by what is judged, passages or documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from kg2rag.types import GoldUnit, IntArray, QADataset, Ranking


class Gold(NamedTuple):
    """What a data set's questions are judged by, one mapping each: id -> grade, and number -> grade.

    `documents`, where these are judged: (n_passages,) the number of each passage's document, and the documents' ids.
    """

    by_id: Sequence[Mapping[str, int]]
    by_number: Sequence[Mapping[int, int]]
    documents: tuple[IntArray, Sequence[str]] | None


_GOLD: WeakKeyDictionary[QADataset, dict[GoldUnit, Gold]] = WeakKeyDictionary()
"""Every system and budget of tokens of a comparison is judged by the same."""

_JUDGED: WeakKeyDictionary[QADataset, dict[GoldUnit, Sequence[Mapping[int, int]]]] = WeakKeyDictionary()


def gold_of(data: QADataset, unit: GoldUnit) -> Gold:
    """The gold of a data set by what is judged; made once.

    A document has the highest grade of its gold passages. ValueError: an unknown unit, or one the data cannot judge.
    """
    kept = _GOLD.setdefault(data, {})
    if unit not in kept:
        kept[unit] = _gold(data, unit)
    return kept[unit]


def _gold(data: QADataset, unit: GoldUnit) -> Gold:
    if unit not in ("passage", "document"):
        raise ValueError(f"unit must be 'passage' or 'document', not {unit!r}.")
    gold: list[Mapping[str, int]] = [question.gold for question in data.questions]
    if unit == "passage":
        if data.unit == "document":
            raise ValueError(
                f"{data.name}: the gold names documents, so passages cannot be judged. Use unit='document'."
            )
        return Gold(gold, _numbered(gold, data.corpus.row), None)
    number = {doc_id: number for number, doc_id in enumerate(dict.fromkeys(data.corpus.doc_ids))}
    if data.unit == "passage":
        gold = [_lifted_gold(grades, data) for grades in gold]
    document = np.array([number[doc_id] for doc_id in data.corpus.doc_ids], dtype=np.int64)
    return Gold(gold, _numbered(gold, number.__getitem__), (document, list(number)))


def _numbered(gold: Sequence[Mapping[str, int]], number: Callable[[str], int]) -> list[Mapping[int, int]]:
    return [{number(id_): grade for id_, grade in grades.items()} for grades in gold]


def judgements(data: QADataset, unit: GoldUnit) -> Sequence[Mapping[int, int]]:
    """Number -> grade of all that was judged for each question: its gold, and 0 for the other candidates of its own.

    Made once for a data set. ValueError: a question whose candidates are not known, or are all gold.
    """
    kept = _JUDGED.setdefault(data, {})
    if unit not in kept:
        kept[unit] = _judged(data, unit)
    return kept[unit]


def _judged(data: QADataset, unit: GoldUnit) -> list[Mapping[int, int]]:
    gold, judged = gold_of(data, unit), list[Mapping[int, int]]()
    for question, grades in zip(data.questions, gold.by_number, strict=True):
        rows = [data.corpus.row(id_) for id_ in question.candidates or ()]
        numbers = rows if gold.documents is None else gold.documents[0][rows].tolist()
        others = {number: 0 for number in numbers if number not in grades}
        if not others:
            raise ValueError(
                f"{data.name}, question {question.id!r}: no passage is known to be judged not relevant, which 'bpref' "
                "and 'judged' read. Leave these metrics out, or load a set whose questions have candidates."
            )
        judged.append({**grades, **others})
    return judged


def _lifted_gold(gold: Mapping[str, int], data: QADataset) -> dict[str, int]:
    grades: dict[str, int] = {}
    for id_, grade in gold.items():
        doc_id = data.corpus.doc_ids[data.corpus.row(id_)]
        grades[doc_id] = max(grade, grades.get(doc_id, 0))
    return grades


def lifted(rankings: Sequence[Ranking], data: QADataset, unit: GoldUnit) -> tuple[Sequence[Ranking], Gold]:
    """Rankings and gold of what is judged; only here are passages lifted to documents.

    A document has the rank and the score of its best passage.
    """
    gold = gold_of(data, unit)
    if gold.documents is None:
        return rankings, gold
    document, ids = gold.documents
    judged = []
    for ranking in rankings:
        of_hits = document[ranking.rows]
        first = np.sort(np.unique(of_hits, return_index=True)[1])
        judged.append(Ranking(ranking.query_id, of_hits[first], ranking.scores[first], ids))
    return judged, gold


def as_numbers(
    rankings: Sequence[Ranking], data: QADataset, unit: GoldUnit
) -> tuple[list[list[int]], Sequence[Mapping[int, int]]]:
    """Hits of each ranking and gold of each question, as numbers of passages or documents."""
    judged, gold = lifted(rankings, data, unit)
    return [ranking.rows.tolist() for ranking in judged], gold.by_number
