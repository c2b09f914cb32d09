"""Scores of several systems -> every pair of them tested; and whether the best is better than all the others.

All pairs are one family under Holm's correction, so that the chance of any false finding among them stays below 5 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from kg2rag.evaluation.intervals import interval_of_mean
from kg2rag.evaluation.per_question import EQUAL, by_group
from kg2rag.evaluation.power import detectable_difference
from kg2rag.evaluation.significance import (
    effect_size,
    holm,
    paired_test,
    paired_tests,
    resamples_for,
    win_tie_loss,
)
from kg2rag.types import FloatArray, IntArray


def pair_table(
    scores: Mapping[str, FloatArray],
    seed: int = 0,
    resamples: int | None = None,
    *,
    bounds: tuple[float, float] | None = None,
    groups: IntArray | None = None,
) -> pd.DataFrame:
    """Every pair of systems in one metric, in the order of the systems.

    Parameters
    ----------
    scores : system -> (n_queries,).
    resamples : of the randomisation test; 20 000, and more where the correction for many pairs needs it.
    bounds : the range of the metric; None where it has none.
    groups : (n_queries,) labels of questions that are resampled together, as those that share gold.

    Returns
    -------
    One row per pair: a, b, difference (of the means, a - b), ci_low, ci_high (95 %, see `interval_of_mean`), p and
    p_holm (randomisation), p_t and p_t_holm (paired t-test), effect_size (Cohen's d_z), detectable (the smallest
    difference seen with 80 % power), wins, ties, losses (of a).
    """
    pairs = list(combinations(scores, 2))
    columns = ["a", "b", "difference", "ci_low", "ci_high", "p", "p_holm", "p_t", "p_t_holm"]
    columns += ["effect_size", "detectable", "wins", "ties", "losses"]
    if not pairs:
        return pd.DataFrame(columns=columns)
    first = np.stack([scores[a] for a, _ in pairs], axis=1)
    second = np.stack([scores[b] for _, b in pairs], axis=1)
    widest = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    low, high = interval_of_mean(first - second, bounds=widest, groups=groups, seed=seed)
    drawn = resamples or resamples_for(len(pairs))
    single = {name: column[:, None] for name, column in scores.items()}
    p = randomised_pairs(single, pairs, seed, drawn, groups)[:, 0]
    p_t, effect = t_test(first, second, groups)
    named = {"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "difference": (first - second).mean(axis=0)}
    tested = {"ci_low": low, "ci_high": high, "p": p, "p_holm": holm(p), "p_t": p_t, "p_t_holm": corrected(p_t)}
    sizes = {"effect_size": effect, "detectable": detectable_difference(first, second, len(pairs))}
    counts = [win_tie_loss(scores[a], scores[b])._asdict() for a, b in pairs]
    return pd.concat([pd.DataFrame(named | tested | sizes), pd.DataFrame(counts)], axis=1)[columns]


def randomised_pairs(
    scores: Mapping[str, FloatArray],
    pairs: list[tuple[str, str]],
    seed: int,
    resamples: int,
    groups: IntArray | None = None,
) -> FloatArray:
    """Uncorrected p-values of the randomisation test of some pairs, in every metric.

    `scores` : system -> (n_queries, n_metrics).
    Returns (n_pairs, n_metrics).
    """
    names = list(scores)
    n_metrics = scores[names[0]].shape[1]
    metrics = np.arange(n_metrics)
    first = np.concatenate([names.index(a) * n_metrics + metrics for a, _ in pairs])
    second = np.concatenate([names.index(b) * n_metrics + metrics for _, b in pairs])
    table = np.concatenate([scores[name] for name in names], axis=1)
    return paired_tests(table, first, second, seed, resamples, groups).reshape(len(pairs), n_metrics)


def p_of_best(scores: Mapping[str, FloatArray], pairs: list[tuple[str, str]], p: FloatArray) -> list[tuple[str, float]]:
    """The best system of every metric and the p-value of "another one is as good".

    That p-value is the largest of those against each other system, after Holm's correction over all pairs: below .05
    the best is significantly above them all, the runner-up included. All pairs are corrected for, not only its
    own, because it was selected as the best from the same data.

    Parameters
    ----------
    scores : system -> (n_queries, n_metrics).
    pairs, p : all pairs of systems and the result of `randomised_pairs` for them.

    Returns
    -------
    A name and a p-value per metric.
    """
    names = list(scores)
    found = []
    for metric in range(p.shape[1]):
        best = names[int(np.argmax([scores[name][:, metric].mean() for name in names]))]
        own = [best in pair for pair in pairs]
        found.append((best, float(holm(p[:, metric])[own].max())))
    return found


def t_test(a: FloatArray, b: FloatArray, groups: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
    """p-values of the paired t-test and effect sizes, (n_columns,) each; blank (NaN) for a single query or group."""
    if len(a) < 2 or (groups is not None and len(np.unique(groups)) < 2):
        blank = np.full(a.shape[1], np.nan)
        return blank, blank
    return paired_test(a, b, method="t", groups=groups), effect_size(a, b)


def non_inferiority(
    scores: Mapping[str, FloatArray], baseline: str, margin: float, groups: IntArray | None = None
) -> pd.DataFrame:
    """Whether each system is worse than a baseline by less than a margin, in one metric.

    That two systems do not differ significantly does not say that they are as good; this does, below .05. The
    hypothesis that a system is worse by `margin` or more is tested by a one-sided paired t-test, with Holm's correction
    over the systems [Blackwelder, "Proving the Null Hypothesis in Clinical Trials", Control. Clin. Trials 3, 1982].

    Parameters
    ----------
    scores : system -> (n_queries,), at least two queries.
    margin : above 0, in the metric's own unit, chosen before the scores were seen.
    groups : (n_queries,) labels of questions that are not independent.

    Returns
    -------
    One row per system but the baseline: system, difference (of the means), low (one-sided, 95 %), p, p_holm.
    """
    from scipy.stats import ttest_1samp

    if not margin > 0:
        raise ValueError(f"margin must be above 0, not {margin}: the loss that would not matter, as .02.")
    columns = ["system", "difference", "low", "p", "p_holm"]
    others = [name for name in scores if name != baseline]
    if not others:
        return pd.DataFrame(columns=columns)
    difference = np.stack([scores[name] - scores[baseline] for name in others])
    together, counts = by_group(difference + margin, groups)
    if len(counts) < 2:
        raise ValueError("Non-inferiority needs at least two questions that are independent.")
    size = difference.shape[1] / len(counts)  # queries a group, on average: sums of groups -> means of queries
    # Without any spread the difference is as it is, above the margin or not.
    p, low = np.where(together[:, 0] > 0, 0.0, 1.0), difference.mean(axis=1)
    varied = np.ptp(together, axis=1) > EQUAL
    test = ttest_1samp(together[varied], 0.0, axis=1, alternative="greater")
    p[varied], low[varied] = test.pvalue, test.confidence_interval(0.95).low / size - margin
    values = (others, difference.mean(axis=1), low, p, holm(p))
    return pd.DataFrame(dict(zip(columns, values, strict=True)))


def corrected(p: FloatArray) -> FloatArray:
    """Holm's correction, blank where there are no p-values."""
    return p if np.isnan(p).any() else holm(p)
