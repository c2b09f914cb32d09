"""Rankings -> the sentences they return, numbered as HotpotQA numbers supporting facts: (doc_id, index from 0).

Precision, recall and F1 over these sets are HotpotQA's (Yang et al., EMNLP 2018, Sec. 5.2). That a returned paragraph
counts as all its sentences is ours, because retrievers return passages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from kg2rag.types import IntArray, QADataset, Ranking

Sentence = tuple[str, int]


def supporting_sentences(
    rankings: Sequence[Ranking], data: QADataset, k: int | None
) -> tuple[list[dict[int, int]], list[list[int]]]:
    """Per question, the supporting sentences (each of grade 1) and those of its first `k` hits, as numbers.

    A supporting sentence that the corpus lacks stays in the gold, as in HotpotQA's own scorer.

    Raises ValueError: a question without supporting sentences, or a corpus without a sentence split.
    """
    lacking = [question.id for question in data.questions if not question.supporting]
    if lacking:
        raise ValueError(
            f"{data.name}: {len(lacking)} of {len(data)} questions have no supporting sentences (first: {lacking[0]!r})"
            ". The support_* metrics need them; leave these metrics out."
        )
    number: dict[Sentence, int] = {}
    gold = [{number.setdefault(sentence, len(number)): 1 for sentence in q.supporting} for q in data.questions]
    returned = returned_sentences(rankings, data, k).values()
    return gold, [[number.setdefault(sentence, len(number)) for sentence in found] for found in returned]


def returned_sentences(rankings: Sequence[Ranking], data: QADataset, k: int | None) -> dict[str, list[Sentence]]:
    """Query id -> the sentences of its first `k` hits, each once; of all hits where `k` is None."""
    first, count = sentence_spans(data)
    doc_ids = data.corpus.doc_ids
    return {
        ranking.query_id: list(
            dict.fromkeys(
                (doc_ids[row], int(first[row]) + i) for row in ranking.rows[:k].tolist() for i in range(int(count[row]))
            )
        )
        for ranking in rankings
    }


def sentence_spans(data: QADataset) -> tuple[IntArray, IntArray]:
    """Index of each passage's first sentence in its document, and how many it has; (n_passages,) each.

    Where no passage has more than one sentence, passages are sentences and `position` is the index. Elsewhere the
    passages of a document, by position, number their sentences consecutively.
    """
    corpus = data.corpus
    lengths = pc.list_value_length(corpus.table["sentences"])
    count = np.asarray(pc.fill_null(lengths, 0), dtype=np.int64)
    position = np.asarray(corpus.table["position"], dtype=np.int64)
    if count.max() <= 1:
        _check_sentence_passages(data, position)
        return position, np.ones_like(count)
    if (count == 0).any():
        id_ = corpus.ids[int(np.argmin(count))]
        raise ValueError(
            f"{data.name}, passage {id_!r}: the source's sentence split is missing, so supporting sentences cannot be "
            "counted. Load the data set with its own sentences, or leave the support_* metrics out."
        )
    first, so_far = np.zeros_like(count), Counter[str]()
    for row in np.argsort(position, kind="stable").tolist():
        first[row] = so_far[corpus.doc_ids[row]]
        so_far[corpus.doc_ids[row]] += int(count[row])
    return first, count


def _check_sentence_passages(data: QADataset, position: IntArray) -> None:
    """Paragraphs without a sentence split look like sentences; detect them by a supporting index beyond the first."""
    if position.max() > 0:
        return
    for question in data.questions:
        beyond = [sentence for sentence in question.supporting if sentence[1] > 0]
        if beyond:
            raise ValueError(
                f"{data.name}, question {question.id!r}: supporting sentence {beyond[0]!r}, but the corpus has no "
                "sentences: its passages have neither a split nor positions. Load the data set with its own sentences, "
                "or leave the support_* metrics out."
            )
