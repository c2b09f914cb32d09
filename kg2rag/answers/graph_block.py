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
from itertools import groupby
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
    """A label and the items after it, strongest first; of those that do not fit, no weaker one is written either.

    `section` : its number and heading, which is written with the first item of its lines.
    """

    section: tuple[int, str]
    label: str
    items: Sequence[str]
    separator: str = ", "


def shared(top: str, lines: Sequence[Line], budget: int, counter: TokenCounter) -> tuple[str, int, list[Dropped]]:
    """The text that fits, its tokens, and what was left out; nothing fits where `top`, its first lines, does not.

    The lines take turns: their first items, then the second of each that has one, and so on. The whole text is counted
    with every item: the budget holds for any tokenizer.
    """
    if (tokens := counter.count([top])[0]) > budget:
        return "", 0, [Dropped(top, "budget")]
    written, dropped, text = [0] * len(lines), list[Dropped](), top
    for number, at in sorted((number, at) for at, line in enumerate(lines) for number in range(len(line.items))):
        line = lines[at]
        if written[at] == number:
            written[at] += 1
            longer = _text(top, lines, written)
            if (spent := counter.count([longer])[0]) <= budget:
                text, tokens = longer, spent
                continue
            written[at] -= 1
        dropped.append(Dropped(f"{line.label}{line.items[number]}" or line.section[1], "budget"))
    return text, tokens, dropped


def _text(top: str, lines: Sequence[Line], written: Sequence[int]) -> str:
    parts = [top]
    for (_, heading), pairs in groupby(zip(lines, written, strict=True), key=lambda pair: pair[0].section):
        texts = [f"{line.label}{line.separator.join(line.items[:count])}" for line, count in pairs if count]
        if texts:
            parts.append("\n".join([heading, *filter(None, texts)]))
    return "\n\n".join(parts)


def graph_block(data: GraphContext, limit: int, budget: int, counter: TokenCounter) -> tuple[str, int, list[Dropped]]:
    """The block of a graph context: its text, its tokens, and what was left out.

    `limit` : of the relations of each entity, of the entities beside the query's, of the chains and of the facts.
    """
    named = [entity for entity in data.entities if not entity.hops]
    names, lines, cut = {entity.name for entity in named}, list[Line](), list[Dropped]()
    for number, entity in enumerate(named):
        related = []
        for fact in (one for one in data.relationships if entity.name in (one.source, one.target)):
            other, relation = fact.read_from(entity.name)
            repeated = entity.name != fact.source and fact.source in names
            weight = "" if fact.strength == UNSTATED or repeated else f", weight: {fact.strength:g}"
            related.append(f"{other} ({relation}{weight})")
        described = [one_line(entity.description)] if entity.description.strip() else []
        own = {"Related: ": related[:limit], "Description: ": described}
        section, filled = (number, f"### {entity.titled}"), [(label, items) for label, items in own.items() if items]
        lines += [Line(section, *one) for one in filled or [("", [""])]]
    others = [one for one in data.entities if one.hops and one.description.strip()]
    lists = {
        "Related Entities": [f"- {one.titled}: {one_line(one.description)}" for one in others],
        "Chains": [f"- {chain}" for chain in data.chains],
        "Relevant Relationships": [str(one) for one in data.relationships if one.said],
    }
    for heading, items in lists.items():
        if items:
            lines.append(Line((-1, f"### {heading}"), "", items[:limit], "\n"))
        if len(items) > limit:
            cut.append(Dropped(f"{len(items) - limit} more {heading.lower()}", "limit"))
    top = f"{HEADER}\nQuery entities: [{', '.join(one_line(one.name) for one in named)}]"
    text, tokens, dropped = shared(top, lines, budget, counter)
    return text, tokens, [*dropped, *(cut if text else ())]
