"""Triples, mentions and entities -> one immutable knowledge graph over arrays, its neighbourhoods and its files.

What an entity *is* (one normalised name) is decided in `build`; walking stands in `neighbourhood`, networkx in
`conversion`, Parquet in `files`, sizes and components in `statistics`. Finding the entities that a query names is left
to `kg2rag.retrievers.linking.linkers`, drawing to `kg2rag.report.plots`.
"""

from __future__ import annotations

from kg2rag.knowledge.graph.knowledge import KnowledgeGraph
from kg2rag.knowledge.graph.neighbourhood import Neighbour, graph_score

__all__ = ["KnowledgeGraph", "Neighbour", "graph_score"]
