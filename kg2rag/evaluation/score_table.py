"""Scores per question -> means, intervals, every system tested against the baseline, break-downs, differences.

`pairs.py` tests every pair; what is printed how is left to `kg2rag.report`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations, product
from typing import Literal, get_args

import numpy as np
import pandas as pd

from kg2rag.compute import map_pieces
from kg2rag.evaluation.intervals import interval_of_mean
from kg2rag.evaluation.metric_names import bounds
from kg2rag.evaluation.pairs import corrected, p_of_best, randomised_pairs, t_test
from kg2rag.evaluation.per_question import EQUAL
from kg2rag.evaluation.power import detectable_difference
from kg2rag.evaluation.said import said_by
from kg2rag.evaluation.significance import resamples_for, win_tie_loss
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
    alone and among up to `MANY` systems (see `pairs.p_of_best`), and seed_sd, the standard deviation of the mean
    between seeds (see `replicates`).

    Holm's correction runs over all systems but the baseline, within a metric or, with `family="all"`, over all metrics
    together: for a claim that rests on several. With `clustered`, questions that share gold are resampled together.
    """
    systems = list(dict.fromkeys(per_query["system"]))
    values = {
        name: per_query.loc[per_query["system"] == name, list(metrics)].to_numpy(dtype=np.float64) for name in systems
    }
    groups = per_query.loc[per_query["system"] == systems[0], "cluster"].to_numpy() if clustered else None
    low, high = _intervals(values, metrics, seed, groups)
    frame = pd.DataFrame(product(systems, metrics), columns=["system", "metric"])
    frame = frame.assign(mean=np.concatenate([values[name].mean(axis=0) for name in systems]), ci_low=low, ci_high=high)
    everyone = 1 < len(systems) <= MANY
    others = [name for name in systems if name != baseline]
    pairs = list(combinations(systems, 2)) if everyone else [(baseline, name) for name in others]
    drawn = resamples_for(len(others) * (len(metrics) if family == "all" else 1))
    p = randomised_pairs(values, pairs, seed, drawn, groups) if pairs else np.empty((0, len(metrics)))
    tests = _against(values, metrics, baseline, p[[baseline in pair for pair in pairs]], family, groups)
    frame = frame.merge(tests, on=["system", "metric"], how="left", sort=False)
    frame["p_best"] = np.nan
    for metric, (name, p_best) in zip(metrics, p_of_best(values, pairs, p) if everyone else [], strict=everyone):
        frame.loc[(frame["system"] == name) & (frame["metric"] == metric), "p_best"] = p_best
    frame["seed_sd"] = _spread(frame, per_seed)
    return frame.astype(dict.fromkeys(COUNTS, "Int64"))


def _intervals(
    values: Mapping[str, FloatArray], metrics: Sequence[str], seed: int, groups: IntArray | None
) -> tuple[FloatArray, FloatArray]:
    """In the order (system, metric)."""
    table = np.stack(list(values.values()), axis=1)  # (n_queries, n_systems, n_metrics)
    pieces = [(table[:, :, at], bounds(name)) for at, name in enumerate(metrics)]
    found = list(map_pieces(partial(_interval, groups=groups, seed=seed), pieces))
    low, high = np.stack(found, axis=-1)
    return low.ravel(), high.ravel()


def _interval(
    of: tuple[FloatArray, tuple[float, float] | None], groups: IntArray | None, seed: int
) -> tuple[FloatArray, FloatArray]:
    return interval_of_mean(of[0], bounds=of[1], groups=groups, seed=seed)


def _against(
    values: Mapping[str, FloatArray],
    metrics: Sequence[str],
    baseline: str,
    p: FloatArray,
    family: Family,
    groups: IntArray | None,
) -> pd.DataFrame:
    """The tests of all systems but the baseline, one row per system and metric; `p`: uncorrected, a row per system."""
    columns = ["system", "metric", "p_holm", *COUNTS, *TESTS[:3]]
    others = [name for name in values if name != baseline]
    if not others:
        return pd.DataFrame(columns=columns).astype(dict.fromkeys(columns[2:], float))
    first = np.concatenate([values[name] for name in others], axis=1)
    second = np.tile(values[baseline], len(others))
    p_t, effect = t_test(first, second, groups)
    frame = pd.DataFrame(product(others, metrics), columns=columns[:2])
    each = len(metrics) if family == "metric" else 1
    frame["p_holm"] = corrected_by_family(p.ravel(), each)
    frame[list(COUNTS)] = [win_tie_loss(first[:, i], second[:, i]) for i in range(first.shape[1])]
    frame["p_t_holm"] = corrected_by_family(p_t, each)
    frame["effect_size"] = effect
    frame["detectable"] = detectable_difference(first, second, first.shape[1] // each)
    return frame


def corrected_by_family(p: FloatArray, families: int) -> FloatArray:
    """Holm's correction of p-values in the order (system, metric): as many families as metrics, or one over all."""
    return np.stack([corrected(family) for family in p.reshape(-1, families).T], axis=1).ravel()


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
