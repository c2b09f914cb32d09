"""`certain` of the systems that walk by PageRank: the passages in the order of the whole solution, with fewer steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.hipporag.hipporag2 import HippoRAG2
from kg2rag.retrievers.linear_rag.retriever import LinearRAG
from kg2rag.testing import worlds
from kg2rag.types import Ranking

K = 10


def ids(rankings: list[Ranking]) -> list[list[str]]:
    return [ranking.passage_ids for ranking in rankings]


@pytest.mark.parametrize("system", [HippoRAG2, LinearRAG])
def test_the_first_passages_are_those_of_the_whole_walk_alone_and_in_a_batch(
    system: type[HippoRAG2 | LinearRAG], kb: KnowledgeBase
) -> None:
    queries = worlds.queries()
    whole, ended = system(kb), system(kb, certain=K)
    expected, found = whole.retrieve_batch(queries, K), ended.retrieve_batch(queries, K)
    assert ids(found) == ids(expected)
    alone = [ended.retrieve_batch([query], K)[0] for query in queries]
    assert [ranking.scores.tobytes() for ranking in alone] == [ranking.scores.tobytes() for ranking in found]
    early = [one.scores.tobytes() != other.scores.tobytes() for one, other in zip(expected, found, strict=True)]
    assert sum(early) > len(queries) / 4  # others tie, have candidates, or are linked to nothing: those are solved


@pytest.mark.parametrize("system", [HippoRAG2, LinearRAG])
def test_by_default_the_walk_is_whole_and_fewer_than_none_are_refused(
    system: type[HippoRAG2 | LinearRAG], kb: KnowledgeBase
) -> None:
    assert system(kb).certain == 0
    with pytest.raises(ValueError, match="certain must be at least 0"):
        replace(system(kb), certain=-1)
