"""The contexts of answers in sets of reading comprehension -> the gold of questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kg2rag.datasets.gold import GoldIndex
from kg2rag.text.printed_values import flattened

SURROUNDING = 150
"""Characters before and after an answer, in a context of SQuAD of several passages."""


def with_context(row: dict[str, Any]) -> dict[str, Any]:
    """The row of a question; the gold of SQuAD's and DeepEval's is the text of their `context`.

    A question that its context does not answer (`is_impossible`) has no gold.
    """
    context = row.get("context")
    rest = {column: value for column, value in row.items() if column != "context"}
    if str(row.get("is_impossible")).casefold() == "true":
        return {column: value for column, value in rest.items() if column != "gold"}
    is_gold = _is_of_squad(row.get("answers")) or _are_texts(context)
    if "gold" in row or not is_gold:
        return row
    return {"gold": context, **rest}


def with_near_gold(
    rows: Sequence[dict[str, Any]], index: GoldIndex
) -> list[dict[str, Any]]:
    """The rows of questions; gold of SQuAD that covers several passages is that around the answers."""
    texts = {
        number: flattened(row.get("gold"))
        for number, row in enumerate(rows)
        if _is_of_squad(row.get("answers"))
    }
    target_of = index.find_all(
        {str(gold[0]) for gold in texts.values() if len(gold) == 1}
    )
    near = list(rows)
    for number, gold in texts.items():
        target = target_of.get(str(gold[0])) if len(gold) == 1 else None
        if target is not None and len(target.passages) > 1:
            parts = _around_answers(str(gold[0]), rows[number]["answers"])
            near[number] = {**rows[number], "gold": parts or gold}
    return near


def _around_answers(context: str, answers: Any) -> list[str]:
    """The parts of a context with an answer and `SURROUNDING` characters on both sides."""
    parts = list[str]()
    for answer in answers if isinstance(answers, list) else [answers]:
        for text, start in zip(
            flattened(answer["text"]), flattened(answer["answer_start"]), strict=False
        ):
            end = start + len(text)
            parts.append(context[max(0, start - SURROUNDING) : end + SURROUNDING])
    return list(dict.fromkeys(parts))


def _is_of_squad(answers: object) -> bool:
    """Whether answers have the place of the first of them in a text."""
    first = answers
    if isinstance(answers, list) and answers:
        first = answers[0]
    return isinstance(first, Mapping) and "answer_start" in first


def _are_texts(context: object) -> bool:
    """Whether a context is a list of texts; that of HotpotQA, with distractors, is one of paragraphs."""
    return isinstance(context, list) and all(isinstance(text, str) for text in context)
