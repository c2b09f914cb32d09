"""Systems and questions without gold -> their agreement, largest differences and hits to judge.

Agreement is not quality: two systems may agree on wrong passages. Judgements tell most where the
systems differ.

Reference: Webber, Moffat & Zobel, "A Similarity Measure for Indefinite Rankings", ACM TOIS 28
(2010), Eq. 32.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kg2rag.evaluation.power import planning_constants
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.announcement import announce
from kg2rag.report import Labelling
from kg2rag.report.html import HtmlPage, document, render
from kg2rag.retrievers.system_parts import workloads
from kg2rag.retrievers.systems import build_all
from kg2rag.text.cells import visible
from kg2rag.types import Corpus, QADataset, Query, Ranking, require_k

if TYPE_CHECKING:
    from markupsafe import Markup

PERSISTENCE = 0.9
"""Probability that a reader goes on after a hit; the first ten have 86 % of the weight [Webber]."""
POOL_DEPTH = 5
"""Hits of each system that the page of a comparison offers for judgement."""


def rank_biased_overlap(
    a: Sequence[str], b: Sequence[str], p: float = PERSISTENCE
) -> float:
    """The overlap of two rankings, extrapolated beyond the shorter: 0 for disjoint, 1 for equal.

    >>> [round(rank_biased_overlap(*both), 3) for both in (("abc", "abc"), ("ab", "cd"), ("ab", "ac"))]
    [1.0, 0.0, 0.55]
    """
    depth = min(len(a), len(b))
    if depth == 0:
        return float(len(a) == len(b))
    depths = np.arange(1, depth + 1)
    shared = np.array([len(set(a[:d]) & set(b[:d])) for d in depths.tolist()])
    overlap = shared / depths
    return float(overlap[-1] * p**depth + (1 - p) / p * (overlap * p**depths).sum())


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(HtmlPage):
    """The agreement of systems on questions without gold.

    Jupyter shows it as tables; `label()` returns the hits to judge, `to_html()` a page of both.

    Attributes
    ----------
    rankings : system -> its first k hits for each query.
    per_query : one row per pair of systems and question: a, b, query_id, question, overlap (the
        number of shared hits divided by the length of the longer list), rbo (rank-biased overlap).
    data : the data set of the questions; None if the questions are texts or queries.
    """

    queries: Sequence[Query]
    rankings: Mapping[str, Sequence[Ranking]]
    k: int
    per_query: pd.DataFrame
    data: QADataset | None = None

    @property
    def pairs(self) -> pd.DataFrame:
        """One row per pair of systems: a, b, and the means of overlap and rbo."""
        by_pair = self.per_query.groupby(["a", "b"], sort=False)
        return by_pair[["overlap", "rbo"]].mean().reset_index()

    def differences(self, limit: int = 10) -> pd.DataFrame:
        """The `limit` questions with the lowest rank-biased overlap, lowest first.

        Columns query_id, question, and overlap and rbo as means over the pairs of systems.
        """
        by_question = self.per_query.groupby(["query_id", "question"], sort=False)
        means = by_question[["overlap", "rbo"]].mean().reset_index()
        return (
            means.sort_values("rbo", kind="stable").head(limit).reset_index(drop=True)
        )

    def pool(self) -> dict[str, list[str]]:
        """Question id -> the distinct hits of all systems.

        The questions on which the systems differ most come first. Hits are ordered by a checksum,
        so that their order does not show which system returned them.
        """
        hits: dict[str, set[str]] = {query.id: set() for query in self.queries}
        for rankings in self.rankings.values():
            for ranking in rankings:
                hits[ranking.query_id].update(ranking.passage_ids)
        order = list(hits)
        if len(self.per_query):
            order = self.differences(len(self.queries))["query_id"].tolist()
        return {
            query_id: sorted(hits[query_id], key=lambda hit: _checksum(query_id, hit))
            for query_id in order
        }

    @property
    def title(self) -> str:
        """The heading of the page."""
        judged = ""
        if self.data is not None and self.data.irrelevant:
            judged = f" ({self.data.irrelevant:,} of them judged before, without a relevant hit)"
        return f"Questions without gold: {len(self.queries):,}{judged}, asked of {', '.join(self.rankings)}"

    def body(self, heading: str = "") -> Markup:
        """The tables of agreement; with a `heading`, also the element for the labelling script."""
        tables = []
        for frame in (self.pairs, self.differences()):
            if len(frame):
                shown = frame.map(
                    lambda cell: f"{cell:.3f}" if isinstance(cell, float) else cell
                )
                tables.append((list(shown), shown.to_numpy().tolist()))
        return render(
            "agreement.html.j2", title=self.title, k=self.k, tables=tables, hits=heading
        )

    def label(
        self, scores: Sequence[Sequence[float]] = (), baseline: str | None = None
    ) -> Labelling:
        """The pooled hits, to be judged in a notebook or a page.

        Only passages in the pool are judged, so recall is that of the pool. Hits of a recorded run
        show only their ids unless another system's hits have texts. Passages judged before are not
        offered again; the file that the page saves keeps them, and all other questions of the data
        set.

        scores : recall of questions judged before, see `Labelling`.
        baseline : the system with which the others are compared; the first by default.
        """
        rows = self._rows()
        pool = self._open_pool(rows)
        runs = {}
        for rankings in zip(*self.rankings.values(), strict=True):
            runs[rankings[0].query_id] = [ranking.passage_ids for ranking in rankings]
        names = list(self.rankings)
        return Labelling(
            questions=[rows[query_id] for query_id in pool],
            pool=pool,
            corpus=self._corpus(),
            runs=runs,
            scores=scores,
            other_rows=[row for query_id, row in rows.items() if query_id not in pool],
            baseline=names.index(baseline) if baseline in names else 0,
            planning=planning_constants(len(scores) + len(pool)),
        )

    def _rows(self) -> dict[str, Mapping[str, Any]]:
        """Question id -> its row in the file of questions, including all rows of `data`."""
        rows: dict[str, Mapping[str, Any]] = {
            query.id: {"id": query.id, "question": query.text} for query in self.queries
        }
        return rows if self.data is None else rows | dict(self.data.rows)

    def _open_pool(self, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
        """The pool without judged hits, and without questions that have no other hit."""
        pool = {}
        for query_id, hits in self.pool().items():
            open_hits = [
                hit for hit in hits if hit not in rows[query_id].get("judged", ())
            ]
            if open_hits:
                pool[query_id] = open_hits
        return pool

    def _corpus(self) -> Corpus | None:
        """The corpus of the first ranking that has one; None if all are recorded runs."""
        for ranking in chain.from_iterable(self.rankings.values()):
            if hasattr(ranking.ids, "corpus"):
                corpus: Corpus = ranking.ids.corpus
                return corpus
        return None

    def to_html(self) -> str:
        """A self-contained page: the tables, and the hits of all systems to be judged."""
        return document(
            self.title, self.body("Hits to judge"), {"label.js": self.label().data()}
        )

    def __repr__(self) -> str:
        frames = (self.pairs, self.differences())
        tables = [frame.round(3).to_string(index=False) for frame in frames]
        return visible("\n\n".join((self.title, *tables)))


def _checksum(query_id: str, passage_id: str) -> bytes:
    """A digest of both ids, the sort key of `Agreement.pool`."""
    return hashlib.sha256(
        f"{query_id}\0{passage_id}".encode("utf-8", "surrogatepass")
    ).digest()


def agreement(
    systems: Mapping[str, Any] | Sequence[str],
    questions: Sequence[str | Query] | QADataset,
    k: int = 10,
    *,
    kb: KnowledgeBase | None = None,
) -> Agreement:
    """Ask systems the same questions, which need no gold, and compare their first `k` hits.

    Parameters
    ----------
    systems : name -> system, or names of systems, which are built over `kb`.
    questions : texts, or queries with ids; or a data set, whose questions without gold are asked.

    Raises ValueError: no system, no question, an id twice, or names without `kb`.
    """
    require_k(k)
    if not isinstance(systems, Mapping):
        if kb is None:
            raise ValueError(
                "Systems are named, so kb is needed, the knowledge base that they are built over."
            )
        systems = build_all(kb, systems)
    if not systems:
        raise ValueError(
            "No system to ask. Pass at least one, such as {'bm25': BM25(kb)}."
        )
    data = questions if isinstance(questions, QADataset) else None
    queries = _queries(
        questions.unjudged if isinstance(questions, QADataset) else questions
    )
    announce(
        "These questions" if data is None else data.name, workloads(systems, queries)
    )
    rankings = {
        name: system.retrieve_batch(queries, k) for name, system in systems.items()
    }
    return Agreement(
        queries, rankings, k, _agreement_per_query(queries, rankings), data
    )


def _queries(questions: Sequence[str | Query]) -> list[Query]:
    """The questions as queries; ValueError for no question or a repeated id."""
    queries = [
        question if isinstance(question, Query) else Query(f"q{number}", question)
        for number, question in enumerate(questions, start=1)
    ]
    if not queries or len({query.id for query in queries}) < len(queries):
        raise ValueError(
            "No question, or two with one id. Pass texts, or queries with an id each."
        )
    return queries


def _agreement_per_query(
    queries: Sequence[Query], rankings: Mapping[str, Sequence[Ranking]]
) -> pd.DataFrame:
    """One row per pair of systems and question; see `Agreement.per_query`."""
    rows = []
    for a, b in combinations(rankings, 2):
        for query, ranking_a, ranking_b in zip(
            queries, rankings[a], rankings[b], strict=True
        ):
            ids_a, ids_b = ranking_a.passage_ids, ranking_b.passage_ids
            longer = max(len(ids_a), len(ids_b))
            overlap = len(set(ids_a) & set(ids_b)) / longer if longer else 1.0
            rows.append(
                (a, b, query.id, query.text, overlap, rank_biased_overlap(ids_a, ids_b))
            )
    return pd.DataFrame(
        rows, columns=["a", "b", "query_id", "question", "overlap", "rbo"]
    )
