"""A mention table -> the graph of `mention_ppr`, whose nodes are passages and names.

`MentionGraph` joins two passages if one names the title of the other, and joins a passage to each
other name in it. `FactGraph` adds the entities of a knowledge graph: it joins an entity to the
passages that name it, and the two ends of each triple. Both graphs are ours. `WalkedPaths` gives the
mentions and triples that led a walk to a passage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.knowledge.graph.csr import (
    Codes,
    Offsets,
    gather,
    offsets,
    owners,
    read_only,
    run_starts,
)
from kg2rag.knowledge.graph.pagerank import NodeWeights, Walk, WalkGraph
from kg2rag.types import Corpus, FloatArray, IntArray, Triple

# The kinds of edges; only a `FactGraph` has the last two.
LINK, BACKWARD, NAME, MENTION, TRIPLE = range(5)
MAX_PATH_EDGES = 4


@dataclass(frozen=True)
class MentionGraph:
    """A directed, weighted graph in CSR form: nodes 0 .. n_passages - 1 are passages, then names.

    Attributes
    ----------
    indptr : (n_nodes + 1,) the edges of node `i` are `indptr[i]` to `indptr[i + 1] - 1`.
    targets, weights : (n_edges,) the end and the weight of each edge. Every edge has a reverse edge.
    kinds : (n_edges,) LINK for a title link, BACKWARD for its reverse edge, NAME between a passage and a name.
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
    def walk_graph(self) -> WalkGraph:
        """The graph for walks of queries that may return every passage."""
        return WalkGraph.directed(
            self.sources, self.targets, self.weights, self.n_nodes
        )

    def walk_graph_within(self, candidate_rows: IntArray | None) -> WalkGraph:
        """The graph for walks of a query that may return only `candidate_rows`.

        A mention graph has one for all queries; `FactGraph` has not.
        """
        return self.walk_graph

    def stated_triple(self, edge: int) -> Triple | None:
        """The triple of a knowledge graph that gave an edge; None in a graph of mentions only."""
        return None

    def allowed_nodes(
        self, candidate_rows: IntArray | None
    ) -> NDArray[np.bool_] | None:
        """(n_nodes,) whether a walk may enter a node: a candidate passage, or any name.

        None allows all nodes.
        """
        if candidate_rows is None:
            return None
        allowed = np.ones(self.n_nodes, dtype=bool)
        allowed[: self.n_passages] = False
        allowed[candidate_rows] = True
        return allowed

    def distances(
        self, starts: IntArray, allowed: NDArray[np.bool_] | None
    ) -> IntArray:
        """(n_nodes,) the distance from the nearest start over allowed nodes; -1 if unreachable."""
        distances = np.full(self.n_nodes, -1, dtype=np.int64)
        if allowed is None:
            allowed = np.ones(self.n_nodes, dtype=bool)
        frontier = starts
        distance = 0
        while len(frontier):
            is_new = (distances[frontier] < 0) & allowed[frontier]
            frontier = np.unique(frontier[is_new])
            distances[frontier] = distance
            distance += 1
            frontier = self.targets[gather(self.indptr, frontier)[0]].astype(np.int64)
        return distances


def build(
    table: MentionTable,
    n_passages: int,
    *,
    backward: float,
    name_weight: float,
    max_mentions: int,
) -> MentionGraph:
    """The mention graph of a corpus.

    Parameters
    ----------
    n_passages : the size of the corpus, N.
    backward : the weight of the reverse edge of a title link, relative to the link.
    name_weight : an edge between a passage and a name has weight name_weight · ln(1 + N / df).
    max_mentions : the maximum of passages that may name a title; more frequent titles give no links.
    """
    keys = table.key
    frequency = table.document_frequency
    pages = table.pages
    # A title is a name with pages. Its mentions link a passage to its other pages; a mention of a
    # name without pages joins the passage to the node of the name.
    titles = np.flatnonzero(((pages > 0) & (frequency <= max_mentions))[keys])
    entries, title_numbers = gather(
        offsets(table.page_key, len(table.keys)), keys[titles]
    )
    mentions = titles[title_numbers]
    is_link = table.page_row[entries] != table.row[mentions]
    mentions = mentions[is_link]
    citing = table.row[mentions]
    page = table.page_row[entries[is_link]]
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
        read_only(
            offsets(sources[starts], n_passages + len(table.keys) - table.n_titles)
        ),
        read_only(targets[starts].astype(np.int32)),
        read_only(weights),
        read_only(kinds[starts]),
    )


def mention_graph(
    kb: KnowledgeBase, backward: float, name_weight: float, max_mentions: int
) -> MentionGraph:
    """The mention graph of a knowledge base, built once for each setting; see `build`."""
    return kb.cached(
        ("mention_graph", backward, name_weight, max_mentions),
        lambda: build(
            kb.mentions,
            len(kb.corpus),
            backward=backward,
            name_weight=name_weight,
            max_mentions=max_mentions,
        ),
    )


@dataclass(frozen=True)
class WalkedPaths:
    """The paths of a walk to passages, as triples that are made when they are read; see `Paths`.

    `names` : the names of the nodes that are no passages. `edges` : corpus row -> the edges of its path,
    in order.
    """

    graph: MentionGraph
    corpus: Corpus
    names: list[str]
    edges: Mapping[int, tuple[int, ...]]

    def get(self, row: int, default: tuple[Triple, ...] = ()) -> tuple[Triple, ...]:
        """The path to the passage in a row, or the default."""
        return tuple(map(self.triple, self.edges.get(row, ()))) or default

    def triple(self, edge: int) -> Triple:
        """The knowledge graph's triple that gave an edge, else (passage, "mentions", name)."""
        graph = self.graph
        stated = graph.stated_triple(edge)
        if stated is not None:
            return stated
        passage = int(graph.sources[edge])
        mentioned = int(graph.targets[edge])
        # These edges lead from a name, or from a title's page, to the passage that mentions it.
        if graph.kinds[edge] == BACKWARD or passage >= graph.n_passages:
            passage, mentioned = mentioned, passage
        # Weights are shares of 1, strengths are in (0, 10].
        strength = float(np.clip(10 * graph.weights[edge], 0.001, 10))
        return Triple(
            self._name(passage),
            "mentions",
            self._name(mentioned),
            self.corpus.ids[passage],
            strength,
        )

    def _name(self, node: int) -> str:
        """The title of a passage, its id without a title, or the name of another node."""
        if node < self.graph.n_passages:
            return self.corpus.titles[node] or self.corpus.ids[node]
        return self.names[node - self.graph.n_passages]


def strongest_paths(
    rows: IntArray, walk: Walk, restart: NodeWeights
) -> dict[int, tuple[int, ...]]:
    """Corpus row -> the edges of the strongest path of a walk from a start to it, in order.

    The path is followed backward, at each node along the edge that carries most of the walk, for at
    most `MAX_PATH_EDGES` edges. A row at which the walk starts has no path.
    """
    visited = [np.asarray(rows, dtype=np.int64)]
    edges: list[IntArray] = []
    is_open = np.ones(len(rows), dtype=bool)
    while len(edges) < MAX_PATH_EDGES and is_open.any():
        is_open = is_open & (restart.weights_of(visited[-1]) == 0)
        edge, source = walk.strongest_incoming(np.where(is_open, visited[-1], -1))
        # The strongest edges of two nodes may form a cycle.
        is_open &= (edge >= 0) & ~np.any([source == node for node in visited], axis=0)
        edges.append(np.where(is_open, edge, -1))
        visited.append(np.where(is_open, source, -1))
    paths: dict[int, tuple[int, ...]] = {}
    for row, *path in np.stack([visited[0], *edges[::-1]], axis=1).tolist():
        followed_edges = tuple(edge for edge in path if edge >= 0)
        if followed_edges:
            paths[row] = followed_edges
    return paths


@dataclass(frozen=True)
class FactGraph(MentionGraph):
    """A mention graph whose last nodes are the entities of a knowledge graph, by code.

    Attributes
    ----------
    knowledge_graph : the knowledge graph.
    triples : (n_edges,) the index of the triple that gave an edge; -1 for edges of mentions.
    """

    knowledge_graph: KnowledgeGraph
    triples: IntArray

    def stated_triple(self, edge: int) -> Triple | None:
        """The triple that gave an edge; None for an edge of a mention."""
        index = int(self.triples[edge])
        return None if index < 0 else self.knowledge_graph.triple(index)

    def walk_graph_within(self, candidate_rows: IntArray | None) -> WalkGraph:
        """The graph for walks without the triples that only other passages state.

        The edges of these triples have weight 0.
        """
        within = self.triples_within(candidate_rows)
        if within is None:
            return self.walk_graph
        weights = np.where(
            (self.triples < 0) | np.isin(self.triples, within), self.weights, 0.0
        )
        return WalkGraph.directed(self.sources, self.targets, weights, self.n_nodes)

    def triples_within(self, candidate_rows: IntArray | None) -> IntArray | None:
        """The indices of the triples that a candidate or no passage states; None for all triples."""
        if candidate_rows is None:
            return None
        rows = self.knowledge_graph.triples.passages
        return np.flatnonzero((rows < 0) | np.isin(rows, candidate_rows))

    def triple_restart(self, triples: IntArray, shares: FloatArray) -> NodeWeights:
        """The restart weights of triples: each end of a triple gets half of the triple's share."""
        table = self.knowledge_graph.triples
        first_entity = self.n_nodes - self.knowledge_graph.n_entities
        ends = first_entity + np.concatenate(
            [table.heads[triples], table.tails[triples]]
        )
        return NodeWeights.of(ends, np.tile(shares / 2, 2))


def with_facts(
    graph: MentionGraph,
    knowledge_graph: KnowledgeGraph,
    *,
    name_weight: float,
    triple_weight: float,
) -> FactGraph:
    """A mention graph joined with a knowledge graph.

    Edges in both directions join a passage and the entities that it names, and the ends of each
    triple.

    Parameters
    ----------
    name_weight : an edge between a passage and an entity has weight name_weight · ln(1 + N / df).
    triple_weight : an edge of a triple has weight triple_weight · strength / 10.
    """
    n = graph.n_nodes
    table = knowledge_graph.triples
    mentions = knowledge_graph.mentions
    rows = mentions.others.astype(np.int64)
    entities = mentions.owners.astype(np.int64)
    frequencies = np.diff(mentions.indptr)[entities]
    rarity = np.log1p(knowledge_graph.n_passages / frequencies)
    # A triple from an entity to itself gives no edge.
    joining = np.flatnonzero(table.heads != table.tails)
    heads = table.heads[joining].astype(np.int64) + n
    tails = table.tails[joining].astype(np.int64) + n
    strengths = triple_weight * table.strengths[joining].astype(np.float64) / 10
    sources = np.concatenate([graph.sources, rows, entities + n, heads, tails])
    targets = np.concatenate(
        [graph.targets.astype(np.int64), entities + n, rows, tails, heads]
    )
    weights = np.concatenate(
        [graph.weights, np.tile(name_weight * rarity, 2), np.tile(strengths, 2)]
    )
    new_kinds = np.repeat(
        np.array([MENTION, TRIPLE], np.int8), [2 * len(rows), 2 * len(joining)]
    )
    kinds = np.concatenate([graph.kinds, new_kinds])
    triples = np.concatenate(
        [np.full(len(sources) - 2 * len(joining), -1), np.tile(joining, 2)]
    )
    order = np.lexsort((kinds, targets, sources))
    return FactGraph(
        n_passages=graph.n_passages,
        indptr=read_only(offsets(sources, n + knowledge_graph.n_entities)),
        targets=read_only(targets[order].astype(np.int32)),
        weights=read_only(weights[order]),
        kinds=read_only(kinds[order]),
        knowledge_graph=knowledge_graph,
        triples=read_only(triples[order]),
    )


def fact_graph(
    kb: KnowledgeBase,
    backward: float,
    name_weight: float,
    max_mentions: int,
    triple_weight: float,
) -> FactGraph:
    """`mention_graph` joined with the knowledge graph, built once for each setting."""
    return kb.cached(
        ("fact_graph", backward, name_weight, max_mentions, triple_weight),
        lambda: with_facts(
            mention_graph(kb, backward, name_weight, max_mentions),
            kb.graph,
            name_weight=name_weight,
            triple_weight=triple_weight,
        ),
    )
