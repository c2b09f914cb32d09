"""Scores per question -> means, intervals and tests: against a baseline, of all pairs, of placebos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
"""The other columns of a score table that may be blank."""
COLUMNS = ("system", "metric", "mean", "ci_low", "ci_high", "p_holm", *COUNTS, *TESTS)
PAIR_COLUMNS = tuple(
    "a b difference p p_holm p_t p_t_holm effect_size detectable wins ties losses".split()
)
PLACEBO_COLUMNS = tuple(
    "strategy graph mean placebo gain ci_low ci_high p p_holm".split()
)
SHUFFLED = "-shuffled"
"""Suffix of a placebo: the system "dense.mentions-shuffled" reads the shuffled graph of "dense.mentions"."""


def score_table(
    per_query: pd.DataFrame | Mapping[str, pd.DataFrame],
    metrics: Sequence[str],
    baseline: str,
    per_seed: pd.DataFrame | None = None,
    *,
    seed: int = 0,
) -> pd.DataFrame:
    """A table of means, intervals and tests with one row per system and metric.

    Parameters
    ----------
    per_query : one row per system and question, as in `ScoredRuns`; or data set -> such a frame, of
        the same systems, for the macro-average, an unweighted mean over the sets. The test of a
        macro-average swaps the two systems on each question of each set, weighted so that every set
        counts equally; p_t_holm, effect_size, detectable and seed_sd, which are defined for a
        single set, are blank. A question without a score (NaN) for some system is left out of that
        metric for all systems.
    per_seed : one row per system and seed, as in `ScoredRuns`; None for runs of a single seed.
    seed : seed of the bootstrap and of tests by random swaps.

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
        _comparison_table(frames, systems, group, baseline, seed)
        for group in _metrics_by_questions(frames, metrics)
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


def _metrics_by_questions(
    frames: Sequence[pd.DataFrame], metrics: Sequence[str]
) -> list[list[str]]:
    """Lists of metrics that are scored on the same questions.

    The first list has the metrics in which every question has a score; each further list has one of
    the other metrics.
    """
    complete = [
        metric
        for metric in metrics
        if not any(frame[metric].isna().any() for frame in frames)
    ]
    groups = [[metric] for metric in metrics if metric not in complete]
    return [complete, *groups] if complete else groups


def _comparison_table(
    frames: Sequence[pd.DataFrame],
    systems: Sequence[str],
    metrics: list[str],
    baseline: str,
    seed: int,
) -> pd.DataFrame:
    """One row per system and metric: mean, interval, and tests against the baseline.

    frames : one frame per data set.
    metrics : one list of `_metrics_by_questions`.
    """
    arrays = [_score_array(frame, systems, metrics) for frame in frames]
    table = _means_and_intervals(arrays, systems, metrics, seed)
    if len(systems) == 1:
        return table
    weighted = _weighted_scores(arrays, systems)
    pairs, p = _test_pairs(weighted, baseline, seed)
    others = [name for name in systems if name != baseline]
    differences = [weighted[name] - weighted[baseline] for name in others]
    differences_of_rows = np.concatenate(differences, axis=1)
    tests = pd.DataFrame(product(others, metrics), columns=["system", "metric"])
    has_baseline = [baseline in pair for pair in pairs]
    tests = _with_tests(tests, differences_of_rows, p[has_baseline])
    if len(arrays) == 1:
        tests = _with_tests_of_one_set(tests, differences_of_rows, len(others))
    table = table.merge(tests, on=["system", "metric"], how="left", sort=False)
    if len(systems) <= MAX_SYSTEMS_FOR_BEST:
        table = _with_p_of_best(table, metrics, p_of_best(weighted, pairs, p))
    return table


def _score_array(
    frame: pd.DataFrame, systems: Sequence[str], metrics: list[str]
) -> FloatArray:
    """The scores (n_systems, n_questions, n_metrics) of the questions scored for every system."""
    blank = frame.loc[frame[metrics].isna().any(axis=1), "query_id"]
    frame = frame[~frame["query_id"].isin(blank)]
    return np.stack(
        [
            frame.loc[frame["system"] == name, metrics].to_numpy(dtype=np.float64)
            for name in systems
        ]
    )


def _means_and_intervals(
    arrays: Sequence[FloatArray],
    systems: Sequence[str],
    metrics: Sequence[str],
    seed: int,
) -> pd.DataFrame:
    """One row per system and metric: the mean over the sets, and the ends of its interval."""
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
    """The mean over sets, and the lower and the upper end of its interval, (n_systems,) each.

    scores : an array (n_systems, n_questions) per set.
    limits : the range of the metric; None if it has none.
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
    """System -> weighted scores (n_questions of all sets, n_metrics).

    The weight of a set is inverse to its size, so that the mean over all rows is the macro-average.
    """
    mean_size = sum(array.shape[1] for array in arrays) / len(arrays)
    weighted = [array * (mean_size / array.shape[1]) for array in arrays]
    return dict(zip(systems, np.concatenate(weighted, axis=1), strict=True))


def _test_pairs(
    scores: Mapping[str, FloatArray], baseline: str, seed: int
) -> tuple[list[tuple[str, str]], FloatArray]:
    """The tested pairs of systems, and their p-values (n_pairs, n_metrics).

    Up to `MAX_SYSTEMS_FOR_BEST` systems are tested in all pairs, more of them only against the
    baseline.
    """
    pairs = list(combinations(scores, 2))
    if len(scores) > MAX_SYSTEMS_FOR_BEST:
        pairs = [(baseline, name) for name in scores if name != baseline]
    differences = np.concatenate([scores[a] - scores[b] for a, b in pairs], axis=1)
    p = p_values(differences, seed, tests=len(scores) - 1)
    return pairs, p.reshape(len(pairs), -1)


def _with_tests(
    table: pd.DataFrame, differences: FloatArray, p: FloatArray
) -> pd.DataFrame:
    """The table with the columns p_holm, wins, ties and losses.

    differences : (n_questions, n_rows), one column per row of the table.
    p : uncorrected p-values (n_tests, n_families); its cells, row by row, are those of the table.
    """
    table = table.assign(p_holm=holm_by_family(p))
    table[list(COUNTS)] = win_tie_loss(differences)
    return table


def _with_tests_of_one_set(
    table: pd.DataFrame, differences: FloatArray, n_tests: int
) -> pd.DataFrame:
    """The table with the columns p_t, p_t_holm, effect_size and detectable, for a single data set.

    differences : (n_questions, n_rows), one column per row of the table.
    n_tests : the number of tests in a family.
    """
    p_t, effect_size = t_test(differences)
    return table.assign(
        p_t=p_t,
        p_t_holm=holm_by_family(p_t.reshape(n_tests, -1)),
        effect_size=effect_size,
        detectable=detectable_difference(differences, n_tests),
    )


def _with_p_of_best(
    table: pd.DataFrame, metrics: Sequence[str], best: Sequence[tuple[str, float]]
) -> pd.DataFrame:
    """The table with a column `p_best`, filled in the row of the best system of each metric.

    best : the result of `p_of_best`.
    """
    table = table.assign(p_best=np.nan)
    for metric, (name, p_best) in zip(metrics, best, strict=True):
        is_best = (table["system"] == name) & (table["metric"] == metric)
        table.loc[is_best, "p_best"] = p_best
    return table


def win_tie_loss(differences: FloatArray) -> IntArray:
    """The numbers of queries with a difference above, equal to and below 0, (n_columns, 3).

    Differences up to `EQUAL` count as 0.

    differences : (n_queries, n_columns).
    """
    wins = (differences > EQUAL).sum(axis=0)
    losses = (differences < -EQUAL).sum(axis=0)
    ties = len(differences) - wins - losses
    return np.stack([wins, ties, losses], axis=1)


def p_of_best(
    scores: Mapping[str, FloatArray], pairs: list[tuple[str, str]], p: FloatArray
) -> list[tuple[str, float]]:
    """For each metric, the system with the highest mean, and its p-value.

    The null hypothesis is that some other system is as good, so p is the largest of the pairs of
    the best system. Holm's correction covers all pairs, since the best system was selected from the
    same data.

    scores : system -> (n_queries, n_metrics).
    p : (n_pairs, n_metrics) uncorrected p-values.
    """
    means = pd.DataFrame({name: array.mean(axis=0) for name, array in scores.items()})
    best = []
    for i, name in enumerate(means.idxmax(axis=1).astype(str)):
        has_best = [name in pair for pair in pairs]
        best.append((name, float(holm(p[:, i])[has_best].max())))
    return best


def holm_by_family(p: FloatArray) -> FloatArray:
    """The p-values (n_tests, n_families), corrected in each family, as a flat array row by row.

    A family with a NaN stays as it is.
    """
    families = [family if np.isnan(family).any() else holm(family) for family in p.T]
    return np.stack(families, axis=1).ravel()


def pair_table(scores: Mapping[str, FloatArray], seed: int = 0) -> pd.DataFrame:
    """The tests of every pair of systems in one metric, in the order of the systems.

    scores : system -> (n_queries,).

    Returns one row per pair: a, b, difference (of the means, a - b), p and p_holm (randomisation
    test; all pairs are one family), p_t and p_t_holm (paired t-test), effect_size (Cohen's d_z),
    detectable (the smallest difference detected with 80 % power), wins, ties, losses (of a).
    """
    pairs = list(combinations(scores, 2))
    if not pairs:
        return pd.DataFrame(columns=list(PAIR_COLUMNS))
    differences = np.stack([scores[a] - scores[b] for a, b in pairs], axis=1)
    p = p_values(differences, seed, tests=len(pairs))
    table = pd.DataFrame(pairs, columns=["a", "b"])
    table = table.assign(difference=differences.mean(axis=0), p=p)
    table = _with_tests(table, differences, p[:, None])
    table = _with_tests_of_one_set(table, differences, len(pairs))
    return table[list(PAIR_COLUMNS)]


def against_placebo(
    per_query: pd.DataFrame, per_seed: pd.DataFrame | None, metric: str
) -> pd.DataFrame:
    """The gain of each graph over its shuffled copies, its placebos.

    The table has one row per system "strategy.graph" whose placebo "strategy.graph-shuffled" ran
    under several seeds; it is empty without placebos. Its columns are strategy, graph, mean,
    placebo (the mean over questions and shufflings), gain (mean - placebo), ci_low and ci_high
    (95 %), p (two-sided test of gain 0) and p_holm (corrected over the rows).

    Questions and shufflings are both samples [Clark, J. Verbal Learning and Verbal Behavior 12
    (1973)], see `_gain_over`.

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
    """The mean score of each run over a shuffled graph, (n_shufflings,).

    ValueError: there are fewer than two runs.
    """
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
    """The mean gain, the lower and the upper end of its 95 % interval, and its p-value.

    The variance of the gain is the variance between questions over their number plus the variance
    between shufflings over theirs; t has Satterthwaite's degrees of freedom [Biometrics Bulletin 2
    (1946)].

    differences : (n_queries,), a system's score less the mean score of its placebos.
    shufflings : (n_shufflings,), the mean score of each placebo.
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
