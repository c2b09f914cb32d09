"""Against the published sample sizes of Cohen and of R's pwr."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kg2rag.evaluation.pairs import detectable_difference, detectable_effect


def test_34_questions_find_a_medium_effect_and_33_do_not():
    # Cohen's d_z = .5 at level .05 with power .80 takes n = 33.37, so 34: R's pwr.t.test(type="paired"), and G*Power.
    assert detectable_effect(34) < 0.5 < detectable_effect(33)


@pytest.mark.parametrize(("effect", "n"), [(0.2, 199), (0.8, 15)])
def test_small_and_large_effects_take_their_known_numbers_of_questions(effect, n):
    # n = 198.15 and 14.30 by R's pwr.
    assert detectable_effect(n) < effect < detectable_effect(n - 1)


def test_an_effect_that_is_detectable_is_found_four_times_in_five():
    from scipy.stats import ttest_1samp

    n, runs = 40, 4000
    samples = np.random.default_rng(0).normal(detectable_effect(n), 1, (runs, n))
    found = (ttest_1samp(samples, 0, axis=1).pvalue < 0.05).mean()
    assert found == pytest.approx(0.8, abs=4 * math.sqrt(0.8 * 0.2 / runs))


def test_more_tests_ask_for_more():
    assert detectable_effect(100, tests=17) > detectable_effect(100, tests=2) > detectable_effect(100)


def test_the_difference_is_the_effect_times_the_spread():
    a = np.random.default_rng(1).random((50, 3)) * [1, 2, 3]
    expected = a.std(axis=0, ddof=1) * detectable_effect(50, 4)
    assert detectable_difference(a, np.zeros((50, 3)), 4).tolist() == pytest.approx(expected.tolist())


def test_nothing_is_known_of_systems_that_never_differ():
    assert np.isnan(detectable_difference([0.5] * 9, [0.5] * 9))


@pytest.mark.parametrize("n", [1, 2])
def test_too_few_questions_give_a_blank_and_no_made_up_number(n):
    assert math.isnan(detectable_effect(n, tests=5))
    assert np.isnan(detectable_difference(np.arange(n), np.zeros(n), 5))
