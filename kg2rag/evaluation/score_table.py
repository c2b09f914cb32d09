"""Scores per question -> means, intervals, systems tested against the baseline, in pairs and against a placebo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Literal, get_args

import numpy as np
import pandas as pd

from kg2rag.evaluation.metric_names import bounds
from kg2rag.evaluation.statistics import (
    EQUAL,
    by_group,
    detectable_difference,
    holm,
    interval_of_mean,
    p_values,
    t_test,
)
from kg2rag.types import FloatArray, IntArray

Family = Literal["metric", "all"]
FAMILIES: tuple[Family, ...] = get_args(Family)
MANY = 20
"""With more systems than this no best one is determined: it would need a test of every pair."""
COUNTS = ("wins", "ties", "losses")
TESTS = ("p_t_holm", "effect_size", "detectable", "p_best", "seed_sd")
"""Further columns that may be blank."""
COLUMNS = ("system", "metric", "mean", "ci_low", "ci_high", "p_holm", *COUNTS, *TESTS)
OF_PLACEBOS = ("strategy", "graph", "mean", "placebo", "gain", "ci_low", "ci_high", "p", "p_holm")
SUFFIX = "-shuffled"
"""What the name of a graph's placebo adds to that of the graph."""


def score_table(
    per_query: pd.DataFrame,
    metrics: Sequence[str],
    baseline: str,
    seed: int,
    per_seed: pd.DataFrame | None = None,
    *,
    family: Family = "metric",
    clustered: bool = False,
) -> pd.DataFrame:
    """One row per system and metric.

    Columns system, metric, mean, ci_low, ci_high (95 %, see `interval_of_mean`); then against the baseline, where
    its own row is blank (NaN): p_holm (randomisation), wins, ties, losses, p_t_holm (paired t-test), effect_size
    (Cohen's d_z), detectable (the smallest difference seen with 80 % power); then p_best, for the best of a metric
    alone and among up to `MANY` systems (see `p_of_best`), and seed_sd, the standard deviation of the mean between
    seeds (see `replicates`).

    Holm's correction runs over all systems but the baseline, within a metric or, with `family="all"`, over all metrics
    together: for a claim that rests on several. With `clustered`, questions that share gold are resampled together.
    """
    systems = list(dict.fromkeys(per_query["system"]))
    values = {
        name: per_query.loc[per_query["system"] == name, list(metrics)].to_numpy(dtype=np.float64) for name in systems
    }
    groups = per_query.loc[per_query["system"] == systems[0], "cluster"].to_numpy() if clustered else None
    table = np.stack(list(values.values()), axis=1)  # (n_queries, n_systems, n_metrics)
    ends = [
        interval_of_mean(table[:, :, at], bounds=bounds(m), groups=groups, seed=seed) for at, m in enumerate(metrics)
    ]
    low, high = np.stack(ends, axis=-1)
    frame = pd.DataFrame(product(systems, metrics), columns=["system", "metric"])
    frame = frame.assign(mean=table.mean(axis=0).ravel(), ci_low=low.ravel(), ci_high=high.ravel())
    tests, best = tested(values, metrics, baseline, seed, groups, family)
    differences = {name: values[name] - values[baseline] for name in systems if name != baseline}
    if differences:
        every = np.concatenate(list(differences.values()), axis=1)
        p_t, tests["effect_size"] = t_test(every, groups)
        tests["p_t_holm"] = corrected_by_family(p_t, len(metrics) if family == "metric" else 1)
        tests["detectable"] = detectable_difference(every, len(every[0]) // (len(metrics) if family == "metric" else 1))
    frame = frame.merge(tests, on=["system", "metric"], how="left", sort=False).reindex(columns=COLUMNS)
    for metric, (name, p_best) in zip(metrics, best, strict=False):
        frame.loc[(frame["system"] == name) & (frame["metric"] == metric), "p_best"] = p_best
    frame["seed_sd"] = _spread(frame, per_seed)
    return frame.astype(dict.fromkeys(COUNTS, "Int64") | dict.fromkeys(("p_holm", *TESTS), float))


def tested(
    values: Mapping[str, FloatArray],
    metrics: Sequence[str],
    baseline: str,
    seed: int,
    groups: IntArray | None,
    family: Family,
) -> tuple[pd.DataFrame, list[tuple[str, float]]]:
    """Every system against the baseline, and the best system of each metric with its p-value, none of many systems.

    `values` : system -> (n_queries, n_metrics).
    Returns columns system, metric, p_holm, wins, ties, losses.
    """
    others = [name for name in values if name != baseline]
    everyone = 1 < len(values) <= MANY
    pairs = list(combinations(values, 2)) if everyone else [(baseline, name) for name in others]
    frame = pd.DataFrame(product(others, metrics), columns=["system", "metric"])
    if not pairs:
        return frame.reindex(columns=["system", "metric", "p_holm", *COUNTS]), []
    tests = len(others) * (len(metrics) if family == "all" else 1)
    every = np.concatenate([values[a] - values[b] for a, b in pairs], axis=1)
    p = p_values(every, seed, groups=groups, tests=tests).reshape(len(pairs), len(metrics))
    against = p[[baseline in pair for pair in pairs]].ravel()
    frame["p_holm"] = corrected_by_family(against, len(metrics) if family == "metric" else 1)
    counts = [win_tie_loss(values[n][:, at], values[baseline][:, at]) for n in others for at in range(len(metrics))]
    frame[list(COUNTS)] = counts
    return frame, p_of_best(values, pairs, p) if everyone else []


def p_of_best(scores: Mapping[str, FloatArray], pairs: list[tuple[str, str]], p: FloatArray) -> list[tuple[str, float]]:
    """The best system of every metric, and the p-value of "another one is as good".

    That p-value is the largest of those against each other system, after Holm's correction over all pairs: below .05
    the best is significantly above them all, the runner-up included. All pairs are corrected for, not only its
    own, because it was selected as the best from the same data.

    Parameters
    ----------
    scores : system -> (n_queries, n_metrics).
    pairs, p : all pairs of systems, and (n_pairs, n_metrics) uncorrected p-values.

    Returns
    -------
    A name and a p-value per metric.
    """
    means = {name: table.mean(axis=0) for name, table in scores.items()}
    best = [max(means, key=lambda name: float(means[name][at])) for at in range(p.shape[1])]
    return [(name, float(holm(p[:, at])[[name in pair for pair in pairs]].max())) for at, name in enumerate(best)]


def win_tie_loss(a: FloatArray, b: FloatArray) -> tuple[int, int, int]:
    """On how many queries `a` is above, equal to (within `EQUAL`) and below `b`; (n_queries,) each."""
    difference = a - b
    wins, losses = int((difference > EQUAL).sum()), int((difference < -EQUAL).sum())
    return wins, len(difference) - wins - losses, losses


def corrected(p: FloatArray) -> FloatArray:
    """Holm's correction, blank where there are no p-values."""
    return p if np.isnan(p).any() else holm(p)


def corrected_by_family(p: FloatArray, families: int) -> FloatArray:
    """Holm's correction of p-values in the order (system, metric): as many families as metrics, or one over all."""
    return np.stack([corrected(family) for family in p.reshape(-1, families).T], axis=1).ravel()


def pair_table(scores: Mapping[str, FloatArray], seed: int = 0, *, groups: IntArray | None = None) -> pd.DataFrame:
    """Every pair of systems in one metric, in the order of the systems.

    Parameters
    ----------
    scores : system -> (n_queries,).
    groups : (n_queries,) labels of questions that are resampled together, as those that share gold.

    Returns
    -------
    One row per pair: a, b, difference (of the means, a - b), p and p_holm (randomisation; all pairs are one family),
    p_t and p_t_holm (paired t-test), effect_size (Cohen's d_z), detectable (the smallest difference seen with 80 %
    power), wins, ties, losses (of a). An interval of a difference would not agree with the test where few questions
    differ, so there is none.
    """
    pairs = list(combinations(scores, 2))
    names = ["a", "b", "difference", "p", "p_holm", "p_t", "p_t_holm", "effect_size", "detectable", *COUNTS]
    if not pairs:
        return pd.DataFrame(columns=names)
    differences = np.stack([scores[a] - scores[b] for a, b in pairs], axis=1)
    p = p_values(differences, seed, groups=groups, tests=len(pairs))
    p_t, effect = t_test(differences, groups)
    first, second = zip(*pairs, strict=True)
    frame = pd.DataFrame({"a": first, "b": second, "difference": differences.mean(axis=0), "p": p, "p_holm": holm(p)})
    frame = frame.assign(p_t=p_t, p_t_holm=corrected(p_t), effect_size=effect)
    frame["detectable"] = detectable_difference(differences, len(pairs))
    frame[list(COUNTS)] = [win_tie_loss(scores[a], scores[b]) for a, b in pairs]
    return frame[names]


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
    One row per system but the baseline: system, difference (of the means), low (one-sided, 95 %, of the same test), p,
    p_holm.
    """
    from scipy.stats import ttest_1samp

    if not margin > 0:
        raise ValueError(f"margin must be above 0, not {margin}: the loss that would not matter, as .02.")
    names = ["system", "difference", "low", "p", "p_holm"]
    others = [name for name in scores if name != baseline]
    if not others:
        return pd.DataFrame(columns=names)
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
    return pd.DataFrame(dict(zip(names, values, strict=True)))


def _spread(frame: pd.DataFrame, per_seed: pd.DataFrame | None) -> FloatArray:
    """Standard deviation (n - 1) of the means under several seeds, by row of the table; NaN for a single run."""
    if per_seed is None:
        return np.full(len(frame), np.nan)
    spread = per_seed.drop(columns="run").groupby("system").std(ddof=1).to_dict("index")
    keys = zip(frame["system"], frame["metric"], strict=True)
    return np.array([spread.get(name, {}).get(metric, np.nan) for name, metric in keys], dtype=np.float64)


def against_placebo(
    per_query: pd.DataFrame, per_seed: pd.DataFrame | None, metric: str, suffix: str = SUFFIX
) -> pd.DataFrame:
    """One row per system "strategy.graph" that ran over "graph" and over several placebos "graph-shuffled" of it.

    Questions and shufflings are both samples: other ones would have given another gain. Its variance is that of the
    gain over questions plus that of the mean over shufflings, each over their number, and t has Satterthwaite's degrees
    of freedom. Testing over questions alone would take three shufflings for all there are [Clark, "The
    Language-as-Fixed-Effect Fallacy", J. Verbal Learning and Verbal Behavior 12 (1973); Satterthwaite, "An Approximate
    Distribution of Estimates of Variance Components", Biometrics Bulletin 2 (1946)].

    Parameters
    ----------
    per_query, per_seed : the tables of a comparison; see `Comparison`.
    suffix : of the placebos' names.

    Returns
    -------
    Columns strategy, graph, mean, placebo (mean over questions and shufflings), gain (their difference), ci_low and
    ci_high (95 %), p (two-sided: no gain), p_holm (corrected over the rows). Empty where no system has a placebo.

    Raises ValueError: a placebo that was shuffled once only, whose variance is not known.
    """
    rows = []
    wide = per_query.pivot_table(index="query_id", columns="system", values=metric, sort=False)
    for system in wide.columns:
        if f"{system}{suffix}" not in wide.columns or "." not in system:
            continue
        runs = _means_of_runs(per_seed, f"{system}{suffix}", metric)
        strategy, graph = system.split(".", 1)
        real, placebo = (wide[name].to_numpy(dtype=np.float64) for name in (system, f"{system}{suffix}"))
        rows.append((strategy, graph, real.mean(), placebo.mean(), *_gain(real - placebo, runs), np.nan))
    table = pd.DataFrame(rows, columns=list(OF_PLACEBOS))
    return table.assign(p_holm=holm(table["p"].to_numpy(dtype=np.float64)))


def _means_of_runs(per_seed: pd.DataFrame | None, system: str, metric: str) -> FloatArray:
    found = None if per_seed is None else per_seed.loc[per_seed["system"] == system, metric]
    if found is None or len(found) < 2:
        raise ValueError(
            f"{system!r} is one shuffling, so nothing is known of how shufflings differ. Pass at least two: a list of "
            "knowledge bases, or --seeds 3."
        )
    return found.to_numpy(dtype=np.float64)


def _gain(difference: FloatArray, runs: FloatArray) -> tuple[float, float, float, float]:
    """The mean of (n_queries,) differences with its interval and p, given (n_shufflings,) means of the placebo."""
    from scipy.stats import t

    gain = float(difference.mean())
    parts = [(sample.var(ddof=1) / len(sample), len(sample) - 1) for sample in (difference, runs)]
    variance = sum(part for part, _ in parts)
    if variance <= EQUAL**2:
        return gain, gain, gain, 1.0 if abs(gain) <= EQUAL else 0.0
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts)
    error = np.sqrt(variance)
    half = float(t.ppf(0.975, freedom) * error)
    return gain, gain - half, gain + half, float(2 * t.sf(abs(gain) / error, freedom))
