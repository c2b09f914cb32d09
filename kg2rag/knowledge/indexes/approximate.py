"""Unit vectors -> nearest rows by an approximate index of FAISS, whose recall was measured when it was built.

The index finds candidates only: their cosines are computed from the vectors themselves. What an approximate index can
lose is thus a row that it did not find, and `recall` says how often that happens.

HNSW: Malkov & Yashunin 2018; inverted lists and product quantisation: Jégou, Douze & Schmid 2011.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isqrt
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kg2rag.compute import Store, threads
from kg2rag.knowledge.indexes.dense import MARGIN, DenseIndex
from kg2rag.types import IntArray, Matrix, ParameterError

IndexKind = Literal["flat", "hnsw", "ivf", "ivfpq"]

VERSION = 2
LINKS, BUILD_WIDTH, SEARCH_WIDTH = 32, 100, 256  # HNSW's M, efConstruction, efSearch: see eval/bench/approximate.py
PROBED = 32  # lists that a query of ivf and ivfpq reads
ROWS_PER_LIST = 39  # FAISS asks for as many to train a centroid
CODES = 256  # of each part of a vector, in ivfpq
WIDER = 8  # ivfpq's codes are coarse: so many times as many candidates are scored
SAMPLE, DEPTH, SEED = 1000, 10, 0  # of the measurement of recall
FILE, ABOUT = "index.faiss", "about.json"


def factory(kind: IndexKind, rows: int, dim: int) -> str:
    """FAISS's name of an index over (rows, dim) vectors; ParameterError where there are too few rows to train it."""
    if kind == "hnsw":
        return f"HNSW{LINKS}"
    lists = max(1, min(4 * isqrt(rows), rows // ROWS_PER_LIST))
    if kind == "ivf":
        return f"IVF{lists},Flat"
    if rows < CODES * ROWS_PER_LIST:
        raise ParameterError(
            f"index='ivfpq' learns its codes from {CODES * ROWS_PER_LIST:,} vectors or more, not {rows:,}. Use 'flat', "
            "which is fast for so few."
        )
    return f"IVF{lists},PQ{max(part for part in range(1, max(dim // 4, 1) + 1) if dim % part == 0)}"


class ApproximateIndex(DenseIndex):
    """Open one with `ApproximateIndex.stored`.

    Attributes
    ----------
    recall : the share of the ten nearest rows that it finds, over a sample of the rows asked for their neighbours.
    sample : how many rows were asked. Questions may be less like the rows than these are like each other.
    """

    def __init__(self, vectors: Matrix, index: Any, name: str, recall: float = np.nan, sample: int = 0) -> None:
        super().__init__(vectors)
        self.index, self.name, self.recall, self.sample = index, name, recall, sample

    @classmethod
    def stored(cls, vectors: Matrix, kind: IndexKind, store: Store, key: Mapping[str, object]) -> ApproximateIndex:
        """The index over `vectors`, mapped from the store; built and measured where the store lacks it.

        Built on one thread: FAISS links and averages in another order on several, and two builds would differ.

        Parameters
        ----------
        key : what the vectors depend on, as JSON values.

        Raises
        ------
        ParameterError : an unknown kind, or too few vectors for it.
        """
        import faiss

        name = factory(kind, *vectors.shape)

        def build(folder: Path) -> None:
            built = cls(vectors, _built(vectors, name), name)
            faiss.write_index(built.index, str(folder / FILE))
            (folder / ABOUT).write_text(json.dumps(built._measured(), indent=1))

        settings = [LINKS, BUILD_WIDTH, SEARCH_WIDTH, PROBED, VERSION]
        path = store.entry("faiss", {**key, "factory": name, "settings": settings}, build, libraries=("faiss-cpu",))
        mapped = faiss.IO_FLAG_MMAP_IFC if kind == "hnsw" else faiss.IO_FLAG_MMAP
        index = faiss.read_index(str(path / FILE), mapped)
        return cls(vectors, index, name, **json.loads((path / ABOUT).read_text()))

    @property
    def remark(self) -> str:
        """What a reader of its rankings must know."""
        words = f"efConstruction {BUILD_WIDTH}, efSearch {SEARCH_WIDTH}" if self._is_hnsw else f"{PROBED} lists read"
        return (
            f"approximate search ({self.name}, {words}), which found {100 * self.recall:.1f} % of the ten nearest in "
            f"{self.sample:,} searches from passages"
        )

    @property
    def _is_hnsw(self) -> bool:
        return self.name.startswith("HNSW")

    def _near(self, queries: Matrix, k: int) -> list[IntArray]:
        """The candidates that FAISS finds."""
        import faiss

        faiss.omp_set_num_threads(threads())
        depth = min((k + MARGIN) * (WIDER if ",PQ" in self.name else 1), len(self.vectors))
        settings: Any = (
            faiss.SearchParametersHNSW(efSearch=max(SEARCH_WIDTH, depth))  # type: ignore[attr-defined]
            if self._is_hnsw
            else faiss.SearchParametersIVF(nprobe=PROBED)  # type: ignore[call-arg]
        )
        return [found[found >= 0] for found in self.index.search(queries, depth, params=settings)[1]]

    def _measured(self) -> dict[str, float]:
        """Recall of the ten nearest others of a sample of rows, against all products."""
        sample = min(SAMPLE, len(self.vectors))
        rows = np.sort(np.random.default_rng(SEED).choice(len(self.vectors), sample, replace=False))
        queries, depth = self.vectors[rows], DEPTH + 1
        pairs = zip(rows, DenseIndex(self.vectors).search(queries, depth), self.search(queries, depth), strict=True)
        shares = [
            len(np.intersect1d(_others(near, row), _others(found, row))) / max(len(_others(near, row)), 1)
            for row, (near, _), (found, _) in pairs
        ]
        return {"recall": round(float(np.mean(shares)), 4), "sample": sample}


def _others(found: IntArray, row: int) -> IntArray:
    """The first ten rows but the one that was asked."""
    others: IntArray = found[found != row][:DEPTH]
    return others


def _built(vectors: Matrix, name: str) -> Any:
    import faiss
    from threadpoolctl import threadpool_limits

    faiss.omp_set_num_threads(1)
    index: Any = faiss.index_factory(vectors.shape[1], name, faiss.METRIC_INNER_PRODUCT)
    if name.startswith("HNSW"):
        index.hnsw.efConstruction = BUILD_WIDTH
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    with threadpool_limits(1):
        index.train(vectors)
        index.add(vectors)
    return index
