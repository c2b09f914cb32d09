"""Ours and theirs of the systems of one paper -> whether their table comes out as a whole: effect ratios, and order.

Single means say nothing about what a table is printed for: which system is better, and by how much. Both measures are
those of Breuer et al., "How to Measure the Reproducibility of System-oriented IR Experiments", SIGIR 2020, as far as
they can be had from means; those that need the published scores of every question cannot.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("ledger", "set", "metric", "system", "their gain", "our gain", "effect ratio", "systems", "tau")
NUMBERS = ("their gain", "our gain", "effect ratio", "systems", "tau")


def effect_ratio(theirs: float, ours: float) -> float:
    """Our improvement over the baseline, as a multiple of the published one.

    1: the same effect; between 0 and 1: a smaller one; above 1: a larger one; 0 or less: none, or the opposite. NaN
    where the published improvement is 0. The mean of the questions' improvements is the improvement of the mean.
    """
    return ours / theirs if theirs else math.nan


def effects(frame: pd.DataFrame) -> pd.DataFrame:
    """The effects of every system over its paper's baseline, columns `COLUMNS`.

    Parameters
    ----------
    frame : rows of one run a system, set and metric, with both numbers; "baseline" is the ledger's, or empty.

    Returns
    -------
    A row a system, set and metric; `their gain` and `our gain` are over the baseline. `tau` is Kendall's tau-b
    between the two orders of all `systems` that have both numbers, the baseline included; NaN where these are fewer
    than three, or all equal in one of the orders.
    """
    import pandas as pd

    rows: list[tuple[object, ...]] = []
    for (ledger, name, metric), part in frame.groupby(["ledger", "set", "metric"], sort=False):
        with_baseline = part[part["published"] == part["baseline"]]
        if with_baseline.empty:
            continue
        base, order = with_baseline.iloc[0], tau(part)
        for _, row in part[part["published"] != base["published"]].iterrows():
            theirs, ours = row["theirs"] - base["theirs"], row["ours"] - base["ours"]
            ratio = effect_ratio(theirs, ours)
            rows.append((ledger, name, metric, row["published"], theirs, ours, ratio, len(part), order))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def tau(part: pd.DataFrame) -> float:
    """Kendall's tau-b between the published order of some systems and ours; NaN below three systems."""
    from scipy.stats import kendalltau

    if len(part) < 3:
        return math.nan
    return float(kendalltau(part["theirs"], part["ours"]).statistic)
