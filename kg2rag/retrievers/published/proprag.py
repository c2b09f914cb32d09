"""Query -> passages by beam search over chains of triples, each scored as a whole.

After PropRAG [1]: chains grow from the best units by shared entities and are judged as a whole.
Ours: the units are the graph's triples (the paper's are propositions, sentences that an LLM wrote),
the search starts from the whole corpus (the paper's from a subgraph that PageRank chose), passages
are ranked by their best chain and their own cosine (the paper runs PageRank once more). Every
default is ours.

[1] Wang and Han, "PropRAG: Guiding Retrieval with Beam Search over Proposition Paths", EMNLP 2025.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kg2rag.knowledge import KnowledgeBase, Workload
from kg2rag.knowledge.graph.csr import gather
from kg2rag.knowledge.graph.paths import triple_paths
from kg2rag.knowledge.indexes.dense import cosines as all_cosines
from kg2rag.retrievers.dense import WalkOrDense
from kg2rag.types import (
    Count,
    FloatArray,
    IntArray,
    Matrix,
    Notes,
    Query,
    Ranking,
    Share,
    Step,
    number,
    step,
    top_with_ties,
)

COLOUR = "#B15928"  # in plots

Chain = tuple[
    int, ...
]  # indices of triples; each shares an entity with its predecessor


@dataclass(frozen=True)
class PathNotes(Notes):
    """Notes: the chains of two or more triples that the search kept, with their scores."""

    chains: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class PathSearch(WalkOrDense[bool]):
    """A ranking by dense_weight · cosine + (1 - dense_weight) · score of a passage's best chain.

    A single triple is a chain too. A passage without a triple is scored only by its cosine. Hits
    carry their chain.

    Parameters
    ----------
    seeds : the number of triples with which chains begin, those most similar to the query.
    width : the maximum of chains that are kept at each length beyond one.
    branch : the maximum of extensions of a chain: the triples most similar to the query that share an entity with its
        last triple and have a new entity.
    hops : the maximum of triples in a chain.
    dense_weight : the weight of the cosine, in [0, 1].
    """

    kb: KnowledgeBase = field(repr=False)
    seeds: Count = 10
    width: Count = 5
    branch: Count = 5
    hops: Count = 3
    dense_weight: Share = 0.5

    unlinked = "the graph has no triple"

    def link(self, queries: Sequence[Query]) -> list[bool]:
        """Whether a query has text and the graph has triples."""
        return [
            bool(query.text.strip() and self.kb.graph.n_triples) for query in queries
        ]

    def search(self, vector: Matrix, similar: FloatArray) -> dict[Chain, float]:
        """Chain -> its score, for the chains of all lengths that the search keeps for a query.

        `vector` : (dim,) that of the query. `similar` : (n_triples,) the cosine of each triple; -inf for a
        triple that is not allowed.
        """
        beam: dict[Chain, float] = {
            (triple,): float(similar[triple])
            for triple in _highest(similar, self.seeds)
        }
        chains = dict(beam)
        for length in range(2, self.hops + 1):
            grown = [longer for chain in beam for longer in self._grow(chain, similar)]
            scores = self._scores(
                np.array(grown, dtype=np.int64).reshape(-1, length), vector
            )
            # A chain and its reverse have the same facts.
            best: dict[frozenset[int], tuple[Chain, float]] = {}
            for negated, chain in sorted(zip((-scores).tolist(), grown, strict=True)):
                best.setdefault(frozenset(chain), (chain, -negated))
            beam = dict(list(best.values())[: self.width])
            chains |= beam
        return chains

    def _scores(self, chains: IntArray, vector: Matrix) -> FloatArray:
        """(n_chains,) the cosine of the query and the sum of a chain's triple vectors.

        `chains` : (n_chains, length).
        """
        sums = self.kb.triple_vectors.vectors[chains].astype(np.float64).sum(axis=1)
        norms = np.sqrt(np.einsum("ij,ij->i", sums, sums))
        means = sums / np.where(norms > 0, norms, 1.0)[:, None]
        scores: FloatArray = np.einsum("ij,j->i", means, vector.astype(np.float64))
        return scores

    def _grow(self, chain: Chain, similar: FloatArray) -> list[Chain]:
        """The extensions of a chain by a triple that shares its last entities and has a new one."""
        table, links = self.kb.graph.triples, self.kb.graph.adjacency
        ends = np.stack([table.heads[list(chain)], table.tails[list(chain)]], axis=1)
        slots = gather(links.indptr, np.setdiff1d(ends[-1], ends[:-1]))[0]
        triples = np.unique(
            links.triples[slots[~np.isin(links.neighbours[slots], ends)]]
        )
        return [
            (*chain, int(triples[position]))
            for position in _highest(similar[triples], self.branch)
        ]

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The texts to encode: the passages and the triples."""
        return [
            *super().workloads(queries),
            self.kb.workload("triples", self.kb.graph.triple_texts()),
        ]

    def walk(
        self, queries: Sequence[Query], starts: Sequence[bool], k: int
    ) -> list[Ranking]:
        """The rankings by the chains of each query."""
        vectors = self.kb.encode_queries(queries)
        cosines = all_cosines(vectors, self.kb.vectors)
        columns = zip(
            queries,
            vectors,
            self._similar(queries),
            cosines,
            self.kb.candidates(queries),
            strict=True,
        )
        return [self._ranking(*column, k) for column in columns]

    def _ranking(
        self,
        query: Query,
        vector: Matrix,
        similar: FloatArray,
        cosines: FloatArray,
        candidate_rows: IntArray | None,
        k: int,
    ) -> Ranking:
        chains = self.search(vector, similar)
        chain_scores, chain_of = self._best_chains(chains, similar)
        on_chain = np.isfinite(chain_scores)
        chained = self.dense_weight * cosines + (1 - self.dense_weight) * chain_scores
        scores = np.where(on_chain, chained, cosines)
        rows = top_with_ties(scores, k, candidate_rows)
        on, off = rows[on_chain[rows]], rows[~on_chain[rows]]
        groups = {
            "path": (
                on,
                scores[on],
                {"cosine": cosines[on], "chain": chain_scores[on]},
            ),
            "dense": (off, scores[off], {"cosine": cosines[off]}),
        }
        formula = f"{number(self.dense_weight)} · cosine + {number(1 - self.dense_weight)} · chain"
        longer = [
            (self._text(chain), score)
            for chain, score in chains.items()
            if len(chain) > 1
        ]
        notes = PathNotes(
            {"path": formula, "dense": "cosine"},
            {"path": "graph", "dense": "dense"},
            chains=tuple(longer),
        )
        paths = triple_paths(self.kb.graph, chain_of)
        return Ranking.from_groups(
            query.id, groups, self.kb.corpus.ids, paths, notes
        ).top(k)

    def _text(self, chain: Chain) -> str:
        triples = map(self.kb.graph.triple, chain)
        return ". ".join(
            f"{triple.head} {triple.relation} {triple.tail}" for triple in triples
        )

    def _similar(self, queries: Sequence[Query]) -> FloatArray:
        """(n_queries, n_triples) the cosines of queries and triples; -inf if no candidate states the triple."""
        similar = all_cosines(
            self.kb.encode_queries(queries), self.kb.triple_vectors.vectors
        )
        for row, candidate_rows in zip(
            similar, self.kb.candidates(queries), strict=True
        ):
            if candidate_rows is not None:
                row[~np.isin(self.kb.graph.triples.passages, candidate_rows)] = -np.inf
        return similar

    def _best_chains(
        self, chains: dict[Chain, float], similar: FloatArray
    ) -> tuple[FloatArray, dict[int, Chain]]:
        """The score of each passage's best chain, (n_passages,), -inf without one, and row -> that chain."""
        passages = self.kb.graph.triples.passages
        scores = np.full(len(self.kb.corpus), -np.inf)
        usable = np.flatnonzero((passages >= 0) & np.isfinite(similar))
        order = usable[np.argsort(-similar[usable], kind="stable")]
        rows, first = np.unique(passages[order], return_index=True)
        scores[rows] = similar[order[first]]
        pairs = zip(rows.tolist(), order[first].tolist(), strict=True)
        best: dict[int, Chain] = {row: (triple,) for row, triple in pairs}
        for chain, score in chains.items():
            for row in passages[list(chain)].tolist():
                if row >= 0 and score > scores[row]:
                    scores[row] = score
                    best[row] = chain
        return scores, best

    def steps(self, query: Query, ranking: Ranking) -> tuple[Step, ...]:
        """The steps: a triple, and a chain that uses it."""
        chains: dict[Chain, float] = {}
        if all(self.link([query])):
            (vector,) = self.kb.encode_queries([query])
            (similar,) = self._similar([query])
            chains = self.search(vector, similar)
        used = self.kb.graph.triples.passages[
            [triple for chain in chains for triple in chain]
        ]
        stating = np.flatnonzero(np.diff(self.kb.graph.stated[0]))
        return (
            step(
                "states a triple",
                "entity not linked",
                "states no triple: no chain can use it",
                stating,
            ),
            step(
                "on a chain",
                "not expanded",
                "no chain that the search kept uses a triple of it",
                used[used >= 0],
            ),
        )


def _highest(values: FloatArray, k: int) -> list[int]:
    """The indices of the k highest finite values, highest first, ties by index."""
    order = np.argsort(-values, kind="stable")[:k]
    return list(order[np.isfinite(values[order])].tolist())
