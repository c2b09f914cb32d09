"""The rules of `dynamic_hybrid` on the labelled queries: the table of `eval/results` is what they do."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "eval"))

from query_kinds import LABELLED, read_labelled, recognised, table  # noqa: E402

TYPES = {"conceptual", "identifier", "relationship", "fuzzy", "mixed"}


def test_half_of_the_queries_of_each_kind_are_held_out() -> None:
    labelled = read_labelled()
    counts = pd.crosstab(labelled["kind"], labelled["split"])
    assert set(counts.index) == TYPES
    assert len(labelled) >= 200
    assert not labelled["query"].duplicated().any()
    assert (counts["dev"] - counts["test"]).abs().max() <= 1


def test_only_misspelt_queries_say_what_they_mean() -> None:
    labelled = read_labelled()
    assert ((labelled["means"] != "") == (labelled["kind"] == "fuzzy")).all()


def test_the_committed_table_is_what_the_rules_do() -> None:
    kept = pd.read_csv(LABELLED.parent / "results" / "query_kinds.csv")
    labelled = read_labelled()
    made = table(labelled, recognised(labelled), "after")
    pd.testing.assert_frame_equal(kept[kept["rules"] == "after"].reset_index(drop=True), made)
