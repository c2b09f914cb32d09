"""Entities of a graph -> their block of a context: sections of short lines, strongest first, within a budget of tokens.

The structured block of the graph-augmented design. Inferred from its example: an inverse relation has no weight where
the other section gives it; a weight is written where the source states one (5 means none); "Relevant Relationships" are
the facts that the graph describes, or for which the corpus has a sentence that names both ends, shown because the line
would otherwise repeat "Related". Ours: how a small budget is shared (`shared`), and the names of relations that are
read from tail to head, of which the design has one example (depends_on -> depended_on_by).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import NamedTuple

from kg2rag.compute import TokenCounter
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.text.normalisation import normalise

HEADER = "## Knowledge Graph Context"
UNSTATED = 5.0
"""The strength of a triple whose source states none."""


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
    """A heading and the lines below it; the heading is written with the first item.

    `yields` : an item waits until the stronger ones of the other sections are written, and goes with them.
    """

    heading: str
    lines: Sequence[Line]
    yields: bool = False


def shared(
    top: str, sections: Sequence[Section], budget: int, counter: TokenCounter
) -> tuple[str, int, tuple[Dropped, ...]]:
    """The text that fits, its tokens, and what was left out; nothing fits where `top`, its first lines, does not.

    The lines of all sections take turns: their first items, then the second of each that has one, and so on, so that no
    hub crowds out another section and what one does not need goes to the others. The whole text is counted with every
    item: the budget holds for any tokenizer.
    """
    written = [[0] * len(section.lines) for section in sections]
    if (tokens := counter.count([top])[0]) > budget:
        return "", 0, (Dropped(top, "budget"),)
    dropped, missed = [], 0.0
    for at, of, number, item in _turns(sections):
        section, line = sections[at], sections[at].lines[of]
        if written[at][of] == number and not (section.yields and item.strength < missed):
            written[at][of] += 1
            if (spent := counter.count([_text(top, sections, written)])[0]) <= budget:
                tokens = spent
                continue
            written[at][of] -= 1
        dropped.append(Dropped(f"{line.label}{item.text}" or section.heading, "budget"))
        if not section.yields and item.strength < inf:
            missed = max(missed, item.strength)
    return _text(top, sections, written), tokens, tuple(dropped)


def _turns(sections: Sequence[Section]) -> list[tuple[int, int, int, Item]]:
    """Every item with its section, its line and its number, in the order of the turns."""
    turns = [
        (at, of, number, item)
        for at, section in enumerate(sections)
        for of, line in enumerate(section.lines)
        for number, item in enumerate(line.items)
    ]
    relations = [(number, item.strength) for at, _, number, item in turns if not sections[at].yields]

    def when(turn: tuple[int, int, int, Item]) -> tuple[int, bool]:
        at, _, number, item = turn
        yields = sections[at].yields
        return max([number, *(n for n, strength in relations if yields and item.strength < strength < inf)]), yields

    return sorted(turns, key=when)


def _text(top: str, sections: Sequence[Section], written: Sequence[Sequence[int]]) -> str:
    parts = [top]
    for section, counts in zip(sections, written, strict=True):
        lines = [
            f"{line.label}{line.separator.join(item.text for item in line.items[:count])}"
            for line, count in zip(section.lines, counts, strict=True)
            if count
        ]
        if lines:
            parts.append("\n".join([section.heading, *filter(None, lines)]))
    return "\n\n".join(parts)


_TABLES = tomllib.loads(Path(__file__).with_name("inverses.toml").read_text(encoding="utf-8"))
_WORDS = re.compile(r"[\s_\-]+")
_INVERSES: dict[str, str] = {relation: relation for relation in _TABLES["symmetric"]}
for _one, _other in _TABLES["pairs"]:
    _INVERSES.setdefault(_one, _other)
    _INVERSES.setdefault(_other, _one)
_PARTICIPLES = ((r"ies$", "ied"), (r"(sh|ch|ss|x|zz)es$", r"\1ed"), (r"es$", "ed"), (r"s$", "ed"))
"""Endings of regular verbs: carries -> carried, publishes -> published, uses -> used, owns -> owned."""


def inverse(relation: str) -> str:
    """The relation's name from the other end, in the spelling of the given one (case, underscores or spaces).

    By a table of irregular ones (`inverses.toml`), a rule for third-person verbs, and "inverse of …" for the rest.

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
    if not (verb.isalpha() and re.fullmatch("..+[^s]s", verb)) or verb in _TABLES["no_verbs"]:
        return None
    if len(rest) > 1 or not set(rest) <= set(_TABLES["prepositions"]):
        return None
    regular = next(re.sub(end, made, verb) for end, made in _PARTICIPLES if re.search(end, verb))
    return "_".join([_TABLES["participles"].get(verb, regular), *rest, "by"])


def graph_block(
    kb: KnowledgeBase, entities: Sequence[int], limit: int, budget: int, counter: TokenCounter
) -> tuple[str, int, tuple[Dropped, ...]]:
    """The block of some entities, the most important first: its text, its tokens, and what was left out.

    `limit` : of the relations of each entity, and of the facts in all.
    """
    graph, sections, cut = kb.graph, [], []
    for entity in entities:
        related, description = list(_related(graph, entity, entities)), one_line(graph.descriptions[entity])
        lines = [Line("Related: ", related[:limit])] if related else []
        lines += [Line("Description: ", [Item(description)])] if description else []
        sections.append(Section(titled(graph, entity, "### {}"), lines or [Line("", [Item("")])]))
        if len(related) > limit:
            cut.append(Dropped(f"{len(related) - limit} weaker relations of {graph.names[entity]}", "limit"))
    if facts := _facts(kb, entities):
        sections.append(Section("### Relevant Relationships", [Line("", facts[:limit], "\n")], yields=True))
    if len(facts) > limit:
        cut.append(Dropped(f"{len(facts) - limit} weaker relationships", "limit"))
    top = f"{HEADER}\nQuery entities: [{', '.join(one_line(graph.names[entity]) for entity in entities)}]"
    text, tokens, dropped = shared(top, sections, budget, counter)
    return text, tokens, (*dropped, *cut) if text else dropped


def _related(graph: KnowledgeGraph, entity: int, entities: Sequence[int]) -> Iterator[Item]:
    """Each neighbour and relation, as in `OAuth Provider (depends_on, weight: 8)`; strongest first."""
    near = graph.adjacency
    seen: set[tuple[int, str]] = set()
    for slot in range(int(near.indptr[entity]), int(near.indptr[entity + 1])):
        other, index, backward = int(near.neighbours[slot]), int(near.triples[slot]), not near.along[slot]
        relation = one_line(graph.relations[graph.triples.relations[index]])
        relation = inverse(relation) if backward else relation
        if (other, relation) not in seen:
            seen.add((other, relation))
            strength = graph.triple(index).strength
            unweighted = strength == UNSTATED or (backward and other in entities)
            weight = "" if unweighted else f", weight: {strength:g}"
            yield Item(f"{one_line(graph.names[other])} ({relation}{weight})", strength)


def _facts(kb: KnowledgeBase, entities: Sequence[int]) -> list[Item]:
    """The facts at the entities that the graph describes or the corpus states, strongest first."""
    graph = kb.graph
    indices = {int(index) for entity in entities for index in graph.triples_of(entity)}
    facts: dict[tuple[str, str, str], Item] = {}
    for index in sorted(indices, key=lambda index: (-float(graph.triples.strengths[index]), index)):
        triple = graph.triple(index)
        fact = triple.head, triple.relation, triple.tail
        evidence = one_line(triple.description).removesuffix(".") or _evidence(kb, index)
        if evidence and fact not in facts:
            ends = f"{one_line(triple.head)} -> {one_line(triple.tail)}"
            line = f'- {ends}: "{one_line(triple.relation)}" -- {evidence} (strength: {triple.strength:g})'
            facts[fact] = Item(line, triple.strength)
    return list(facts.values())


def _evidence(kb: KnowledgeBase, index: int) -> str:
    """The first sentence of the stating passage that names both ends, without its full stop; "" for none."""
    table, names = kb.graph.triples, kb.graph.names
    if (row := int(table.passages[index])) < 0:
        return ""
    ends = [f" {normalise(names[code])} " for code in (table.heads[index], table.tails[index])]
    for sentence in kb.corpus.sentences(row):
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
