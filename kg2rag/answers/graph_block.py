"""Entities of a graph -> their block of a context: sections of short lines, strongest first, within a budget of tokens.

Items are added one by one, always to the section that has spent least so far, so that no hub crowds out another section
and what one section does not need goes to the others. The whole text is counted with every item: the budget holds for
any tokenizer. A relation that is read from tail to head has another name (depends_on -> depended_on_by): tables for
irregular ones (`inverses.toml`), a rule for third-person verbs, and "inverse of …" for the rest. The names are ours;
the design has the one example above.

The structured block of the graph-augmented design. Inferred from its example: an inverse relation has no weight where
the other section gives it; a weight is written where the source states one (5 means none); "Relevant Relationships" are
the facts that the graph describes, or for which the corpus has a sentence that names both ends, shown because the line
would otherwise repeat "Related".
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import NamedTuple

from kg2rag.compute import TokenCounter
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.text.normalisation import normalise
from kg2rag.types import Corpus


class Dropped(NamedTuple):
    """A piece left out of a context, and why: "budget", "limit", or the key of the passage that it repeats."""

    what: str
    why: str


class Item(NamedTuple):
    """A text, and how strong the relation is that it states; infinite for what is no relation."""

    text: str
    strength: float = inf


@dataclass(frozen=True)
class Line:
    """A label and the items after it, strongest first; of those that do not fit, no weaker one is written either."""

    label: str
    items: Sequence[Item]
    separator: str = ", "


@dataclass(frozen=True)
class Section:
    """A heading and the lines below it; the heading is written with the first item, or alone where there is none.

    `yields` : an item waits until the stronger ones of the other sections are written, and goes with them.
    """

    heading: str
    lines: Sequence[Line] = ()
    yields: bool = False


@dataclass
class _Filling:
    """A section as far as it is written: the items of each line, those left, and what they have cost."""

    section: Section
    written: list[int]
    left: list[int]
    started: bool = False
    spent: int = 0

    @property
    def text(self) -> str:
        lines = [
            f"{line.label}{line.separator.join(item.text for item in line.items[:written])}"
            for line, written in zip(self.section.lines, self.written, strict=True)
            if written
        ]
        return "\n".join([self.section.heading, *lines]) if self.started else ""

    def next(self) -> int | None:
        """The line that takes the next item, the one with the fewest; None where no item is left."""
        open_ = [at for at, left in enumerate(self.left) if left]
        return min(open_, key=lambda at: self.written[at], default=None)

    def item(self, at: int) -> Item:
        """The next item of a line."""
        return self.section.lines[at].items[self.written[at]]

    def close(self, at: int) -> list[Dropped]:
        """Leave out the items of a line that are not written."""
        line, self.left[at] = self.section.lines[at], 0
        return [Dropped(f"{line.label}{item.text}", "budget") for item in line.items[self.written[at] :]]


@dataclass
class _Page:
    top: str
    fillings: Sequence[_Filling]
    budget: int
    counter: TokenCounter
    tokens: int
    missed: float = 0.0
    dropped: list[Dropped] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n\n".join([self.top, *(text for filling in self.fillings if (text := filling.text))])

    def fill(self) -> None:
        """Add items until none is left."""
        for filling in self.fillings:
            if not filling.section.lines and not self._add(filling, None):
                self.dropped.append(Dropped(filling.section.heading, "budget"))
        while open_ := [(filling, at) for filling in self.fillings if (at := filling.next()) is not None]:
            strongest = max((f.item(at).strength for f, at in open_ if not f.section.yields), default=0.0)
            ready = [(f, at) for f, at in open_ if not f.section.yields or f.item(at).strength >= strongest]
            filling, at = min(ready, key=lambda each: each[0].spent)
            strength = filling.item(at).strength
            weaker = filling.section.yields and strength < self.missed
            if weaker or not self._add(filling, at):
                self.dropped += filling.close(at)
                if not filling.section.yields and strength < inf:
                    self.missed = max(self.missed, strength)

    def _add(self, filling: _Filling, at: int | None) -> bool:
        """Write the next item of a line, or the heading alone, where that fits."""
        before = filling.started, list(filling.written), list(filling.left)
        filling.started = True
        if at is not None:
            filling.written[at] += 1
            filling.left[at] -= 1
        tokens = self.counter.count([self.text])[0]
        if tokens > self.budget:
            filling.started, filling.written, filling.left = before
            return False
        filling.spent += tokens - self.tokens
        self.tokens = tokens
        return True


def shared(
    top: str, sections: Sequence[Section], budget: int, counter: TokenCounter
) -> tuple[str, int, tuple[Dropped, ...]]:
    """The text that fits, its tokens, and what was left out; nothing fits where `top`, its first lines, does not.

    Each section takes the first item of every line, then the second of every line that has one, and so on.
    """
    tokens = counter.count([top])[0]
    if tokens > budget:
        return "", 0, (Dropped(top, "budget"),)
    fillings = [_Filling(each, [0] * len(each.lines), [len(line.items) for line in each.lines]) for each in sections]
    page = _Page(top, fillings, budget, counter, tokens)
    page.fill()
    return page.text, page.tokens, tuple(page.dropped)


_TABLES = tomllib.loads(Path(__file__).with_name("inverses.toml").read_text(encoding="utf-8"))
_WORDS = re.compile(r"[\s_\-]+")
_INVERSES: dict[str, str] = {relation: relation for relation in _TABLES["symmetric"]}
for _one, _other in _TABLES["pairs"]:
    _INVERSES.setdefault(_one, _other)
    _INVERSES.setdefault(_other, _one)


def inverse(relation: str) -> str:
    """The relation's name from the other end, in the spelling of the given one (case, underscores or spaces).

    >>> [inverse(name) for name in ("depends_on", "HOSTS", "is located in")]
    ['depended_on_by', 'HOSTED_BY', 'inverse of is located in']
    """
    words = _WORDS.split(relation.strip())
    known = _INVERSES.get("_".join(words).lower()) or _passive([word.lower() for word in words])
    if not known:
        return f"inverse of {relation.strip()}"
    spelled = known if "_" in relation or len(words) == 1 else known.replace("_", " ")
    return spelled.upper() if relation.isupper() else spelled


def _passive(words: list[str]) -> str | None:
    """["depends", "on"] -> "depended_on_by"; None where the words are no third-person verb with a preposition."""
    verb, *rest = words
    if len(rest) > 1 or (rest and rest[0] not in _TABLES["prepositions"]):
        return None
    if not (verb.isalpha() and re.fullmatch("..+[^s]s", verb)) or verb in _TABLES["no_verbs"]:
        return None
    return "_".join([_TABLES["participles"].get(verb) or _participle(verb), *rest, "by"])


def _participle(verb: str) -> str:
    """Of a regular verb: carries -> carried, publishes -> published, uses -> used, owns -> owned."""
    if verb.endswith("ies"):
        return f"{verb[:-3]}ied"
    if re.search(r"(sh|ch|ss|x|zz)es$", verb):
        return f"{verb[:-2]}ed"
    return f"{verb[:-1]}d" if verb.endswith("es") else f"{verb[:-1]}ed"


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
