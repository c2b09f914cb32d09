"""How many questions, how noisy their differences -> the smallest difference that would probably be seen.

Power of the paired t-test, by statsmodels; the randomisation test's is about the same (Smucker, Allan & Carterette,
CIKM 2007). Method: Cohen, "Statistical Power Analysis for the Behavioral Sciences", 2nd ed. (1988), Sec. 2.3 to 2.5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kg2rag.types.arrays import FloatArray

LEVEL = 0.05
"""The chance of a false finding that is accepted within a family of tests."""
POWER = 0.80
"""The chance of seeing a difference that is there: the convention of Cohen (1988)."""


def detectable_effect(n_queries: int, tests: int = 1, *, level: float = LEVEL, power: float = POWER) -> float:
    """The smallest effect (Cohen's d_z) that a two-sided paired t-test over `n_queries` sees with that power.

    Parameters
    ----------
    tests : in the family; the level is divided by it, as for the smallest p-value of Holm's correction.

    Returns
    -------
    Above 0; NaN where there are too few queries for statsmodels to find one (below about five).
    """
    from statsmodels.stats.power import TTestPower

    if n_queries < 2:
        return float("nan")
    test, alpha = TTestPower(), level / max(tests, 1)
    effect = float(test.solve_power(nobs=n_queries, alpha=alpha, power=power, alternative="two-sided"))
    # Where its search fails, solve_power returns a bound of it as if it were the solution.
    solved = abs(float(test.power(effect, n_queries, alpha)) - power) < 1e-3
    return effect if solved else float("nan")


def detectable_difference(a: ArrayLike, b: ArrayLike, tests: int = 1) -> FloatArray:
    """The smallest difference of means that these questions would probably show, given how much a - b varies.

    Parameters
    ----------
    a, b : (n_queries,) or (n_queries, n_columns).
    tests : in the family, see `detectable_effect`.

    Returns
    -------
    () or (n_columns,), in the metric's own unit; NaN where a and b never differ, for then nothing is known.
    """
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    if len(difference) < 2:
        return np.full(difference.shape[1:], np.nan)
    spread = difference.std(axis=0, ddof=1)
    found: FloatArray = np.where(spread > 0, spread, np.nan) * detectable_effect(len(difference), tests)
    return found
