"""A mention table -> the graph of `mention_ppr`: passages and names, joined by mentions.

With a knowledge graph, `FactGraph`: every entity of it becomes a node, joined to the passages that
name it as a shared name is, and to the other end of each of its triples, which join what the
mentions do not. Ours. And from a walk over either, the mentions and triples that led to each
passage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.knowledge.graph.csr import (
    Codes,
    Offsets,
    frozen,
    gather,
    offsets,
    owners,
    run_starts,
)
from kg2rag.knowledge.graph.pagerank import NodeWeights, Walk, WalkGraph
from kg2rag.types import Corpus, FloatArray, IntArray, Triple

# kinds of edges, the last two of a knowledge graph
LINK, BACKWARD, NAME, MENTION, TRIPLE = range(5)
LONGEST = 4
"""The maximum of edges in a path."""


@dataclass(frozen=True)
class MentionGraph:
    """A directed, weighted graph in CSR form: nodes 0 .. n_passages - 1 are passages, then names.

    Attributes
    ----------
    indptr, targets, weights : (n_nodes + 1,), (n_edges,), (n_edges,); every edge has one back.
    kinds : (n_edges,) LINK a title link, BACKWARD one walked backward, NAME between a passage and a name.
    """

    n_passages: int
    indptr: Offsets
    targets: Codes
    weights: FloatArray
    kinds: NDArray[np.int8]

    @property
    def n_nodes(self) -> int:
        """The number of passages and names."""
        return len(self.indptr) - 1

    @cached_property
    def sources(self) -> IntArray:
        """(n_edges,) the source of each edge."""
        return owners(self.indptr)

    @cached_property
    def walked(self) -> WalkGraph:
        """The graph for walks."""
        return WalkGraph.directed(
            self.sources, self.targets, self.weights, self.n_nodes
        )

    def walked_within(self, mask: IntArray | None) -> WalkGraph:
        """The graph for a query with candidates `mask`; here the same for every query."""
        return self.walked

    def fact(self, edge: int) -> Triple | None:
        """The triple of a knowledge graph behind an edge; here None, see `FactGraph`."""
        return None

    def scope(self, mask: IntArray | None) -> NDArray[np.bool_] | None:
        """(n_nodes,) whether a walk may enter a node: passages of the mask and all names.

        None means all nodes.
        """
        if mask is None:
            return None
        allowed = np.ones(self.n_nodes, dtype=bool)
        allowed[: self.n_passages] = False
        allowed[mask] = True
        return allowed

    def distances(
        self, starts: IntArray, allowed: NDArray[np.bool_] | None
    ) -> IntArray:
        """(n_nodes,) the distance from the nearest start over allowed nodes; -1 if unreachable."""
        away = np.full(self.n_nodes, -1, dtype=np.int64)
        may_enter = np.ones(self.n_nodes, dtype=bool) if allowed is None else allowed
        frontier = starts
        distance = 0
        while len(frontier):
            frontier = np.unique(frontier[(away[frontier] < 0) & may_enter[frontier]])
            away[frontier] = distance
            distance += 1
            frontier = self.targets[gather(self.indptr, frontier)[0]].astype(np.int64)
        return away


def build(
    table: MentionTable,
    n_passages: int,
    *,
    backward: float,
    name_weight: float,
    max_mentions: int,
) -> MentionGraph:
    """The graph of a corpus.

    Parameters
    ----------
    backward : weight of walking a title link against its direction, relative to walking along it.
    name_weight : weight of an edge between a passage and a name, times ln(1 + N / df).
    max_mentions : titles named in more passages give no link.
    """
    keys, frequency, pages = table.key, table.document_frequency, table.pages
    # A mention of a title links to its other pages, and back; a mention of another name links to it.
    titles = np.flatnonzero(((pages > 0) & (frequency <= max_mentions))[keys])
    entries, title_numbers = gather(
        offsets(table.page_key, len(table.keys)), keys[titles]
    )
    mentions = titles[title_numbers]
    is_link = table.page_row[entries] != table.row[mentions]
    mentions = mentions[is_link]
    citing, page = table.row[mentions], table.page_row[entries[is_link]]
    naming = np.flatnonzero(pages[keys] == 0)
    name = n_passages + keys[naming].astype(np.int64) - table.n_titles
    share = 1.0 / pages[keys[mentions]]
    rarity = np.log1p(n_passages / frequency[keys[naming]])
    sources = np.concatenate([citing, page, table.row[naming], name]).astype(np.int64)
    targets = np.concatenate([page, citing, name, table.row[naming]]).astype(np.int64)
    weights = np.concatenate(
        [share, backward * share, name_weight * rarity, name_weight * rarity]
    )
    kinds = np.repeat(
        np.array([LINK, BACKWARD, NAME], np.int8),
        [len(mentions), len(mentions), 2 * len(naming)],
    )
    # Mentions of one kind between two nodes are one edge with their maximum weight.
    order = np.lexsort((kinds, sources << 32 | targets))
    sources = sources[order]
    targets = targets[order]
    kinds = kinds[order]
    weights = weights[order]
    starts = np.flatnonzero(run_starts(sources, targets, kinds))
    if len(starts):
        weights = np.maximum.reduceat(weights, starts)
    return MentionGraph(
        n_passages,
        frozen(offsets(sources[starts], n_passages + len(table.keys) - table.n_titles)),
        frozen(targets[starts].astype(np.int32)),
        frozen(weights),
        frozen(kinds[starts]),
    )


def mention_graph(
    kb: KnowledgeBase, backward: float, name_weight: float, max_mentions: int
) -> MentionGraph:
    """The mention graph of a knowledge base, one per setting of its weights."""

    def built() -> MentionGraph:
        return build(
            kb.mentions,
            len(kb.corpus),
            backward=backward,
            name_weight=name_weight,
            max_mentions=max_mentions,
        )

    return kb.cached(("mention_graph", backward, name_weight, max_mentions), built)


@dataclass(frozen=True)
class WalkedPaths(Mapping[int, tuple[Triple, ...]]):
    """Corpus row -> the mentions that a walk followed to it, as lazy triples.

    `names` : the names of the other nodes. `edges` : the edges of each row's path, in order.
    """

    graph: MentionGraph
    corpus: Corpus
    names: list[str]
    edges: Mapping[int, tuple[int, ...]]

    def __getitem__(self, row: int) -> tuple[Triple, ...]:
        return tuple(self.triple(edge) for edge in self.edges[row])

    def __iter__(self) -> Iterator[int]:
        return iter(self.edges)

    def __len__(self) -> int:
        return len(self.edges)

    def triple(self, edge: int) -> Triple:
        """The mention behind an edge, from the mentioning passage to the mentioned node."""
        graph = self.graph
        stated = graph.fact(edge)
        if stated is not None:
            return stated
        ends = [int(graph.sources[edge]), int(graph.targets[edge])]
        if graph.kinds[edge] == BACKWARD or ends[0] >= graph.n_passages:
            ends.reverse()
        passage, mentioned = ends
        strength = float(np.clip(10 * graph.weights[edge], 0.001, 10))
        return Triple(
            self._name(passage),
            "mentions",
            self._name(mentioned),
            self.corpus.ids[passage],
            strength,
        )

    def _name(self, node: int) -> str:
        if node < self.graph.n_passages:
            return self.corpus.titles[node] or self.corpus.ids[node]
        return self.names[node - self.graph.n_passages]


def strongest_paths(
    rows: IntArray, walk: Walk, restart: NodeWeights
) -> dict[int, tuple[int, ...]]:
    """Corpus row -> the strongest path of a walk from a start to it, as edges.

    A path has at most `LONGEST` edges; a row at which the walk starts has none.
    """
    visited = [np.asarray(rows, dtype=np.int64)]
    edges: list[IntArray] = []
    is_open = np.ones(len(rows), dtype=bool)
    while len(edges) < LONGEST and is_open.any():
        is_open = is_open & (restart.at(visited[-1]) == 0)
        edge, source = walk.came_by(np.where(is_open, visited[-1], -1))
        # The strongest edges of two nodes may form a cycle.
        is_open &= (edge >= 0) & ~np.any([source == node for node in visited], axis=0)
        edges.append(np.where(is_open, edge, -1))
        visited.append(np.where(is_open, source, -1))
    paths: dict[int, tuple[int, ...]] = {}
    for row, *path in np.stack([visited[0], *edges[::-1]], axis=1).tolist():
        if max(path, default=-1) >= 0:
            paths[row] = tuple(edge for edge in path if edge >= 0)
    return paths


@dataclass(frozen=True)
class FactGraph(MentionGraph):
    """A mention graph with the entities of a knowledge graph as last nodes, by code.

    Attributes
    ----------
    facts : the knowledge graph.
    triples : (n_edges,) the triple behind an edge between two entities; -1 for other edges.
    """

    facts: KnowledgeGraph
    triples: IntArray

    def fact(self, edge: int) -> Triple | None:
        """The triple behind an edge between two entities."""
        triple = int(self.triples[edge])
        return None if triple < 0 else self.facts.triple(triple)

    def walked_within(self, mask: IntArray | None) -> WalkGraph:
        """The graph without the triples that passages outside `mask` state: their weights are 0."""
        within = self.triples_within(mask)
        if within is None:
            return self.walked
        weights = np.where(
            (self.triples < 0) | np.isin(self.triples, within), self.weights, 0.0
        )
        return WalkGraph.directed(self.sources, self.targets, weights, self.n_nodes)

    def triples_within(self, mask: IntArray | None) -> IntArray | None:
        """The triples stated by passages of `mask` or by no passage; None for all."""
        stated = self.facts.triples.passages
        return (
            None
            if mask is None
            else np.flatnonzero((stated < 0) | np.isin(stated, mask))
        )

    def starting_at(self, triples: IntArray, shares: FloatArray) -> NodeWeights:
        """The restart weights of triples: half of a triple's share for each of its ends."""
        table = self.facts.triples
        first_entity = self.n_nodes - self.facts.n_entities
        ends = first_entity + np.concatenate(
            [table.heads[triples], table.tails[triples]]
        )
        return NodeWeights.of(ends, np.tile(shares / 2, 2))


def with_facts(
    graph: MentionGraph,
    facts: KnowledgeGraph,
    *,
    name_weight: float,
    triple_weight: float,
) -> FactGraph:
    """A mention graph joined with a knowledge graph.

    Edges in both directions join a passage and the entities that it names, and the ends of each
    triple.

    Parameters
    ----------
    name_weight : weight of an edge between a passage and an entity, times ln(1 + N / df).
    triple_weight : weight of a triple of strength 10; others in proportion.
    """
    n = graph.n_nodes
    table = facts.triples
    rows = facts.mentions.others.astype(np.int64)
    entities = facts.mentions.owners.astype(np.int64)
    rarity = np.log1p(facts.n_passages / np.diff(facts.mentions.indptr)[entities])
    joining = np.flatnonzero(table.heads != table.tails)
    heads, tails = (
        ends[joining].astype(np.int64) + n for ends in (table.heads, table.tails)
    )
    strengths = np.tile(
        triple_weight * table.strengths[joining].astype(np.float64) / 10, 2
    )
    sources = np.concatenate([graph.sources, rows, entities + n, heads, tails])
    targets = np.concatenate(
        [graph.targets.astype(np.int64), entities + n, rows, tails, heads]
    )
    weights = np.concatenate(
        [graph.weights, np.tile(name_weight * rarity, 2), strengths]
    )
    added = np.repeat(
        np.array([MENTION, TRIPLE], np.int8), [2 * len(rows), 2 * len(joining)]
    )
    kinds = np.concatenate([graph.kinds, added])
    triples = np.concatenate(
        [np.full(len(sources) - 2 * len(joining), -1), np.tile(joining, 2)]
    )
    order = np.lexsort((kinds, targets, sources))
    return FactGraph(
        n_passages=graph.n_passages,
        indptr=frozen(offsets(sources, n + facts.n_entities)),
        targets=frozen(targets[order].astype(np.int32)),
        weights=frozen(weights[order]),
        kinds=frozen(kinds[order]),
        facts=facts,
        triples=frozen(triples[order]),
    )


def mention_facts(
    kb: KnowledgeBase,
    backward: float,
    name_weight: float,
    max_mentions: int,
    triple_weight: float,
) -> FactGraph:
    """`mention_graph` joined with the knowledge graph, one per setting of the weights."""

    def built() -> FactGraph:
        graph = mention_graph(kb, backward, name_weight, max_mentions)
        return with_facts(
            graph, kb.graph, name_weight=name_weight, triple_weight=triple_weight
        )

    key = ("mention_facts", backward, name_weight, max_mentions, triple_weight)
    return kb.cached(key, built)
