"""A system, a world and the world's queries -> the rankings that the promises are checked on, each made once."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Query, Ranking

TIE = 1e-5
"""Of scores, or of a share of those above 1."""


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


@lru_cache(maxsize=512)  # a trial's own rankings are compared with several others
def facts(ranking: Ranking) -> list[object]:
    """All that a ranking holds, as JSON; scores to the last bit."""
    hits = [
        [hit.passage_id, hit.score.hex(), hit.stage, list(map(str, hit.path)), sorted(hit.score_parts.items())]
        for hit in ranking
    ]
    return [ranking.query_id, repr(ranking.notes), *hits]


def difference(one: Ranking, other: Ranking, *, notes: bool = True) -> str:
    """What the first difference of two rankings is, in words; empty where they are equal but for ties.

    Scores within `TIE` of each other tie: the last bits of a product depend on the batch that it was computed in.
    Without `notes` the hits alone are compared: notes may speak of the hits returned.
    """
    if len(one) != len(other):
        return f"there are {len(one)} and {len(other)} hits"
    theirs = {hit.passage_id: hit for hit in other}
    for at, (hit, opposite) in enumerate(zip(one, other, strict=True), start=1):
        again = theirs.get(hit.passage_id, opposite)  # another passage may tie with the last that fits in
        if not (_tied(hit.score, opposite.score) and _tied(hit.score, again.score)):
            return f"hit {at} is {hit.passage_id} ({hit.score!r}) and {opposite.passage_id} ({opposite.score!r})"
        if again.passage_id != hit.passage_id:
            if not _tied(hit.score, float(other.scores[-1])):
                return f"hit {at}, {hit.passage_id}, is only in one of them"
        elif (hit.stage, hit.path) != (again.stage, again.path) or not _alike(hit.score_parts, again.score_parts):
            return f"stage, path or parts of the score of hit {at} differ"
    return "the notes differ" if notes and repr(one.notes) != repr(other.notes) else ""


def _tied(one: float, other: float) -> bool:
    return abs(one - other) <= TIE * max(1.0, abs(one))


def _alike(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    return one.keys() == other.keys() and all(_tied(value, other[name]) for name, value in one.items())


def differing(
    systems: Mapping[str, Retriever], rankings: Mapping[str, Sequence[Ranking]], queries: Sequence[Query], k: int
) -> Iterator[tuple[str, str]]:
    """The name of each system that ranks otherwise in another process, and the first query for which it does.

    Yields nothing where a class cannot be imported there, as one that a notebook defines.
    """
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    given = pickle.dumps((dict(systems), list(queries), k))
    command = [sys.executable, "-m", "kg2rag.testing.trial"]
    run = subprocess.run(command, env=environment, input=given, capture_output=True, check=False)  # noqa: S603
    if run.returncode:
        raise RuntimeError(f"Another process cannot retrieve:\n{run.stderr.decode()[-2000:]}")
    elsewhere = json.loads(run.stdout.splitlines()[-1])
    for name in elsewhere:
        here = json.loads(json.dumps([facts(ranking) for ranking in rankings[name]]))
        for query, one, other in zip(queries, here, elsewhere[name], strict=True):
            if one != other:
                yield name, f"{named(query)}: another PYTHONHASHSEED gives another ranking. Does it iterate a set?"
                break


def main() -> None:
    """Retrieve with the systems that come in, and print their rankings; none where a class is unknown here."""
    try:
        systems, queries, k = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 (our parent's, of a moment ago)
    except (ImportError, AttributeError):
        systems, queries, k = {}, [], 1
    found = {name: [facts(each) for each in system.retrieve_batch(queries, k)] for name, system in systems.items()}
    sys.stdout.write("\n" + json.dumps(found))


if __name__ == "__main__":
    main()
