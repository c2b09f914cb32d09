"""The first hits and a budget of tokens -> those that the context leaves out, and why.

Contexts are written by a `Formatter`, such as `kg2rag.ContextFormatter`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from kg2rag.types.rankings import Ranking


class Cited(Protocol):
    """A passage in a context."""

    @property
    def passage_id(self) -> str:
        """Its id."""
        ...


class LeftOut(Protocol):
    """Something left out of a context."""

    @property
    def what(self) -> str:
        """The id of a passage, or a line."""
        ...

    @property
    def why(self) -> str:
        """The reason; "budget" where it did not fit."""
        ...


class Context(Protocol):
    """The text that a formatter makes of a ranking."""

    @property
    def citations(self) -> Sequence[Cited]:
        """The passages in it."""
        ...

    @property
    def dropped(self) -> Sequence[LeftOut]:
        """What was left out."""
        ...


class Formatter(Protocol):
    """Writes the hits of a ranking within so many tokens."""

    @property
    def passage_tokens(self) -> int:
        """The budget."""
        ...

    def passages(self, ranking: Ranking) -> Context:
        """The context of a ranking."""
        ...


def left_out(
    ranking: Ranking, ranked: Sequence[str], places: Mapping[str, int], k: int, formatter: Formatter
) -> dict[str, str]:
    """Of the first k units, those whose every passage the context leaves out, and why."""
    depth = sum(1 for id_ in ranked if places[id_] <= k)
    if not depth:
        return {}
    context = formatter.passages(ranking.top(depth))
    written = {citation.passage_id for citation in context.citations}
    reasons = {dropped.what: dropped.why for dropped in context.dropped}
    cut: dict[str, str] = {}
    for id_, unit in zip(ranking.passage_ids[:depth], ranked, strict=False):
        if id_ not in written:
            why = reasons.get(id_, "budget")
            tokens = f"beyond the {formatter.passage_tokens} tokens of the context"
            cut.setdefault(unit, tokens if why == "budget" else f"the context leaves it out: it {why}")
    kept = {unit for id_, unit in zip(ranking.passage_ids[:depth], ranked, strict=False) if id_ in written}
    return {unit: why for unit, why in cut.items() if unit not in kept}
