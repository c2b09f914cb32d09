"""The graph around a query's entities -> a text of short lines, strongest first, in a token budget.

The structured block of the graph-augmented design. Inferred from its example: a weight is written
if the source states one (5 means none), and for an inverse relation only if the section of the
other entity does not have it; "Relevant Relationships" are the facts with a description in the
graph, or with a sentence of the corpus that names both ends, since other facts are in "Related".
Ours: the shares of a small budget (`shared`); entities other than the query's that have a
description; and chains, which show a reader what a change affects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kg2rag.answers.graph_context import ContextEntity, GraphContext, one_line
from kg2rag.compute import TokenCounter

HEADER = "## Knowledge Graph Context"
UNSTATED = 5.0
"""The strength of a triple whose source states none."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """An omitted piece of a context; `why` is "budget", "limit" or the key that it repeats."""

    what: str
    why: str


class Line(NamedTuple):
    """A line of a block: a label and its items, strongest first.

    section : the number and the heading of its section.
    """

    section: tuple[int, str]
    label: str
    items: Sequence[str]
    separator: str = ", "


def shared(
    top: str, lines: Sequence[Line], budget: int, counter: TokenCounter
) -> tuple[str, int, list[Dropped]]:
    """The text within the budget, its number of tokens, and the omitted items.

    The lines share the budget by turns: all first items are added, then all second items, and so
    on. After an item that does not fit, no weaker item of its line is added. The whole text is
    counted with every item, so the budget holds for any tokenizer. The text is "" if `top`, its
    first lines, does not fit.
    """
    if counter.count([top])[0] > budget:
        return "", 0, [Dropped(top, "budget")]
    text = top
    n_written = [0] * len(lines)
    dropped: list[Dropped] = []
    turns = [
        (item, number)
        for number, line in enumerate(lines)
        for item in range(len(line.items))
    ]
    for item, number in sorted(turns):
        line = lines[number]
        if n_written[number] == item:  # no stronger item of the line was left out
            n_written[number] += 1
            longer = _text(top, lines, n_written)
            if counter.count([longer])[0] <= budget:
                text = longer
                continue
            n_written[number] -= 1
        dropped.append(
            Dropped(f"{line.label}{line.items[item]}" or line.section[1], "budget")
        )
    return text, counter.count([text])[0], dropped


def _text(top: str, lines: Sequence[Line], n_written: Sequence[int]) -> str:
    """The text with the first `n_written` items of each line, under the headings of sections."""
    sections: dict[tuple[int, str], list[str]] = {}
    for line, n_items in zip(lines, n_written, strict=True):
        if n_items:
            texts = sections.setdefault(line.section, [line.section[1]])
            texts.append(f"{line.label}{line.separator.join(line.items[:n_items])}")
    return "\n\n".join(
        [top, *("\n".join(filter(None, texts)) for texts in sections.values())]
    )


def graph_block(
    data: GraphContext, limit: int, budget: int, counter: TokenCounter
) -> tuple[str, int, list[Dropped]]:
    """The text of a graph context, its number of tokens, and the omitted pieces.

    limit : the largest number of relations of each entity, of related entities, of chains and of
    facts.
    budget : the largest number of tokens.
    """
    query_entities = [entity for entity in data.entities if not entity.hops]
    lines: list[Line] = []
    for number, entity in enumerate(query_entities):
        lines += _entity_lines(data, entity, (number, f"### {entity.titled}"), limit)
    beyond_limit: list[Dropped] = []
    for heading, items in _lists(data).items():
        if items:
            lines.append(Line((-1, f"### {heading}"), "", items[:limit], "\n"))
        if len(items) > limit:
            beyond_limit.append(
                Dropped(f"{len(items) - limit} more {heading.lower()}", "limit")
            )
    top = f"{HEADER}\nQuery entities: [{', '.join(one_line(entity.name) for entity in query_entities)}]"
    text, tokens, dropped = shared(top, lines, budget, counter)
    if text:
        dropped += beyond_limit
    return text, tokens, dropped


def _entity_lines(
    data: GraphContext, entity: ContextEntity, section: tuple[int, str], limit: int
) -> list[Line]:
    """The lines of a query entity, its relations and its description; an empty line without both.

    The empty line keeps the heading of the section.
    """
    lines = []
    related = _related(data, entity)[:limit]
    if related:
        lines.append(Line(section, "Related: ", related))
    if entity.description.strip():
        lines.append(Line(section, "Description: ", [one_line(entity.description)]))
    return lines or [Line(section, "", [""])]


def _related(data: GraphContext, entity: ContextEntity) -> list[str]:
    """The neighbours of a query entity with their relations, "Login (part_of, weight: 7)"."""
    names = {entity.name for entity in data.entities if not entity.hops}
    texts = []
    for fact in data.relationships:
        if entity.name in (fact.source, fact.target):
            neighbour, relation = fact.read_from(entity.name)
            is_repeated = entity.name != fact.source and fact.source in names
            if fact.strength != UNSTATED and not is_repeated:
                relation += f", weight: {fact.strength:g}"
            texts.append(f"{neighbour} ({relation})")
    return texts


def _lists(data: GraphContext) -> dict[str, list[str]]:
    """Heading -> items, of the sections that follow those of the query's entities."""
    related = []
    for entity in data.entities:
        description = one_line(entity.description)
        if entity.hops and description:
            related.append(f"- {entity.titled}: {description}")
    return {
        "Related Entities": related,
        "Chains": [f"- {chain}" for chain in data.chains],
        "Relevant Relationships": [
            str(fact) for fact in data.relationships if fact.sentence
        ],
    }
