"""Systems + questions without gold -> how much their rankings agree, where they differ most, and hits to be judged.

Agreement is no quality: two systems may agree on what is wrong. Where they differ a few judgements tell most.

Reference: Webber, Moffat & Zobel, "A Similarity Measure for Indefinite Rankings", ACM TOIS 28 (2010), Eq. 32.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kg2rag.knowledge import KnowledgeBase
from kg2rag.report import Labelling
from kg2rag.report.html import HtmlPage, document, render
from kg2rag.retrievers.systems import build_all
from kg2rag.types import Query, Ranking, require_k

if TYPE_CHECKING:
    from markupsafe import Markup

PERSISTENCE = 0.9
"""The chance to read on after each hit: the first ten then have 86 % of the weight [Webber et al. 2010]."""
POOLED = 5
"""Hits of each system that the page of a comparison has to be judged."""


def rank_biased_overlap(a: Sequence[str], b: Sequence[str], p: float = PERSISTENCE) -> float:
    """Of two rankings, extrapolated beyond the shorter of them: 0 for nothing in common, 1 for the same.

    >>> [round(rank_biased_overlap(*both), 3) for both in (("abc", "abc"), ("ab", "cd"), ("ab", "ac"))]
    [1.0, 0.0, 0.55]
    """
    depth = min(len(a), len(b))
    if not depth:
        return float(len(a) == len(b))
    shared = np.array([len(set(a[:d]) & set(b[:d])) for d in range(1, depth + 1)])
    agreement, at = shared / np.arange(1, depth + 1), np.arange(1, depth + 1)
    return float(agreement[-1] * p**depth + (1 - p) / p * (agreement * p**at).sum())


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(HtmlPage):
    """How much systems agree; in Jupyter the tables, `label()` their hits to be judged, `to_html()` a page of both.

    Attributes
    ----------
    queries : as asked. rankings : system -> its first k hits for each. k : hits.
    per_query : one row per pair and question: a, b, query_id, question, overlap (shared hits of the first k, over the
        longer list), rbo.
    """

    queries: Sequence[Query]
    rankings: Mapping[str, Sequence[Ranking]]
    k: int
    per_query: pd.DataFrame

    @property
    def pairs(self) -> pd.DataFrame:
        """One row per pair of systems: a, b, and the means of overlap and rbo."""
        return self.per_query.groupby(["a", "b"], sort=False)[["overlap", "rbo"]].mean().reset_index()

    def differences(self, limit: int = 10) -> pd.DataFrame:
        """The questions on which the systems differ most: query_id, question, overlap and rbo, means over pairs."""
        grouped = self.per_query.groupby(["query_id", "question"], sort=False)[["overlap", "rbo"]].mean()
        return grouped.reset_index().sort_values("rbo", kind="stable").head(limit).reset_index(drop=True)

    def pool(self) -> dict[str, list[str]]:
        """Question -> the hits of all systems, each once, in an order that does not show who found them.

        The questions on which systems differ most stand first; hits in the order of a checksum of question and passage.
        """

        def place(key: str) -> bytes:
            return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()

        found: dict[str, set[str]] = {query.id: set() for query in self.queries}
        for ranking in (one for run in self.rankings.values() for one in run):
            found[ranking.query_id].update(ranking.passage_ids)
        order = self.differences(len(self.queries))["query_id"] if len(self.per_query) else list(found)
        return {query: sorted(found[query], key=lambda id_: place(f"{query}\0{id_}")) for query in order}

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"Questions without gold: {len(self.queries):,}, asked of {', '.join(self.rankings)}"

    def body(self) -> Markup:
        """How much the systems agree, and where they do not."""
        return self._shown("")

    def _shown(self, hits: str) -> Markup:
        tables = [(list(one), list(map(_cells, one.to_numpy()))) for one in (self.pairs, self.differences())]
        tables = [one for one in tables if one[1]]
        return render("agreement.html.j2", title=self.title, k=self.k, tables=tables, hits=hits)

    def label(self, scores: Sequence[Sequence[float]] = ()) -> Labelling:
        """The pooled hits, to be judged in a notebook or a page.

        A passage that no system brought is not judged, so recall is that of the pool. Hits of a run that was read show
        their ids alone where no other system's have a text.

        `scores` : recall of questions judged before, see `Labelling`.
        """
        corpora = (hit.corpus for run in self.rankings.values() for ranking in run for hit in ranking[:1])
        corpus = next(filter(None, corpora), None)
        texts, pool = {query.id: query.text for query in self.queries}, self.pool()
        runs = {
            together[0].query_id: [one.passage_ids for one in together]
            for together in zip(*self.rankings.values(), strict=True)
        }
        return Labelling([{"id": id_, "question": texts[id_]} for id_ in pool], pool, corpus, runs, scores)

    def to_html(self) -> str:
        """A page that loads nothing: the tables, and hits of all systems to judge."""
        data = {"label.js": self.label().data()}
        return document(self.title, self._shown("Hits to judge"), data)

    def __repr__(self) -> str:
        tables = (one.round(3).to_string(index=False) for one in (self.pairs, self.differences()))
        return "\n\n".join((self.title, *tables))


def _cells(row: Any) -> list[str]:
    return [f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row]


def agreement(
    systems: Mapping[str, Any] | Sequence[str],
    questions: Sequence[str | Query],
    k: int = 10,
    *,
    kb: KnowledgeBase | None = None,
) -> Agreement:
    """Ask systems the same questions, which need no gold, and compare their first `k` hits.

    `systems` : name -> system; or names of systems, which are built over `kb`.
    `questions` : texts, or queries with ids of their own.

    ValueError: no system, no question, or an id twice; names without `kb`.
    """
    require_k(k)
    if not isinstance(systems, Mapping):
        if kb is None:
            raise ValueError("Systems are named, so kb is needed, the knowledge base that they are built over.")
        systems = build_all(kb, systems)
    if not systems:
        raise ValueError("No system to ask. Pass at least one, such as {'bm25': BM25(kb)}.")
    queries = [one if isinstance(one, Query) else Query(f"q{at}", one) for at, one in enumerate(questions, start=1)]
    if len({query.id for query in queries}) < len(queries) or not queries:
        raise ValueError("No question, or two of one id. Pass texts, or each Query with an id of its own.")
    rankings = {name: system.retrieve_batch(queries, k) for name, system in systems.items()}
    rows = [
        (a, b, query.id, query.text, *_agree(left.passage_ids, right.passage_ids))
        for a, b in combinations(rankings, 2)
        for query, left, right in zip(queries, rankings[a], rankings[b], strict=True)
    ]
    names = ["a", "b", "query_id", "question", "overlap", "rbo"]
    return Agreement(queries, rankings, k, pd.DataFrame(rows, columns=names))


def _agree(a: Sequence[str], b: Sequence[str]) -> tuple[float, float]:
    longer = max(len(a), len(b))
    return len(set(a) & set(b)) / longer if longer else 1.0, rank_biased_overlap(a, b)
