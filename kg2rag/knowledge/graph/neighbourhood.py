"""Entities -> their neighbourhood, with the path to each neighbour, its score, and subgraphs.

The search is breadth-first over the triples, in both directions, one numpy pass per hop. Ours: the
weight of a path, and the meaning of `limit`. The graph score is the formula of the graph-augmented
design (docs: strategies).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kg2rag.knowledge.graph.csr import gather, incidence, run_starts
from kg2rag.knowledge.graph.tables import factorize, renumber_descriptions
from kg2rag.types import (
    FloatArray,
    IntArray,
    ParameterError,
    at_least,
    between,
    require,
)

if TYPE_CHECKING:
    from kg2rag.knowledge.graph import KnowledgeGraph
Hops = Annotated[int, between(1, 3)]
Strength = Annotated[float, between(0, 10)]
Flags = NDArray[np.bool_]


class Neighbour(NamedTuple):
    """An entity and the path of triples that leads to it from a seed.

    `weight` is the weakest strength on the path.
    """

    entity: int
    hop: int
    weight: float
    path: tuple[int, ...]
    seed: int


class Layer(NamedTuple):
    """The entities that are first reached at one hop, by (-weight, entity); columns of (n,).

    `weights` are the weakest, `sums` the summed strengths on the paths. `parents` are positions in
    the layer of the previous hop, at first in the seeds. `via` are the last triples of the paths.
    """

    entities: IntArray
    weights: FloatArray
    sums: FloatArray
    parents: IntArray
    via: IntArray


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The entities around some seeds as columns, (n,) each, ordered by (hop, -weight, code).

    Each entity occurs once; its weight is the weakest strength on its path, in (0, 10].
    """

    seeds: IntArray
    layers: tuple[Layer, ...]
    entities: IntArray
    weights: FloatArray
    hops: IntArray

    def neighbour(self, position: int) -> Neighbour:
        """The neighbour at a position of the columns, with its path and seed."""
        hop = int(self.hops[position])
        path: list[int] = []
        parent = position - sum(len(layer.entities) for layer in self.layers[: hop - 1])
        for layer in reversed(self.layers[:hop]):
            path.insert(0, int(layer.via[parent]))
            parent = int(layer.parents[parent])
        seed = int(self.seeds[parent])
        return Neighbour(
            int(self.entities[position]),
            hop,
            float(self.weights[position]),
            tuple(path),
            seed,
        )


def neighbourhood(
    graph: KnowledgeGraph,
    entities: Iterable[int],
    *,
    hops: int = 1,
    min_weight: float = 0.0,
    relation_types: Iterable[str] | None = None,
    limit: int | None = None,
) -> Neighbourhood:
    """The entities within `hops` triples of the seeds, in both directions, by (hop, -weight, code).

    Every entity occurs once, at its smallest hop from any seed; the seeds are left out. Its path
    extends that of an entity one hop nearer by one triple. Of several such paths it has the one
    with the greatest weight, then the greatest sum of strengths, then the lowest last triple.

    Parameters
    ----------
    entities : the seeds; repeated ones count once.
    hops : 1 to 3.
    min_weight : triples of less strength, 0 to 10, are not walked.
    relation_types : walk only these relations; case and punctuation do not matter.
    limit : the maximum of new entities from each entity, over its strongest triples (then the first in the graph).
        It bounds a hub's share, not the length of the result.

    IndexError: no such entity. ValueError: an option out of range, or a relation that the graph
    lacks.
    """
    seeds = np.array(list(dict.fromkeys(entities)), dtype=np.int64)
    if ((seeds < 0) | (seeds >= graph.n_entities)).any():
        raise IndexError(
            f"Entities {seeds.tolist()} are not all codes of a graph of {graph.n_entities} entities."
        )
    require("hops", hops, int, between(1, 3))
    require("min_weight", min_weight, float, between(0, 10))
    require("limit", limit, int | None, at_least(1))
    # As float32: a strength of 0.3 from a file must not be below a caller's 0.3.
    is_walked = graph.triples.strengths >= np.float32(min_weight)
    if relation_types is not None:
        is_walked &= graph.relations_among(relation_types)[graph.triples.relations]
    is_unseen = np.ones(graph.n_entities, dtype=bool)
    layer = Layer(
        seeds, np.full(len(seeds), np.inf), np.zeros(len(seeds)), seeds, seeds
    )
    layers: list[Layer] = []
    for _ in range(hops):
        is_unseen[layer.entities] = False
        layer = _next_layer(graph, layer, is_unseen, is_walked, limit)
        layers.append(layer)
    hop_of = np.repeat(
        np.arange(1, hops + 1), [len(layer.entities) for layer in layers]
    )
    codes = np.concatenate([layer.entities for layer in layers])
    weights = np.concatenate([layer.weights for layer in layers])
    return Neighbourhood(seeds, tuple(layers), codes, weights, hop_of)


def _next_layer(
    graph: KnowledgeGraph,
    layer: Layer,
    is_unseen: Flags,
    is_walked: Flags,
    limit: int | None,
) -> Layer:
    """The layer of the unseen entities that walked triples join to a layer.

    `is_unseen`, (n_entities,), and `is_walked`, (n_triples,), are masks. With a limit, each entity
    of the layer leads to so many new ones, over its strongest triples.
    """
    adjacency = graph.adjacency
    slots, parents = gather(adjacency.indptr, layer.entities)
    is_open = (
        is_unseen[adjacency.neighbours[slots]] & is_walked[adjacency.triples[slots]]
    )
    slots, parents = slots[is_open], parents[is_open]
    if limit is not None:
        first = _first_slots(adjacency.neighbours[slots], parents, limit)
        slots, parents = slots[first], parents[first]
    entities = adjacency.neighbours[slots].astype(np.int64)
    via = adjacency.triples[slots].astype(np.int64)
    strengths = graph.triples.strengths[via].astype(np.float64)
    weights = np.minimum(layer.weights[parents], strengths)
    sums = layer.sums[parents] + strengths
    # The best triple to each entity: greatest weight, then greatest sum, then lowest index.
    order = np.lexsort((via, -sums, -weights, entities))
    best = order[run_starts(entities[order])]
    best = best[np.lexsort((entities[best], -weights[best]))]
    return Layer(entities[best], weights[best], sums[best], parents[best], via[best])


def _first_slots(
    entities: NDArray[np.integer], parents: IntArray, limit: int
) -> IntArray:
    """The indices of the first slot of each of the first `limit` entities of every parent.

    `entities` and `parents`, (n_slots,), are ordered by parent, and then by descending strength.
    """
    # The first slot of each entity of a parent, and its rank among those of the parent.
    order = np.lexsort((np.arange(len(entities)), entities, parents))
    first = np.sort(order[run_starts(parents[order], entities[order])])
    rank = np.arange(len(first)) - np.searchsorted(parents[first], parents[first])
    return first[rank < limit]


def neighbours(
    graph: KnowledgeGraph, entities: Iterable[int], **options: Any
) -> list[Neighbour]:
    """The neighbours of some entities; options, order and errors are those of `neighbourhood`."""
    columns = neighbourhood(graph, entities, **options)
    return [columns.neighbour(position) for position in range(len(columns.entities))]


def ego(
    graph: KnowledgeGraph, entity: int, *, hops: int = 1, limit: int | None = None
) -> KnowledgeGraph:
    """The subgraph of an entity and its `neighbours`."""
    columns = neighbourhood(graph, [entity], hops=hops, limit=limit)
    return induced(graph, [entity, *columns.entities.tolist()])


def induced(graph: KnowledgeGraph, codes: Iterable[int]) -> KnowledgeGraph:
    """The subgraph of some entities, with the triples between them and their mentions.

    Entities are renumbered in their order, and relations by first appearance, so that a subgraph
    equals the graph built from its triples. IndexError: no such entity.
    """
    members = np.unique(np.array(list(codes), dtype=np.int64))
    if len(members) and not 0 <= members[0] <= members[-1] < graph.n_entities:
        raise IndexError(
            f"Entities {members.tolist()} are not all codes of a graph of {graph.n_entities} entities."
        )
    code_of = np.full(graph.n_entities, -1, dtype=np.int32)
    code_of[members] = np.arange(len(members))
    is_inside = (code_of[graph.triples.heads] >= 0) & (
        code_of[graph.triples.tails] >= 0
    )
    table, descriptions = renumber_descriptions(
        graph.triples.take(np.flatnonzero(is_inside)), graph.triple_descriptions
    )
    relations, order = factorize(table.relations)
    mentions = graph.mentions
    is_mentioned = code_of[mentions.owners] >= 0
    owners = code_of[mentions.owners[is_mentioned]]
    rows = mentions.others[is_mentioned]
    counts = mentions.counts[is_mentioned]
    return replace(
        graph,
        names=tuple(graph.names[code] for code in members.tolist()),
        types=tuple(graph.types[code] for code in members.tolist()),
        descriptions=tuple(graph.descriptions[code] for code in members.tolist()),
        aliases=tuple(graph.aliases[code] for code in members.tolist()),
        relations=tuple(graph.relations[code] for code in order),
        triple_descriptions=descriptions,
        triples=replace(
            table,
            heads=code_of[table.heads],
            relations=relations,
            tails=code_of[table.tails],
        ),
        mentions=incidence(owners, rows, counts, len(members)),
        notes={},
    )


def graph_score(strength: ArrayLike, hop: ArrayLike, mentions: ArrayLike) -> FloatArray:
    """The gain of a passage that is reached through an entity, in [0, 1]; arguments broadcast.

    (strength / 10) * 2^-(hop - 1) * (0.7 + 0.3 * min(log2(mentions + 1) / 5, 1))

    `strength` : that of the path, 0 to 10. `hop` : from 1. `mentions` : the number of the entity's mentions, capped
    at 31.
    ParameterError: a number out of range.

    >>> graph_score(strength=10, hop=[1, 2], mentions=31).tolist()
    [1.0, 0.5]
    """
    strength, hop, mentions = (
        np.asarray(values, dtype=np.float64) for values in (strength, hop, mentions)
    )
    for name, values, minimum, maximum in (
        ("strength", strength, 0.0, 10.0),
        ("hop", hop, 1.0, np.inf),
        ("mentions", mentions, 0.0, np.inf),
    ):
        if not ((values >= minimum) & (values <= maximum)).all():
            raise ParameterError(
                f"{name} must be between {minimum:g} and {maximum:g}, not {values}."
            )
    popularity = np.minimum(np.log2(mentions + 1) / 5, 1)
    return np.asarray(strength / 10 * 2.0 ** -(hop - 1) * (0.7 + 0.3 * popularity))
