"""The first hits and a budget of tokens -> those that the context leaves out, and why.

Contexts are written by a `Formatter`, such as `kg2rag.ContextFormatter`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from kg2rag.types.rankings import Ranking


class Formatter(Protocol):
    """Writes the hits of a ranking within so many tokens."""

    @property
    def passage_tokens(self) -> int:
        """The budget."""

    def passages(self, ranking: Ranking) -> Any:
        """A context: `citations`, each with a `passage_id`, and what was `dropped`, each with `what` and `why`."""


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
