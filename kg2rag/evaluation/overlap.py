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
from kg2rag.types import QADataset, Query, Ranking, require_k

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

    rankings : system -> its first k hits for each query.
    per_query : one row per pair and question: a, b, query_id, question, overlap (shared hits of the first k, over the
        longer list), rbo.
    data : the set whose questions without gold these are, None where texts were asked.
    """

    queries: Sequence[Query]
    rankings: Mapping[str, Sequence[Ranking]]
    k: int
    per_query: pd.DataFrame
    data: QADataset | None = None

    @property
    def pairs(self) -> pd.DataFrame:
        """One row per pair of systems: a, b, and the means of overlap and rbo."""
        return self.per_query.groupby(["a", "b"], sort=False)[["overlap", "rbo"]].mean().reset_index()

    def differences(self, limit: int = 10) -> pd.DataFrame:
        """The questions on which the systems differ most: query_id, question, overlap and rbo, means over pairs."""
        grouped = self.per_query.groupby(["query_id", "question"], sort=False)[["overlap", "rbo"]].mean()
        return grouped.reset_index().sort_values("rbo", kind="stable").head(limit).reset_index(drop=True)

    def pool(self) -> dict[str, list[str]]:
        """Question -> the hits of all systems, each once, by a checksum of question and passage: not by who found them.

        The questions on which systems differ most stand first.
        """
        found: dict[str, set[str]] = {query.id: set() for query in self.queries}
        for ranking in (one for run in self.rankings.values() for one in run):
            found[ranking.query_id].update(ranking.passage_ids)
        pool = {}
        for query in self.differences(len(self.queries))["query_id"] if len(self.per_query) else found:
            keys = {f"{query}\0{id_}".encode("utf-8", "surrogatepass"): id_ for id_ in found[query]}
            pool[query] = [keys[key] for key in sorted(keys, key=lambda key: hashlib.sha256(key).digest())]
        return pool

    @property
    def title(self) -> str:
        """The heading of the page."""
        before = 0 if self.data is None else self.data.irrelevant
        judged = f" ({before:,} of them judged before, without a relevant hit)" * bool(before)
        return f"Questions without gold: {len(self.queries):,}{judged}, asked of {', '.join(self.rankings)}"

    def body(self, hits: str = "") -> Markup:
        """How much the systems agree, and where they do not; with the place of the script under a heading, `hits`."""
        shown = [one.map(lambda cell: f"{cell:.3f}" if isinstance(cell, float) else cell) for one in self._tables]
        tables = [(list(one), one.to_numpy().tolist()) for one in shown if len(one)]
        return render("agreement.html.j2", title=self.title, k=self.k, tables=tables, hits=hits)

    @property
    def _tables(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return self.pairs, self.differences()

    def label(self, scores: Sequence[Sequence[float]] = ()) -> Labelling:
        """The pooled hits, to be judged in a notebook or a page.

        A passage that no system brought is not judged, so recall is that of the pool. Hits of a run that was read show
        their ids alone where no other system's have a text. What was judged before is not asked again, and stays in the
        file that the page saves, as all other questions of the set do.

        `scores` : recall of questions judged before, see `Labelling`.
        """
        corpora = (hit.corpus for run in self.rankings.values() for ranking in run for hit in ranking[:1])
        texts: dict[str, Mapping[str, Any]] = {one.id: {"id": one.id, "question": one.text} for one in self.queries}
        rows = {**texts, **({} if self.data is None else self.data.rows)}
        pooled = self.pool().items()
        left = {id_: [hit for hit in hits if hit not in rows[id_].get("judged", ())] for id_, hits in pooled}
        pool = {id_: hits for id_, hits in left.items() if hits}
        together = zip(*self.rankings.values(), strict=True)
        runs = {same[0].query_id: [one.passage_ids for one in same] for same in together}
        kept = [row for id_, row in rows.items() if id_ not in pool]
        return Labelling([rows[id_] for id_ in pool], pool, next(filter(None, corpora), None), runs, scores, kept)

    def to_html(self) -> str:
        """A page that loads nothing: the tables, and hits of all systems to judge."""
        return document(self.title, self.body("Hits to judge"), {"label.js": self.label().data()})

    def __repr__(self) -> str:
        return "\n\n".join((self.title, *(one.round(3).to_string(index=False) for one in self._tables)))


def agreement(
    systems: Mapping[str, Any] | Sequence[str],
    questions: Sequence[str | Query] | QADataset,
    k: int = 10,
    *,
    kb: KnowledgeBase | None = None,
) -> Agreement:
    """Ask systems the same questions, which need no gold, and compare their first `k` hits.

    `systems` : name -> system; or names of systems, which are built over `kb`.
    `questions` : texts, or queries with ids of their own; or a data set, whose questions without gold are asked.

    ValueError: no system, no question, or an id twice; names without `kb`.
    """
    require_k(k)
    if not isinstance(systems, Mapping):
        if kb is None:
            raise ValueError("Systems are named, so kb is needed, the knowledge base that they are built over.")
        systems = build_all(kb, systems)
    if not systems:
        raise ValueError("No system to ask. Pass at least one, such as {'bm25': BM25(kb)}.")
    data = questions if isinstance(questions, QADataset) else None
    asked = questions.unjudged if isinstance(questions, QADataset) else questions
    queries = [one if isinstance(one, Query) else Query(f"q{at}", one) for at, one in enumerate(asked, start=1)]
    if len({query.id for query in queries}) < len(queries) or not queries:
        raise ValueError("No question, or two of one id. Pass texts, or each Query with an id of its own.")
    rankings, rows = {name: system.retrieve_batch(queries, k) for name, system in systems.items()}, []
    for a, b in combinations(rankings, 2):
        for query, *both in zip(queries, rankings[a], rankings[b], strict=True):
            left, right = (one.passage_ids for one in both)
            longer = max(len(left), len(right))
            overlap = len(set(left) & set(right)) / longer if longer else 1.0
            rows.append((a, b, query.id, query.text, overlap, rank_biased_overlap(left, right)))
    names = ["a", "b", "query_id", "question", "overlap", "rbo"]
    return Agreement(queries, rankings, k, pd.DataFrame(rows, columns=names), data)
