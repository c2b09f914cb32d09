"""Triples, mentions and entities -> one immutable knowledge graph over arrays, its neighbourhoods and its files.

`data` has the arrays, `knowledge` the methods; `tables` decides what an entity *is* (one normalised name). Walks are in
`neighbourhood` and `pagerank`, networkx and Parquet in `conversion`, sizes in `report`. Linking
queries to entities is in `kg2rag.retrievers.linking`, drawing in `kg2rag.report.plots`.
"""

from __future__ import annotations

from kg2rag.knowledge.graph.knowledge import KnowledgeGraph
from kg2rag.knowledge.graph.neighbourhood import Neighbour, graph_score

__all__ = ["KnowledgeGraph", "Neighbour", "graph_score"]
