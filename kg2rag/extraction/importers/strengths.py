"""Weights of other tools' relations -> strengths in (0, 10].

Such weights have no upper bound: LightRAG and GraphRAG add them up over all statements, Gephi counts. So a strength is
10 · ln(1 + weight) / ln(1 + the greatest weight). Ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import isfinite, log1p

DEFAULT_STRENGTH = 5.0
LEAST_STRENGTH = 0.1  # of a relation whose weight is 0 or below


def strengths_of(weights: Sequence[float | None], notes: Counter[str]) -> list[float]:
    """(n,) the strength of each relation; `notes` counts the weights that were scaled, and those that say nothing.

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
            notes[f"relations of weight 0 or below, of strength {LEAST_STRENGTH:g}"] += 1
            strengths.append(LEAST_STRENGTH)
        else:
            notes[f"relations whose weight was scaled, {greatest:g} to strength 10"] += 1
            strengths.append(max(LEAST_STRENGTH, round(10 * log1p(weight) / log1p(greatest), 3)))
    return strengths


def number_of(value: object) -> float | None:
    """A number, or a text that is one; None of anything else.

    >>> number_of("3.0"), number_of(2), number_of("much"), number_of(True)
    (3.0, 2.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except ValueError:
        return None
