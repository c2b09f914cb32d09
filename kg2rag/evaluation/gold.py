"""Rankings and gold by the unit of judgement: passages, documents or supporting sentences.

Sentences are numbered as HotpotQA numbers supporting facts: (doc_id, index from 0). Precision,
recall and F1 over these sets are HotpotQA's (Yang et al., EMNLP 2018, Sec. 5.2). That a returned
paragraph counts as all its sentences is ours, because retrievers return passages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from kg2rag.types import GoldUnit, IntArray, QADataset, Query, Ranking, called

EQUAL = 2e-6
"""Relative rise from one score to the next that is allowed, since hits are ordered by rounded scores."""
REMEDY = "Load the data set with its sentences, or leave the support_* metrics out."


class Gold(NamedTuple):
    """The gold of each question in a unit of judgement, by ids and by numbers.

    Attributes
    ----------
    by_id : for each question, id of a passage or document -> grade.
    by_number : for each question, row of a passage or number of a document -> grade.
    documents : the number of each passage's document, (n_passages,), and the ids of the documents;
        None if passages are judged.
    """

    by_id: Sequence[Mapping[str, int]]
    by_number: Sequence[Mapping[int, int]]
    documents: tuple[IntArray, Sequence[str]] | None


# The same gold judges every system and every token budget of a comparison.
@lru_cache(maxsize=2)
def gold_of(data: QADataset, unit: GoldUnit) -> Gold:
    """The gold of a data set in a unit; a document has the highest grade of its gold passages.

    Raises ValueError: an unknown unit, or one that the data cannot judge.
    """
    if unit not in ("passage", "document"):
        raise ValueError(f"unit must be 'passage' or 'document', not {unit!r}.")
    if unit == "passage":
        if data.unit == "document":
            raise ValueError(
                f"{data.name}: the gold names documents, so passages cannot be judged. Use unit='document'."
            )
        gold = [question.gold for question in data.questions]
        return Gold(gold, _grades_by_number(gold, data.corpus.row), None)
    codes, ids = pd.factorize(np.array(data.corpus.doc_ids, dtype=object))
    numbers = {doc_id: number for number, doc_id in enumerate(ids)}
    gold = [_document_grades(question.gold, data) for question in data.questions]
    return Gold(
        gold, _grades_by_number(gold, numbers.__getitem__), (codes, ids.tolist())
    )


def _grades_by_number(
    gold: Sequence[Mapping[str, int]], number_of: Callable[[str], int]
) -> list[dict[int, int]]:
    """For each question, number -> grade."""
    return [
        {number_of(gold_id): grade for gold_id, grade in grades.items()}
        for grades in gold
    ]


def _document_grades(grades: Mapping[str, int], data: QADataset) -> Mapping[str, int]:
    """Document -> its grade in the gold, or the highest grade of its gold passages."""
    if data.unit == "document":
        return grades
    document_grades: dict[str, int] = {}
    # The highest grade comes last and stays.
    for passage_id, grade in sorted(grades.items(), key=lambda item: item[1]):
        document_grades[data.corpus.doc_ids[data.corpus.row(passage_id)]] = grade
    return document_grades


def judged_hits(
    rankings: Sequence[Ranking], data: QADataset, unit: GoldUnit
) -> tuple[Sequence[Ranking], Gold]:
    """The rankings and the gold in a unit of judgement.

    A document has the rank and the score of its best passage.
    """
    gold = gold_of(data, unit)
    if gold.documents is None:
        return rankings, gold
    document, ids = gold.documents
    judged = []
    for ranking in rankings:
        documents = document[ranking.rows]
        first = np.sort(np.unique(documents, return_index=True)[1])
        judged.append(
            Ranking(ranking.query_id, documents[first], ranking.scores[first], ids)
        )
    return judged, gold


def supporting_sentences(
    rankings: Sequence[Ranking], data: QADataset, k: int | None
) -> tuple[list[dict[int, int]], list[list[int]]]:
    """For each question, the gold sentences with grade 1, and the sentences of the first `k` hits.

    Sentences are numbered over all questions, and returned ones are listed once. A gold sentence
    that the corpus lacks stays in the gold, as in HotpotQA's scorer.

    k : None for all hits.

    Raises ValueError: a question without supporting sentences, or a corpus without a sentence
    split.
    """
    unsupported = [
        question.id for question in data.questions if not question.supporting
    ]
    if unsupported:
        raise ValueError(
            f"{data.name}: {len(unsupported)} of {len(data)} questions have no supporting sentences (first: "
            f"{unsupported[0]!r}). The support_* metrics need them; leave these metrics out."
        )
    numbers: dict[tuple[str, int], int] = {}

    def number_of(sentence: tuple[str, int]) -> int:
        return numbers.setdefault(sentence, len(numbers))

    gold = [
        {number_of(sentence): 1 for sentence in question.supporting}
        for question in data.questions
    ]
    first, count = sentence_spans(data)
    doc_ids = data.corpus.doc_ids
    returned = []
    for ranking in rankings:
        sentences: list[int] = []
        for row in ranking.rows[:k].tolist():
            indices = range(int(first[row]), int(first[row] + count[row]))
            sentences += [number_of((doc_ids[row], index)) for index in indices]
        returned.append(list(dict.fromkeys(sentences)))
    return gold, returned


def sentence_spans(data: QADataset) -> tuple[IntArray, IntArray]:
    """The index in its document of each passage's first sentence, and the number of its sentences.

    Both are (n_passages,). If no passage has more than one sentence, passages are sentences and
    `position` is the index. Otherwise the sentences of a document are counted through its passages
    by position.
    """
    corpus = data.corpus
    lengths = pc.list_value_length(corpus.table["sentences"])
    count = np.asarray(pc.fill_null(lengths, 0), dtype=np.int64)
    position = np.asarray(corpus.table["position"], dtype=np.int64)
    if count.max() <= 1:
        if not position.any():
            _require_first_sentences(data)
        return position, np.ones_like(count)
    if (count == 0).any():
        passage_id = corpus.ids[int(np.argmin(count))]
        raise ValueError(
            f"{data.name}, passage {passage_id!r}: the source's sentence split is missing. {REMEDY}"
        )
    order = np.argsort(position, kind="stable")
    documents = np.array(corpus.doc_ids, dtype=object)[order]
    first = pd.Series(count[order]).groupby(documents).cumsum() - count[order]
    return first.to_numpy()[np.argsort(order)], count


def _require_first_sentences(data: QADataset) -> None:
    """Raise ValueError if a supporting sentence is not the first of its document.

    Paragraphs of such a data set lack their sentence split.
    """
    for question in data.questions:
        for sentence in question.supporting:
            if sentence[1] > 0:
                raise ValueError(
                    f"{data.name}, question {question.id!r}: supporting sentence {sentence!r}, but the corpus has no "
                    f"sentences: its passages have neither a split nor positions. {REMEDY}"
                )


def check_rankings(
    rankings: Sequence[Ranking],
    data: QADataset,
    *,
    queries: Sequence[Query] | None = None,
    k: int | None = None,
    name: str = "",
) -> None:
    """Raise an error for rankings that cannot be judged.

    TypeError: something is no `Ranking`. ValueError: a query has no ranking, or the order differs;
    a ranking is longer than `k`, has rows or ids that the corpus lacks, a passage twice, rising
    scores, or a hit that is not among its query's candidates.

    queries : the queries of the rankings; None for all questions.
    name : name of the run, for messages.
    """
    run = f"run {name!r}" if name else "this run"
    if queries is None:
        queries = data.queries
    for ranking in rankings:
        if not isinstance(ranking, Ranking):
            raise TypeError(
                f"{run} contains {called(ranking)} where a Ranking is needed; see Ranking.from_scores."
            )
    query_ids = [ranking.query_id for ranking in rankings]
    _require_query_ids(run, query_ids, [query.id for query in queries])
    for ranking, query in zip(rankings, queries, strict=True):
        problem = _fault_of_rows(ranking, data, k) or _fault_of_hits(ranking, query)
        if problem:
            raise ValueError(f"{run}, query {ranking.query_id!r}: {problem}")


def _require_query_ids(
    run: str, query_ids: Sequence[str], expected: Sequence[str]
) -> None:
    """Raise ValueError unless the rankings are those of the queries, in their order."""
    present = set(query_ids)
    missing = [query_id for query_id in expected if query_id not in present]
    if missing:
        raise ValueError(
            f"{run} lacks {len(missing)} of {len(expected)} queries (first: {missing[0]!r}). "
            "Every query needs a ranking, if an empty one."
        )
    if query_ids != expected:
        raise ValueError(
            f"{run} has {len(query_ids)} rankings for {len(expected)} queries, or not in their order."
        )


def _fault_of_rows(ranking: Ranking, data: QADataset, k: int | None) -> str:
    """The fault in the rows, the ids or the number of hits; "" if there is none."""
    rows, ids = ranking.rows, data.corpus.ids
    if k is not None and len(rows) > k:
        return f"{len(rows)} hits where at most {k} were requested."
    outside = rows[(rows < 0) | (rows >= len(ids))]
    if len(outside):
        return f"a hit at row {outside[0]}, but the corpus has {len(ids)} passages."
    if ranking.ids is not ids and ranking.passage_ids != [
        ids[row] for row in rows.tolist()
    ]:
        return f"its passage ids are not those of {data.name}'s corpus. Was it built on another corpus?"
    return ""


def _fault_of_hits(ranking: Ranking, query: Query) -> str:
    """The fault in the order or the candidates of hits; "" if there is none."""
    if len(np.unique(ranking.rows)) != len(ranking.rows):
        return "a passage is ranked twice. Build rankings with Ranking.from_scores."
    rises = np.diff(ranking.scores) > EQUAL * np.abs(ranking.scores[:-1])
    if rises.any() or not np.isfinite(ranking.scores).all():
        return "scores must be finite and must not rise. Build rankings with Ranking.from_scores."
    if query.candidates is None:
        return ""
    strangers = sorted(set(ranking.passage_ids) - set(query.candidates))
    if not strangers:
        return ""
    return (
        f"{strangers[0]!r} is not among its {len(query.candidates)} candidates (setting 'distractor'). A system must "
        "honour Query.candidates."
    )


@contextmanager
def note_on_error(where: str) -> Iterator[None]:
    """A context in which every exception gets a note, such as the name of the system and query."""
    try:
        yield
    except Exception as error:
        error.add_note(where)
        raise
