"""Approximate indexes beside the flat one on the same vectors: seconds to build, recall of the first ten, ms a query.

    python eval/bench/approximate.py --rows 100000 --dim 256 --kinds hnsw,ivf

The vectors are made, not encoded: of norm 1, a hundred around each of many centres that lean to one side, as those of
sentence encoders do; queries are drawn around the centres too. The ratio is that of one query alone to the flat
search of the same query.
"""

from __future__ import annotations

import tempfile
import time
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from kg2rag.compute import Store, threads
from kg2rag.knowledge.indexes.approximate import ApproximateIndex
from kg2rag.knowledge.indexes.dense import DenseIndex
from kg2rag.types import Matrix

LEAN, SPREAD, AROUND = 0.4, 0.6, 100
QUERIES, K = 200, 10


def main(
    rows: Annotated[int, typer.Option(min=1000)] = 100_000,
    dim: Annotated[int, typer.Option(min=8)] = 256,
    kinds: Annotated[str, typer.Option(help="hnsw, ivf, ivfpq; separated by commas.")] = "hnsw,ivf,ivfpq",
) -> None:
    """Build each kind of index, and search with it and with the flat one."""
    vectors, queries = made(rows, dim)
    flat = DenseIndex(vectors)
    exact = [found for found, _ in flat.search(queries, K)]
    base = alone(flat, queries)
    table = Table(
        "index", "build s", "recall@10", "ms alone", "flat / this", title=f"{rows:,} x {dim}, {threads()} threads"
    )
    table.add_row("flat", "-", "100.0", f"{base:.2f}", "1.0")
    for kind in kinds.split(","):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            index = ApproximateIndex.stored(vectors, kind, Store(folder), {"bench": [rows, dim]})
            seconds = time.perf_counter() - start
            found = [rows_ for rows_, _ in index.search(queries, K)]
            recall = np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(exact, found, strict=True)])
            ms = alone(index, queries)
            table.add_row(index.plan.words(), f"{seconds:.0f}", f"{100 * recall:.1f}", f"{ms:.2f}", f"{base / ms:.1f}")
    Console().print(table)


def made(rows: int, dim: int) -> tuple[Matrix, Matrix]:
    """(rows, dim) vectors and (QUERIES, dim) queries, of norm 1."""
    random = np.random.default_rng(0)
    centres = random.standard_normal((max(rows // AROUND, 1), dim), dtype=np.float32)
    centres[:, 0] += LEAN * np.sqrt(dim)

    def around(count: int) -> Matrix:
        points = centres[random.integers(len(centres), size=count)]
        points += SPREAD * random.standard_normal(points.shape, dtype=np.float32)
        units: Matrix = points / np.linalg.norm(points, axis=1, keepdims=True)
        return units

    return around(rows), around(QUERIES)


def alone(index: DenseIndex, queries: Matrix) -> float:
    """Milliseconds of one query alone, the median."""
    taken = []
    for query in queries:
        start = time.perf_counter()
        index.search(query[None], K)
        taken.append(1000 * (time.perf_counter() - start))
    return float(np.median(taken))


if __name__ == "__main__":
    typer.run(main)
