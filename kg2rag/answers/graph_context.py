"""Entities of a graph -> what it says of them, as data: entities, relationships, and the chains that lead on.

The `graphContext` of the confidence-gated and vector-first designs. Ours: the names of relations that are read from
tail to head (the graph-augmented design has one example, depends_on -> depended_on_by), and how many
relationships are taken: of each entity the strongest, and the chains to what lies beyond its neighbours.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.text.normalisation import normalise
from kg2rag.types import Triple


@dataclass(frozen=True, slots=True)
class ContextEntity:
    """An entity of a context; `hops` from the query's own, which have 0."""

    name: str
    type: str = ""
    description: str = ""
    hops: int = 0

    @property
    def titled(self) -> str:
        """Its name and, in brackets, its type where it has one."""
        return one_line(f"{self.name} ({self.type})" if self.type else self.name)


@dataclass(frozen=True, slots=True)
class Relationship:
    """A fact of a context, as the graph states it.

    `description` is the graph's, else the first sentence of the stating passage that names both ends, else empty;
    `strength` is in (0, 10]; `direction` is "out" where the end that is nearer to the query is the source, else "in".
    """

    source: str
    target: str
    type: str
    description: str
    strength: float
    direction: str

    @property
    def said(self) -> str:
        """The description without its full stop, on one line."""
        return one_line(self.description).removesuffix(".")

    def __str__(self) -> str:
        ends = f"{one_line(self.source)} -> {one_line(self.target)}"
        return f'- {ends}: "{one_line(self.type)}" -- {self.said} (strength: {self.strength:g})'

    def read_from(self, end: str) -> tuple[str, str]:
        """The other end, and the relation's name as it is read from this one."""
        if end == self.source:
            return one_line(self.target), one_line(self.type)
        return one_line(self.source), inverse(one_line(self.type))


@dataclass(frozen=True, slots=True)
class Chain:
    """Entities, each related to the one before by the relation of its place, as that is read along the chain.

    `strength` is that of the weakest. Its text: "OAuth Provider -> Auth Service (depended_on_by) -> Login (part_of)".
    """

    entities: tuple[str, ...]
    relations: tuple[str, ...]
    strength: float

    def __str__(self) -> str:
        links = (f" -> {one_line(name)} ({how})" for name, how in zip(self.entities[1:], self.relations, strict=True))
        return one_line(self.entities[0]) + "".join(links)


@dataclass(frozen=True, slots=True)
class GraphContext:
    """What a graph says around some entities; relationships and chains are strongest first."""

    entities: tuple[ContextEntity, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    chains: tuple[Chain, ...] = ()


def graph_context(kb: KnowledgeBase, entities: Sequence[int], hops: int = 1, limit: int = 10) -> GraphContext:
    """The graph around some entities, given by their codes.

    `limit` : of the relationships of each entity, strongest first, and of the chains of more than one hop in all.
    """
    graph = kb.graph
    starts: dict[int, int] = {}  # triple -> the end that is nearer to the query
    for entity in entities:
        for index in _strongest(graph, entity, limit):
            starts.setdefault(index, entity)
    chains = []
    for seed, path, strength in _chains(graph, entities, hops, limit) if hops > 1 else ():
        names, relations, at = [graph.names[seed]], [], seed
        for index in path:
            starts.setdefault(index, at)
            fact = _relationship(kb, index, at)
            at = _other(graph, index, at)
            names.append(graph.names[at])
            relations.append(fact.read_from(names[-2])[1])
        chains.append(Chain(tuple(names), tuple(relations), strength))
    facts: dict[tuple[str, str, str], Relationship] = {}
    distance = dict.fromkeys(entities, 0)
    for index, start in starts.items():
        fact = _relationship(kb, index, start)
        facts.setdefault((fact.source, fact.type, fact.target), fact)
        distance.setdefault(_other(graph, index, start), distance.get(start, 0) + 1)
    known = ((graph.names[one], graph.types[one], graph.descriptions[one], hop) for one, hop in distance.items())
    return GraphContext(
        tuple(ContextEntity(*each) for each in known),
        tuple(sorted(facts.values(), key=lambda fact: -fact.strength)),
        tuple(chains),
    )


def reached(path: Sequence[Triple], named: Collection[str]) -> str:
    """The entity at the end of a path that begins at one of the query's; "" of none."""
    if not path:
        return ""
    first, onward = path[0], {name for triple in path[1:2] for name in (triple.head, triple.tail)}
    backward = first.head in onward - {first.tail} if onward else first.tail in named and first.head not in named
    at = first.tail if backward else first.head
    for triple in path:
        at = triple.tail if at == triple.head else triple.head
    return at


def _strongest(graph: KnowledgeGraph, entity: int, limit: int) -> Iterator[int]:
    """The first triples of an entity that say different things, strongest first."""
    near, seen = graph.adjacency, set[tuple[int, int, bool]]()
    for slot in range(int(near.indptr[entity]), int(near.indptr[entity + 1])):
        index = int(near.triples[slot])
        said = int(near.neighbours[slot]), int(graph.triples.relations[index]), bool(near.along[slot])
        if said not in seen:
            seen.add(said)
            yield index
        if len(seen) == limit:
            return


def _chains(
    graph: KnowledgeGraph, entities: Sequence[int], hops: int, limit: int
) -> list[tuple[int, tuple[int, ...], float]]:
    """Seed, triples and strength of the walks of two hops and more that no other continues; the strongest first."""
    around = graph.neighbourhood(entities, hops=hops, limit=limit)
    walks = [around.neighbour(at) for at in range(len(around.entities)) if around.hops[at] > 1]
    continued = {walk.path[:-1] for walk in walks}
    ends = sorted((one for one in walks if one.path not in continued), key=lambda one: (-one.weight, -one.hop))
    return [(walk.seed, walk.path, walk.weight) for walk in ends[:limit]]


def _other(graph: KnowledgeGraph, index: int, end: int) -> int:
    head, tail = int(graph.triples.heads[index]), int(graph.triples.tails[index])
    return tail if end == head else head


def _relationship(kb: KnowledgeBase, index: int, start: int) -> Relationship:
    triple, table = kb.graph.triple(index), kb.graph.triples
    described, row = one_line(triple.description), int(table.passages[index])
    if not described and row >= 0:  # the first sentence of the stating passage that names both ends
        ends = [f" {normalise(name)} " for name in (triple.head, triple.tail)]
        words = ((sentence, f" {normalise(sentence)} ") for sentence in kb.corpus.sentences(row))
        described = next((one_line(sentence) for sentence, read in words if all(end in read for end in ends)), "")
    direction = "out" if int(table.heads[index]) == start else "in"
    return Relationship(triple.head, triple.tail, triple.relation, described, triple.strength, direction)


_TABLES = tomllib.loads(Path(__file__).with_name("inverses.toml").read_text(encoding="utf-8"))
_WORDS = re.compile(r"[\s_\-]+")
_INVERSES: dict[str, str] = {relation: relation for relation in _TABLES["symmetric"]}
for _one, _other_name in _TABLES["pairs"]:
    _INVERSES.setdefault(_one, _other_name)
    _INVERSES.setdefault(_other_name, _one)
_PARTICIPLES = ((r"ies$", "ied"), (r"(sh|ch|ss|x|zz)es$", r"\1ed"), (r"es$", "ed"), (r"s$", "ed"))
"""Endings of regular verbs: carries -> carried, publishes -> published, uses -> used, owns -> owned."""


def inverse(relation: str) -> str:
    """The relation's name from the other end, in the spelling of the given one (case, underscores or spaces).

    By a table of irregular ones (`inverses.toml`), a rule for third-person verbs, and "inverse of …" for the rest.

    >>> [inverse(name) for name in ("depends_on", "HOSTS", "is located in")]
    ['depended_on_by', 'HOSTED_BY', 'inverse of is located in']
    """
    words = _WORDS.split(relation.strip())
    known = _INVERSES.get("_".join(words).lower())
    verb, *rest = (word.lower() for word in words)
    is_verb = verb.isalpha() and re.fullmatch("..+[^s]s", verb) and verb not in _TABLES["no_verbs"]
    if not known and is_verb and len(rest) < 2 and set(rest) <= set(_TABLES["prepositions"]):
        regular = next(re.sub(end, made, verb) for end, made in _PARTICIPLES if re.search(end, verb))
        known = "_".join([_TABLES["participles"].get(verb, regular), *rest, "by"])
    if not known:
        return f"inverse of {relation.strip()}"
    spelled = known if "_" in relation or len(words) == 1 else known.replace("_", " ")
    return spelled.upper() if relation.isupper() else spelled


def one_line(text: str) -> str:
    """The text with every run of white space, line breaks included, as one space."""
    return " ".join(text.split())
