"""Activated entities and the sentences between them -> how each passage is connected with the query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.retrievers.linear_rag.graph import tri_graph
from kg2rag.types.arrays import IntArray
from kg2rag.types.passages import Triple


class Activation(NamedTuple):
    """How an entity was reached: its score, the iteration (from 1), the entity and the sentence before; -1 for none."""

    score: float
    iteration: int
    source: int = -1
    sentence: int = -1


def bridged_paths(kb: KnowledgeBase, active: Mapping[int, Activation], rows: IntArray) -> dict[int, tuple[Triple, ...]]:
    """The path of each passage that mentions an activated entity: how the most activated was reached, and its mention.

    Parameters
    ----------
    active : entity -> how it was reached. rows : the passages that need a path.
    """
    corpus, names = kb.corpus, kb.mentions.names
    bridging: dict[int, int] = {}
    for entity in sorted(active, key=lambda entity: -active[entity].score):
        for row in np.intersect1d(tri_graph(kb).occurrences.of(entity)[0], rows).tolist():
            bridging.setdefault(row, entity)
    paths = {}
    for row, entity in bridging.items():
        title = corpus.titles[row] or corpus.ids[row]
        paths[row] = (*_bridge(kb, active, entity), Triple(title, "mentions", names[entity], corpus.ids[row]))
    return paths


def _bridge(kb: KnowledgeBase, active: Mapping[int, Activation], entity: int) -> tuple[Triple, ...]:
    """The sentences from an entity of the query to this one. Activations fall on the way, so it has an end."""
    names = kb.mentions.names
    steps: list[Triple] = []
    while (found := active[entity]).source >= 0:
        where = kb.corpus.ids[tri_graph(kb).sentence_rows[found.sentence]]
        steps.append(Triple(names[found.source], "in one sentence with", names[entity], where))
        entity = found.source
    return tuple(reversed(steps))
