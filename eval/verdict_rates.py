"""Simulated recalls -> how often `Comparison.verdict` is wrong, with one plain system and with several.

    python eval/verdict_rates.py

All systems share the difficulty of a question, and recalls are 0, 1/2 or 1. The plain systems are
equally good. "no" is wrong if the graph system gains exactly `min_gain`, the smallest gain of
interest; "yes" is wrong if it gains nothing. Both rates should be at most 2.5 %. "one level for
both ends" corrects both ends of the interval for the number of graph systems only; the verdict
corrects its upper end for the number of plain systems.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from kg2rag.evaluation.statistics import (
    LEVEL,
    RESAMPLES,
    interval_of_difference,
    p_values,
)

MIN_GAIN = 0.05
DRAWS = 1_000
RESOLUTION = 200_000
"""Simulated questions for the level of a gain."""


def recalls(rng: np.random.Generator, n: int, levels: np.ndarray) -> np.ndarray:
    """(n, n_systems) recalls of systems with these levels."""
    difficulty = rng.normal(size=(n, 1))
    return (
        np.digitize(
            difficulty + rng.normal(size=(n, len(levels))) + levels, [-0.7, 0.7]
        )
        / 2
    )


def level_of_gain(gain: float) -> float:
    """The level of a system whose mean recall exceeds that of level 0 by `gain`, by bisection; 0 for no gain."""
    if not gain:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        means = recalls(
            np.random.default_rng(0), RESOLUTION, np.array([0.0, middle])
        ).mean(axis=0)
        if means[1] - means[0] < gain:
            low = middle
        else:
            high = middle
    return high


def upper_and_lower_ends(
    differences: np.ndarray, low_level: float, high_level: float
) -> tuple[np.ndarray, np.ndarray]:
    """`interval_of_difference` of each row of (n_draws, n) differences, with equal random subsets; (n_draws,) each."""
    n = differences.shape[1]
    rng = np.random.default_rng(0)
    chosen = np.concatenate(
        [rng.integers(0, 2, (RESAMPLES // 20, n)) for _ in range(20)]
    ).astype(np.float32)
    means = (differences.astype(np.float32) @ chosen.T) / chosen.sum(axis=1)
    low = np.quantile(means, low_level / 2, axis=1)
    high = np.quantile(means, 1 - high_level / 2, axis=1)
    mean = differences.mean(axis=1)
    low = np.minimum(low, mean - (1 - (low_level / 2) ** (1 / n)) * (1 + mean))
    high = np.maximum(high, mean + (1 - (high_level / 2) ** (1 / n)) * (1 - mean))
    expected = interval_of_difference(
        differences[0], low_level=low_level, high_level=high_level
    )
    assert np.allclose((low[0], high[0]), expected, atol=1e-5)
    return low, high


def rates(n: int, plains: int, graphs: int, gain: float) -> dict[str, float]:
    """The shares of draws with each verdict."""
    rng = np.random.default_rng(0)
    levels = np.concatenate([np.full(graphs, level_of_gain(gain)), np.zeros(plains)])
    differences = np.empty((DRAWS, n))
    for draw in range(DRAWS):
        scores = recalls(rng, n, levels)
        graph = scores[:, :graphs].mean(axis=0).argmax()
        plain = graphs + scores[:, graphs:].mean(axis=0).argmax()
        differences[draw] = scores[:, graph] - scores[:, plain]
    _, one_level_high = upper_and_lower_ends(
        differences, LEVEL / graphs, LEVEL / graphs
    )
    low, high = upper_and_lower_ends(differences, LEVEL / graphs, LEVEL / plains)
    p = graphs * p_values(differences.T, tests=graphs)
    no = high < MIN_GAIN
    yes = ~no & (low > 0) & (p < LEVEL)
    return {
        "no, one level for both ends": float((one_level_high < MIN_GAIN).mean()),
        "no": float(no.mean()),
        "yes": float(yes.mean()),
    }


def main() -> None:
    """Print one row per numbers of questions and systems."""
    rows = []
    for gain, n, (plains, graphs) in product(
        (MIN_GAIN, 0.0), (100, 400), ((1, 1), (3, 1), (5, 1), (3, 3))
    ):
        shares = {
            name: f"{100 * share:.1f} %"
            for name, share in rates(n, plains, graphs, gain).items()
        }
        rows.append(
            {"questions": n, "plain": plains, "graph": graphs, "gain": gain, **shares}
        )
    print(pd.DataFrame(rows).to_string(index=False))


if __name__ == "__main__":
    main()
