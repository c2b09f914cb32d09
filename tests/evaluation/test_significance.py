from __future__ import annotations

import warnings

import numpy as np
import pytest

from kg2rag.evaluation.significance import bootstrap_interval, holm, paired_test, win_tie_loss


def test_bootstrap_covers_about_as_far_as_the_normal_approximation():
    values = np.random.default_rng(0).normal(size=400)
    low, high = bootstrap_interval(values)
    error = values.std() / 20
    assert (low, high) == pytest.approx((values.mean() - 1.96 * error, values.mean() + 1.96 * error), abs=0.1 * error)


def test_interval_of_a_constant_is_the_constant_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bootstrap_interval([1 / 3] * 7) == (1 / 3, 1 / 3)
        assert bootstrap_interval([0.25]) == (0.25, 0.25)


def test_interval_of_a_column_does_not_depend_on_the_other_columns():
    table = np.random.default_rng(1).random((60, 5))
    together = np.array(bootstrap_interval(table, resamples=500))
    alone = np.array([bootstrap_interval(table[:, i], resamples=500) for i in (4, 3, 2, 1, 0)])[::-1].T
    assert together == pytest.approx(alone, abs=1e-12)


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
    with pytest.raises(ValueError, match="between 0 and 1"):
        bootstrap_interval([1], level=95)
    with pytest.raises(ValueError, match="missing score"):
        bootstrap_interval([np.nan])
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        holm([1.5])


def test_holm_by_hand():
    # Sorted .01 .02 .03 .04 times 4, 3, 2, 1 = .04 .06 .06 .04, then never falling.
    assert holm([0.04, 0.01, 0.03, 0.02]).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_holm_of_nothing_is_nothing():
    assert holm([]).tolist() == []


def test_wins_ties_and_losses_ignore_rounding():
    assert win_tie_loss([1, 0.3, 0, 0.1 + 0.2], [0, 0.5, 0, 0.3]) == (1, 2, 1)
