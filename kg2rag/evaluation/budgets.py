"""Rankings -> recall by depth and by tokens, how many tokens they spend, which systems return more than the others.

Recall at equal k is fair only where passages are about equally long: a system that prefers long ones returns more text
for the same k. Recall at equal tokens complements it: tokens are what a reader pays for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from kg2rag.evaluation.gold import judged_hits
from kg2rag.evaluation.metrics import PassageTokens, score
from kg2rag.types import FloatArray, GoldUnit, QADataset, Ranking

DEPTHS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""Where the recall curve is measured: about evenly spaced on a log axis."""
BUDGETS = (1, 2, 3, 5, 7, *(n * 10**e for e in range(5) for n in (10, 15, 20, 30, 50, 70)))
"""Tokens at which the other curve may be measured, spaced alike."""
LARGER = 1.10
"""A system is `larger` above this ratio of its hits or tokens to the median of the others."""


def returned_sizes(runs: Mapping[str, Sequence[Ranking]], tokens: PassageTokens, depths: Sequence[int]) -> pd.DataFrame:
    """How much each system returns within its first k hits, as means over its rankings.

    Returns one row per system and depth: system, k, hits, tokens.
    """
    rows = []
    for name, rankings in runs.items():
        tokens.count(rankings)
        spent = [np.concatenate([[0], np.cumsum(tokens.of(ranking))]) for ranking in rankings]
        for k in depths:
            hits = [min(k, len(one) - 1) for one in spent]
            used = [int(one[n]) for one, n in zip(spent, hits, strict=True)]
            rows.append((name, k, float(np.mean(hits)), float(np.mean(used))))
    return pd.DataFrame(rows, columns=["system", "k", "hits", "tokens"])


def against_others(sizes: pd.DataFrame) -> pd.DataFrame:
    """Sizes with `hits_ratio` and `tokens_ratio`, each to the median of the other systems at that depth, and `larger`.

    Ratios are NaN for a single system, and where the others return nothing.
    """
    frame = sizes.copy()
    for column in ("hits", "tokens"):
        same_depth = sizes.groupby("k", sort=False)[column]
        others = same_depth.transform(lambda own: pd.Series([own.drop(at).median() for at in own.index], own.index))
        frame[f"{column}_ratio"] = sizes[column] / others.where(others > 0)
    frame["larger"] = (frame[["hits_ratio", "tokens_ratio"]] > LARGER).any(axis=1)
    return frame


def larger_sets(sizes: pd.DataFrame) -> dict[str, str]:
    """System -> in words, where it returns most in excess of the others; only systems that are `larger`."""
    frame = against_others(sizes).melt(["system", "k"], ["tokens_ratio", "hits_ratio"], ignore_index=False)
    # Rounded, so that a table that was saved with six decimals gives the same words.
    larger = frame[frame["value"] > LARGER].round({"value": 4}).sort_index(kind="stable")
    worst = larger.sort_values("value", ascending=False, kind="stable").drop_duplicates("system").sort_index()
    return {
        system: f"{ratio:.2f} times the {what.partition('_')[0]} of the others (median) within the first {k}"
        for system, k, what, ratio in worst.itertuples(index=False)
    }


def depths_to(k: int) -> list[int]:
    """Where a curve of rankings with `k` hits is measured; ends at k."""
    return sorted({depth for depth in DEPTHS if depth < k} | {k})


def token_curve(
    runs: Mapping[str, Sequence[Ranking]], data: QADataset, tokens: PassageTokens, k: int, unit: GoldUnit
) -> pd.DataFrame:
    """Mean recall within growing numbers of tokens: index tokens, one column per system.

    NaN from where a ranking of `k` hits ends before the tokens are spent: there k would cut, not the budget. A ranking
    of fewer hits is complete, and still counts.

    `runs` : system -> rankings for all questions, in their order; repeated, for several seeds.
    """
    for rankings in runs.values():
        tokens.count(rankings)
    spent = {name: [tokens.of(one) for one in rankings] for name, rankings in runs.items()}
    reach = {name: min((one.sum() for one in each if len(one) >= k), default=np.inf) for name, each in spent.items()}
    # From the shortest hit to the longest ranking, or as far as any system reaches; at least one.
    returned = [one for each in spent.values() for one in each if len(one)]
    shortest = min((int(one.min()) for one in returned), default=1)
    longest = int(min(max(reach.values()), max((int(one.sum()) for one in returned), default=1)))
    budgets = np.array([*(budget for budget in BUDGETS if shortest <= budget < longest), longest])
    columns = {
        name: np.where(budgets <= reach[name], _recall(rankings, data, tokens, budgets.tolist(), unit), np.nan)
        for name, rankings in runs.items()
    }
    return pd.DataFrame(columns, index=pd.Index(budgets, name="tokens"))


def _recall(
    rankings: Sequence[Ranking], data: QADataset, tokens: PassageTokens, budgets: Sequence[int], unit: GoldUnit
) -> FloatArray:
    """Mean recall at each budget, all in one call of ranx."""
    width = max(1, *(len(ranking) for ranking in rankings))
    # Padded to one length with numbers of no passage, which do not change recall: ranx takes queries of one shape.
    filler = list(range(-1, -width - 1, -1))
    ranked: list[list[int]] = []
    gold: list[Mapping[int, int]] = []
    for budget in budgets:
        found, wanted = judged_hits(tokens.cut(rankings, budget), data, unit)
        ranked += [one.rows.tolist() + filler[len(one) :] for one in found]
        gold += [*wanted.by_number] * (len(rankings) // len(data))
    recall: FloatArray = score(gold, ranked, ["recall"])["recall"]
    means: FloatArray = recall.reshape(len(budgets), -1).mean(axis=1)
    return means
