"""Rankings and the gold of their questions by what is judged: passages, documents or supporting sentences.

Sentences are numbered as HotpotQA numbers supporting facts: (doc_id, index from 0). Precision, recall and F1 over these
sets are HotpotQA's (Yang et al., EMNLP 2018, Sec. 5.2). That a returned paragraph counts as all its sentences is ours,
because retrievers return passages.
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
"""Share by which the score of a hit may lie above the one before: scores are rounded before they order."""


class Gold(NamedTuple):
    """What a data set's questions are judged by, one mapping each: id -> grade, and number -> grade.

    `documents`, where these are judged: (n_passages,) the number of each passage's document, and the documents' ids.
    """

    by_id: Sequence[Mapping[str, int]]
    by_number: Sequence[Mapping[int, int]]
    documents: tuple[IntArray, Sequence[str]] | None


@lru_cache(maxsize=2)  # every system and budget of tokens of a comparison is judged by the same
def gold_of(data: QADataset, unit: GoldUnit) -> Gold:
    """The gold of a data set by what is judged; a document has the highest grade of its gold passages.

    ValueError: an unknown unit, or one the data cannot judge.
    """
    if unit not in ("passage", "document"):
        raise ValueError(f"unit must be 'passage' or 'document', not {unit!r}.")
    if unit == "passage" and data.unit == "document":
        raise ValueError(f"{data.name}: the gold names documents, so passages cannot be judged. Use unit='document'.")
    corpus, documents, gold = data.corpus, None, [question.gold for question in data.questions]
    number: Callable[[str], int] = corpus.row
    if unit == "document":
        codes, ids = pd.factorize(np.array(corpus.doc_ids, dtype=object))
        documents, number = (codes, ids.tolist()), dict(zip(ids, range(len(ids)), strict=True)).__getitem__
        if data.unit == "passage":
            # By rising grade, so that the highest is kept.
            graded = [sorted(grades.items(), key=lambda item: item[1]) for grades in gold]
            gold = [{corpus.doc_ids[corpus.row(id_)]: grade for id_, grade in one} for one in graded]
    by_number = [{number(id_): grade for id_, grade in grades.items()} for grades in gold]
    return Gold(gold, by_number, documents)


def judged_hits(rankings: Sequence[Ranking], data: QADataset, unit: GoldUnit) -> tuple[Sequence[Ranking], Gold]:
    """Rankings and gold of what is judged; a document has the rank and the score of its best passage."""
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


def supporting_sentences(
    rankings: Sequence[Ranking], data: QADataset, k: int | None
) -> tuple[list[dict[int, int]], list[list[int]]]:
    """Per question, the supporting sentences (each of grade 1) and those of its first `k` hits, once, as numbers.

    `k` is None for all hits. A supporting sentence that the corpus lacks stays in the gold, as in HotpotQA's scorer.

    Raises ValueError: a question without supporting sentences, or a corpus without a sentence split.
    """
    if lacking := [question.id for question in data.questions if not question.supporting]:
        raise ValueError(
            f"{data.name}: {len(lacking)} of {len(data)} questions have no supporting sentences (first: {lacking[0]!r})"
            ". The support_* metrics need them; leave these metrics out."
        )
    number: dict[tuple[str, int], int] = {}
    gold = [{number.setdefault(sentence, len(number)): 1 for sentence in q.supporting} for q in data.questions]
    (first, count), ids, returned = sentence_spans(data), data.corpus.doc_ids, []
    for ranking in rankings:
        rows = ranking.rows[:k].tolist()
        found = ((ids[row], at) for row in rows for at in range(int(first[row]), int(first[row] + count[row])))
        returned.append(list(dict.fromkeys(number.setdefault(sentence, len(number)) for sentence in found)))
    return gold, returned


def sentence_spans(data: QADataset) -> tuple[IntArray, IntArray]:
    """Index of each passage's first sentence in its document, and how many it has; (n_passages,) each.

    Where no passage has more than one sentence, passages are sentences and `position` is the index. Elsewhere the
    passages of a document, by position, number their sentences consecutively.
    """
    corpus = data.corpus
    lengths = pc.list_value_length(corpus.table["sentences"])
    count = np.asarray(pc.fill_null(lengths, 0), dtype=np.int64)
    position = np.asarray(corpus.table["position"], dtype=np.int64)
    remedy = "Load the data set with its own sentences, or leave the support_* metrics out."
    if count.max() <= 1:
        # Paragraphs without a sentence split look like sentences; a supporting index beyond the first tells.
        beyond = [(q.id, one) for q in data.questions for one in q.supporting if one[1] > 0]
        if beyond and not position.any():
            raise ValueError(
                f"{data.name}, question {beyond[0][0]!r}: supporting sentence {beyond[0][1]!r}, but the corpus has no "
                f"sentences: its passages have neither a split nor positions. {remedy}"
            )
        return position, np.ones_like(count)
    if (count == 0).any():
        id_ = corpus.ids[int(np.argmin(count))]
        raise ValueError(f"{data.name}, passage {id_!r}: the source's sentence split is missing. {remedy}")
    order = np.argsort(position, kind="stable")
    before = pd.Series(count[order]).groupby(np.array(corpus.doc_ids, dtype=object)[order]).cumsum() - count[order]
    return before.to_numpy()[np.argsort(order)], count


def check_rankings(
    rankings: Sequence[Ranking],
    data: QADataset,
    *,
    queries: Sequence[Query] | None = None,
    k: int | None = None,
    name: str = "",
) -> None:
    """Refuse rankings that cannot be judged; of some `queries`, or of all questions.

    Raises TypeError: something is no `Ranking`; ValueError: a question has no ranking, or one in another place; a
    ranking is longer than `k`, has rows or ids that the corpus lacks, a passage twice, rising scores, or a hit that is
    not among its query's candidates.
    """
    run, asked = f"run {name!r}" if name else "this run", data.queries if queries is None else queries
    if strange := [ranking for ranking in rankings if not isinstance(ranking, Ranking)]:
        raise TypeError(f"{run} contains {called(strange[0])} where a Ranking is needed; see Ranking.from_scores.")
    wanted, given = [one.id for one in asked], [ranking.query_id for ranking in rankings]
    present = set(given)
    if lacking := [id_ for id_ in wanted if id_ not in present]:
        raise ValueError(
            f"{run} lacks {len(lacking)} of {len(wanted)} queries (first: {lacking[0]!r}). "
            "Every query needs a ranking, if an empty one."
        )
    if given != wanted:
        raise ValueError(f"{run} has {len(given)} rankings for {len(wanted)} queries, or not in their order.")
    for ranking, query in zip(rankings, asked, strict=True):
        if wrong := _wrong(ranking, query, data, k):
            raise ValueError(f"{run}, query {ranking.query_id!r}: {wrong}")


def _wrong(ranking: Ranking, query: Query, data: QADataset, k: int | None) -> str:
    """What forbids to judge a ranking; "" where nothing does."""
    rows, ids, build = ranking.rows, data.corpus.ids, "Build rankings with Ranking.from_scores."
    if k is not None and len(rows) > k:
        return f"{len(rows)} hits where at most {k} were requested."
    if len(rows) and not (rows.min() >= 0 and rows.max() < len(ids)):
        return f"a hit at row {rows.max()}, but the corpus has {len(ids)} passages."
    if ranking.ids is not ids and ranking.passage_ids != [ids[row] for row in rows.tolist()]:
        return f"its passage ids are not those of {data.name}'s corpus. Was it built on another corpus?"
    if len(np.unique(rows)) != len(rows):
        return f"a passage is ranked twice. {build}"
    rises = np.diff(ranking.scores) > EQUAL * np.abs(ranking.scores[:-1])
    if rises.any() or not np.isfinite(ranking.scores).all():
        return f"scores must be finite and must not rise. {build}"
    allowed = query.candidates
    if allowed is not None and (strangers := sorted(set(ranking.passage_ids) - set(allowed))):
        return (
            f"{strangers[0]!r} is not among its {len(allowed)} candidates (setting 'distractor'). A system must honour "
            "Query.candidates."
        )
    return ""


@contextmanager
def noted(where: str) -> Iterator[None]:
    """Whatever is raised inside is raised on, with a note that says where it happened."""
    try:
        yield
    except Exception as error:
        error.add_note(where)
        raise
