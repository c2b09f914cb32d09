"""A system, a world and its queries -> the rankings on which the promises are checked."""

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
from kg2rag.text.cells import excerpt
from kg2rag.types import Hit, Query, Ranking

TIE = 1e-5
"""Largest difference of tied scores; relative for scores above 1."""
BLOCK_QUERIES = 10


@dataclass(frozen=True)
class Trial:
    """A system and the queries of a world.

    kb : the knowledge base of the world; None for a built system with queries of its user.
    """

    system: Retriever
    queries: Sequence[Query]
    k: int
    world: str = ""
    kb: KnowledgeBase | None = field(default=None, repr=False)

    @cached_property
    def rankings(self) -> list[Ranking]:
        """The rankings of all queries in one batch, at `k`."""
        return self.system.retrieve_batch(self.queries, self.k)

    @cached_property
    def blocks(self) -> list[tuple[Sequence[Query], list[list[object]]]]:
        """The (queries, facts of their rankings) of each `BLOCK_QUERIES` queries.

        Blocks save time: mostly the first shows whether another system ranks differently.
        """
        starts = range(0, len(self.queries), BLOCK_QUERIES)
        blocks = [self.queries[start : start + BLOCK_QUERIES] for start in starts]
        return [(block, self.facts_of(self.system, block)) for block in blocks]

    def facts_of(
        self, system: Retriever, queries: Sequence[Query]
    ) -> list[list[object]]:
        """The facts of a system's rankings at `k`."""
        return list(map(facts, system.retrieve_batch(queries, self.k)))

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids of the passages of the corpus; empty if it is unknown."""
        return frozenset(() if self.kb is None else self.kb.corpus.ids)


def describe_query(query: Query) -> str:
    """The id and the first words of a query, for messages."""
    return f"query {query.id!r} ({excerpt(query.text, 40)!r})"


@lru_cache(maxsize=512)  # a trial's own rankings are compared with several others
def facts(ranking: Ranking) -> list[object]:
    """The contents of a ranking as JSON values, with scores to the last bit."""
    return [ranking.query_id, repr(ranking.notes), *map(_hit_facts, ranking)]


def _hit_facts(hit: Hit) -> list[object]:
    """The contents of a hit as JSON values."""
    path = list(map(str, hit.path))
    parts = sorted(hit.score_parts.items())
    return [hit.passage_id, hit.score.hex(), hit.stage, path, parts]


def difference(ranking: Ranking, other: Ranking, *, notes: bool = True) -> str:
    """A description of the first difference of two rankings; "" if they are equal up to ties.

    Scores within `TIE` of each other tie, since the last bits of a product depend on its batch.

    notes : False compares only the hits, since notes may depend on the number of hits.
    """
    if len(ranking) != len(other):
        return f"there are {len(ranking)} and {len(other)} hits"
    hit_of = {hit.passage_id: hit for hit in other}
    for rank, (hit, opposite) in enumerate(zip(ranking, other, strict=True), start=1):
        fault = _hit_difference(
            hit, opposite, hit_of.get(hit.passage_id), float(other.scores[-1])
        )
        if fault:
            return f"hit {rank}, {hit.passage_id} ({hit.score!r}): {fault}"
    if notes and repr(ranking.notes) != repr(other.notes):
        return "the notes differ"
    return ""


def _hit_difference(
    hit: Hit, opposite: Hit, match: Hit | None, last_score: float
) -> str:
    """A description of the difference between a hit and its match in another ranking; "" for none.

    opposite : the hit of the same rank in the other ranking.
    match : the hit of the same passage there; None if there is none.
    last_score : the score of the last hit there. A passage that ties with it may have been cut.
    """
    if not _is_tie(hit.score, opposite.score):
        return f"the other has {opposite.passage_id} ({opposite.score!r})"
    if match is None:
        return "" if _is_tie(hit.score, last_score) else "it is only in one of them"
    if not _is_tie(hit.score, match.score):
        return f"its score in the other is {match.score!r}"
    if (hit.stage, hit.path) != (match.stage, match.path):
        return "its stage or its path differs"
    if not _have_equal_parts(hit.score_parts, match.score_parts):
        return "the parts of its score differ"
    return ""


def _is_tie(score: float, other: float) -> bool:
    """Whether two scores are equal up to `TIE`."""
    return abs(score - other) <= TIE * max(1.0, abs(score))


def _have_equal_parts(
    parts: Mapping[str, float], match_parts: Mapping[str, float]
) -> bool:
    """Whether two hits have the same parts of a score, equal up to `TIE`."""
    if parts.keys() != match_parts.keys():
        return False
    return all(_is_tie(value, match_parts[name]) for name, value in parts.items())


def processes_differ(
    systems: Mapping[str, Retriever],
    rankings: Mapping[str, Sequence[Ranking]],
    queries: Sequence[Query],
    k: int,
) -> Iterator[tuple[str, str]]:
    """The (name, fault) of each system that ranks differently in a process of another hash seed.

    A system whose class cannot be imported there, such as one of a notebook, is not compared.
    """
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    work = pickle.dumps((dict(systems), list(queries), k))
    command = [sys.executable, "-m", "kg2rag.testing.trial"]
    run = subprocess.run(  # noqa: S603 - its own interpreter
        command, env=environment, input=work, capture_output=True, check=False
    )
    if run.returncode:
        raise RuntimeError(
            f"Another process cannot retrieve:\n{run.stderr.decode()[-2000:]}"
        )
    for name, actual_facts in json.loads(run.stdout.splitlines()[-1]).items():
        expected_facts = json.loads(
            json.dumps([facts(ranking) for ranking in rankings[name]])
        )
        for query, expected, actual in zip(
            queries, expected_facts, actual_facts, strict=True
        ):
            if actual != expected:
                fault = "another PYTHONHASHSEED gives another ranking. Does it iterate over a set?"
                yield name, f"{describe_query(query)}: {fault}"
                break


def main() -> None:
    """Rank by the pickled systems of stdin, and print the rankings as JSON.

    No system is run if a class cannot be imported here.
    """
    try:
        systems, queries, k = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 (from the parent process)
    except (ImportError, AttributeError):
        systems, queries, k = {}, [], 1
    facts_of = {}
    for name, system in systems.items():
        facts_of[name] = list(map(facts, system.retrieve_batch(queries, k)))
    sys.stdout.write(f"\n{json.dumps(facts_of)}")


if __name__ == "__main__":
    main()
