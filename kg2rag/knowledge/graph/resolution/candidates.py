"""Entities and a method -> the pairs that the method takes for one thing; nothing is merged here.

Every method looks up what can be looked up by a key, so that no list of pairs grows with the square of the entities.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from kg2rag.knowledge.graph.data import GraphData
from kg2rag.knowledge.graph.resolution.spellings import (
    acronym,
    compound_key,
    differ_tellingly,
    frame,
    initials,
    near_spellings,
    plain_key,
)
from kg2rag.knowledge.graph.synonyms import synonyms
from kg2rag.text.normalisation import entity_key, normalise, without_brackets
from kg2rag.types import IntArray, Matrix

NEIGHBOURS = 16  # similar vectors looked at for each name

Pair = tuple[int, int, float]


class Clusters:
    """Which entities are one by now: each cluster is known by its most mentioned entity, of equal ones the first.

    `fuzzy`, `embedding` and `vectors` are those of `resolve`.
    """

    def __init__(self, graph: GraphData, fuzzy: float, embedding: float, vectors: Matrix | None) -> None:
        self.graph, self.fuzzy, self.embedding, self.vectors = graph, fuzzy, embedding, vectors
        self.into: IntArray = np.arange(graph.n_entities, dtype=np.int64)
        self.types = [normalise(type_) for type_ in graph.types]
        self.notes: Counter[str] = Counter()
        places = np.empty(graph.n_entities, dtype=np.int64)
        places[np.lexsort((self.into, -graph.mention_counts))] = self.into
        self._places: list[int] = places.tolist()

    def place(self, entity: int) -> int:
        """The place of an entity by (-mentions, code), from 0: of two that are one, the lower keeps its name."""
        return self._places[entity]

    def agree(self, source: int, target: int) -> bool:
        """Whether the types of two clusters are equal, or one is not known."""
        return not self.types[source] or not self.types[target] or self.types[source] == self.types[target]

    def join(self, source: int, target: int) -> None:
        """Let one cluster go into another."""
        self.into[self.into == source] = target
        self.types[target] = self.types[target] or self.types[source]

    def names(self) -> Iterator[tuple[int, str]]:
        """Every name of every cluster, with the entity that the cluster is known by."""
        return zip(self.into.tolist(), self.graph.names, strict=True)

    def by(self, key: Callable[[str], str]) -> dict[str, list[int]]:
        """Key of a name -> the clusters that have it, each once, by place."""
        groups: defaultdict[str, set[int]] = defaultdict(set)
        for entity, name in self.names():
            groups[key(name)].add(entity)
        return {key: sorted(group, key=self.place) for key, group in groups.items()}

    def passages(self, entities: Iterable[int]) -> dict[int, set[int]]:
        """The corpus rows that name each of these clusters."""
        wanted = {entity: set[int]() for entity in entities}
        for member, entity in enumerate(self.into.tolist()):
            if entity in wanted:
                wanted[entity].update(self.graph.mentions.of(member)[0].tolist())
        return wanted


def _exact(clusters: Clusters) -> list[Pair]:
    """Where one cluster alone claims an alias, the cluster of that name is the same.

    Not so where the alias is the name without its brackets: "Rebecca (1940 film)" is no other Rebecca.
    """
    graph = clusters.graph
    claims: defaultdict[str, dict[int, None]] = defaultdict(dict)
    for entity, name, aliases in zip(clusters.into.tolist(), graph.names, graph.aliases, strict=True):
        for alias in aliases:
            if entity_key(alias) != entity_key(without_brackets(name)):
                claims[entity_key(alias)][entity] = None
    named = clusters.by(entity_key)
    return [
        (owner, other, 1.0) for key, owners in claims.items() if len(owners) == 1 for owner in owners
        for other in named.get(key, ())
    ]  # fmt: skip


def _normalised(clusters: Clusters) -> list[Pair]:
    """Names of one key; each is paired with the foremost of every type, which keeps long lists linear."""
    pairs = []
    for group in clusters.by(lambda name: compound_key(plain_key(name))).values():
        foremost: dict[str, int] = {}
        for entity in group:
            foremost.setdefault(clusters.types[entity], entity)
        pairs += [(target, entity, 1.0) for entity in group for target in foremost.values()]
    return pairs


def _acronym(clusters: Clusters) -> list[Pair]:
    """An acronym and its long form, where exactly one long form is named in a passage with it.

    The score is the share of the acronym's passages that name the long form too.
    """
    short: dict[int, str] = {}
    for entity, name in clusters.names():
        if letters := acronym(name):
            short.setdefault(entity, letters)
    wanted = set(short.values())
    long_forms: defaultdict[str, dict[int, None]] = defaultdict(dict)
    for entity, name in clusters.names():
        for letters in initials(name):
            if letters in wanted and entity not in short:
                long_forms[letters][entity] = None
    rows = clusters.passages([*short, *(entity for forms in long_forms.values() for entity in forms)])
    pairs = []
    for entity, letters in short.items():
        near = [form for form in long_forms[letters] if rows[form] & rows[entity]]
        if len(near) == 1:
            pairs.append((near[0], entity, len(rows[near[0]] & rows[entity]) / len(rows[entity])))
    return pairs


def _fuzzy(clusters: Clusters) -> list[Pair]:
    """Names that agree in their frame, and nearly so in their letters."""
    # Of the clusters of one key the foremost represents all: the types of the others differ.
    foremost = {key: group[0] for key, group in clusters.by(plain_key).items()}
    frames: defaultdict[str, list[str]] = defaultdict(list)
    for key in foremost:
        frames[frame(key)].append(key)
    pairs = []
    for keys in frames.values():
        near, cut = near_spellings(keys, clusters.fuzzy)
        if cut:
            clusters.notes["look-ups of similar spellings cut short"] += cut
        pairs += [(foremost[keys[left]], foremost[keys[right]], score) for left, right, score in near]
    return pairs


def _embedding(clusters: Clusters) -> list[Pair]:
    if clusters.vectors is None:
        raise ValueError("Method 'embedding' needs vectors of the entities' names, such as kb.entities.vectors.")
    found = synonyms(clusters.vectors, clusters.embedding, limit=NEIGHBOURS)
    names, into = clusters.graph.names, clusters.into.tolist()
    pairs = []
    for one, other, cosine in zip(found.sources.tolist(), found.targets.tolist(), found.cosines.tolist(), strict=True):
        if into[one] != into[other] and not (
            # Vectors of acronyms mean little, and all ignore numbers.
            acronym(names[one])
            or acronym(names[other])
            or differ_tellingly(plain_key(names[one]), plain_key(names[other]))
        ):
            pairs.append((into[one], into[other], min(cosine, 1.0)))
    return pairs


METHODS: Mapping[str, Callable[[Clusters], list[Pair]]] = {
    "exact": _exact,
    "normalised": _normalised,
    "acronym": _acronym,
    "fuzzy": _fuzzy,
    "embedding": _embedding,
}
