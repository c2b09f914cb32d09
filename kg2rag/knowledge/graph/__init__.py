"""Triples, mentions and entities -> an immutable knowledge graph over arrays."""

from kg2rag.knowledge.graph.data import KnowledgeGraph
from kg2rag.knowledge.graph.neighbourhood import Neighbour, graph_score

__all__ = ["KnowledgeGraph", "Neighbour", "graph_score"]
