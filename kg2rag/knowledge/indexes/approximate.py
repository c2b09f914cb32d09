"""Unit vectors -> nearest rows by FAISS's HNSW graph, whose recall was measured when it was built.

The index finds candidates only: their cosines are computed as `dense` computes them, from the vectors themselves. What
an approximate index can lose is thus a row that it did not find, and `recall` says how often that happens.

Malkov & Yashunin, "Efficient and robust approximate nearest neighbor search using HNSW graphs", 2018.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kg2rag.compute import Store, threads
from kg2rag.knowledge.indexes.dense import MARGIN, DenseIndex
from kg2rag.types import IntArray, Matrix

IndexKind = Literal["flat", "hnsw"]

LINKS, BUILD_WIDTH, SEARCH_WIDTH = 32, 100, 256  # HNSW's M, efConstruction, efSearch: see eval/bench/approximate.py
FACTORY = f"HNSW{LINKS}"
WIDTHS = {"build_width": BUILD_WIDTH, "search_width": SEARCH_WIDTH}
PLAN = {"kind": "hnsw", "factory": FACTORY, "version": 1, **WIDTHS, "probed": 32}
"""All that the index depends on besides the vectors, as the store has it."""
SAMPLE, DEPTH, SEED = 1000, 10, 0  # of the measurement of recall
FILE, ABOUT = "index.faiss", "about.json"


class ApproximateIndex(DenseIndex):
    """Open one with `ApproximateIndex.stored`.

    Attributes
    ----------
    recall : the share of the ten nearest rows that it finds, over a sample of the rows asked for their neighbours.
    sample : how many rows were asked. Questions may be less like the rows than these are like each other.
    """

    def __init__(self, vectors: Matrix, index: Any, recall: float = np.nan, sample: int = 0) -> None:
        super().__init__(vectors)
        self.index, self.recall, self.sample = index, recall, sample

    @classmethod
    def stored(cls, vectors: Matrix, store: Store, key: Mapping[str, object]) -> ApproximateIndex:
        """The index over `vectors`, mapped from the store; built and measured where the store lacks it.

        `key` : what the vectors depend on, as JSON values.
        """
        import faiss
        from threadpoolctl import threadpool_limits

        def build(folder: Path) -> None:
            faiss.omp_set_num_threads(1)  # on several it links in another order, and two builds would differ
            index: Any = faiss.index_factory(vectors.shape[1], FACTORY, faiss.METRIC_INNER_PRODUCT)
            index.hnsw.efConstruction = BUILD_WIDTH
            with threadpool_limits(1):
                index.add(np.ascontiguousarray(vectors, dtype=np.float32))
            faiss.write_index(index, str(folder / FILE))
            (folder / ABOUT).write_text(json.dumps(cls(vectors, index)._measured(), indent=1))

        path = store.entry("faiss", {**key, **PLAN}, build, libraries=("faiss-cpu",))
        index = faiss.read_index(str(path / FILE), faiss.IO_FLAG_MMAP_IFC)
        return cls(vectors, index, **json.loads((path / ABOUT).read_text()))

    @property
    def remark(self) -> str:
        """What a reader of its rankings must know."""
        return (
            f"approximate search (HNSW{LINKS}, efConstruction {BUILD_WIDTH}, efSearch {SEARCH_WIDTH}), which found "
            f"{100 * self.recall:.1f} % of the ten nearest in {self.sample:,} searches from passages"
        )

    def _near(self, queries: Matrix, k: int) -> list[IntArray]:
        """The candidates that FAISS finds."""
        import faiss

        faiss.omp_set_num_threads(threads())  # each query has a thread of its own
        depth = min(k + MARGIN, len(self.vectors))
        settings: Any = faiss.SearchParametersHNSW(efSearch=max(SEARCH_WIDTH, depth))  # type: ignore[attr-defined]
        return [found[found >= 0] for found in self.index.search(queries, depth, params=settings)[1]]

    def _measured(self) -> dict[str, float]:
        """Recall of the ten nearest others of a sample of rows, against all products."""
        sample = min(SAMPLE, len(self.vectors))
        rows = np.sort(np.random.default_rng(SEED).choice(len(self.vectors), sample, replace=False))
        queries, shares = self.vectors[rows], []
        searches = (index.search(queries, DEPTH + 1) for index in (DenseIndex(self.vectors), self))
        for row, (near, _), (found, _) in zip(rows, *searches, strict=True):
            others = near[near != row][:DEPTH]
            shares.append(len(np.intersect1d(others, found[found != row][:DEPTH])) / max(len(others), 1))
        return {"recall": round(float(np.mean(shares)), 4), "sample": sample}
