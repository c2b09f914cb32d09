"""Strategies × graphs -> the systems to compare: each strategy once over every knowledge base.

A strategy that gains as much over a placebo as over the graph gains from more candidates, not from the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kg2rag.evaluation.running import require_mapping
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Query, Ranking, Trace

Strategy = Callable[[KnowledgeBase], Any]
"""Makes a system from a knowledge base: a class such as `HippoRAG2`, or any function."""


@dataclass(frozen=True)
class Over(Retriever):
    """A system over a named graph; `graph` distinguishes systems whose configurations are otherwise equal."""

    system: Retriever
    graph: str

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """What the system retrieves."""
        return self.system.retrieve_batch(queries, k)

    def prepare(self, queries: Sequence[Query]) -> None:
        """Prepare the system."""
        self.system.prepare(queries)

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """The system's own trace."""
        return self.system.trace_batch(queries, k)


def over_graphs(
    systems: Mapping[str, object], graphs: Mapping[str, KnowledgeBase | Sequence[KnowledgeBase]]
) -> dict[str, Any]:
    """Systems stay as they are; a strategy becomes one system for each graph, called "strategy.graph".

    Of a graph with several knowledge bases (a placebo under several seeds), the systems are one row: see `compare`.

    Raises
    ------
    ValueError : no graph, no strategy, or two systems of one name.
    TypeError : systems without names, or a graph that is no knowledge base.
    """
    require_mapping(systems)
    if not graphs:
        raise ValueError("No graph to compare. Pass at least one, such as {'mentions': KnowledgeBase.build(corpus)}.")
    made: list[tuple[str, Any]] = []
    for name, system in systems.items():
        if isinstance(system, type) or not hasattr(system, "retrieve_batch"):
            made += [(f"{name}.{graph}", _over(name, system, graph, kbs)) for graph, kbs in graphs.items()]
        else:
            made.append((name, system))
    names = [name for name, _ in made]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"Two systems would be called {name!r}. Rename one, or a graph.")
    if made == list(systems.items()):
        raise ValueError(
            "Every system is built already. Pass strategies, such as {'hippo2': HippoRAG2}, to run over graphs."
        )
    return dict(made)


def _over(name: str, strategy: object, graph: str, kbs: KnowledgeBase | Sequence[KnowledgeBase]) -> object:
    if not callable(strategy):
        raise TypeError(f"Strategy {name!r} is {strategy!r}, which is no function of a knowledge base.")
    alike = [kbs] if isinstance(kbs, KnowledgeBase) else list(kbs)
    for kb in alike:
        if not isinstance(kb, KnowledgeBase):
            raise TypeError(f"Graph {graph!r} is {kb!r}, no KnowledgeBase. Make one with KnowledgeBase.build.")
    if len(alike) == 1:
        return Over(strategy(alike[0]), graph)
    return [Over(strategy(kb), f"{graph} {number}") for number, kb in enumerate(alike)]
