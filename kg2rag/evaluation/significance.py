"""Scores per question -> means, intervals and tests: by baseline, in pairs, by placebo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

import numpy as np
import pandas as pd

from kg2rag.evaluation.metrics import bounds
from kg2rag.evaluation.power import detectable_difference
from kg2rag.evaluation.statistics import (
    EQUAL,
    holm,
    interval_of_mean,
    interval_of_sum,
    p_values,
    t_test,
)
from kg2rag.types import FloatArray, IntArray

MAX_SYSTEMS_FOR_BEST = 20
"""With more systems no best one is determined: that needs a test of every pair."""
COUNTS = ("wins", "ties", "losses")
TESTS = ("p_t_holm", "effect_size", "detectable", "p_best", "seed_sd")
"""Further columns that may be blank."""
COLUMNS = ("system", "metric", "mean", "ci_low", "ci_high", "p_holm", *COUNTS, *TESTS)
PAIR_COLUMNS = tuple(
    "a b difference p p_holm p_t p_t_holm effect_size detectable wins ties losses".split()
)
PLACEBO_COLUMNS = tuple(
    "strategy graph mean placebo gain ci_low ci_high p p_holm".split()
)
SHUFFLED = "-shuffled"
"""The placebo of a graph is called by the graph's name and this suffix."""


def score_table(
    per_query: pd.DataFrame | Mapping[str, pd.DataFrame],
    metrics: Sequence[str],
    baseline: str,
    per_seed: pd.DataFrame | None = None,
    *,
    seed: int = 0,
) -> pd.DataFrame:
    """One row per system and metric, with means, intervals and tests.

    Parameters
    ----------
    per_query : one row per system and question, as `ScoredRuns` has it; or set -> such a frame, of
        the same systems, for the macro-average, an unweighted mean over the sets. Its test swaps
        the two systems on each question of each set, weighted so that every set counts equally;
        p_t_holm, effect_size, detectable and seed_sd are of one set, and blank. A question without
        a score (NaN) for some system is left out of that metric for all systems.
    seed : of the bootstrap, and of tests that must draw.

    Returns
    -------
    The columns system, metric, mean, ci_low, ci_high (95 %, see `interval_of_mean`); then against
    the baseline, blank (NaN) in the baseline's own row: p_holm (randomisation test, corrected
    within the metric), wins, ties, losses, p_t_holm (paired t-test), effect_size (Cohen's d_z),
    detectable (the smallest difference seen with 80 % power); then p_best, only for the best system
    of a metric among up to `MAX_SYSTEMS_FOR_BEST` (see `p_of_best`), and seed_sd, the standard
    deviation (n - 1) of the mean between seeds.
    """
    if isinstance(per_query, pd.DataFrame):
        per_query = {"": per_query}
    frames = list(per_query.values())
    systems = list(dict.fromkeys(frames[0]["system"]))
    tables = [
        _table_of(frames, systems, group, baseline, seed)
        for group in _scored_together(frames, metrics)
    ]
    order = pd.MultiIndex.from_product([systems, metrics], names=["system", "metric"])
    table = pd.concat(tables).set_index(["system", "metric"]).loc[order].reset_index()
    table = table.reindex(columns=COLUMNS)
    if per_seed is not None:
        deviations = per_seed.drop(columns="run").groupby("system").std(ddof=1)
        deviations = deviations.reindex(systems, columns=list(metrics))
        table["seed_sd"] = deviations.to_numpy(dtype=np.float64).ravel()
    return table.astype(
        dict.fromkeys(COUNTS, "Int64") | dict.fromkeys(("p_holm", *TESTS), float)
    )


def _scored_together(
    frames: Sequence[pd.DataFrame], metrics: Sequence[str]
) -> Iterator[list[str]]:
    """The metrics in which every question has a score, then each other metric by itself."""
    complete = [
        metric
        for metric in metrics
        if not any(frame[metric].isna().any() for frame in frames)
    ]
    if complete:
        yield complete
    for metric in metrics:
        if metric not in complete:
            yield [metric]


def _table_of(
    frames: Sequence[pd.DataFrame],
    systems: Sequence[str],
    names: list[str],
    baseline: str,
    seed: int,
) -> pd.DataFrame:
    """The table of some metrics over the questions that have a score for every system."""
    arrays = [_score_array(frame, systems, names) for frame in frames]
    table = _means_and_intervals(arrays, systems, names, seed)
    if len(systems) > 1:
        weighted = _weighted_scores(arrays, systems)
        pairs, p = _test_pairs(weighted, baseline, seed)
        others = [name for name in systems if name != baseline]
        differences = np.concatenate(
            [weighted[name] - weighted[baseline] for name in others], axis=1
        )
        tests = pd.DataFrame(product(others, names), columns=["system", "metric"])
        of_baseline = [baseline in pair for pair in pairs]
        tests = _add_tests(tests, differences, p[of_baseline])
        if len(arrays) == 1:
            tests = _add_tests_of_one_set(tests, differences, len(others))
        table = table.merge(tests, on=["system", "metric"], how="left", sort=False)
        if len(systems) <= MAX_SYSTEMS_FOR_BEST:
            table = _mark_best(table, names, p_of_best(weighted, pairs, p))
    return table


def _score_array(
    frame: pd.DataFrame, systems: Sequence[str], metrics: list[str]
) -> FloatArray:
    """(n_systems, n_questions, n_metrics), of the questions that have a score for every system."""
    blank = frame.loc[frame[metrics].isna().any(axis=1), "query_id"]
    parts = dict(
        iter(frame[~frame["query_id"].isin(blank)].groupby("system", sort=False))
    )
    return np.stack(
        [parts[name][metrics].to_numpy(dtype=np.float64) for name in systems]
    )


def _means_and_intervals(
    arrays: Sequence[FloatArray],
    systems: Sequence[str],
    metrics: Sequence[str],
    seed: int,
) -> pd.DataFrame:
    """One row per system and metric: mean over the sets, and its interval."""
    columns = [
        _macro_interval([array[:, :, i] for array in arrays], bounds(metric), seed)
        for i, metric in enumerate(metrics)
    ]
    mean, low, high = (
        np.stack(part, axis=1).ravel() for part in zip(*columns, strict=True)
    )
    table = pd.DataFrame(product(systems, metrics), columns=["system", "metric"])
    return table.assign(mean=mean, ci_low=low, ci_high=high)


def _macro_interval(
    scores: Sequence[FloatArray], limits: tuple[float, float] | None, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The mean over sets and its interval, (n_systems,) each.

    `scores` has an array (n_systems, n_questions) per set.
    """
    intervals = [
        interval_of_mean(array.T, bounds=limits, seed=seed) for array in scores
    ]
    means = np.stack([array.mean(axis=1) for array in scores])
    low, high = (np.stack(side) for side in zip(*intervals, strict=True))
    if len(scores) == 1:
        return means[0], low[0], high[0]
    weights = np.full(len(scores), 1 / len(scores))
    return weights @ means, *interval_of_sum(means, low, high, weights)


def _weighted_scores(
    arrays: Sequence[FloatArray], systems: Sequence[str]
) -> dict[str, FloatArray]:
    """System -> (n_questions of all sets, n_metrics); the plain mean is the macro-average."""
    mean_size = sum(array.shape[1] for array in arrays) / len(arrays)
    together = np.concatenate(
        [array * (mean_size / array.shape[1]) for array in arrays], axis=1
    )
    return dict(zip(systems, together, strict=True))


def _test_pairs(
    scores: Mapping[str, FloatArray], baseline: str, seed: int
) -> tuple[list[tuple[str, str]], FloatArray]:
    """Pairs of systems and p-values, (n_pairs, n_metrics).

    With more than `MAX_SYSTEMS_FOR_BEST` systems, only the pairs of the baseline.
    """
    pairs = list(combinations(scores, 2))
    if len(scores) > MAX_SYSTEMS_FOR_BEST:
        pairs = [(baseline, name) for name in scores if name != baseline]
    differences = np.concatenate([scores[a] - scores[b] for a, b in pairs], axis=1)
    p = p_values(differences, seed, tests=len(scores) - 1)
    return pairs, p.reshape(len(pairs), -1)


def _add_tests(
    table: pd.DataFrame, differences: FloatArray, p: FloatArray
) -> pd.DataFrame:
    """The table with corrected p-values, wins, ties and losses of each row.

    `differences` is (n_questions, n_rows); `p` is (n_tests, n_families), the rows in order.
    """
    table = table.assign(p_holm=corrected(p))
    table[list(COUNTS)] = win_tie_loss(differences)
    return table


def _add_tests_of_one_set(
    table: pd.DataFrame, differences: FloatArray, n_tests: int
) -> pd.DataFrame:
    """The table with t-test, effect size and detectable difference of each row.

    `n_tests` are in a family.
    """
    p_t, effect_size = t_test(differences)
    return table.assign(
        p_t=p_t,
        p_t_holm=corrected(p_t.reshape(n_tests, -1)),
        effect_size=effect_size,
        detectable=detectable_difference(differences, n_tests),
    )


def _mark_best(
    table: pd.DataFrame, metrics: Sequence[str], best: Sequence[tuple[str, float]]
) -> pd.DataFrame:
    """The table with `p_best` in the row of the best system of each metric."""
    table = table.assign(p_best=np.nan)
    for metric, (name, p_best) in zip(metrics, best, strict=True):
        table.loc[(table["system"] == name) & (table["metric"] == metric), "p_best"] = (
            p_best
        )
    return table


def win_tie_loss(differences: FloatArray) -> IntArray:
    """Numbers of queries above, equal to and below 0 (within `EQUAL`), (n_columns, 3).

    `differences` is (n_queries, n_columns).
    """
    wins = differences > EQUAL
    ties = np.abs(differences) <= EQUAL
    losses = differences < -EQUAL
    return np.stack([sign.sum(axis=0) for sign in (wins, ties, losses)], axis=1)


def p_of_best(
    scores: Mapping[str, FloatArray], pairs: list[tuple[str, str]], p: FloatArray
) -> list[tuple[str, float]]:
    """The best system of each metric and its p-value, the largest of its pairs.

    The null hypothesis is that another system is as good.

    Holm's correction is over all pairs, not only over those of the best: it was selected from the
    same data.

    scores : system -> (n_queries, n_metrics).
    p : (n_pairs, n_metrics) uncorrected p-values.
    """
    means = pd.DataFrame({name: array.mean(axis=0) for name, array in scores.items()})
    best = []
    for i, name in enumerate(means.idxmax(axis=1).astype(str)):
        of_best = [name in pair for pair in pairs]
        best.append((name, float(holm(p[:, i])[of_best].max())))
    return best


def corrected(p: FloatArray) -> FloatArray:
    """Holm-corrected p-values of (n_tests, n_families), flat, row by row; NaN without p-values."""
    families = [family if np.isnan(family).any() else holm(family) for family in p.T]
    return np.stack(families, axis=1).ravel()


def pair_table(scores: Mapping[str, FloatArray], seed: int = 0) -> pd.DataFrame:
    """Every pair of systems in one metric, in the order of the systems.

    scores : system -> (n_queries,).

    Returns one row per pair: a, b, difference (of the means, a - b), p and p_holm (randomisation;
    all pairs are one family), p_t and p_t_holm (paired t-test), effect_size (Cohen's d_z),
    detectable (the smallest difference seen with 80 % power), wins, ties, losses (of a).
    """
    pairs = list(combinations(scores, 2))
    if not pairs:
        return pd.DataFrame(columns=list(PAIR_COLUMNS))
    differences = np.stack([scores[a] - scores[b] for a, b in pairs], axis=1)
    p = p_values(differences, seed, tests=len(pairs))
    table = pd.DataFrame(pairs, columns=["a", "b"])
    table = table.assign(difference=differences.mean(axis=0), p=p)
    table = _add_tests(table, differences, p[:, None])
    table = _add_tests_of_one_set(table, differences, len(pairs))
    return table[list(PAIR_COLUMNS)]


def against_placebo(
    per_query: pd.DataFrame, per_seed: pd.DataFrame | None, metric: str
) -> pd.DataFrame:
    """The gain of each graph over its shuffled copies.

    One row per system "strategy.graph" whose placebo "strategy.graph-shuffled" ran under several
    seeds.

    Questions and shufflings are both samples [Clark, J. Verbal Learning and Verbal Behavior 12
    (1973)]: the variance is that of the gain over questions plus that of the mean over shufflings,
    each over their number, and t has Satterthwaite's degrees of freedom [Biometrics Bulletin 2
    (1946)].

    Returns the columns strategy, graph, mean, placebo (mean over questions and shufflings), gain
    (their difference), ci_low and ci_high (95 %), p (two-sided: no gain), p_holm (corrected over
    the rows). Empty without a placebo.

    Raises ValueError: a placebo was shuffled only once, so that its variance is unknown.
    """
    rows = []
    wide = per_query.pivot_table(
        index="query_id", columns="system", values=metric, sort=False
    )
    wide = wide.astype(float)
    for system in wide.columns:
        shuffled = f"{system}{SHUFFLED}"
        if shuffled not in wide.columns or "." not in system:
            continue
        means = _means_of_shufflings(per_seed, shuffled, metric)
        gain = _gain_over((wide[system] - wide[shuffled]).to_numpy(), means)
        strategy, graph = system.split(".", 1)
        rows.append(
            (strategy, graph, wide[system].mean(), wide[shuffled].mean(), *gain, np.nan)
        )
    table = pd.DataFrame(rows, columns=list(PLACEBO_COLUMNS))
    return table.assign(p_holm=holm(table["p"].to_numpy(dtype=np.float64)))


def _means_of_shufflings(
    per_seed: pd.DataFrame | None, system: str, metric: str
) -> FloatArray:
    """(n_shufflings,) the mean of each run over a shuffled graph."""
    means = np.empty(0)
    if per_seed is not None:
        means = per_seed.loc[per_seed["system"] == system, metric].to_numpy(dtype=float)
    if len(means) < 2:
        raise ValueError(
            f"{system!r} ran over one shuffling, so the variance between shufflings is unknown. Pass at least two: a "
            "list of knowledge bases, or --seeds 3."
        )
    return means


def _gain_over(
    differences: FloatArray, shufflings: FloatArray
) -> tuple[float, float, float, float]:
    """Mean, interval and p-value of (n_queries,) differences, with the variance between shufflings.

    `shufflings` has the mean of each placebo, (n_shufflings,).
    """
    from scipy.stats import t

    gain = float(differences.mean())
    variances = np.array(
        [part.var(ddof=1) / len(part) for part in (differences, shufflings)]
    )
    degrees = np.array([len(differences) - 1, len(shufflings) - 1])
    variance = float(variances.sum())
    if variance <= EQUAL**2:
        return gain, gain, gain, float(abs(gain) <= EQUAL)
    freedom = variance**2 / float((variances**2 / degrees).sum())
    error = np.sqrt(variance)
    half = float(t.ppf(0.975, freedom) * error)
    return gain, gain - half, gain + half, float(2 * t.sf(abs(gain) / error, freedom))
