"""A comparison over graphs and their shufflings -> what each graph brings beyond its placebo, and how sure that is.

Questions and shufflings are both samples: other questions, and other shufflings of the same graph, would have given
another gain. Its variance is that of the gain over questions plus that of the mean over shufflings, each over their
number, and t has Satterthwaite's degrees of freedom. Testing over questions alone would take three shufflings for all
there are [Clark, "The Language-as-Fixed-Effect Fallacy", J. Verbal Learning and Verbal Behavior 12 (1973);
Satterthwaite, "An Approximate Distribution of Estimates of Variance Components", Biometrics Bulletin 2 (1946)].
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from kg2rag.evaluation.statistics import EQUAL, holm
from kg2rag.types import FloatArray

COLUMNS = ("strategy", "graph", "mean", "placebo", "gain", "ci_low", "ci_high", "p", "p_holm")
SUFFIX = "-shuffled"
"""What the name of a graph's placebo adds to that of the graph."""


def against_placebo(
    per_query: pd.DataFrame, per_seed: pd.DataFrame | None, metric: str, suffix: str = SUFFIX
) -> pd.DataFrame:
    """One row per system "strategy.graph" that ran over "graph" and over several placebos "graph-shuffled" of it.

    Parameters
    ----------
    per_query, per_seed : the tables of a comparison; see `Comparison`.
    suffix : of the placebos' names.

    Returns
    -------
    Columns strategy, graph, mean, placebo (mean over questions and shufflings), gain (their difference), ci_low and
    ci_high (95 %), p (two-sided: no gain), p_holm (corrected over the rows). Empty where no system has a placebo.

    Raises ValueError: a placebo that was shuffled once only, whose variance is not known.
    """
    rows = []
    wide = per_query.pivot_table(index="query_id", columns="system", values=metric, sort=False)
    for system in wide.columns:
        if f"{system}{suffix}" not in wide.columns or "." not in system:
            continue
        runs = _means_of_runs(per_seed, f"{system}{suffix}", metric)
        strategy, graph = system.split(".", 1)
        real, placebo = (wide[name].to_numpy(dtype=np.float64) for name in (system, f"{system}{suffix}"))
        rows.append((strategy, graph, real.mean(), placebo.mean(), *_gain(real - placebo, runs), np.nan))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.assign(p_holm=holm(table["p"].to_numpy(dtype=np.float64)))


def _means_of_runs(per_seed: pd.DataFrame | None, system: str, metric: str) -> FloatArray:
    found = None if per_seed is None else per_seed.loc[per_seed["system"] == system, metric]
    if found is None or len(found) < 2:
        raise ValueError(
            f"{system!r} is one shuffling, so nothing is known of how shufflings differ. Pass at least two: a list of "
            "knowledge bases, or --seeds 3."
        )
    return found.to_numpy(dtype=np.float64)


def _gain(difference: FloatArray, runs: FloatArray) -> tuple[float, float, float, float]:
    """The mean of (n_queries,) differences with its interval and p, given (n_shufflings,) means of the placebo."""
    from scipy.stats import t

    gain = float(difference.mean())
    parts = [(sample.var(ddof=1) / len(sample), len(sample) - 1) for sample in (difference, runs)]
    variance = sum(part for part, _ in parts)
    if variance <= EQUAL**2:
        return gain, gain, gain, 1.0 if abs(gain) <= EQUAL else 0.0
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts)
    error = np.sqrt(variance)
    half = float(t.ppf(0.975, freedom) * error)
    return gain, gain - half, gain + half, float(2 * t.sf(abs(gain) / error, freedom))
