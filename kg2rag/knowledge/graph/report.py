"""A knowledge graph -> its report: sizes, components and coverage, hubs, relations.

How much of a question set's gold the graph reaches is measured by `kg2rag.graph_report`.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from kg2rag.knowledge.graph.components import Components
from kg2rag.knowledge.graph.data import GraphData

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class GraphReport:
    """What a graph is made of; shows itself in Jupyter and in a terminal.

    Attributes
    ----------
    sizes : one row a statistic, column `value`; see `KnowledgeGraph.describe`.
    hubs : the entities with the most triples: entity, type, triples, share (of all triples), passages (that name it).
    relations : the most frequent relations: relation, triples, share.
    notes : what extraction, building, repair or perturbation changed, by cause.
    """

    sizes: pd.DataFrame
    hubs: pd.DataFrame
    relations: pd.DataFrame
    notes: dict[str, int]

    def __repr__(self) -> str:
        parts = [self.sizes.to_string(header=False), self.hubs.to_string(index=False)]
        return "\n\n".join([*parts, self.relations.to_string(index=False), *map(": ".join, self._noted())])

    def _repr_html_(self) -> str:
        shown: list[str] = [self.sizes.to_html(header=False, index_names=False)]
        shown += [part.to_html(index=False, float_format="{:.3f}".format) for part in (self.hubs, self.relations)]
        noted = "".join(f"<li>{escape(cause)}: {count}</li>" for cause, count in self._noted())
        return "".join(shown) + (f"<ul>{noted}</ul>" if noted else "")

    def _noted(self) -> list[tuple[str, str]]:
        return [(cause, f"{count:,}") for cause, count in self.notes.items()]


def report(graph: GraphData, *, hubs: int = 10, relations: int = 10) -> GraphReport:
    """Sizes, and so many of the graph's hubs and relations."""
    import pandas as pd

    total = max(graph.n_triples, 1)
    busiest = np.lexsort((np.arange(graph.n_entities), -graph.degrees))[:hubs].tolist()
    named = np.diff(graph.mentions.indptr)
    entities = [
        (graph.names[e], graph.types[e], int(graph.degrees[e]), float(graph.degrees[e] / total), int(named[e]))
        for e in busiest
    ]
    counts = np.bincount(graph.triples.relations, minlength=graph.n_relations)
    frequent = np.lexsort((np.arange(graph.n_relations), -counts))[:relations].tolist()
    return GraphReport(
        describe(graph, min(hubs, 5)),
        pd.DataFrame(entities, columns=["entity", "type", "triples", "share", "passages"]),
        pd.DataFrame(
            [(graph.relations[r], int(counts[r]), float(counts[r] / total)) for r in frequent],
            columns=["relation", "triples", "share"],
        ),
        dict(graph.notes),
    )


def describe(graph: GraphData, hubs: int = 5) -> pd.DataFrame:
    """One row a statistic, column `value`.

    Components are over triples alone: an entity that is only mentioned is an orphan, and a component of its own. A
    passage is covered where it names an entity, isolated where it names none. The degree of an entity is the number of
    triples it is an end of.
    """
    import pandas as pd

    sizes = np.bincount(Components.of_graph(graph).labels)
    named = np.count_nonzero(np.diff(graph.mentioned.indptr))
    stating = np.unique(graph.triples.passages[graph.triples.passages >= 0])
    busiest = np.lexsort((np.arange(graph.n_entities), -graph.degrees))[:hubs]
    values: dict[str, object] = {
        "entities": graph.n_entities,
        "relations": graph.n_relations,
        "triples": graph.n_triples,
        "mentions": graph.n_mentions,
        "orphans": int(np.count_nonzero(graph.degrees == 0)),
        "components": len(sizes),
        "largest component": int(sizes.max(initial=0)),
        "passages": graph.n_passages,
        "passages with a triple": len(stating),
        "isolated passages": graph.n_passages - named,
        "share of passages covered": round(named / graph.n_passages, 4),
        "mean degree": round(float(graph.degrees.mean()), 2) if graph.n_entities else 0.0,
        "greatest degree": int(graph.degrees.max(initial=0)),
        "hubs": ", ".join(f"{graph.names[code]} ({graph.degrees[code]})" for code in busiest.tolist()),
    }
    return pd.DataFrame({"value": pd.Series(values, dtype=object)}).rename_axis("statistic")
