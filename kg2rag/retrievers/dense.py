"""Query -> the passages with the nearest vectors, by cosine; the fallback of other strategies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, TypeVar

from kg2rag.knowledge import DenseIndex, KnowledgeBase, Workload
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import FloatArray, IntArray, Notes, Query, Ranking

COLOUR = "#44546A"  # in plots

BLOCK = (
    64  # queries that are walked together, which limits the (n_queries, n_nodes) arrays
)
Start = TypeVar("Start")


class VectorRetriever(Retriever):
    """A retriever that compares queries by their vectors; its preparation encodes all of them."""

    kb: KnowledgeBase

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The texts that models read before the first ranking."""
        return [self.kb.workload("passages", self.kb.corpus.streamed_contents)]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries, then build the shared parts."""
        self.kb.encode_queries(queries)
        super().prepare(queries)


@dataclass(frozen=True)
class Dense(VectorRetriever):
    """Exact cosine search; the score of a hit is its cosine, in [-1, 1]."""

    kb: KnowledgeBase = field(repr=False)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One FAISS call for the batch."""
        kb = self.kb
        rank = partial(
            Ranking.from_scores,
            ids=kb.corpus.ids,
            stages=("dense",),
            notes=Notes("cosine", "dense"),
        )
        nearest = kb.dense.search(kb.encode_queries(queries), k, kb.candidates(queries))
        return [
            rank(query.id, rows, cosines, score_parts={"cosine": cosines}).top(k)
            for query, (rows, cosines) in zip(queries, nearest, strict=True)
        ]


class WalkOrDense(VectorRetriever, Generic[Start]):
    """A retriever that walks a graph from linked seeds; unlinked queries get the dense ranking."""

    @property
    @abstractmethod
    def unlinked(self) -> str:
        """The reason why a non-empty query may have no links: the warning in its notes."""

    @abstractmethod
    def link(self, queries: Sequence[Query]) -> Sequence[Start]:
        """The start of each query's walk; a false value for a query without links."""

    @abstractmethod
    def walk(
        self, queries: Sequence[Query], starts: Sequence[Start], k: int
    ) -> list[Ranking]:
        """The rankings of one or more queries that have a start."""

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries, and link them."""
        self.link(queries)
        super().prepare(queries)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """The rankings of a batch, linked and walked in blocks of `BLOCK` queries."""
        rankings: list[Ranking] = []
        for first in range(0, len(queries), BLOCK):
            rankings += self._rank_block(queries[first : first + BLOCK], k)
        return rankings

    def _rank_block(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """The rankings of queries: those with a start are walked, the others get the dense one."""
        starts = self.link(queries)
        linked = [i for i, start in enumerate(starts) if start]
        unlinked = [i for i, start in enumerate(starts) if not start]
        fallbacks = dense_fallback(
            self.kb, [queries[i] for i in unlinked], k, self.unlinked
        )
        ranking_of = dict(zip(unlinked, fallbacks, strict=True))
        if linked:
            walked = self.walk(
                [queries[i] for i in linked], [starts[i] for i in linked], k
            )
            ranking_of |= zip(linked, walked, strict=True)
        return [ranking_of[i] for i in range(len(queries))]


def dense_fallback(
    kb: KnowledgeBase, queries: Sequence[Query], k: int, reason: str
) -> list[Ranking]:
    """The dense rankings of queries without a start, with the reason as a warning."""
    rankings = []
    for query, ranking in zip(
        queries, Dense(kb).retrieve_batch(queries, k), strict=True
    ):
        warning = f"{reason if query.text.strip() else 'empty query'}: dense ranking"
        rankings.append(replace(ranking, notes=replace(ranking.notes, warning=warning)))
    return rankings


def nearest_names(
    kb: KnowledgeBase,
    index: Callable[[], DenseIndex],
    names: Sequence[Sequence[str]],
    scopes: Sequence[IntArray | None],
    k: int = 1,
) -> list[list[tuple[str, int, float]]]:
    """The `k` rows of an index nearest to each name of each query, as (name, row, cosine).

    `scopes` : the allowed rows of each query; None for all.
    """
    nearest: list[list[tuple[str, int, float]]] = [[] for _ in names]
    searches = [
        (i, name) for i, query_names in enumerate(names) for name in query_names
    ]
    if not searches:
        return nearest
    vectors = kb.encode_queries([Query("", name) for _, name in searches])
    results = index().search(vectors, k, [scopes[i] for i, _ in searches])
    for (i, name), (rows, cosines) in zip(searches, results, strict=True):
        nearest[i] += [
            (name, row, cosine)
            for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True)
        ]
    return nearest


def by_columns(
    kb: KnowledgeBase,
    query: Query,
    rows: IntArray,
    parts: Mapping[str, FloatArray],
    notes: Notes,
    k: int,
) -> Ranking:
    """The ranking of the passages in `rows` by the first score part, which also names the stage.

    `parts` : name -> score part of every passage of the corpus, (n_passages,).
    """
    stage = next(iter(parts))
    score_parts = {name: column[rows] for name, column in parts.items()}
    ranking = Ranking.from_scores(
        query.id,
        rows,
        score_parts[stage],
        kb.corpus.ids,
        stages=(stage,),
        score_parts=score_parts,
        notes=notes,
    )
    return ranking.top(k)
