"""Rankings -> how many tokens they spend, what of them fits in a budget, which systems return more than the others.

Recall at equal k is fair only where passages are about equally long: a system that prefers long ones returns more text
for the same k. Recall at equal tokens complements it: tokens are what a reader pays for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kg2rag.compute import EncoderTokens, TokenCounter
from kg2rag.types import Corpus, IntArray, Ranking

LARGER = 1.10
"""A system is `larger` above this ratio of its hits or tokens to the median of the others."""


class PassageTokens:
    """How many tokens each passage of a corpus has, title and text; each is counted once, when first needed.

    `counter` : the default encoder's own tokenizer where not given.
    """

    def __init__(self, corpus: Corpus, counter: TokenCounter | None = None) -> None:
        self.corpus = corpus
        self.counter = counter or EncoderTokens()
        self._counts = np.full(len(corpus), -1, dtype=np.int64)

    def count(self, rankings: Sequence[Ranking]) -> None:
        """Count the passages of many rankings in one go."""
        rows = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(ranking.rows for ranking in rankings)]))
        rows = rows[self._counts[rows] < 0]
        if len(rows):
            contents = self.corpus.contents
            self._counts[rows] = self.counter.count([contents[row] for row in rows.tolist()])

    def of(self, ranking: Ranking) -> IntArray:
        """(n_hits,) tokens of each hit."""
        self.count([ranking])
        return self._counts[ranking.rows]

    def cut(self, rankings: Sequence[Ranking], budget: int) -> list[Ranking]:
        """As many whole hits, best first, as fit in `budget` tokens; ids and scores alone, no paths.

        It stops at the first hit that does not fit, so a larger budget never loses what a smaller one had. (A reader's
        context, `tokens.cut`, passes over it and tries the next.)
        """
        self.count(rankings)
        counts = self._counts
        kept = [int(np.searchsorted(np.cumsum(counts[r.rows]), budget, side="right")) for r in rankings]
        return [Ranking(r.query_id, r.rows[:n], r.scores[:n], r.ids) for r, n in zip(rankings, kept, strict=True)]


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
        frame[f"{column}_ratio"] = np.nan
        for _, same_depth in sizes.groupby("k", sort=False):
            for at, own in same_depth[column].items():
                others = same_depth[column].drop(at).median()
                frame.loc[at, f"{column}_ratio"] = own / others if others > 0 else np.nan
    frame["larger"] = (frame[["hits_ratio", "tokens_ratio"]] > LARGER).any(axis=1)
    return frame


def larger_sets(sizes: pd.DataFrame) -> dict[str, str]:
    """System -> in words, where it returns most in excess of the others; only systems that are `larger`."""
    frame = against_others(sizes)
    worst: dict[str, tuple[float, str]] = {}
    records: Any = frame[frame["larger"]].itertuples(index=False)
    for record in records:
        for ratio, what in ((record.tokens_ratio, "tokens"), (record.hits_ratio, "hits")):
            # Rounded, so that a table that was saved with six decimals gives the same words.
            if ratio > LARGER and round(ratio, 4) > worst.get(record.system, (0.0, ""))[0]:
                words = f"{ratio:.2f} times the {what} of the others (median) within the first {record.k}"
                worst[record.system] = round(ratio, 4), words
    return {name: words for name, (_, words) in worst.items()}
