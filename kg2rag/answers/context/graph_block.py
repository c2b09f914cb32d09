"""Entities of a graph -> the lines that say what they are and how they are related, strongest first.

The structured block of the graph-augmented design. Inferred from its example: an inverse relation has no weight where
the other section gives it; a weight is written where the source states one (5 means none); "Relevant Relationships" are
the facts that the graph describes, or for which the corpus has a sentence that names both ends, shown because the line
would otherwise repeat "Related".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kg2rag.answers.context.inverses import inverse
from kg2rag.answers.context.sharing import Item, Line, Section
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.text.normalisation import normalise
from kg2rag.types import Corpus

UNSTATED = 5.0  # the strength of a triple whose source states none


@dataclass(frozen=True)
class GraphLines:
    """The lines of one block.

    `entities` are those with a section of their own, `limit` bounds the relations of each and the facts in all.
    """

    graph: KnowledgeGraph
    corpus: Corpus
    entities: tuple[int, ...]
    limit: int

    def about(self, entity: int) -> tuple[Section, int]:
        """An entity's section, its relations strongest first, and how many of them the limit cuts off."""
        related = list(self._related(entity))
        lines = [Line("Related: ", related[: self.limit])] if related else []
        if description := one_line(self.graph.descriptions[entity]):
            lines.append(Line("Description: ", [Item(description)]))
        return Section(titled(self.graph, entity, "### {}"), lines), max(len(related) - self.limit, 0)

    def relationships(self) -> tuple[list[Item], int]:
        """The facts at the entities that are described or stated, strongest first; and how many the limit cuts off."""
        graph = self.graph
        indices = {int(index) for entity in self.entities for index in graph.triples_of(entity)}
        strongest = sorted(indices, key=lambda index: (-float(graph.triples.strengths[index]), index))
        lines: dict[tuple[str, str, str], Item] = {}
        for index in strongest:
            triple = graph.triple(index)
            fact = triple.head, triple.relation, triple.tail
            described = one_line(triple.description).removesuffix(".")
            if fact in lines or not (evidence := described or self._evidence(index)):
                continue
            ends = f"{one_line(triple.head)} -> {one_line(triple.tail)}"
            line = f'- {ends}: "{one_line(triple.relation)}" -- {evidence} (strength: {triple.strength:g})'
            lines[fact] = Item(line, triple.strength)
        return list(lines.values())[: self.limit], max(len(lines) - self.limit, 0)

    def _related(self, entity: int) -> Iterator[Item]:
        """Each neighbour and relation, as in `OAuth Provider (depends_on, weight: 8)`; strongest first."""
        graph, near = self.graph, self.graph.adjacency
        seen: set[tuple[int, str]] = set()
        for slot in range(int(near.indptr[entity]), int(near.indptr[entity + 1])):
            other, index = int(near.neighbours[slot]), int(near.triples[slot])
            relation = one_line(graph.relations[graph.triples.relations[index]])
            backward = not near.along[slot]
            relation = inverse(relation) if backward else relation
            if (other, relation) in seen:
                continue
            seen.add((other, relation))
            strength = graph.triple(index).strength
            unweighted = strength == UNSTATED or (backward and other in self.entities)
            weight = "" if unweighted else f", weight: {strength:g}"
            yield Item(f"{one_line(graph.names[other])} ({relation}{weight})", strength)

    def _evidence(self, index: int) -> str:
        """The first sentence of the stating passage that names both ends, without its full stop; "" for none."""
        row, table = int(self.graph.triples.passages[index]), self.graph.triples
        if row < 0:
            return ""
        ends = [f" {normalise(self.graph.names[code])} " for code in (table.heads[index], table.tails[index])]
        for sentence in self.corpus.sentences(row):
            words = f" {normalise(sentence)} "
            if all(end in words for end in ends):
                return one_line(sentence).removesuffix(".")
        return ""


def titled(graph: KnowledgeGraph, entity: int, name: str) -> str:
    """The entity's name in the given form, and its type in brackets where it has one."""
    kind = one_line(graph.types[entity])
    return name.format(one_line(graph.names[entity])) + (f" ({kind})" if kind else "")


def one_line(text: str) -> str:
    """The text with every run of white space, line breaks included, as one space."""
    return " ".join(text.split())
