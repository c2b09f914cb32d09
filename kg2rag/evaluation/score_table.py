"""Scores per question -> means, intervals, systems tested against the baseline and in pairs, break-downs, differences.

What is printed how is left to `kg2rag.report`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Literal, get_args

import numpy as np
import pandas as pd

from kg2rag.evaluation.metric_names import bounds
from kg2rag.evaluation.said import said_by
from kg2rag.evaluation.statistics import (
    EQUAL,
    by_group,
    corrected,
    detectable_difference,
    holm,
    interval_of_mean,
    p_of_best,
    p_values,
    t_test,
    win_tie_loss,
)
from kg2rag.types import FloatArray, IntArray, QADataset, Ranking

Group = Literal["type", "hops", "gold"]
GROUPS: tuple[Group, ...] = get_args(Group)
Family = Literal["metric", "all"]
FAMILIES: tuple[Family, ...] = get_args(Family)
ABOUT = ("query_id", "system", "type", "hops", "gold", "cluster", "question", "said")
"""The columns of `Comparison.per_query` that are not metrics."""
MANY = 20
"""With more systems than this no best one is determined: it would need a test of every pair."""
COUNTS = ("wins", "ties", "losses")
TESTS = ("p_t_holm", "effect_size", "detectable", "p_best", "seed_sd")
"""Further columns that may be blank."""
COLUMNS = ("system", "metric", "mean", "ci_low", "ci_high", "p_holm", *COUNTS, *TESTS)


def per_query_table(
    frames: Mapping[str, pd.DataFrame],
    data: QADataset,
    metrics: Sequence[str],
    rankings: Mapping[str, Sequence[Ranking]],
) -> pd.DataFrame:
    """One row per system and question.

    Columns query_id, system, type, hops, gold (how many), cluster (a number that questions share where they share gold,
    directly or through others), question, said (what the system's ranking says of the query, see `said_by`), then the
    metrics.
    """
    about = pd.DataFrame(
        {
            "query_id": [question.id for question in data.questions],
            "type": [question.type for question in data.questions],
            "hops": pd.array([question.hops for question in data.questions], dtype="Int64"),
            "gold": pd.array([len(question.gold) for question in data.questions], dtype="Int64"),
            "cluster": sharing_gold(data),
            "question": [question.text for question in data.questions],
        }
    )
    parts = []
    for name, frame in frames.items():
        part = pd.concat([about, frame[list(metrics)].reset_index(drop=True)], axis=1)
        part.insert(1, "system", name)
        part.insert(list(part.columns).index("question") + 1, "said", [said_by(one) for one in rankings[name]])
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def sharing_gold(data: QADataset) -> IntArray:
    """A number for each question, the same for two that have a gold passage in common, directly or through others."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    rows = np.repeat(np.arange(len(data)), [len(question.gold) for question in data.questions])
    ids = [id_ for question in data.questions for id_ in question.gold]
    _, columns = np.unique(np.array(ids, dtype=object), return_inverse=True)
    member = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(data), int(columns.max(initial=-1)) + 1))
    number: IntArray = connected_components(member @ member.T, directed=False)[1]
    return number


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


def grouped_means(per_query: pd.DataFrame, column: Group, metrics: Sequence[str]) -> pd.DataFrame:
    """Means within each value of a column: index (group, system), `n`, then the metrics; blanks are "unknown"."""
    if column not in GROUPS:
        raise ValueError(f"Questions are grouped by {', '.join(map(repr, GROUPS))}, not by {column!r}.")
    named = per_query[column].astype("string").fillna("").replace("", "unknown").astype(object)
    grouped = per_query.assign(**{column: named}).groupby([column, "system"], sort=False)
    frame = grouped[list(metrics)].mean()
    frame.insert(0, "n", grouped.size())
    # Numbers by their size, 2 before 10, then words.
    groups = sorted(named.unique(), key=lambda group: (not group.isdigit(), group.isdigit() and int(group), group))
    systems = list(dict.fromkeys(per_query["system"]))
    places = [range(len(groups)), range(len(systems))]
    # Levels in this order, which `unstack` keeps; those that pandas makes are in the order of the questions.
    index = pd.MultiIndex.from_product(places, names=[column, "system"]).set_levels([groups, systems])
    return frame.loc[index].set_axis(index)


def says_anything(per_query: pd.DataFrame, column: Group) -> bool:
    """Whether a column has at least two groups."""
    return len(set(per_query[column].astype("string").fillna(""))) > 1


def largest_differences(
    per_query: pd.DataFrame, metric: str, baseline: str, limit: int, system: str | None = None
) -> pd.DataFrame:
    """Columns query_id, question, system, score, baseline, difference; largest difference first, none of 0.

    Of equally large ones each system shows one before any shows a second, in the order of systems and questions.
    `system` : its questions alone.
    """
    frame = per_query[["query_id", "question", "system"]].assign(score=per_query[metric])
    reference = frame[frame["system"] == baseline].set_index("query_id")["score"]
    frame = frame[frame["system"] != baseline if system is None else frame["system"] == system]
    frame = frame.assign(baseline=frame["query_id"].map(reference).astype(float))
    frame["difference"] = frame["score"] - frame["baseline"]
    frame = frame[frame["difference"].abs() > EQUAL].assign(size=lambda rows: rows["difference"].abs().round(9))
    turn = frame.groupby(["size", "system"], sort=False).cumcount()
    frame = frame.assign(turn=turn).sort_values(["size", "turn"], ascending=[False, True], kind="stable")
    return frame.drop(columns=["size", "turn"]).head(limit).reset_index(drop=True)
