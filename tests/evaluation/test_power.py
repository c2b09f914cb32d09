"""Against the published sample sizes of Cohen and of R's pwr."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kg2rag.evaluation.power import detectable_difference, detectable_effect
from kg2rag.evaluation.significance import paired_test


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


def seen(a: np.ndarray, difference: float, runs: int = 400) -> float:
    """How often the randomisation test finds a difference of that size, by drawing who wins each question that differs.

    Simulated from the definition: the tests' own p-values, of question sets drawn here.
    """
    rng, size = np.random.default_rng(5), np.abs(a)
    share = (1 + difference * len(a) / size.sum()) / 2
    samples = np.where(rng.random((runs, len(a))) < share, size, -size).T
    return float((paired_test(samples, np.zeros_like(samples), resamples=4000) < 0.05).mean())


@pytest.mark.parametrize("differing", [0.1, 0.4])
def test_a_detectable_difference_of_recalls_is_found_four_times_in_five(differing):
    rng = np.random.default_rng(6)
    sizes = rng.choice([0, 0.5, 1], p=[1 - differing, 0.8 * differing, 0.2 * differing], size=150)
    least = float(detectable_difference(sizes, np.zeros(150)))
    # whole questions are won, so that power jumps; simulations here and there err by .02 each
    assert 0.74 < seen(sizes, least) < 0.9
    assert seen(sizes, 0.8 * least) < 0.72


def test_five_questions_that_differ_cannot_show_anything():
    # all five won has p = 2 / 2^5 = .0625; six won 2 / 2^6 = .031, so six must nearly all be won
    assert np.isnan(detectable_difference([1] * 5 + [0] * 95, [0] * 100))
    assert 0.05 < detectable_difference([1] * 6 + [0] * 94, [0] * 100) <= 0.06


def test_a_difference_is_in_the_unit_of_its_metric_and_does_not_depend_on_other_columns():
    a = np.random.default_rng(1).random((50, 3)) * [1, 2, 3]
    found = detectable_difference(a, np.zeros((50, 3)), 4)
    assert found == pytest.approx([float(detectable_difference(a[:, i], np.zeros(50), 4)) for i in range(3)])
    assert float(detectable_difference(10 * a[:, 0], np.zeros(50), 4)) == pytest.approx(10 * found[0])


def test_nothing_is_known_of_systems_that_never_differ():
    assert np.isnan(detectable_difference([0.5] * 9, [0.5] * 9))


@pytest.mark.parametrize("n", [1, 2])
def test_too_few_questions_give_a_blank_and_no_made_up_number(n):
    assert math.isnan(detectable_effect(n, tests=5))
    assert np.isnan(detectable_difference(np.arange(n), np.zeros(n), 5))
