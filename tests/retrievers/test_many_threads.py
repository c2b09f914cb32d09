"""One system asked by eight threads at once gives what it gives one after the other."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import kg2rag
from kg2rag.compute import Store
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.systems import build
from kg2rag.testing.worlds import HashedWords
from kg2rag.types import Query, Ranking

THREADS = 8


@pytest.mark.parametrize(
    "name",
    ["bm25", "dense", "hybrid", "mention_ppr", "mention_chains", "hippo2", "kg2rag"],
)
def test_eight_threads_get_the_serial_results(name: str, tmp_path) -> None:
    data = kg2rag.load("bundled", limit=24)
    kb = KnowledgeBase.build(data.corpus, embedder=HashedWords(), store=Store(tmp_path))
    system = build(name, kb)
    alone = [_found(system.retrieve(query, 10)) for query in data.queries]
    start = threading.Barrier(THREADS)

    def ask(thread: int) -> list[object]:
        start.wait()
        # no two ask the same at once
        turned: list[Query] = [*data.queries[thread:], *data.queries[:thread]]
        found = {query.id: _found(system.retrieve(query, 10)) for query in turned}
        return [found[query.id] for query in data.queries]

    with ThreadPoolExecutor(THREADS) as pool:
        assert all(found == alone for found in pool.map(ask, range(THREADS)))


def _found(ranking: Ranking) -> tuple[list[str], list[float]]:
    return ranking.passage_ids, ranking.scores.tolist()
