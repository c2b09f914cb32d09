"""A difference between our mean and a published one -> how large chance makes it, and the verdict.

**The tolerance** of a published mean of N questions against ours of n questions, whose scores have the standard
deviation s (ours, between questions, n - 1 in the divisor), is

    1.96 * SE + half a unit of the last digit printed,

with the standard error SE of the difference of the two means:

- `subset`: our n questions are a part of their N. Then only the N - n that we lack can move the means apart, and
  SE = s * sqrt((N - n) / (N * n)), which is 0 where none is lacking. It takes our part to be drawn at random.
- `other`: both sets were drawn from the same questions, each by itself. Then SE = s * sqrt(1 / n + 1 / N).

The published scores of single questions are not known, so that s is taken for theirs too.

**Verdicts** are of two kinds that are never counted together. Against what somebody else published: "ok" within the
tolerance, "close" within twice the tolerance, "off" beyond. Against our own run of released code, with the same
questions, passages and encoder, no chance is left: "same" where the printed digits are equal, "differs" otherwise.
"""

from __future__ import annotations

from decimal import Decimal
from math import sqrt
from typing import Literal

Sample = Literal["subset", "other"]
DEVIATIONS = 1.96
PUBLISHED = ("ok", "close", "off")
RELEASED = ("same", "differs")
NOTE = (
    "Tolerance: 1.96 standard errors of the difference of the means, from our standard deviation s between questions "
    "and the numbers of questions, n ours and N theirs: s · sqrt((N - n) / (N · n)) where ours are a subset of theirs, "
    "s · sqrt(1/n + 1/N) where not; and half a unit of the last digit printed. ok: within it; close: within twice; "
    "off: beyond. Released code: same where the printed digits are the same."
)


def standard_error(sd: float, ours: int, theirs: int, sample: Sample) -> float:
    """The standard error of the difference of two means, in the unit of `sd`; see above.

    ValueError : a subset of more questions than there are.
    """
    if sample == "other":
        return sd * sqrt(1 / ours + 1 / theirs)
    if ours > theirs:
        raise ValueError(f"{ours} questions cannot be a subset of the {theirs} that were published.")
    return sd * sqrt((theirs - ours) / (theirs * ours))


def half_unit(value: float, decimals: int) -> float:
    """Half a unit of the last digit printed: a file says 53.2 where 53.20 was printed, so `decimals` is the least."""
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    return 0.5 * 10.0 ** -max(decimals, -int(exponent))


def tolerance(sd: float, ours: int, theirs: int, sample: Sample, rounding: float) -> float:
    """By how much chance and rounding move the means apart; `rounding` is half a unit of the last digit.

    ValueError : one question alone, which has no standard deviation.
    """
    if ours < 2:
        raise ValueError(f"{ours} questions have no standard deviation, and so no tolerance: two or more are needed.")
    return DEVIATIONS * standard_error(sd, ours, theirs, sample) + rounding


def verdict(difference: float, allowed: float) -> str:
    """Return "ok", "close" or "off"."""
    # A difference of 0.4 is no more than a tolerance of 0.4, whatever binary fractions make of them.
    excess = round(abs(difference) / allowed, 9)
    return "ok" if excess <= 1 else "close" if excess <= 2 else "off"


def sameness(difference: float, rounding: float) -> str:
    """Return "same" or "differs"."""
    return "same" if round(abs(difference) / rounding, 9) <= 1 else "differs"
