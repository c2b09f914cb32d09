"""Entities of a graph -> their context as data: entities, relationships and chains.

The `graphContext` of the confidence-gated and vector-first designs. Ours: the names of relations
read from tail to head (the graph-augmented design has one example, depends_on -> depended_on_by),
and the selection: the strongest relationships of each entity, and chains of several hops.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.knowledge.graph.neighbourhood import Neighbour
from kg2rag.text.normalisation import normalise
from kg2rag.types import Triple


@dataclass(frozen=True, slots=True)
class ContextEntity:
    """An entity of a context; `hops` is its distance in triples from the query's entities."""

    name: str
    type: str = ""
    description: str = ""
    hops: int = 0

    @property
    def titled(self) -> str:
        """The name and, in brackets, the type if there is one."""
        return one_line(f"{self.name} ({self.type})" if self.type else self.name)


@dataclass(frozen=True, slots=True)
class Relationship:
    """A triple of the graph in a context.

    Attributes
    ----------
    source, target, type : head, tail and relation of the triple.
    description : the description in the graph, or the first sentence of the triple's passage that
        names both ends; "" for neither.
    strength : a number in (0, 10].
    direction : "out" if the source is the end nearer to the query, "in" if the target is.
    """

    source: str
    target: str
    type: str
    description: str
    strength: float
    direction: str

    @property
    def sentence(self) -> str:
        """The description without its full stop, on one line."""
        return one_line(self.description).removesuffix(".")

    def __str__(self) -> str:
        ends = f"{one_line(self.source)} -> {one_line(self.target)}"
        return f'- {ends}: "{one_line(self.type)}" -- {self.sentence} (strength: {self.strength:g})'

    def read_from(self, end: str) -> tuple[str, str]:
        """The end opposite to `end`, and the name of the relation read from `end`."""
        if end == self.source:
            return one_line(self.target), one_line(self.type)
        return one_line(self.source), inverse(one_line(self.type))


@dataclass(frozen=True, slots=True)
class Chain:
    """A path of the graph: `relations[i]` leads from `entities[i]` to `entities[i + 1]`.

    `strength` is that of its weakest triple. Its text is such as "OAuth Provider -> Auth Service
    (depended_on_by) -> Login (part_of)".
    """

    entities: tuple[str, ...]
    relations: tuple[str, ...]
    strength: float

    def __str__(self) -> str:
        text = one_line(self.entities[0])
        for name, relation in zip(self.entities[1:], self.relations, strict=True):
            text += f" -> {one_line(name)} ({relation})"
        return text


@dataclass(frozen=True, slots=True)
class GraphContext:
    """The part of a graph around a query's entities, relationships and chains strongest first."""

    entities: tuple[ContextEntity, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    chains: tuple[Chain, ...] = ()


def graph_context(
    kb: KnowledgeBase, entities: Sequence[int], hops: int = 1, limit: int = 10
) -> GraphContext:
    """The graph around a query's entities.

    entities : codes of the graph, the most important first.
    hops : the longest chains, in triples.
    limit : the largest number of relationships of each entity, and of all chains.
    """
    graph = kb.graph
    start_of: dict[int, int] = {}  # triple -> the end that is nearer to the query
    for entity in entities:
        for index in _strongest_triples(graph, entity, limit):
            start_of.setdefault(index, entity)
    chains = []
    if hops > 1:
        walks = _longest_walks(graph, entities, hops, limit)
        chains = [_chain(kb, walk, start_of) for walk in walks]
    facts: dict[tuple[str, str, str], Relationship] = {}
    distance = dict.fromkeys(entities, 0)
    for index, start in start_of.items():
        fact = _relationship(kb, index, start)
        facts.setdefault((fact.source, fact.type, fact.target), fact)
        distance.setdefault(_other_end(graph, index, start), distance.get(start, 0) + 1)
    context_entities = []
    for entity, entity_hops in distance.items():
        texts = (graph.names[entity], graph.types[entity], graph.descriptions[entity])
        context_entities.append(ContextEntity(*texts, entity_hops))
    relationships = sorted(facts.values(), key=lambda fact: -fact.strength)
    return GraphContext(tuple(context_entities), tuple(relationships), tuple(chains))


def path_end(path: Sequence[Triple], query_entities: Collection[str]) -> str:
    """The entity at the end of a path from a query entity; "" for an empty path."""
    if not path:
        return ""
    entity = path[0].tail if _begins_at_tail(path, query_entities) else path[0].head
    for triple in path:
        entity = triple.tail if entity == triple.head else triple.head
    return entity


def _begins_at_tail(path: Sequence[Triple], query_entities: Collection[str]) -> bool:
    """Whether a path begins at the tail of its first triple.

    It does if the second triple continues from the head; for a single triple, if only the tail is a
    query entity.
    """
    first = path[0]
    if len(path) == 1:
        return first.tail in query_entities and first.head not in query_entities
    return first.head != first.tail and first.head in (path[1].head, path[1].tail)


def _strongest_triples(graph: KnowledgeGraph, entity: int, limit: int) -> Iterator[int]:
    """The indices of an entity's strongest triples, one per neighbour, relation and direction."""
    adjacency = graph.adjacency
    statements: set[tuple[int, int, bool]] = set()
    for slot in range(int(adjacency.indptr[entity]), int(adjacency.indptr[entity + 1])):
        index = int(adjacency.triples[slot])
        relation = int(graph.triples.relations[index])
        statement = (
            int(adjacency.neighbours[slot]),
            relation,
            bool(adjacency.along[slot]),
        )
        if statement not in statements:
            statements.add(statement)
            yield index
        if len(statements) == limit:
            return


def _longest_walks(
    graph: KnowledgeGraph, entities: Sequence[int], hops: int, limit: int
) -> list[Neighbour]:
    """The strongest walks of at least two hops that are no beginning of another walk."""
    neighbourhood = graph.neighbourhood(entities, hops=hops, limit=limit)
    walks = []
    for number, n_hops in enumerate(neighbourhood.hops):
        if n_hops > 1:
            walks.append(neighbourhood.neighbour(number))
    continued = {walk.path[:-1] for walk in walks}
    ends = [walk for walk in walks if walk.path not in continued]
    return sorted(ends, key=lambda walk: (-walk.weight, -walk.hop))[:limit]


def _chain(kb: KnowledgeBase, walk: Neighbour, start_of: dict[int, int]) -> Chain:
    """The chain of a walk; its triples are added to `start_of`, with their nearer ends."""
    entity = walk.seed
    names, relations = [kb.graph.names[entity]], []
    for index in walk.path:
        start_of.setdefault(index, entity)
        relations.append(_relationship(kb, index, entity).read_from(names[-1])[1])
        entity = _other_end(kb.graph, index, entity)
        names.append(kb.graph.names[entity])
    return Chain(tuple(names), tuple(relations), walk.weight)


def _other_end(graph: KnowledgeGraph, index: int, end: int) -> int:
    """The end of a triple opposite to `end`."""
    head, tail = int(graph.triples.heads[index]), int(graph.triples.tails[index])
    return tail if end == head else head


def _relationship(kb: KnowledgeBase, index: int, start: int) -> Relationship:
    """The relationship of a triple; `start` is its end nearer to the query."""
    triple = kb.graph.triple(index)
    description = one_line(triple.description)
    row = int(kb.graph.triples.passages[index])
    if not description and row >= 0:
        description = _stating_sentence(kb, row, triple)
    direction = "out" if int(kb.graph.triples.heads[index]) == start else "in"
    return Relationship(
        triple.head,
        triple.tail,
        triple.relation,
        description,
        triple.strength,
        direction,
    )


def _stating_sentence(kb: KnowledgeBase, row: int, triple: Triple) -> str:
    """The first sentence of a passage that names both ends of a triple; "" if there is none."""
    ends = [f" {normalise(name)} " for name in (triple.head, triple.tail)]
    for sentence in kb.corpus.sentences(row):
        words = f" {normalise(sentence)} "
        if all(end in words for end in ends):
            return one_line(sentence)
    return ""


_TABLES = tomllib.loads(
    Path(__file__).with_name("inverses.toml").read_text(encoding="utf-8")
)
_WORDS = re.compile(r"[\s_\-]+")
_THIRD_PERSON = re.compile(r"..+[^s]s")
_PARTICIPLES = (
    (r"ies$", "ied"),
    (r"(sh|ch|ss|x|zz)es$", r"\1ed"),
    (r"es$", "ed"),
    (r"s$", "ed"),
)
"""Endings of regular verbs: carries -> carried, publishes -> published, uses -> used."""


def _inverse_table() -> dict[str, str]:
    """Relation -> its inverse, in both directions; the first entry counts if there are several."""
    inverses = {relation: relation for relation in _TABLES["symmetric"]}
    for first, second in _TABLES["pairs"]:
        inverses.setdefault(first, second)
        inverses.setdefault(second, first)
    return inverses


_INVERSES = _inverse_table()


def inverse(relation: str) -> str:
    """The name of a relation read from tail to head, with the same case and separator.

    It is from a table (`inverses.toml`), the passive of a verb in the third person, or otherwise
    "inverse of …".

    >>> [inverse(name) for name in ("depends_on", "HOSTS", "is located in")]
    ['depended_on_by', 'HOSTED_BY', 'inverse of is located in']
    """
    words = _WORDS.split(relation.strip())
    name = _INVERSES.get("_".join(words).lower()) or _passive(
        [word.lower() for word in words]
    )
    if not name:
        return f"inverse of {relation.strip()}"
    if "_" not in relation and len(words) > 1:
        name = name.replace("_", " ")
    return name.upper() if relation.isupper() else name


def _passive(words: Sequence[str]) -> str:
    """The passive of a verb with at most one preposition, joined by underscores; otherwise ""."""
    verb, *prepositions = words
    is_verb = (
        verb.isalpha()
        and _THIRD_PERSON.fullmatch(verb)
        and verb not in _TABLES["no_verbs"]
    )
    are_prepositions = set(prepositions) <= set(_TABLES["prepositions"])
    if not is_verb or len(prepositions) > 1 or not are_prepositions:
        return ""
    return "_".join([_participle(verb), *prepositions, "by"])


def _participle(verb: str) -> str:
    """The past participle of a verb in the third person."""
    if verb in _TABLES["participles"]:
        return str(_TABLES["participles"][verb])
    for ending, participle in _PARTICIPLES:
        if re.search(ending, verb):
            return re.sub(ending, participle, verb)
    raise ValueError(f"{verb!r} has no ending of the third person.")


def one_line(text: str) -> str:
    """A text with one space in place of each run of white space and line breaks."""
    return " ".join(text.split())
