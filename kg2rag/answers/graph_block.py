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


class Line(NamedTuple):
    """A label and the items after it, strongest first; of those that do not fit, no weaker one is written either."""

    label: str
    items: Sequence[str]
    separator: str = ", "


class Section(NamedTuple):
    """A heading and the lines below it; the heading is written with the first item."""

    heading: str
    lines: Sequence[Line]


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
    written, dropped = [[0] * len(section.lines) for section in sections], []
    turns = [
        (number, at, of)
        for at, section in enumerate(sections)
        for of, line in enumerate(section.lines)
        for number in range(len(line.items))
    ]
    for number, at, of in sorted(turns):
        line = sections[at].lines[of]
        if written[at][of] == number:
            written[at][of] += 1
            if (spent := counter.count([_text(top, sections, written)])[0]) <= budget:
                tokens = spent
                continue
            written[at][of] -= 1
        dropped.append(Dropped(f"{line.label}{line.items[number]}" or sections[at].heading, "budget"))
    return _text(top, sections, written), tokens, tuple(dropped)


def _text(top: str, sections: Sequence[Section], written: Sequence[Sequence[int]]) -> str:
    parts = [top]
    for section, counts in zip(sections, written, strict=True):
        lines = [
            f"{line.label}{line.separator.join(line.items[:count])}"
            for line, count in zip(section.lines, counts, strict=True)
            if count
        ]
        if lines:
            parts.append("\n".join([section.heading, *filter(None, lines)]))
    return "\n\n".join(parts)


def graph_block(data: GraphContext, limit: int, budget: int, counter: TokenCounter) -> tuple[str, int, list[Dropped]]:
    """The block of a graph context: its text, its tokens, and what was left out.

    `limit` : of the relations of each entity, of the entities beside the query's, of the chains and of the facts.
    """
    named = [entity for entity in data.entities if not entity.hops]
    names, sections, cut = {entity.name for entity in named}, list[Section](), list[Dropped]()
    for entity in named:
        related = []
        for fact in (one for one in data.relationships if entity.name in (one.source, one.target)):
            other, relation = fact.read_from(entity.name)
            repeated = entity.name != fact.source and fact.source in names
            weight = "" if fact.strength == UNSTATED or repeated else f", weight: {fact.strength:g}"
            related.append(f"{other} ({relation}{weight})")
        described = [one_line(entity.description)] if entity.description.strip() else []
        lines = [Line("Related: ", related[:limit]), Line("Description: ", described)]
        sections.append(Section(f"### {entity.titled}", [line for line in lines if line.items] or [Line("", [""])]))
    others = [one for one in data.entities if one.hops and one.description.strip()]
    lists = {
        "Related Entities": [f"- {one.titled}: {one_line(one.description)}" for one in others],
        "Chains": [f"- {chain}" for chain in data.chains],
        "Relevant Relationships": [str(one) for one in data.relationships if one.said],
    }
    for heading, items in lists.items():
        if items:
            sections.append(Section(f"### {heading}", [Line("", items[:limit], "\n")]))
        if len(items) > limit:
            cut.append(Dropped(f"{len(items) - limit} more {heading.lower()}", "limit"))
    top = f"{HEADER}\nQuery entities: [{', '.join(one_line(one.name) for one in named)}]"
    text, tokens, dropped = shared(top, sections, budget, counter)
    return text, tokens, [*dropped, *(cut if text else ())]
