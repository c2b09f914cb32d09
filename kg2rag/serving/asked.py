"""The query of an address -> what is chosen, checked against what there is; and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from kg2rag.evaluation.first_hits import KEPT
from kg2rag.report.listing import AHEAD, ORDERS, Choice, first_choice
from kg2rag.serving.library import OpenComparison

HITS = (3, 5, 10, 20, 50)
DEPTHS = (1, 2, 5, 10, 20, 50, 100)
"""Depths at which two runs are set against each other."""


class ChoiceError(ValueError):
    """An address that asks for what there is not; the message says what there is."""


def one_of(name: str, given: str, known: Iterable[str]) -> str:
    """A value that is known; ChoiceError for any other."""
    allowed = list(known)
    if given not in allowed:
        raise ChoiceError(f"{name} {given!r} is none of: {', '.join(one or '(any)' for one in allowed)}.")
    return given


def number(name: str, given: str, most: int = 1_000_000) -> int:
    """A whole number from 1; ChoiceError for anything else."""
    if not (given.isascii() and given.isdigit() and len(given) < 8 and 1 <= int(given) <= most):
        raise ChoiceError(f"{name} {given!r} is no whole number from 1 to {most:,}.")
    return int(given)


def choice_of(opened: OpenComparison, asked: Mapping[str, str]) -> Choice:
    """The systems, the metric, order and filters; the usual ones where the address names none."""
    result, listing = opened.result, opened.listing
    metric = one_of("metric", asked.get("metric") or result.metrics[0], result.metrics)
    both = asked.get("left") and asked.get("right")  # as in every link of ours: the means are then not needed
    usual = Choice(asked["left"], asked["right"], metric) if both else first_choice(result, metric)
    orders: Any = one_of("order", asked.get("order") or usual.order, ORDERS)
    ahead: Any = one_of("ahead", asked.get("ahead", ""), AHEAD)
    return Choice(
        one_of("system", asked.get("left") or usual.left, result.systems),
        one_of("system", asked.get("right") or usual.right, result.systems),
        metric,
        orders,
        one_of("type", asked.get("kind", ""), ["", *listing.kinds()]),
        one_of("hops", asked.get("hops", ""), ["", *listing.hops()]),
        ahead,
        asked.get("words", "")[:200],
        number("hits", asked.get("hits") or str(usual.hits), max(HITS)),
    )


def hits_shown(opened: OpenComparison) -> list[int]:
    """The numbers of hits that can be chosen: no more than were kept."""
    return [n for n in HITS if opened.first is None or n <= KEPT]


def address(path: str, at: str, choice: Choice, **more: object) -> str:
    """The address of a page for a choice; what is empty is left out."""
    given = {"at": at, **vars(choice), **more}
    return f"{path}?{urlencode({name: value for name, value in given.items() if value not in ('', None)})}"


def question_of(opened: OpenComparison, given: str) -> str:
    """The id of a question of the comparison; ChoiceError for any other."""
    if given not in opened.places:
        raise ChoiceError(f"{opened.saved.at} has no question {given[:80]!r}.")
    return given
