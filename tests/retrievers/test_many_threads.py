"""One system asked by eight threads at once gives what it gives one after the other."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import pytest

import kg2rag
from kg2rag.compute import Role, Store
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.systems import build
from kg2rag.text.normalisation import normalise
from kg2rag.types import Matrix, Query, Ranking

THREADS, DIM = 8, 2048


@dataclass(frozen=True)
class HashedWords:
    """A text is the set of its words, each on the axis that its checksum names."""

    def fingerprint(self, store: Store) -> str:  # noqa: ARG002
        return "hashed words"

    def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:  # noqa: ARG002
        vectors = np.zeros((len(texts), DIM), dtype=np.float32)
        for row, text in enumerate(texts):
            axes = sorted({crc32(word.encode()) % DIM for word in normalise(text).split()}) or [0]
            vectors[row, axes] = 1 / np.sqrt(len(axes))
        return vectors


@pytest.mark.parametrize("name", ["bm25", "dense", "hybrid", "mention_ppr", "mention_chains", "hippo2", "kg2rag"])
def test_eight_threads_get_the_serial_results(name: str, tmp_path) -> None:
    data = kg2rag.load("bundled", limit=24)
    kb = KnowledgeBase.build(data.corpus, embedder=HashedWords(), store=Store(tmp_path))
    system = build(name, kb)
    alone = [_found(system.retrieve(query, 10)) for query in data.queries]
    start = threading.Barrier(THREADS)

    def ask(thread: int) -> list[object]:
        start.wait()
        turned: list[Query] = [*data.queries[thread:], *data.queries[:thread]]  # no two ask the same at once
        found = {query.id: _found(system.retrieve(query, 10)) for query in turned}
        return [found[query.id] for query in data.queries]

    with ThreadPoolExecutor(THREADS) as pool:
        assert all(found == alone for found in pool.map(ask, range(THREADS)))


def _found(ranking: Ranking) -> tuple[list[str], list[float]]:
    return ranking.passage_ids, ranking.scores.tolist()
