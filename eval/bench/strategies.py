"""Milliseconds per query of every named system, in batches of 100, nothing encoded on the way.

    python eval/bench/strategies.py 2wikimultihopqa --path FOLDER
    python eval/bench/strategies.py musique --path FOLDER --graph 'openie(FILE)' --systems hippo2,mention_ppr

Each system is prepared (indexes built, queries and what they lead to encoded), runs once unmeasured, and is then timed
three times over all questions; the best counts. The ratio is to one FAISS search of the same queries, 100 at a time.
With `--unseen FILE`, a set of other questions, each of its first 100 is also asked alone, its own encoding and that of
its sub-phrases included: the median, with the texts that were encoded for a question.
"""

from __future__ import annotations

import copy
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import faiss
import typer
from rich.console import Console
from rich.table import Table

import kg2rag
from kg2rag.compute import Role, Store, processor, threads
from kg2rag.retrievers.systems import build, names
from kg2rag.types import Matrix

BATCH = 100


def main(
    dataset: Annotated[str, typer.Argument()] = "bundled",
    path: Annotated[Path | None, typer.Option()] = None,
    graph: Annotated[str, typer.Option(help="The source of the graph.")] = "mentions",
    systems: Annotated[str, typer.Option(help="Names separated by commas, or all.")] = "all",
    k: Annotated[int, typer.Option("--k", help="Hits a query.")] = 100,
    unseen: Annotated[Path | None, typer.Option(help="A set whose questions the store has never encoded.")] = None,
) -> None:
    """Time the systems on one data set."""
    data = kg2rag.load(dataset, path=path)
    kb = kg2rag.KnowledgeBase.build(data.corpus, graph)
    queries = data.queries
    plain = per_query(search(kb, queries, k), len(queries))
    others = [] if unseen is None else kg2rag.load(dataset, path=unseen, setting="pooled").queries[:BATCH]
    table = Table(
        "system",
        "ms a query",
        "FAISS alone = 1",
        "ms alone",
        "texts encoded",
        title=f"{data!r}, graph {graph}, k = {k}",
    )
    for name in names() if systems == "all" else systems.split(","):
        system = build(name.strip(), kb)
        system.prepare(queries)
        spent = per_query(
            in_batches(lambda batch, system=system: system.retrieve_batch(batch, k), queries), len(queries)
        )
        table.add_row(name, f"{spent:.2f}", f"{spent / plain:.1f}", *one_by_one(name.strip(), kb, others, k))
    console = Console()
    console.print(table)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    console.print(f"FAISS {plain:.3f} ms; {threads()} threads, load {load}, {processor()}")


def one_by_one(name: str, kb: kg2rag.KnowledgeBase, queries: list[kg2rag.Query], k: int) -> tuple[str, str]:
    """Median milliseconds of a question alone, and the mean number of texts encoded for it; in a store of its own."""
    if not queries:
        return "", ""
    encoder, counted = kb.embedder, []
    apart = copy.copy(encoder)
    plain = apart.encode
    with tempfile.TemporaryDirectory() as folder:
        own = Store(folder)

        def encode(texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:
            if role == "passage":
                return plain(texts, store, role)
            counted.extend(texts)
            return plain(texts, own, role)

        object.__setattr__(apart, "encode", encode)
        fresh = kg2rag.KnowledgeBase.build(kb.corpus, kb.graph, embedder=apart, store=kb.store)
        system = build(name, fresh)
        system.retrieve(queries[0].text, k)
        counted.clear()
        times = []
        for query in queries[1:]:
            start = time.perf_counter()
            system.retrieve(query.text, k)
            times.append(time.perf_counter() - start)
    return f"{1000 * statistics.median(times):.1f}", f"{len(counted) / len(times):.1f}"


def search(kb: kg2rag.KnowledgeBase, queries: list[kg2rag.Query], k: int) -> Callable[[], None]:
    """The plain library's work: exact inner products and nothing else."""
    vectors = kb.encode_queries(queries)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(kb.vectors)

    def work() -> None:
        for start in range(0, len(vectors), BATCH):
            index.search(vectors[start : start + BATCH], k)

    return work


def in_batches(retrieve: Callable[[list[kg2rag.Query]], object], queries: list[kg2rag.Query]) -> Callable[[], None]:
    """The work of a system."""

    def work() -> None:
        for start in range(0, len(queries), BATCH):
            retrieve(queries[start : start + BATCH])

    return work


def per_query(work: Callable[[], None], queries: int) -> float:
    """Milliseconds: the best of three runs after one that is not measured."""
    work()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1000 * min(times) / queries


if __name__ == "__main__":
    typer.run(main)
