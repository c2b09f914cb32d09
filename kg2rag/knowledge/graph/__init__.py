"""Triples, mentions and entities -> one immutable knowledge graph over arrays, its neighbourhoods and its files.

`data` has the arrays; `tables` decides what an entity *is* (one normalised name). Walks are in
`neighbourhood` and `pagerank`, networkx and Parquet in `conversion`, sizes in `report`. Linking
queries to entities is in `kg2rag.retrievers.linking`, drawing in `kg2rag.report.plots`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kg2rag.extraction.importers.networkx_graph import extraction_of_networkx
from kg2rag.knowledge.graph.conversion import load, save, to_networkx
from kg2rag.knowledge.graph.data import GraphData
from kg2rag.knowledge.graph.editing import corroborated, damped, induced
from kg2rag.knowledge.graph.neighbourhood import Neighbour, ego, graph_score, neighbourhood, neighbours
from kg2rag.knowledge.graph.perturbation import perturbed
from kg2rag.knowledge.graph.report import describe, report
from kg2rag.knowledge.graph.resolution import resolve
from kg2rag.types import Corpus

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["KnowledgeGraph", "Neighbour", "graph_score"]


@dataclass(frozen=True, eq=False, repr=False)
class KnowledgeGraph(GraphData):
    """Entities, the triples between them and the passages that name them; immutable, equal where the contents are.

    Entities, triples and passages are numbered from 0: an entity by first appearance (its *code*), a triple in the
    order given, a passage by its row in the corpus. Make one with `build`, `load` or `from_networkx`; `GraphData` has
    the attributes. No method changes the graph: those that say "the graph with …" return another.
    """

    neighbours = neighbours
    neighbourhood = neighbourhood
    ego = ego
    subgraph = induced
    describe = describe
    report = report
    resolve = resolve
    corroborated = corroborated
    damped = damped
    perturb = perturbed
    to_networkx = to_networkx
    save = save

    @classmethod
    def load(cls, directory: Path | str, corpus: Corpus) -> KnowledgeGraph:
        """A graph that `save` wrote, over the corpus that it was built on."""
        return load(cls, Path(directory), corpus)

    @classmethod
    def from_networkx(cls, graph: nx.Graph, corpus: Corpus) -> KnowledgeGraph:
        """A networkx graph as a `KnowledgeGraph`: one that `to_networkx` made comes back equal (see `passages` there).

        Of any other graph, nodes are names and edges triples, in the graph's own order; `relation` is required, the
        other attributes are optional. An edge of an undirected graph runs from its first end to its second.

        Raises
        ------
        ValueError : a node that is no string, an edge without a relation, a weight out of range, an unknown passage.
        """
        return cls.build(extraction_of_networkx(graph), corpus)
