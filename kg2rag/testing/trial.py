"""A system, a world and the world's queries -> the rankings that the promises are checked on, each made once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Query, Ranking


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

    @cached_property
    def ids(self) -> frozenset[str]:
        """The passages of the corpus; empty where it is not known."""
        return frozenset(() if self.kb is None else self.kb.corpus.ids)


def named(query: Query) -> str:
    """How a failure names a query."""
    return f"query {query.id!r} ({query.text[:40]!r}{'…' if len(query.text) > 40 else ''})"


def facts(ranking: Ranking) -> dict[str, object]:
    """All that a ranking holds, as JSON; scores to the last bit."""
    return {"query": ranking.query_id, "metadata": repr(dict(ranking.metadata)), "hits": _hit_facts(ranking)}


@lru_cache(maxsize=512)  # a trial's own rankings are compared with several others
def _hit_facts(ranking: Ranking) -> list[list[object]]:
    return [
        [hit.passage_id, hit.score.hex(), hit.stage, list(map(str, hit.path)), sorted(hit.score_parts.items())]
        for hit in ranking
    ]


def difference(one: Ranking, other: Ranking, *, metadata: bool = True) -> str:
    """What the first difference of two rankings is, in words; empty where there is none.

    Without `metadata` the hits alone are compared: metadata may speak of the hits returned.
    """
    for at, (first, second) in enumerate(zip(_hit_facts(one), _hit_facts(other), strict=False), start=1):
        if first[:2] != second[:2]:
            pair = (one.hit(at), other.hit(at))
            return f"hit {at} is {' and '.join(f'{hit.passage_id} ({hit.score!r})' for hit in pair)}"
        for what, a, b in zip(("stage", "path", "score's parts"), first[2:], second[2:], strict=True):
            if a != b:
                return f"the {what} of hit {at} differs"
    if len(one) != len(other):
        return f"there are {len(one)} and {len(other)} hits"
    return "the metadata differ" if metadata and facts(one)["metadata"] != facts(other)["metadata"] else ""
