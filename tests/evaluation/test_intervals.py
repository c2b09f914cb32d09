"""Intervals of means: known values, what they cover, and that they always have a width."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from kg2rag.evaluation.statistics import interval_of_mean


def covered(samples: np.ndarray, truth: float) -> float:
    """The share of (n_samples, n_queries) samples whose interval holds the truth."""
    low, high = interval_of_mean(samples.T, resamples=2000)
    return float(((low <= truth) & (truth <= high)).mean())


def test_a_proportion_has_wilsons_interval():
    # Wilson by hand, 98 of 100, z = 1.96: (.98 + z2/200 +- z sqrt(.98 * .02 / 100 + z2/40000)) / (1
    # + z2/100)
    z2 = 1.959964**2
    middle, half = 0.98 + z2 / 200, math.sqrt(z2 * (0.98 * 0.02 / 100 + z2 / 40_000))
    low, high = interval_of_mean([1] * 98 + [0] * 2)
    assert (low, high) == pytest.approx(
        ((middle - half) / (1 + z2 / 100), (middle + half) / (1 + z2 / 100)), abs=1e-6
    )
    assert (round(float(low), 3), round(float(high), 3)) == (0.930, 0.994)


@pytest.mark.parametrize("score", [0.0, 1 / 3, 1.0])
def test_equal_scores_have_a_width_and_hold_their_mean(score):
    # 0 of 40 questions differ; by Wilson at most z2 / (40 + z2) do, and they may score anything
    # from 0 to 1
    share = 1.959964**2 / (40 + 1.959964**2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low, high = interval_of_mean([score] * 40)
    assert (low, high) == pytest.approx(
        (score - share * score, score + share * (1 - score)), abs=1e-6
    )


def test_equal_scores_by_the_range_of_their_metric():
    low, high = interval_of_mean([0.0] * 40, bounds=(-1, 1))
    assert -low == high == pytest.approx(1.959964**2 / (40 + 1.959964**2), abs=1e-6)
    assert np.isnan(interval_of_mean([3.0] * 9, bounds=None)).all()


@pytest.mark.parametrize("share", [0.99, 0.95, 0.6])
def test_proportions_are_covered_also_near_one(share):
    # the percentile bootstrap covers .99 in 64 % of samples of 100 questions
    samples = np.random.default_rng(10).binomial(1, share, (400, 100))
    assert covered(samples, share) > 0.9


@pytest.mark.parametrize(("half", "none"), [(0.02, 0.0), (0.02, 0.01), (0.3, 0.1)])
def test_recalls_of_two_gold_passages_are_covered_also_near_one(half, none):
    samples = np.random.default_rng(11).choice(
        [1, 0.5, 0], p=[1 - half - none, half, none], size=(300, 100)
    )
    assert covered(samples, 1 - half / 2 - none) > 0.91


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([np.nan], {}, "missing score"),
        ([2.0, 3.0], {}, "range of the metric"),
    ],
)
def test_wrong_arguments_say_what_is_allowed(values, options, message):
    with pytest.raises(ValueError, match=message):
        interval_of_mean(values, **options)
