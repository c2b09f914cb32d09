"""Entities -> the entities around them, up to three hops away, each with the path that reached it; and their score.

Breadth-first over the triples, both ways, one numpy pass a hop. Ours: how strong a path is, and what `limit` counts.
The graph score is the formula of the graph-augmented design (docs: strategies).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kg2rag.knowledge.graph.csr import gather, run_starts
from kg2rag.knowledge.graph.data import Graph, GraphData
from kg2rag.knowledge.graph.editing import induced
from kg2rag.types import FloatArray, IntArray, at_least, between, require

Hops = Annotated[int, between(1, 3)]
Strength = Annotated[float, between(0, 10)]


class Neighbour(NamedTuple):
    """An entity that a walk reached.

    `weight` is the weakest strength on the path, in (0, 10]; `path` the triples walked, in order; `seed` the entity
    where it began.
    """

    entity: int
    hop: int
    weight: float
    path: tuple[int, ...]
    seed: int


@dataclass(frozen=True, eq=False)
class Layer:
    """The entities first reached at one hop, (n,) each, by (-weight, entity).

    `parents` are positions in the layer before (for the first hop: in the seeds), `via` the triples last walked,
    `sums` the added strengths of the path, which decide between paths of equal weight.
    """

    entities: IntArray
    weights: FloatArray
    sums: FloatArray
    parents: IntArray
    via: IntArray


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The entities around some seeds as columns, ordered by (hop, -weight, code); `neighbours` as arrays.

    `seeds` and `layers` are the walk; everything else is derived from it.
    """

    seeds: IntArray
    layers: tuple[Layer, ...]

    @cached_property
    def entities(self) -> IntArray:
        """(n,) the entities reached, each once."""
        return np.concatenate([layer.entities for layer in self.layers])

    @cached_property
    def weights(self) -> FloatArray:
        """(n,) the weakest strength on each one's path, in (0, 10]."""
        return np.concatenate([layer.weights for layer in self.layers])

    @cached_property
    def hops(self) -> IntArray:
        """(n,) how many triples away each one is, from 1."""
        return np.repeat(np.arange(1, len(self.layers) + 1), [len(layer.entities) for layer in self.layers])

    def neighbour(self, at: int) -> Neighbour:
        """The entity at a position of the columns, with its path and the seed it began at."""
        hop = int(self.hops[at])
        at -= sum(len(layer.entities) for layer in self.layers[: hop - 1])
        last, path, seed = self.layers[hop - 1], list[int](), at
        for layer in reversed(self.layers[:hop]):
            path.insert(0, int(layer.via[seed]))
            seed = int(layer.parents[seed])
        return Neighbour(int(last.entities[at]), hop, float(last.weights[at]), tuple(path), int(self.seeds[seed]))


def _step(
    graph: GraphData,
    frontier: Layer,
    unseen: NDArray[np.bool_],
    allowed: NDArray[np.bool_] | None,
    min_weight: float,
    limit: int | None,
) -> Layer:
    adjacency, triples = graph.adjacency, graph.triples
    slots, parents = gather(adjacency.indptr, frontier.entities)
    via = adjacency.triples[slots]
    # min_weight is compared as float32: 0.3 from a file must not fall below the 0.3 of a caller.
    kept = unseen[adjacency.neighbours[slots]] & (triples.strengths[via] >= np.float32(min_weight))
    if allowed is not None:
        kept &= allowed[triples.relations[via]]
    parents, slots = parents[kept], slots[kept]
    if limit is not None:
        strongest = _strongest(parents, adjacency.neighbours[slots], limit)
        parents, slots = parents[strongest], slots[strongest]
    reached = adjacency.neighbours[slots].astype(np.int64)
    via = adjacency.triples[slots]
    strengths = triples.strengths[via].astype(np.float64)
    weights = np.minimum(frontier.weights[parents], strengths)
    sums = frontier.sums[parents] + strengths
    best = np.lexsort((via, -sums, -weights, reached))
    best = best[run_starts(reached[best])]
    best = best[np.lexsort((reached[best], -weights[best]))]
    return Layer(reached[best], weights[best], sums[best], parents[best], via[best].astype(np.int64))


def _strongest(parents: IntArray, reached: NDArray[np.integer], limit: int) -> IntArray:
    """The first `limit` distinct entities of each parent; its slots come strongest first."""
    order = np.lexsort((np.arange(len(parents)), reached, parents))
    kept = np.sort(order[run_starts(parents[order], reached[order])])
    owners = parents[kept]
    starts = np.flatnonzero(run_starts(owners))
    rank = np.arange(len(kept)) - np.repeat(starts, np.diff(np.append(starts, len(kept))))
    return kept[rank < limit]


def neighbours(
    graph: GraphData,
    entities: Iterable[int],
    *,
    hops: int = 1,
    min_weight: float = 0.0,
    relation_types: Iterable[str] | None = None,
    limit: int | None = None,
) -> list[Neighbour]:
    """The entities within `hops` triples of the seeds, walked both ways; ordered by (hop, -weight, code).

    Every entity comes once, by its smallest hop from any seed, and the seeds themselves do not come. Its path
    lengthens the path of an entity one hop nearer by one triple. Of several, the one of greatest weight (the
    weakest strength on the path) is kept, then the one of the greatest sum of strengths, then the one whose last
    triple came first.

    Parameters
    ----------
    entities : the seeds; repeated ones count once.
    hops : 1 to 3.
    min_weight : triples of less strength, 0 to 10, are not walked.
    relation_types : walk these relations alone; case and punctuation do not matter.
    limit : from each entity walk on to at most so many entities that no earlier hop reached, over its strongest
        triples (then the first in the graph). It bounds a hub's share, not the length of the result.

    Raises
    ------
    IndexError : no such entity. ValueError : an option out of range, or a relation that the graph lacks.
    """
    around = neighbourhood(
        graph, entities, hops=hops, min_weight=min_weight, relation_types=relation_types, limit=limit
    )
    return [around.neighbour(at) for at in range(len(around.entities))]


def neighbourhood(
    graph: GraphData,
    entities: Iterable[int],
    *,
    hops: int = 1,
    min_weight: float = 0.0,
    relation_types: Iterable[str] | None = None,
    limit: int | None = None,
) -> Neighbourhood:
    """What `neighbours` lists, as arrays: no object is made for an entity, so a hub's 100 000 neighbours cost little.

    Parameters and errors are those of `neighbours`.
    """
    seeds = np.array(list(dict.fromkeys(entities)), dtype=np.int64)
    if ((seeds < 0) | (seeds >= graph.n_entities)).any():
        raise IndexError(f"Entities {seeds.tolist()} are not all codes of a graph of {graph.n_entities} entities.")
    allowed = None if relation_types is None else graph.relations_among(relation_types)
    unseen = np.ones(graph.n_entities, dtype=bool)
    require("hops", hops, int, between(1, 3))
    require("min_weight", min_weight, float, between(0, 10))
    require("limit", limit, int | None, at_least(1))
    layer = Layer(seeds, np.full(len(seeds), np.inf), np.zeros(len(seeds)), seeds, seeds)
    layers: list[Layer] = []
    for _ in range(hops):
        unseen[layer.entities] = False
        layer = _step(graph, layer, unseen, allowed, min_weight, limit)
        layers.append(layer)
    return Neighbourhood(seeds, tuple(layers))


def ego(graph: Graph, entity: int, *, hops: int = 1, limit: int | None = None) -> Graph:
    """The subgraph of an entity and its `neighbours`."""
    near = neighbours(graph, [entity], hops=hops, limit=limit)
    return induced(graph, [entity, *(neighbour.entity for neighbour in near)])


def graph_score(strength: ArrayLike, hop: ArrayLike, mentions: ArrayLike) -> FloatArray:
    """How much a passage gains from being reached through an entity: in [0, 1], broadcast over its arguments.

    (strength / 10) * 2^-(hop - 1) * (0.7 + 0.3 * min(log2(mentions + 1) / 5, 1))

    Parameters
    ----------
    strength : of the path, 0 to 10. hop : from 1. mentions : of the entity; 31 and more count the same.

    Raises
    ------
    ValueError : a strength outside [0, 10], a hop below 1, or fewer than 0 mentions.

    >>> graph_score(strength=10, hop=[1, 2], mentions=31).tolist()
    [1.0, 0.5]
    """
    strength, hop, mentions = (np.asarray(values, dtype=np.float64) for values in (strength, hop, mentions))
    for name, values, low, high in (
        ("strength", strength, 0, 10),
        ("hop", hop, 1, np.inf),
        ("mentions", mentions, 0, np.inf),
    ):
        wrong = ~((values >= low) & (values <= high))
        if wrong.any():
            raise ValueError(f"graph_score: {name} {values[wrong].flat[0]:g} is outside [{low}, {high}].")
    popularity = np.minimum(np.log2(mentions + 1) / 5, 1)
    score: FloatArray = strength / 10 * 2.0 ** -(hop - 1) * (0.7 + 0.3 * popularity)
    return np.asarray(score)
