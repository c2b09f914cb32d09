"""A knowledge graph -> its sizes, components, coverage and hubs as a small table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kg2rag.knowledge.graph.components import Components
from kg2rag.knowledge.graph.data import GraphData

if TYPE_CHECKING:
    import pandas as pd


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
