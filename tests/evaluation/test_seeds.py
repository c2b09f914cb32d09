from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from kg2rag.evaluation import Comparison, compare


@dataclass(frozen=True)
class Lucky:
    """Finds q1's first gold passage under even seeds, both under odd ones."""

    fixed: Callable[..., object] = field(repr=False)
    seed: int = 0

    def retrieve_batch(self, queries, k):
        return self.fixed(q1="p0 p1" if self.seed % 2 else "p0 p9").retrieve_batch(
            queries, k
        )


@pytest.fixture
def dense(fixed):
    return fixed(q1="p0 p9", q2="p3 p2", q3="p4 p6")


def test_several_seeds_are_one_row_with_their_mean_and_spread(
    dense, data, fixed, tmp_path
):
    runs = [Lucky(fixed, seed) for seed in range(4)]
    result = compare(
        {"dense": dense, "lucky": runs}, data, metrics=["recall@2", "mrr@10"], k=10
    )
    scores = result.scores.set_index(["system", "metric"])
    found = scores.loc[("lucky", "recall@2")]
    # q1: 1/2, 1, 1/2, 1, the other two questions 0; so the means are 1/6 and 1/3.
    assert found["mean"] == pytest.approx(0.75 / 3)
    assert found["seed_sd"] == pytest.approx(
        np.std([1 / 6, 1 / 3, 1 / 6, 1 / 3], ddof=1)
    )
    assert np.isnan(scores.loc[("dense", "recall@2"), "seed_sd"])
    # the mean of q1, .75, against .5
    assert (found["wins"], found["ties"], found["losses"]) == (1, 0, 2)
    assert result.config["seeds"] == {
        "lucky": [f"Lucky(seed={seed})" for seed in range(4)]
    }
    assert result.per_seed["mrr@10"].tolist() == [1 / 3] * 4
    result.save(tmp_path)
    loaded = Comparison.load(tmp_path)
    assert loaded.to_markdown() == result.to_markdown()
    assert "± 9.6" in loaded.to_markdown()


def test_seeds_must_differ(dense, data, fixed):
    with pytest.raises(ValueError, match="lucky"):
        compare({"lucky": [Lucky(fixed), Lucky(fixed)]}, data, metrics=["mrr"])
