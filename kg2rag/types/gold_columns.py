"""The names of the columns of gold in sets of questions."""

from __future__ import annotations

import re

GOLD = (
    *("gold", "gold_ids", "qrels", "relevant", "relevant_docs", "retrieval_gt"),
    *("reference_contexts", "passage_id", "doc_id", "gold_titles"),
    *("positive_passages", "positive_ctxs", "positives", "pos", "evidence_list"),
    *("retrieval_ground_truth", "positive"),
)
"""The accepted names of the column of gold passages in a set of questions, the most preferred first."""
TEST_COLUMNS = frozenset(
    (*GOLD, "context", "contexts", "retrieved_contexts", "ground_truth", "evidence")
)
"""Columns that tell a set of test questions from a FAQ."""
_JUDGED = frozenset(
    (
        *("gold", "golden", "relevant", "reference", "positive", "supporting"),
        *("expected", "truth", "correct", "evidence", "gt"),
    )
)
_PARTS = frozenset(
    name + ending
    for name in ("context", "passage", "doc", "document", "chunk", "node", "id", "url")
    for ending in ("", "s")
)
_ANSWERS = frozenset(
    name + ending for name in ("answer", "output", "response") for ending in ("", "s")
)
_INDEXES = frozenset(("idx", "index", "indexes", "indices"))
_WORD = re.compile(r"[^\W\d_]+")
_CAPITAL = re.compile(r"(?<=[a-z])([A-Z])")


def is_gold_column(column: str) -> bool:
    """Whether a name of several words has one of `_JUDGED` and one of `_PARTS`, or gold and an index.

    >>> [is_gold_column(name) for name in ("goldPassages", "expected_doc_ids", "retrieved_contexts", "reference")]
    [True, True, False, False]
    """
    words = _words(column)
    if "gold" in words and not words.isdisjoint(_INDEXES):
        return True
    return not (words.isdisjoint(_JUDGED) or words.isdisjoint(_PARTS))


def is_answer_column(column: str) -> bool:
    """Whether a name of several words has one of `_JUDGED` and one of `_ANSWERS`.

    >>> [is_answer_column(name) for name in ("expectedOutput", "ground_truth_answers", "answer_start")]
    [True, True, False]
    """
    words = _words(column)
    return not (words.isdisjoint(_JUDGED) or words.isdisjoint(_ANSWERS))


def _words(column: str) -> set[str]:
    """The words of a name such as "gold_ids" or "goldIds"."""
    return set(_WORD.findall(_CAPITAL.sub(r" \1", column).casefold()))
