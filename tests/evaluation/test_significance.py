from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.evaluation.significance import (
    effect_size,
    holm,
    in_units,
    paired_test,
    paired_tests,
    resamples_for,
    win_tie_loss,
)


def test_exact_randomisation_test_by_hand():
    # Differences 1, 2, 3: of the 8 sign patterns only + + + and - - - reach |6|.
    assert paired_test([1, 2, 3], [0, 0, 0]) == 2 / 8


def test_exact_randomisation_test_matches_scipy():
    from scipy.stats import permutation_test

    rng = np.random.default_rng(2)
    for _ in range(5):
        a, b = rng.integers(0, 4, (2, 9)) / 3
        reference = permutation_test(
            (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf, vectorized=False
        )
        assert paired_test(a, b) == pytest.approx(reference.pvalue)


def test_drawn_randomisation_test_is_within_sampling_error_of_scipy():
    from scipy.stats import permutation_test

    rng = np.random.default_rng(4)
    a, b = rng.normal(0.25, 1, 60), rng.normal(0, 1, 60)
    reference = permutation_test(
        (a - b,), lambda x, axis: x.mean(axis), permutation_type="samples", n_resamples=20_000, vectorized=True, rng=1
    )
    assert 0.01 < reference.pvalue < 0.9
    assert paired_test(a, b, resamples=20_000) == pytest.approx(reference.pvalue, abs=0.02)


@pytest.mark.parametrize("method", ["randomisation", "t"])
@pytest.mark.parametrize("n", [5, 200])
def test_equal_systems_are_never_different(method, n):
    values = np.random.default_rng(n).random(n)
    assert paired_test(values, values, method=method) == 1.0


def test_p_is_never_zero():
    assert paired_test(np.ones(100), np.zeros(100), resamples=999) == 2 / 1000


def test_randomisation_is_symmetric_and_independent_of_the_other_columns():
    a, b = np.random.default_rng(6).random((2, 50, 4))
    p = paired_test(a, b)
    assert np.array_equal(p, paired_test(b, a))
    assert np.array_equal(p[::-1], paired_test(a[:, ::-1], b[:, ::-1]))
    assert p[2] == paired_test(a[:, 2], b[:, 2])


def test_wrong_significance_arguments_say_what_is_allowed():
    with pytest.raises(ValueError, match="same shape"):
        paired_test([1, 2], [1])
    with pytest.raises(ValueError, match="'randomisation' or 't'"):
        paired_test([1], [1], method="z")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="missing score"):
        paired_test([np.nan], [0])
    with pytest.raises(ValueError, match="one label a query, 2"):
        paired_test([1, 2], [0, 0], groups=[1])
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        holm([1.5])


def test_holm_by_hand():
    # Sorted .01 .02 .03 .04 times 4, 3, 2, 1 = .04 .06 .06 .04, then never falling.
    assert holm([0.04, 0.01, 0.03, 0.02]).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_holm_of_nothing_is_nothing():
    assert holm([]).tolist() == []


def test_wins_ties_and_losses_ignore_rounding():
    assert win_tie_loss([1, 0.3, 0, 0.1 + 0.2], [0, 0.5, 0, 0.3]) == (1, 2, 1)


# Published worked examples

DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
"""Fifteen pairs of maize plants, crossed less self-fertilised, in eighths of an inch (Fisher, "The Design of
Experiments", 1935, Sec. 17)."""


def test_fishers_randomisation_test_of_darwins_maize():
    # Sec. 21: of 2^15 ways to sign the differences 863 reach 314 in one direction.
    assert paired_test(DARWIN, np.zeros(15), resamples=2**15) == 2 * 863 / 2**15


def test_fishers_t_test_of_darwins_maize():
    assert paired_test(DARWIN, np.zeros(15), method="t") == pytest.approx(0.0497, abs=5e-5)  # t(14) = 2.148


def test_students_sleep_data():
    # Student (1908), Biometrika 6; R's t.test(paired = TRUE): t(9) = -4.0621, p = .002833.
    drug_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    drug_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    assert paired_test(drug_1, drug_2, method="t") == pytest.approx(0.002833, abs=5e-7)
    assert effect_size(drug_1, drug_2) == pytest.approx(-4.0621 / np.sqrt(10), abs=1e-4)


def test_effect_size_of_lakens_2013():
    # Table 1: ten ratings of two films, t(9) = 4.74, Cohen's d_z = 1.50.
    first, second = [9, 7, 8, 9, 8, 9, 9, 10, 9, 9], [9, 6, 7, 8, 7, 9, 8, 8, 8, 7]
    assert effect_size(first, second) == pytest.approx(1.5)


def test_effect_size_by_hand_and_where_nothing_varies():
    table = np.array([[1.0, 0.5, 0], [2, 0.5, 0], [3, 0.5, 0]])  # mean 2, sd 1 | always one half | equal
    assert effect_size(table, np.zeros((3, 3))).tolist() == [pytest.approx(2), np.inf, 0]


def test_sums_that_are_equal_are_not_told_apart_by_rounding():
    # Thirds do not add up exactly in floats; of the 2^6 sign patterns, 15 and 15 more have sum +-1 or beyond by hand:
    # sums of six signs of 1/3 are (6 - 2m) / 3; |sum| >= 2/3 leaves out m = 3 alone, C(6, 3) = 20 of 64.
    thirds = np.array([1, 1, 1, 1, -1, -1]) / 3
    assert paired_test(thirds, np.zeros(6)) == 44 / 64


def test_t_test_matches_scipy_on_random_data():
    from scipy.stats import ttest_rel

    a, b = np.random.default_rng(8).random((2, 30, 4))
    assert paired_test(a, b, method="t").tolist() == pytest.approx(ttest_rel(a, b).pvalue.tolist())


@pytest.mark.parametrize("tests", [1, 17, 153])
def test_the_best_p_of_a_family_can_earn_three_stars(tests):
    # the smallest p of drawn resamples is 2 / (resamples + 1); Holm multiplies it by the size of the family
    assert tests * 2 / (resamples_for(tests) + 1) < 0.001


def test_questions_of_one_group_are_swapped_together():
    # Differences 1, 2, 3, but the last two questions are one group: of 4 sign patterns, |1 +- 5| reaches 6 twice.
    assert paired_test([1, 2, 3], [0, 0, 0], groups=["a", "b", "b"]) == 2 / 4
    scores = np.array([[1.0, 0], [2, 0], [3, 0]])
    assert paired_tests(scores, np.array([0]), np.array([1]), groups=[0, 1, 1]).tolist() == [2 / 4]


def test_groups_of_one_change_nothing():
    a, b = np.random.default_rng(3).random((2, 40))
    assert paired_test(a, b) == paired_test(a, b, groups=np.arange(40))


@given(
    scores=st.lists(st.fractions(0, 1, max_denominator=10), min_size=2, max_size=60),
    seed=st.integers(0, 2**16),
)
def test_sums_in_units_are_exact_in_any_order(scores, seed):
    values = np.array([float(score) for score in scores])
    signs = np.random.default_rng(seed).choice([-1, 1], len(values))
    whole, unit = in_units(values[None, :])
    order = np.random.default_rng(seed + 1).permutation(len(values))
    assert (signs * whole[0]).sum() == (signs * whole[0])[order].sum()
    exact = sum(int(sign) * score for sign, score in zip(signs, scores, strict=True))
    assert (signs * whole[0]).sum() * unit == pytest.approx(float(exact), abs=1e-12)
    if exact == 0:
        assert (signs * whole[0]).sum() == 0
