"""Tolerances and verdicts, worked out by hand, and against a simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.experiments.reproduction.verdicts import (
    Sample,
    half_unit,
    sameness,
    standard_error,
    tolerance,
    verdict,
)


def test_the_error_of_a_subset_is_that_of_the_questions_that_are_lacking() -> None:
    # n = 75 of N = 100: s * sqrt(25 / 7500) = s / sqrt(300)
    assert standard_error(30.0, 75, 100, "subset") == pytest.approx(3**0.5)
    assert standard_error(30.0, 100, 100, "subset") == 0


def test_the_error_of_other_questions_is_that_of_two_samples() -> None:
    # 1 / 100 + 1 / 300 = 4 / 300, and sqrt(4 / 300) = 2 / (10 * sqrt(3))
    assert standard_error(30.0, 100, 300, "other") == pytest.approx(6 / 3**0.5)


def test_a_subset_is_no_larger_than_the_whole() -> None:
    with pytest.raises(ValueError, match="101 questions cannot be a subset of the 100"):
        standard_error(1.0, 101, 100, "subset")


def test_the_tolerance_is_1_96_errors_and_the_rounding() -> None:
    assert tolerance(30.0, 75, 100, "subset", 0.05) == pytest.approx(1.96 * 3**0.5 + 0.05)


def test_one_question_has_no_tolerance() -> None:
    with pytest.raises(ValueError, match="1 questions have no standard deviation"):
        tolerance(float("nan"), 1, 100, "subset", 0.05)


@pytest.mark.parametrize(("sample", "shared"), [("subset", True), ("other", False)])
def test_nineteen_of_twenty_differences_by_chance_are_within_the_tolerance(sample: Sample, shared: bool) -> None:
    """Drawn as the rule assumes: 60 of 200 questions, or 60 and 200 questions of a large number of them."""
    rng = np.random.default_rng(0)
    theirs = rng.choice([0.0, 50.0, 100.0], size=(4000, 200))
    ours = theirs[:, :60] if shared else rng.choice([0.0, 50.0, 100.0], size=(4000, 60))
    allowed = [tolerance(sd, 60, 200, sample, 0.0) for sd in ours.std(axis=1, ddof=1)]
    within = np.abs(ours.mean(axis=1) - theirs.mean(axis=1)) <= allowed
    assert within.mean() == pytest.approx(0.95, abs=0.015)  # the error of a share of 4,000 is 0.0034


@given(st.floats(0.1, 50), st.integers(1, 1000), st.integers(0, 1000))
def test_the_same_questions_never_allow_more_than_others(sd: float, ours: int, more: int) -> None:
    assert standard_error(sd, ours, ours + more, "subset") <= standard_error(sd, ours, ours + more, "other")


@pytest.mark.parametrize(
    ("value", "decimals", "half"),
    [(61.9, 1, 0.05), (62.0, 1, 0.05), (8.11, 1, 0.005), (54.5, 2, 0.005), (90.0, 0, 0.5)],
)
def test_half_a_unit_of_the_last_digit_printed(value: float, decimals: int, half: float) -> None:
    assert half_unit(value, decimals) == pytest.approx(half)


@pytest.mark.parametrize(
    ("difference", "judged"), [(0.4, "ok"), (-0.4, "ok"), (0.41, "close"), (-0.8, "close"), (0.81, "off"), (0.0, "ok")]
)
def test_verdicts_against_published_numbers(difference: float, judged: str) -> None:
    assert verdict(difference, 0.4) == judged


def test_an_exact_bound_is_within_it_whatever_binary_fractions_make_of_it() -> None:
    assert verdict(65.3 - 61.9, 3.4) == "ok"


@pytest.mark.parametrize(
    ("ours", "judged"), [(47.1666, "same"), (47.175, "same"), (47.18, "differs"), (47.16, "differs")]
)
def test_released_code_gives_the_same_digits_or_differs(ours: float, judged: str) -> None:
    assert sameness(ours - 47.17, half_unit(47.17, 2)) == judged
