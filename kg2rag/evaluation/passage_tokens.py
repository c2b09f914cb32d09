"""Passages and rankings -> the numbers of tokens of passages, and the hits that fit in a budget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kg2rag.compute import EncoderTokens, TokenCounter
from kg2rag.types import Corpus, IntArray, Ranking


class PassageTokens:
    """The numbers of tokens of the passages of a corpus, title and text, counted when first needed.

    counter : counts the tokens of texts; the default is the tokenizer of the default encoder.
    """

    def __init__(self, corpus: Corpus, counter: TokenCounter | None = None) -> None:
        self.corpus = corpus
        self.counter = counter or EncoderTokens()
        self._counts = np.full(len(corpus), -1, dtype=np.int64)

    def count(self, rankings: Sequence[Ranking]) -> list[IntArray]:
        """The number of tokens of each hit, an array (n_hits,) per ranking."""
        is_needed = np.zeros(len(self.corpus), dtype=bool)
        for ranking in rankings:
            is_needed[ranking.rows] = True
        rows = np.flatnonzero(is_needed & (self._counts < 0))
        if len(rows):
            contents = self.corpus.contents
            self._counts[rows] = self.counter.count(
                [contents[row] for row in rows.tolist()]
            )
        return [self._counts[ranking.rows] for ranking in rankings]

    def cut(self, rankings: Sequence[Ranking], budget: int) -> list[Ranking]:
        """The rankings cut before the first hit that exceeds `budget` tokens in all.

        Later hits that would fit do not count, so that a larger budget includes all hits of a
        smaller one. The rankings have ids and scores, no paths.
        """
        cut_rankings = []
        for ranking, counts in zip(rankings, self.count(rankings), strict=True):
            n = int(np.searchsorted(np.cumsum(counts), budget, side="right"))
            cut = Ranking(
                ranking.query_id, ranking.rows[:n], ranking.scores[:n], ranking.ids
            )
            cut_rankings.append(cut)
        return cut_rankings
