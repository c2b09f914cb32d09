"""Macro-averages: every set counts alike, and tests and intervals are of questions within their sets."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from kg2rag.evaluation.significance import score_table
from kg2rag.evaluation.statistics import interval_of_mean


def scored(**systems: list[float]) -> pd.DataFrame:
    """The scores of each question of one set, as `Comparison.per_query` has them."""
    parts = [
        pd.DataFrame(
            {
                "query_id": [f"q{i}" for i in range(len(scores))],
                "system": name,
                "recall@5": scores,
            }
        )
        for name, scores in systems.items()
    ]
    return pd.concat(parts, ignore_index=True)


def row(table: pd.DataFrame, system: str) -> pd.Series:
    return table.set_index("system").loc[system]


def test_every_set_counts_alike_however_many_questions_it_has() -> None:
    sets = {
        "small": scored(base=[0.0], ours=[1.0]),
        "large": scored(base=[1.0] * 3, ours=[0.0, 0.0, 0.75]),
    }
    table = score_table(sets, ["recall@5"], "base")
    assert row(table, "ours")["mean"] == pytest.approx((1 + 0.25) / 2)
    assert row(table, "base")["mean"] == pytest.approx((0 + 1) / 2)
    assert list(row(table, "ours")[["wins", "ties", "losses"]]) == [1, 0, 3]
    assert row(table, "base")[["p_holm", "wins"]].isna().all()


def test_p_is_that_of_every_way_to_swap_within_the_sets() -> None:
    random = np.random.default_rng(3)
    sizes = (3, 6)
    sets, apart = {}, []
    for size in sizes:
        base, ours = random.integers(0, 4, (2, size)) / 4
        sets[str(size)] = scored(base=list(base), ours=list(ours + 0.25))
        apart.append(ours + 0.25 - base)
    weighed = np.concatenate([one / len(one) for one in apart])
    signs = np.array(list(product((1, -1), repeat=sum(sizes))))
    null, observed = signs @ weighed, weighed.sum()
    slow = min(
        1, 2 * min((null >= observed - 1e-9).mean(), (null <= observed + 1e-9).mean())
    )
    assert row(score_table(sets, ["recall@5"], "base"), "ours")[
        "p_holm"
    ] == pytest.approx(slow)


def test_the_interval_of_a_macro_average_is_that_of_resampling_within_each_set():
    # Sets of means near .2 and .8: drawing questions from both together would add what lies between
    # the sets.
    random = np.random.default_rng(5)
    scores = [random.beta(2, 8, 300), random.beta(8, 2, 150)]
    sets = {str(i): scored(base=list(one)) for i, one in enumerate(scores)}
    found = row(score_table(sets, ["recall@5"], "base"), "base")
    drawn = [random.choice(one, (4000, len(one))).mean(axis=1) for one in scores]
    low, high = np.quantile(np.mean(drawn, axis=0), [0.025, 0.975])
    assert found["ci_low"] == pytest.approx(low, abs=0.001)
    assert found["ci_high"] == pytest.approx(high, abs=0.001)
    together = np.concatenate(scores)
    wide = interval_of_mean(together)
    assert found["ci_high"] - found["ci_low"] < 0.6 * float(wide[1] - wide[0])
