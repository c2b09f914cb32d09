"""Rows of questions whose answers or passages are objects with the gold -> rows with columns of it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from kg2rag.text.printed_values import flattened, parsed_literal
from kg2rag.types.gold_columns import GOLD, is_gold_column

EVIDENCE = ("provenance", "evidence", "evidences", "citations")
"""The fields of an answer that hold its gold."""
ANSWER_TEXTS = ("answer", "text", "free_form_answer", "extractive_spans")
"""The fields of an answer that hold its texts."""


def unfolded(row: dict[str, Any]) -> dict[str, Any]:
    """The row with answers and gold in place of a column that holds both, or passages that are marked.

    Any other row is returned unchanged.
    """
    return _with_unfolded_answers(_with_selected_passages(row))


def _with_selected_passages(row: dict[str, Any]) -> dict[str, Any]:
    """The row of MS MARCO with the texts of the selected passages as gold."""
    passages = parsed_literal(row.get("passages"))
    if (
        not isinstance(passages, Mapping)
        or not {
            "is_selected",
            "passage_text",
        }
        <= passages.keys()
    ):
        return row
    marked = zip(passages["passage_text"], passages["is_selected"], strict=False)
    rest = {name: value for name, value in row.items() if name != "passages"}
    return {**rest, "gold": [text for text, selected in marked if selected == 1]}


def _with_unfolded_answers(row: dict[str, Any]) -> dict[str, Any]:
    """The row with answers and gold in place of a column of answers that have their evidence.

    KILT has such answers in `output`, QASPER in `answers`. Any other row is returned unchanged, and
    gold and answers of other columns are kept.
    """
    for column, cell in row.items():
        answers = list(map(_inner_answer, flattened(cell)))
        if _is_gold(column) or not any(map(_has_evidence, answers)):
            continue
        unfolded = dict[str, Any]()
        for field, values_of in (("answers", _texts_of), ("gold", _evidence_of)):
            values = list(chain.from_iterable(map(values_of, answers)))
            if values:
                unfolded[field] = values
        rest = {name: value for name, value in row.items() if name != column}
        return {**unfolded, **rest}
    return row


def _is_gold(column: str) -> bool:
    """Whether a column has gold by its name."""
    return column in GOLD or is_gold_column(column)


def _inner_answer(answer: Any) -> Any:
    """The object within an answer that holds the texts and the evidence, as in QASPER."""
    inner = answer.get("answer") if isinstance(answer, Mapping) else None
    return inner if isinstance(inner, Mapping) else answer


def _has_evidence(answer: Any) -> bool:
    """Whether an answer is an object with a field of `EVIDENCE`, perhaps an empty one."""
    return isinstance(answer, Mapping) and not answer.keys().isdisjoint(EVIDENCE)


def _evidence_of(answer: Any) -> list[Any]:
    """The pieces of evidence of an answer; [] for an answer that is no object."""
    if not isinstance(answer, Mapping):
        return []
    return [
        piece
        for name in EVIDENCE
        for piece in flattened(answer.get(name, []))
        if piece not in (None, "")
    ]


def _texts_of(answer: Any) -> list[Any]:
    """The texts of an answer that may be an object."""
    if not isinstance(answer, Mapping):
        return [answer]
    texts = [text for name in ANSWER_TEXTS for text in flattened(answer.get(name, []))]
    return [text for text in texts if text not in (None, "")]
