"""Effect ratios and the order of systems, worked out by hand."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from kg2rag.experiments.reproduction.effects import COLUMNS, effect_ratio, effects


def table(theirs: dict[str, float], ours: dict[str, float], baseline: str = "BM25") -> pd.DataFrame:
    about = {"ledger": "paper", "baseline": baseline, "set": "A", "metric": "recall@5"}
    return pd.DataFrame([{**about, "published": name, "theirs": theirs[name], "ours": ours[name]} for name in theirs])


def test_the_effect_ratio_is_our_gain_over_theirs() -> None:
    assert effect_ratio(theirs=8.0, ours=6.0) == 0.75
    assert effect_ratio(theirs=8.0, ours=-2.0) == -0.25
    assert effect_ratio(theirs=-2.0, ours=-3.0) == 1.5
    assert math.isnan(effect_ratio(theirs=0.0, ours=1.0))


def test_gains_ratios_and_order_by_hand() -> None:
    frame = effects(
        table(
            {"BM25": 40, "Dense": 50, "Graph": 60, "Both": 70},  # in this order; ours have Dense and Graph exchanged
            {"BM25": 30, "Dense": 45, "Graph": 40, "Both": 60},
        )
    ).set_index("system")
    assert list(frame["their gain"]) == [10, 20, 30]
    assert list(frame["our gain"]) == [15, 10, 30]
    assert list(frame["effect ratio"]) == [1.5, 0.5, 1.0]
    assert set(frame["systems"]) == {4}
    assert list(frame["tau"]) == pytest.approx([4 / 6] * 3)  # of 6 pairs, 5 agree and 1 does not


def test_two_systems_have_a_ratio_and_no_order() -> None:
    frame = effects(table({"BM25": 40, "Dense": 50}, {"BM25": 30, "Dense": 45}))
    assert list(frame["effect ratio"]) == [1.5]
    assert frame["tau"].isna().all()


@pytest.mark.parametrize("names", [["BM25"], ["Dense", "Graph"]])
def test_without_a_baseline_and_another_there_is_no_effect(names: list[str]) -> None:
    numbers = dict.fromkeys(names, 40.0)
    frame = effects(table(numbers, numbers))
    assert frame.empty
    assert list(frame) == list(COLUMNS)
