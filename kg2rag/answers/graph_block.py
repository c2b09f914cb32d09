"""The graph around a query's entities -> its block of a context: short lines, strongest first, in a budget of tokens.

The structured block of the graph-augmented design. Inferred from its example: an inverse relation has no weight where
the other section gives it; a weight is written where the source states one (5 means none); "Relevant Relationships" are
the facts that the graph describes, or for which the corpus has a sentence that names both ends, shown because the line
would otherwise repeat "Related". Ours: how a small budget is shared (`shared`); entities beyond the query's, where they
are described; and chains, so that a reader can trace what a change reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from kg2rag.answers.graph_context import GraphContext, one_line
from kg2rag.compute import TokenCounter

HEADER = "## Knowledge Graph Context"
UNSTATED = 5.0
"""The strength of a triple whose source states none."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A piece left out of a context, and why: "budget", "limit", or the key of the passage that it repeats."""

    what: str
    why: str


class Item(NamedTuple):
    """A text, and how strong the relation is that it states; infinite for what is no relation."""

    text: str
    strength: float = inf


class Line(NamedTuple):
    """A label and the items after it, strongest first; of those that do not fit, no weaker one is written either."""

    label: str
    items: Sequence[Item]
    separator: str = ", "


class Section(NamedTuple):
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
    if (tokens := counter.count([top])[0]) > budget:
        return "", 0, (Dropped(top, "budget"),)
    turns = [
        (number, at, of, item)
        for at, section in enumerate(sections)
        for of, line in enumerate(section.lines)
        for number, item in enumerate(line.items)
    ]
    stronger = [(number, item.strength) for number, at, _, item in turns if not sections[at].yields]

    def when(turn: tuple[int, int, int, Item]) -> tuple[int, bool]:
        number, at, _, item = turn
        waits = sections[at].yields
        return max([number, *(n for n, strength in stronger if waits and item.strength < strength < inf)]), waits

    written, dropped, missed = [[0] * len(section.lines) for section in sections], [], 0.0
    for number, at, of, item in sorted(turns, key=when):
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


def graph_block(
    context: GraphContext, limit: int, budget: int, counter: TokenCounter
) -> tuple[str, int, list[Dropped]]:
    """The block of a graph context: its text, its tokens, and what was left out.

    `limit` : of the relations of each entity, of the entities beside the query's, of the chains and of the facts.
    """
    named = {entity.name for entity in context.entities if not entity.hops}
    sections = []
    for entity in (one for one in context.entities if not one.hops):
        related = []
        for fact in (one for one in context.relationships if entity.name in (one.source, one.target)):
            other, relation = fact.read_from(entity.name)
            backward = entity.name != fact.source and fact.source in named
            weight = "" if fact.strength == UNSTATED or backward else f", weight: {fact.strength:g}"
            related.append(Item(f"{other} ({relation}{weight})", fact.strength))
        described = [Item(one_line(entity.description))] if entity.description.strip() else []
        lines = [Line("Related: ", related[:limit]), Line("Description: ", described)]
        lines = [line for line in lines if line.items] or [Line("", [Item("")])]
        sections.append(Section(f"### {entity.titled}", lines))
    others = [one for one in context.entities if one.hops and one.description.strip()]
    lists = {
        "### Related Entities": [Item(f"- {one.titled}: {one_line(one.description)}") for one in others],
        "### Chains": [Item(f"- {chain}", chain.strength) for chain in context.chains],
        "### Relevant Relationships": [
            Item(
                f'- {one_line(one.source)} -> {one_line(one.target)}: "{one_line(one.type)}" -- '
                f"{one.description.removesuffix('.')} (strength: {one.strength:g})",
                one.strength,
            )
            for one in context.relationships
            if one.description.removesuffix(".")
        ],
    }
    for heading, items in lists.items():
        if items:
            sections.append(Section(heading, [Line("", items[:limit], "\n")], heading.endswith("Relationships")))
    top = f"{HEADER}\nQuery entities: [{', '.join(one_line(one.name) for one in context.entities if not one.hops)}]"
    text, tokens, dropped = shared(top, sections, budget, counter)
    cut = [
        Dropped(f"{len(items) - limit} more {heading.removeprefix('### ').lower()}", "limit")
        for heading, items in lists.items()
        if text and len(items) > limit
    ]
    return text, tokens, [*dropped, *cut]
