"""A system, a world and the world's queries -> the rankings that the promises are checked on, each made once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.retrievers.contract import Retriever
from kg2rag.types.formulas import FORMULA, SOURCE
from kg2rag.types.passages import Query
from kg2rag.types.rankings import Ranking


@dataclass(frozen=True)
class Trial:
    """`kb` is None where a system that was built elsewhere is tested with queries of its user."""

    system: Retriever
    queries: Sequence[Query]
    k: int
    world: str = ""
    kb: KnowledgeBase | None = field(default=None, repr=False)

    @cached_property
    def rankings(self) -> list[Ranking]:
        """Of all queries in one batch, at `k`."""
        return self.system.retrieve_batch(self.queries, self.k)

    @property
    def where(self) -> str:
        """The world, as the beginning of a sentence."""
        return f"on {self.world}, " if self.world else ""


def named(query: Query) -> str:
    """How a failure names a query."""
    return f"query {query.id!r} ({query.text[:40]!r}{'…' if len(query.text) > 40 else ''})"


def facts(ranking: Ranking) -> dict[str, object]:
    """All that a ranking holds, as JSON; scores to the last bit."""
    return {"query": ranking.query_id, "metadata": repr(dict(ranking.metadata)), "hits": hit_facts(ranking)}


def hit_facts(ranking: Ranking) -> list[list[object]]:
    """The hits alone, without the metadata, which may speak of the hits returned."""
    return [
        [hit.passage_id, hit.score.hex(), hit.stage, list(map(str, hit.path)), sorted(hit.score_parts.items())]
        for hit in ranking
    ]


def difference(one: Ranking, other: Ranking, *, metadata: bool = True) -> str:
    """What the first difference of two rankings is, in words; empty where there is none."""
    left, right = hit_facts(one), hit_facts(other)
    for at, (first, second) in enumerate(zip(left, right, strict=False), start=1):
        if first[:2] != second[:2]:
            return f"hit {at} is {_scored(one, at)} and {_scored(other, at)}"
        if first != second:
            what = next(name for name, a, b in zip(_COLUMNS, first, second, strict=True) if a != b)
            return f"the {what} of hit {at} differs"
    if len(left) != len(right):
        return f"there are {len(left)} and {len(right)} hits"
    return "the metadata differ" if metadata and facts(one)["metadata"] != facts(other)["metadata"] else ""


_COLUMNS = ("passage", "score", "stage", "path", "score's parts")


def _scored(ranking: Ranking, at: int) -> str:
    hit = ranking.hit(at)
    return f"{hit.passage_id} ({hit.score!r})"


def remarks(ranking: Ranking) -> set[str]:
    """The metadata beyond the score's formula and source: a strategy's own words about the query."""
    return set(ranking.metadata) - {FORMULA, SOURCE}
