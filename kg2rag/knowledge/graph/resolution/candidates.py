"""Entities and a method -> the pairs that the method takes for one thing; nothing is merged here.

Every method looks up what can be looked up by a key, so that no list of pairs grows with the square of the entities.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from kg2rag.knowledge.graph.data import GraphData
from kg2rag.knowledge.graph.resolution.near_spellings import near_spellings
from kg2rag.knowledge.graph.resolution.spellings import (
    acronym,
    compound_key,
    differ_tellingly,
    frame,
    initials,
    plain_key,
)
from kg2rag.knowledge.graph.synonyms import synonyms
from kg2rag.text.normalisation import entity_key, normalise, without_brackets
from kg2rag.types.arrays import IntArray, Matrix

NEIGHBOURS = 16  # similar vectors looked at for each name

Pair = tuple[int, int, float]


@dataclass
class Clusters:
    """Which entities are one by now: each cluster is known by its most mentioned entity, of equal ones the first."""

    graph: GraphData
    into: IntArray = field(init=False)
    types: list[str] = field(init=False)
    notes: Counter[str] = field(default_factory=Counter)
    _places: list[int] = field(init=False)

    def __post_init__(self) -> None:
        size = self.graph.n_entities
        self.into = np.arange(size, dtype=np.int64)
        self.types = [normalise(type_) for type_ in self.graph.types]
        order = np.lexsort((np.arange(size), -self.graph.mention_counts))
        places = np.empty(size, dtype=np.int64)
        places[order] = np.arange(size)
        self._places = places.tolist()

    def place(self, entity: int) -> int:
        """The place of an entity by (-mentions, code), from 0: of two that are one, the lower keeps its name."""
        return self._places[entity]

    def is_open(self, entity: int) -> bool:
        """Whether an entity has gone into no other."""
        return int(self.into[entity]) == entity

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


@dataclass(frozen=True)
class Settings:
    """Least agreement of spellings, least cosine, and the vectors of the names, (n_entities, dim), where needed."""

    fuzzy: float
    embedding: float
    vectors: Matrix | None


def _exact(clusters: Clusters, settings: Settings) -> list[Pair]:  # noqa: ARG001
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


def _normalised(clusters: Clusters, settings: Settings) -> list[Pair]:  # noqa: ARG001
    """Names of one key; each is paired with the foremost of every type, which keeps long lists linear."""
    pairs = []
    for group in clusters.by(lambda name: compound_key(plain_key(name))).values():
        foremost: dict[str, int] = {}
        for entity in group:
            foremost.setdefault(clusters.types[entity], entity)
        pairs += [(target, entity, 1.0) for entity in group for target in foremost.values()]
    return pairs


def _acronym(clusters: Clusters, settings: Settings) -> list[Pair]:  # noqa: ARG001
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


def _fuzzy(clusters: Clusters, settings: Settings) -> list[Pair]:
    """Names that agree in their frame, and nearly so in their letters."""
    # Of the clusters of one key the foremost represents all: the types of the others differ.
    foremost = {key: group[0] for key, group in clusters.by(plain_key).items()}
    frames: defaultdict[str, list[str]] = defaultdict(list)
    for key in foremost:
        frames[frame(key)].append(key)
    pairs = []
    for keys in frames.values():
        near = near_spellings(keys, settings.fuzzy)
        if near.cut:
            clusters.notes["look-ups of similar spellings cut short"] += near.cut
        for left, right, score in zip(near.left.tolist(), near.right.tolist(), near.scores.tolist(), strict=True):
            pairs.append((foremost[keys[left]], foremost[keys[right]], score))
    return pairs


def _embedding(clusters: Clusters, settings: Settings) -> list[Pair]:
    if settings.vectors is None:
        raise ValueError("Method 'embedding' needs vectors of the entities' names, such as kb.entities.vectors.")
    found = synonyms(settings.vectors, settings.embedding, limit=NEIGHBOURS)
    names, into = clusters.graph.names, clusters.into.tolist()
    pairs = []
    for one, other, cosine in zip(found.sources.tolist(), found.targets.tolist(), found.cosines.tolist(), strict=True):
        if into[one] != into[other] and _alike(names[one], names[other]):
            pairs.append((into[one], into[other], min(cosine, 1.0)))
    return pairs


def _alike(one: str, other: str) -> bool:
    """Whether similar vectors of two names may be trusted: those of acronyms mean little, and they ignore numbers."""
    return not acronym(one) and not acronym(other) and not differ_tellingly(plain_key(one), plain_key(other))


METHODS: Mapping[str, Callable[[Clusters, Settings], list[Pair]]] = {
    "exact": _exact,
    "normalised": _normalised,
    "acronym": _acronym,
    "fuzzy": _fuzzy,
    "embedding": _embedding,
}
