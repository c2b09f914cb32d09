"""A knowledge graph -> its report: sizes, components and coverage, hubs, relations."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from kg2rag.knowledge.graph.paths import Components

if TYPE_CHECKING:
    import pandas as pd

    from kg2rag.knowledge.graph import KnowledgeGraph


@dataclass(frozen=True, eq=False, repr=False)
class GraphReport:
    """The statistics of a graph, for display in Jupyter or a terminal.

    Attributes
    ----------
    sizes : one row per statistic, column `value`; see `KnowledgeGraph.describe`.
    hubs : the entities with the most triples: entity, type, triples, share of all triples, passages that name it.
    relations : the most frequent relations: relation, triples, share.
    notes : the changes by extraction, building, repair and perturbation, by cause.
    """

    sizes: pd.DataFrame
    hubs: pd.DataFrame
    relations: pd.DataFrame
    notes: dict[str, int]

    def __repr__(self) -> str:
        tables = [self.sizes.to_string(header=False)]
        tables += [
            table.to_string(index=False) for table in (self.hubs, self.relations)
        ]
        notes = [f"{cause}: {count:,}" for cause, count in self.notes.items()]
        return "\n\n".join([*tables, *notes])

    def _repr_html_(self) -> str:
        html: str = self.sizes.to_html(header=False, index_names=False)
        for table in (self.hubs, self.relations):
            html += table.to_html(index=False, float_format="{:.3f}".format)
        if self.notes:
            notes = "".join(
                f"<li>{escape(cause)}: {count:,}</li>"
                for cause, count in self.notes.items()
            )
            html += f"<ul>{notes}</ul>"
        return html


def report(graph: KnowledgeGraph, *, hubs: int = 10) -> GraphReport:
    """The sizes of a graph, its `hubs` greatest hubs, and its ten most frequent relations."""
    import pandas as pd

    total = max(graph.n_triples, 1)
    counts = np.bincount(graph.triples.relations, minlength=graph.n_relations)
    entities = pd.DataFrame(
        {
            "entity": graph.names,
            "type": graph.types,
            "triples": graph.degrees,
            "share": graph.degrees / total,
            "passages": np.diff(graph.mentions.indptr),
        }
    )
    relations = pd.DataFrame(
        {"relation": graph.relations, "triples": counts, "share": counts / total}
    )
    sizes = describe(graph, min(hubs, 5))
    return GraphReport(
        sizes,
        _most_frequent(entities, hubs),
        _most_frequent(relations, 10),
        dict(graph.notes),
    )


def _most_frequent(table: pd.DataFrame, size: int) -> pd.DataFrame:
    """The `size` rows of a table with the most triples."""
    return table.sort_values(
        "triples", ascending=False, kind="stable", ignore_index=True
    ).head(size)


def describe(graph: KnowledgeGraph, hubs: int = 5) -> pd.DataFrame:
    """The statistics of a graph: one row each, column `value`.

    Components are over triples: an entity without triples is an orphan, and a component of one. A
    passage that names an entity is covered, others are isolated. The degree of an entity is its
    number of triples.
    """
    import pandas as pd

    sizes = np.bincount(Components.of_graph(graph).labels)
    n_covered = np.count_nonzero(np.diff(graph.mentioned.indptr))
    stating = np.unique(graph.triples.passages[graph.triples.passages >= 0])
    busiest = np.lexsort((np.arange(graph.n_entities), -graph.degrees))[:hubs]
    names = [
        f"{graph.names[code]} ({graph.degrees[code]})" for code in busiest.tolist()
    ]
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
        "isolated passages": graph.n_passages - n_covered,
        "share of passages covered": round(n_covered / graph.n_passages, 4),
        "mean degree": round(float(graph.degrees.mean()), 2)
        if graph.n_entities
        else 0.0,
        "greatest degree": int(graph.degrees.max(initial=0)),
        "hubs": ", ".join(names),
    }
    return pd.DataFrame({"value": pd.Series(values, dtype=object)}).rename_axis(
        "statistic"
    )
