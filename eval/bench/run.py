"""The speed of this package beside that of plain libraries, on the same work in the same run: a table of ratios.

    make bench                                   the bundled set
    make bench ARGS="musique --path FOLDER"      any other
    make bench ARGS="--passages 100000"          a larger invented corpus

A ratio of 2 means that this package took half the time. The last column says how far the results
agree; the best of three repeats counts. `mention_chains` stands beside one exact dense search of
the same questions, so that its ratios are below 1. Threads and load stand below the table: a ratio
from a busy machine is worth little.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import bm25s
import faiss
import igraph
import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from scale_inputs import HashingEncoder, questions, world

import kg2rag
from kg2rag.compute import processor, threads
from kg2rag.compute.vectors import VectorCache
from kg2rag.knowledge import LexicalSettings
from kg2rag.knowledge.graph.pagerank import NodeWeights, walks
from kg2rag.retrievers.mention_ppr.graph import mention_graph

ENCODED_TEXTS = 256
K = 10
REPEATS = 3
DAMPING = 0.5


class Comparison(NamedTuple):
    """One work, done by this package and by a plain library, and how far the results agree."""

    work: str
    package: Callable[[], object]
    library: Callable[[], object]
    agreement: str


def main(
    dataset: Annotated[str, typer.Argument()] = "bundled",
    path: Annotated[Path | None, typer.Option()] = None,
    passages: Annotated[
        int, typer.Option(help="Passages of the invented corpus.")
    ] = 10_000,
    files: Annotated[
        int, typer.Option(help="Files of the folder that is read.")
    ] = 2_000,
    limit: Annotated[int, typer.Option(help="Questions of each corpus.")] = 100,
) -> None:
    """Run every benchmark on one data set."""
    data = kg2rag.load(dataset, path=path)
    kb = kg2rag.KnowledgeBase.build(data.corpus)
    table = Table("work", "kg2rag", "library", "ratio", "agreement", title=repr(data))
    with tempfile.TemporaryDirectory() as folder:
        for comparison in comparisons(
            kb, data.queries, Path(folder), passages, files, limit
        ):
            package, library = (
                fastest_ms(comparison.package),
                fastest_ms(comparison.library),
            )
            ratio = f"{library / package:.2g}"
            table.add_row(
                comparison.work,
                f"{package:.1f} ms",
                f"{library:.1f} ms",
                ratio,
                comparison.agreement,
            )
    console = Console()
    console.print(table)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    console.print(f"{threads()} threads, load {load}, {processor()}")


def comparisons(
    kb: kg2rag.KnowledgeBase,
    queries: Sequence[kg2rag.Query],
    folder: Path,
    passages: int,
    files: int,
    limit: int,
) -> Iterator[Comparison]:
    """All of them, over the first `limit` questions; the invented corpus and the files are written to `folder`."""
    queries = queries[:limit]
    yield encoding(kb, folder)
    yield dense(kb, queries)
    yield bm25(kb, queries)
    yield pagerank(kb, queries)
    yield from chains(kb, queries)
    invented = world(folder, passages, triples=3)
    corpus = kg2rag.Corpus.open(invented / "corpus.arrow")
    store = kg2rag.Store(folder / "store")
    yield from chains(
        kg2rag.KnowledgeBase.build(corpus, embedder=HashingEncoder(), store=store),
        questions(invented)[:limit],
    )
    yield documents(folder, files)


def encoding(kb: kg2rag.KnowledgeBase, folder: Path) -> Comparison:
    """Passages to vectors, beside `SentenceTransformer.encode` in float32."""
    encoder = kb.embedder
    texts = kb.corpus.contents[:ENCODED_TEXTS]
    description = encoder.describe(kb.store)

    def package() -> np.ndarray:
        with tempfile.TemporaryDirectory(dir=folder) as store:
            cache = VectorCache(kg2rag.Store(store), "bench", description["dim"])
            return cache.of(
                texts,
                lambda block: [encoder.forward(block, dtype=description["dtype"])],
            )

    library = partial(
        encoder.network.encode,
        texts,
        normalize_embeddings=True,
        show_progress_bar=False,
    )
    cosine = float(np.einsum("ij,ij->i", package(), library()).min())
    return Comparison(
        f"encode {len(texts)} passages", package, library, f"cosine ≥ {cosine:.5f}"
    )


def dense(kb: kg2rag.KnowledgeBase, queries: Sequence[kg2rag.Query]) -> Comparison:
    """A batch of questions, rankings included, beside one FAISS call a question."""
    vectors = kb.encode_queries(queries)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(kb.vectors)

    def library() -> list[list[int]]:
        return [index.search(vector[None], K)[1][0].tolist() for vector in vectors]

    package = partial(ranked_rows, kg2rag.Dense(kb), queries)
    return Comparison(
        f"dense, {len(queries)} questions",
        package,
        library,
        overlap(package(), library()),
    )


def bm25(kb: kg2rag.KnowledgeBase, queries: Sequence[kg2rag.Query]) -> Comparison:
    """A batch of questions, rankings included, beside `bm25s.BM25.retrieve`."""
    settings = LexicalSettings()
    index = bm25s.BM25(k1=settings.k1, b=settings.b, method=settings.variant)
    index.index(list(map(settings.terms, kb.corpus.contents)), show_progress=False)
    k = min(K, len(kb.corpus))

    def library() -> list[list[int]]:
        terms = [settings.terms(query.text) for query in queries]
        rows: list[list[int]] = index.retrieve(terms, k=k, show_progress=False)[
            0
        ].tolist()
        return rows

    package = partial(ranked_rows, kg2rag.BM25(kb), queries)
    return Comparison(
        f"bm25, {len(queries)} questions",
        package,
        library,
        overlap(package(), library()),
    )


def pagerank(kb: kg2rag.KnowledgeBase, queries: Sequence[kg2rag.Query]) -> Comparison:
    """Personalised PageRank over the mention graph, beside igraph's PRPACK, one question after another."""
    graph = mention_graph(kb, backward=0.3, name_weight=0.03, max_mentions=50)
    starts = [
        NodeWeights.of(hits.rows, hits.scores)
        for hits in kg2rag.Dense(kb).retrieve_batch(queries, K)
    ]
    resets = [start.weights_of(np.arange(graph.n_nodes)).tolist() for start in starts]
    network = igraph.Graph(
        graph.n_nodes,
        np.stack([graph.sources, graph.targets], axis=1).tolist(),
        directed=True,
    )
    solve = partial(
        network.personalized_pagerank, damping=DAMPING, weights=graph.weights.tolist()
    )

    def package() -> np.ndarray:
        return np.stack(
            [walk.shares for walk in walks(graph.walk_graph, starts, DAMPING)]
        )

    def library() -> np.ndarray:
        return np.array([solve(reset=reset) for reset in resets])

    difference = float(np.abs(package() - library()).max())
    work = f"PageRank, {len(queries)} questions, {graph.n_nodes:,} nodes"
    return Comparison(work, package, library, f"within {difference:.0e}")


def chains(
    kb: kg2rag.KnowledgeBase, queries: Sequence[kg2rag.Query]
) -> Iterator[Comparison]:
    """`mention_chains` in a batch and one by one, beside one exact dense search of the same questions."""
    system, search = kg2rag.MentionChains(kb), kg2rag.Dense(kb)
    for retriever in (system, search):
        retriever.prepare(queries)
    corpus = f"{len(kb.corpus):,} passages"
    work = f"mention_chains, {len(queries)} questions, {corpus}"
    yield Comparison(
        work,
        partial(ranked_rows, system, queries),
        partial(ranked_rows, search, queries),
        "not compared",
    )
    few = queries[::10]
    work = f"mention_chains, {len(few)} one by one, {corpus}"
    yield Comparison(
        work,
        partial(one_by_one, system, few),
        partial(one_by_one, search, few),
        "not compared",
    )


def documents(folder: Path, files: int) -> Comparison:
    """`from_folder` of many small files into an empty store, beside reading them."""
    texts = folder / "texts"
    texts.mkdir()
    for number in range(files):
        (texts / f"{number}.txt").write_text(
            f"Note {number}\n\nIt says nothing of note {number + 1}.\n" * 5
        )

    def package() -> int:
        with tempfile.TemporaryDirectory(dir=folder) as store:
            return len(kg2rag.from_folder(texts, store=kg2rag.Store(store)).corpus)

    def library() -> int:
        return len(
            [path.read_text(encoding="utf-8") for path in sorted(texts.iterdir())]
        )

    return Comparison(
        f"from_folder, {files:,} files",
        package,
        library,
        f"{package():,} and {library():,} texts",
    )


def ranked_rows(
    system: kg2rag.Retriever, queries: Sequence[kg2rag.Query]
) -> list[list[int]]:
    """The rows that a system ranks first, for each query of a batch."""
    return [ranking.rows.tolist() for ranking in system.retrieve_batch(queries, K)]


def one_by_one(
    system: kg2rag.Retriever, queries: Sequence[kg2rag.Query]
) -> list[kg2rag.Ranking]:
    """The rankings of queries that are asked one after another."""
    return [system.retrieve(query, K) for query in queries]


def overlap(rankings: list[list[int]], others: list[list[int]]) -> str:
    """The mean share of the first rows that both have."""
    shares = [
        len(set(rows) & set(other)) / max(len(rows), 1)
        for rows, other in zip(rankings, others, strict=True)
    ]
    return f"{100 * float(np.mean(shares)):.1f} % of the first {K}"


def fastest_ms(work: Callable[[], object]) -> float:
    """Milliseconds of the fastest repeat."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return 1000 * min(seconds)


if __name__ == "__main__":
    typer.run(main)
