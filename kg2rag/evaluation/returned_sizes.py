"""Rankings -> returned hits and tokens of each system, larger result sets, recall by tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from kg2rag.evaluation.gold import judged_hits
from kg2rag.evaluation.passage_tokens import PassageTokens
from kg2rag.evaluation.ranx_scores import score
from kg2rag.types import FloatArray, GoldUnit, IntArray, QADataset, Ranking

_STEPS = (1, 1.5, 2, 3, 5, 7)
TOKEN_BUDGETS = (
    1,
    2,
    3,
    5,
    7,
    *(int(step * 10**n) for n in range(1, 6) for step in _STEPS),
)
"""Possible points of the token curve, about evenly spaced on a logarithmic axis."""
LARGER_RATIO = 1.10
"""Ratio of hits or tokens to the median of the other systems, above which a system is larger."""


def returned_sizes(
    runs: Mapping[str, Sequence[Ranking]], tokens: PassageTokens, depths: Sequence[int]
) -> pd.DataFrame:
    """One row per system and depth k: the mean numbers of returned hits and of their tokens.

    Columns system, k, hits, tokens.
    """
    rows = []
    for name, rankings in runs.items():
        counts = tokens.count(rankings)
        for k in depths:
            hits = np.mean([min(k, len(count)) for count in counts])
            spent = np.mean([int(count[:k].sum()) for count in counts])
            rows.append((name, k, float(hits), float(spent)))
    return pd.DataFrame(rows, columns=["system", "k", "hits", "tokens"])


def ratios_to_others(sizes: pd.DataFrame) -> pd.DataFrame:
    """The sizes with their ratios to the median of the other systems at the same depth.

    Further columns: hits_ratio, tokens_ratio, and larger (whether one is above `LARGER_RATIO`). A
    ratio is NaN for a single system, and if the others return nothing.
    """
    frame = sizes.copy()
    for column in ("hits", "tokens"):
        medians = sizes.groupby("k", sort=False)[column].transform(_medians_of_others)
        frame[f"{column}_ratio"] = sizes[column] / medians.where(medians > 0)
    frame["larger"] = (frame[["hits_ratio", "tokens_ratio"]] > LARGER_RATIO).any(axis=1)
    return frame


def _medians_of_others(values: pd.Series) -> pd.Series:
    """For each value the median of the others."""
    return pd.Series(
        [values.drop(label).median() for label in values.index], values.index
    )


def larger_sets(sizes: pd.DataFrame) -> dict[str, str]:
    """System -> its largest ratio to the others, in words, for systems above `LARGER_RATIO`."""
    ratios = ["tokens_ratio", "hits_ratio"]
    frame = ratios_to_others(sizes).melt(["system", "k"], ratios, ignore_index=False)
    # Rounded ratios give the same words for a table that was saved with six decimals.
    larger = (
        frame[frame["value"] > LARGER_RATIO]
        .round({"value": 4})
        .sort_index(kind="stable")
    )
    by_ratio = larger.sort_values("value", ascending=False, kind="stable")
    largest = by_ratio.drop_duplicates("system").sort_index()
    words = {}
    for system, k, variable, ratio in largest.itertuples(index=False):
        unit = variable.removesuffix("_ratio")
        words[system] = (
            f"{ratio:.2f} times the {unit} of the others (median) within the first {k}"
        )
    return words


def token_curve(
    runs: Mapping[str, Sequence[Ranking]],
    data: QADataset,
    tokens: PassageTokens,
    k: int,
    unit: GoldUnit,
) -> pd.DataFrame:
    """The mean recall within a number of tokens (index `tokens`), one column per system.

    It is NaN for more tokens than some ranking of `k` hits has, since k and not the budget would
    cut that ranking. A ranking of fewer hits is complete and counts at every budget.

    runs : system -> the rankings of all questions in their order, repeated for each seed.
    """
    all_counts: list[IntArray] = []
    reach_of = {}
    for name, rankings in runs.items():
        counts = tokens.count(rankings)
        all_counts += counts
        # The tokens that every ranking of k hits has.
        reach_of[name] = min(
            (float(count.sum()) for count in counts if len(count) >= k), default=np.inf
        )
    budgets = _budgets(all_counts, max(reach_of.values()))
    columns = {}
    for name, rankings in runs.items():
        recall = _recall_within(rankings, data, tokens, budgets.tolist(), unit)
        columns[name] = np.where(budgets <= reach_of[name], recall, np.nan)
    return pd.DataFrame(columns, index=pd.Index(budgets, name="tokens"))


def _budgets(counts: Sequence[IntArray], reach: float) -> IntArray:
    """The points of the token curve, from the shortest hit to the longest ranking; at least one.

    reach : the largest number of tokens for which a system has a recall; it bounds the last point.
    """
    returned = [count for count in counts if len(count)]
    shortest = min((int(count.min()) for count in returned), default=1)
    longest = max((int(count.sum()) for count in returned), default=1)
    last = int(min(reach, longest))
    between = [budget for budget in TOKEN_BUDGETS if shortest <= budget < last]
    return np.array([*between, last])


def _recall_within(
    rankings: Sequence[Ranking],
    data: QADataset,
    tokens: PassageTokens,
    budgets: Sequence[int],
    unit: GoldUnit,
) -> FloatArray:
    """The mean recall within each budget, (n_budgets,), by one call of ranx."""
    width = max(1, *(len(ranking) for ranking in rankings))
    # `score` calls ranx once per length, so rankings are padded to one length. Negative numbers are
    # no passages and do not change recall.
    filler = list(range(-1, -width - 1, -1))
    ranked: list[list[int]] = []
    gold: list[Mapping[int, int]] = []
    for budget in budgets:
        judged, gold_of_data = judged_hits(tokens.cut(rankings, budget), data, unit)
        ranked += [ranking.rows.tolist() + filler[len(ranking) :] for ranking in judged]
        gold += [*gold_of_data.by_number] * (len(rankings) // len(data))
    recall = score(gold, ranked, ["recall"])["recall"].reshape(len(budgets), -1)
    return np.asarray(recall.mean(axis=1))
