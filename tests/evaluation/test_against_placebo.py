"""A graph against its shufflings: by hand, and by simulation with shufflings that differ."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, t

from kg2rag.evaluation.significance import against_placebo


def tables(real: np.ndarray, placebo: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`per_query` and `per_seed` of a comparison: (n_queries,) and (n_shufflings, n_queries) scores."""
    ids = [f"q{i}" for i in range(len(real))]
    parts = {"walk.graph": real, "walk.graph-shuffled": placebo.mean(axis=0)}
    per_query = [
        pd.DataFrame({"query_id": ids, "system": name, "recall@5": scores})
        for name, scores in parts.items()
    ]
    means = placebo.mean(axis=1)
    per_seed = pd.DataFrame(
        {
            "system": "walk.graph-shuffled",
            "run": range(1, len(means) + 1),
            "recall@5": means,
        }
    )
    return pd.concat(per_query, ignore_index=True), per_seed


def test_by_hand():
    # Shufflings score .2 and .4 on every question, the graph .5 and .9: gains .2 and .6, mean .4.
    # Variance over questions .08 / 2, over shufflings .02 / 2; freedom .05^2 / (.04^2 / 1 + .01^2 /
    # 1).
    [row] = against_placebo(
        *tables(np.array([0.5, 0.9]), np.array([[0.2, 0.2], [0.4, 0.4]])), "recall@5"
    ).to_dict("records")
    assert (row["strategy"], row["graph"]) == ("walk", "graph")
    assert [row["mean"], row["placebo"], row["gain"]] == pytest.approx([0.7, 0.3, 0.4])
    freedom, error = 0.05**2 / (0.04**2 + 0.01**2), 0.05**0.5
    assert row["p"] == row["p_holm"] == pytest.approx(2 * t.sf(0.4 / error, freedom))
    assert row["ci_high"] - row["gain"] == pytest.approx(t.ppf(0.975, freedom) * error)
    assert row["gain"] - row["ci_low"] == pytest.approx(row["ci_high"] - row["gain"])


def rejected(spread: float, *, of_shufflings: bool) -> int:
    """In how many of 300 comparisons without a gain one is found; shufflings differ by `spread` on all questions."""
    from scipy.stats import ttest_1samp

    rng, found = np.random.default_rng(7), 0
    for _ in range(300):
        hard = rng.normal(size=80)
        real = hard + rng.normal(0, 0.5, 80) + rng.normal(0, spread)
        placebo = hard + rng.normal(0, 0.5, (3, 80)) + rng.normal(0, spread, (3, 1))
        if of_shufflings:
            p = against_placebo(*tables(real, placebo), "recall@5")["p"].item()
        else:
            p = ttest_1samp(real - placebo.mean(axis=0), 0).pvalue
        found += p < 0.05
    return found


def test_without_a_gain_one_is_found_in_at_most_5_per_cent_where_a_test_over_questions_alone_finds_more():
    most = int(binom.ppf(0.999, 300, 0.05))
    assert rejected(0.0, of_shufflings=True) <= most
    # the graph is one draw of the same kind as its shufflings, here, and neither knows anything
    alone = rejected(0.2, of_shufflings=False)
    assert alone > 3 * most
    assert rejected(0.2, of_shufflings=True) < alone / 2


def test_one_shuffling_is_too_few_and_without_any_there_is_no_row():
    per_query, per_seed = tables(
        np.array([0.5, 0.9]), np.array([[0.2, 0.2], [0.4, 0.4]])
    )
    for few in (per_seed.iloc[:1], None):
        with pytest.raises(ValueError, match=r"'walk\.graph-shuffled'"):
            against_placebo(per_query, few, "recall@5")
    assert against_placebo(
        per_query[per_query["system"] == "walk.graph"], per_seed, "recall@5"
    ).empty
