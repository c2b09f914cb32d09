"""Weights of other tools' relations -> strengths in (0, 10].

Such weights have no upper bound: LightRAG and GraphRAG sum over all statements, Gephi counts. A
strength is therefore 10 · ln(1 + weight) / ln(1 + maximum weight). Ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from math import isfinite, log1p

DEFAULT_STRENGTH = 5.0
LEAST_STRENGTH = (
    0.1  # the minimum; the strength of a relation with a weight of 0 or below
)
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
"""Texts that stand for no number, as pandas, R and Neo4j write them."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,(\d{1,2}|\d{4,})")  # "1,234" may be a thousand


def strengths_of(weights: Sequence[float | None], notes: Counter[str]) -> list[float]:
    """(n,) the strength of each relation; `notes` counts scaled and uninformative weights.

    >>> strengths_of([3.0, 1.0, 0.0, None], Counter())
    [10.0, 5.0, 0.1, 5.0]
    """
    finite = [weight for weight in weights if weight is not None and isfinite(weight)]
    greatest = max(finite, default=0.0)
    strengths = []
    for weight in weights:
        if weight is None or not isfinite(weight):
            notes[f"relations without a weight, of strength {DEFAULT_STRENGTH:g}"] += 1
            strengths.append(DEFAULT_STRENGTH)
        elif weight <= 0:
            notes[
                f"relations of weight 0 or below, of strength {LEAST_STRENGTH:g}"
            ] += 1
            strengths.append(LEAST_STRENGTH)
        else:
            notes[
                f"relations whose weight was scaled, {greatest:g} to strength 10"
            ] += 1
            strengths.append(
                max(LEAST_STRENGTH, round(10 * log1p(weight) / log1p(greatest), 3))
            )
    return strengths


def filled_strengths(
    strengths: Sequence[float | None],
    weights: Sequence[float | None],
    notes: Counter[str],
) -> list[float]:
    """(n,) the strengths; a missing one is computed from the weight, without a weight it is the default.

    >>> filled_strengths([2.0, None], [None, 7.0], Counter()), filled_strengths([None], [None], Counter())
    ([2.0, 10.0], [5.0])
    """
    weights_left = [
        weight
        for strength, weight in zip(strengths, weights, strict=True)
        if strength is None
    ]
    if any(weight is not None for weight in weights_left):
        scaled = iter(strengths_of(weights_left, notes))
    else:
        scaled = iter([DEFAULT_STRENGTH] * len(weights_left))
    return [next(scaled) if strength is None else strength for strength in strengths]


def is_missing(value: object) -> bool:
    """Whether a value stands for no number: None, or a text such as "" and "NA".

    >>> is_missing("NA"), is_missing(0)
    (True, False)
    """
    return value is None or (
        isinstance(value, str) and value.strip().casefold() in MISSING
    )


def number_of(value: object) -> float | None:
    """A number, or that of a text, perhaps with a decimal comma; None for any other value.

    Databases return numbers as `Decimal`.

    >>> number_of("3.0"), number_of("3,5"), number_of(2), number_of("1,234"), number_of(True)
    (3.0, 3.5, 2.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    if isinstance(value, str) and _DECIMAL_COMMA.fullmatch(value.strip()):
        value = value.replace(",", ".")
    try:
        return float(value)
    except ValueError:
        return None
