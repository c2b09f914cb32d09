"""Triples, mentions and entities -> one immutable knowledge graph over arrays, its neighbourhoods and its files.

`data` has the arrays, `tables` decides what an entity *is* (one normalised name). Linking queries to entities is in
`kg2rag.retrievers.linking`, drawing in `kg2rag.report.plots`.
"""

from kg2rag.knowledge.graph.data import KnowledgeGraph
from kg2rag.knowledge.graph.neighbourhood import Neighbour, graph_score

__all__ = ["KnowledgeGraph", "Neighbour", "graph_score"]
