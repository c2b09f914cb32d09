"""A knowledge graph -> the same graph with other strengths, or with edges between synonyms.

Pure functions: the graph given stays as it is, and one may be applied to the result of another. The formulas are ours
but for the synonym edges, which are HippoRAG's [1].

[1] Gutiérrez et al., "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language Models", NeurIPS 2024.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from kg2rag.knowledge.graph.build import SMALLEST
from kg2rag.knowledge.graph.csr import frozen
from kg2rag.knowledge.graph.data import Graph
from kg2rag.knowledge.graph.synonyms import synonyms
from kg2rag.knowledge.graph.tables import TripleTable
from kg2rag.types import FloatArray, Matrix, at_least, one_of, require

SYNONYM = "is a synonym of"
LETTERS = 3  # names of fewer letters and digits have no synonyms, as in HippoRAG


def corroborated(graph: Graph, by: Literal["triple", "pair"] = "triple") -> Graph:
    """Strengths that grow with the number of passages that state the same.

    Passages are taken for independent witnesses: s = 10 · (1 - Π (1 - s_p / 10)), over the passages p that state the
    fact and their greatest strength for it, s_p. Of statements with the default strength, 5, one gives 5, two give
    7.5, three 8.75. The triples that no passage states count as one witness more. Apply it once.

    Parameters
    ----------
    by : what is the same: head, relation and tail ("triple"), or any relation between the two, either way ("pair").
    """
    require("by", by, str, one_of(("triple", "pair")))
    table = graph.triples
    ends = [table.heads, table.tails]
    parts = [*ends, table.relations] if by == "triple" else [np.minimum(*ends), np.maximum(*ends)]
    facts = np.unique(np.stack(parts, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    statements, inverse = np.unique(np.stack([facts, table.passages], axis=1), axis=0, return_inverse=True)
    witnesses = np.zeros(len(statements))
    np.maximum.at(witnesses, inverse.reshape(-1), table.strengths)
    doubts = np.ones(int(facts.max(initial=-1)) + 1)
    np.multiply.at(doubts, statements[:, 0], 1 - witnesses / 10)
    return _with_strengths(graph, 10 * (1 - doubts[facts]))


def damped(graph: Graph, *, above: float = 20.0, exponent: float = 0.5) -> Graph:
    """Strengths that fall at hubs, so that a walk does not run through "United States".

    s' = s · min(1, above / d(head))^exponent · min(1, above / d(tail))^exponent, d being an entity's number of triples.

    Parameters
    ----------
    above : the degree from which on an entity is a hub, at least 1.
    exponent : at least 0; 0 changes nothing, at 1 a hub of twice `above` halves its triples.
    """
    require("above", above, float, at_least(1))
    require("exponent", exponent, float, at_least(0))
    share = np.minimum(1.0, above / np.maximum(graph.degrees, 1)) ** exponent
    table = graph.triples
    return _with_strengths(graph, table.strengths * share[table.heads] * share[table.tails])


def with_synonyms(graph: Graph, vectors: Matrix, *, threshold: float = 0.8, limit: int = 100) -> Graph:
    """The graph with a triple "is a synonym of" between any two entities of similar names.

    No passage states these triples, so they lengthen walks from entity to entity and bring in no passage themselves.
    Their strength is ten times the cosine, their confidence the cosine; each pair has one, from the entity that comes
    first. Entities that are surely one are better merged, see `resolve`.

    Parameters
    ----------
    vectors : (n_entities, dim), rows of norm 1, of the graph's names (`kb.entities.vectors`).
    threshold : least cosine, in (0, 1]; HippoRAG's 0.8.
    limit : at most so many synonyms looked up for each entity, the most similar; HippoRAG's 100.

    Raises
    ------
    ValueError : there are not as many vectors as entities, or the graph has synonyms already.
    """
    if len(vectors) != graph.n_entities:
        raise ValueError(f"There are {len(vectors)} vectors for {graph.n_entities} entities. Encode graph.names.")
    if SYNONYM in graph.relations:
        raise ValueError(f"The graph has triples {SYNONYM!r} already. Start from the graph without them.")
    long_ = np.flatnonzero([sum(map(str.isalnum, name)) >= LETTERS for name in graph.names]).astype(np.int64)
    found = synonyms(vectors, threshold, limit=limit, sources=long_, targets=long_)
    low, high = np.minimum(found.sources, found.targets), np.maximum(found.sources, found.targets)
    pairs, first = np.unique(np.stack([low, high], axis=1), axis=0, return_index=True)
    if not len(pairs):
        return graph
    cosines, size = np.minimum(found.cosines[first], 1.0), len(pairs)
    added = TripleTable(
        heads=pairs[:, 0].astype(np.int32),
        relations=np.full(size, graph.n_relations, dtype=np.int32),
        tails=pairs[:, 1].astype(np.int32),
        passages=np.full(size, -1, dtype=np.int32),
        strengths=(10 * cosines).astype(np.float32),
        confidences=cosines.astype(np.float32),
        descriptions=np.zeros(size, dtype=np.int32),
    )
    return replace(graph, relations=(*graph.relations, SYNONYM), triples=graph.triples.followed_by(added))


def _with_strengths(graph: Graph, strengths: FloatArray) -> Graph:
    inside = np.clip(strengths.astype(np.float32), np.float32(SMALLEST), np.float32(10))
    return replace(graph, triples=replace(graph.triples, strengths=frozen(inside)))
