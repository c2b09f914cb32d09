"""The graph around a query's entities -> short lines, strongest first, in a budget of tokens.

The structured block of the graph-augmented design. Inferred from its example: an inverse relation
has no weight where the other section gives it; a weight is written if the source states one (5
means none); "Relevant Relationships" are the facts that the graph describes, or for which the
corpus has a sentence that names both ends, shown because the line would otherwise repeat "Related".
Ours: how a small budget is shared (`shared`); entities beyond the query's, if they are described;
and chains, so that a reader can trace what a change reaches.
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
    """A label and its items, strongest first; after an item that does not fit, none is written.

    `section` : its number and heading, which is written with the first item of its lines.
    """

    section: tuple[int, str]
    label: str
    items: Sequence[str]
    separator: str = ", "


def shared(
    top: str, lines: Sequence[Line], budget: int, counter: TokenCounter
) -> tuple[str, int, list[Dropped]]:
    """The text that fits, its tokens, and the omitted items; no text if `top` does not fit.

    The lines take turns: their first items, then the second of each that has one, and so on. The
    whole text is counted with every item: the budget holds for any tokenizer.
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
    """The first items of each line under the headings of their sections."""
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
    """The block of a graph context: its text, its tokens, and the omitted pieces.

    `limit` : of the relations of each entity, of the entities beside the query's, of the chains and
    of the facts.
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
    """The relations and description of a query entity; a line without text if it has neither."""
    lines = []
    related = _related(data, entity)[:limit]
    if related:
        lines.append(Line(section, "Related: ", related))
    if entity.description.strip():
        lines.append(Line(section, "Description: ", [one_line(entity.description)]))
    return lines or [Line(section, "", [""])]


def _related(data: GraphContext, entity: ContextEntity) -> list[str]:
    """The neighbours of a query entity with relations, such as "Login (part_of, weight: 7)"."""
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
    """Heading -> the items below the query's entities."""
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
