"""Our speed beside the plain libraries', on the same work in the same run: a table of ratios.

    make bench                                   the bundled set
    make bench ARGS="musique --path FOLDER"      any other

A ratio of 2 says that we took half the time. Each work is checked for equal results before it is timed; the best of
three repeats counts. Threads and load stand below the table: a ratio from a busy machine is worth little.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import kg2rag
from kg2rag.compute import processor, threads
from kg2rag.knowledge import LexicalSettings
from kg2rag.retrievers.mention_ppr.graph import mention_graph


def main(
    dataset: Annotated[str, typer.Argument()] = "bundled",
    path: Annotated[Path | None, typer.Option()] = None,
    texts: Annotated[int, typer.Option(help="Passages encoded in the encoding benchmark.")] = 256,
) -> None:
    """Run every benchmark on one data set."""
    data = kg2rag.load(dataset, path=path)
    kb = kg2rag.KnowledgeBase.build(data.corpus)
    table = Table("work", "ours", "plain", "ratio", "same results", title=repr(data))
    for bench in (encoding, dense, bm25, mention_walk):
        name, ours, plain, same = bench(kb, data, texts)
        table.add_row(name, _ms(ours), _ms(plain), f"{plain / ours:.2f}", same)
    console = Console()
    console.print(table)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    console.print(f"{threads()} threads, load {load}, {processor()}")


Result = tuple[str, float, float, str]


def encoding(kb: kg2rag.KnowledgeBase, data: kg2rag.QADataset, texts: int) -> Result:
    """Passages to vectors, without the store, against `SentenceTransformer.encode` in float32."""
    encoder, passages = kb.embedder, data.corpus.contents[:texts]
    network, about = encoder.network, encoder.describe(kb.store)

    def ours() -> np.ndarray:
        import tempfile

        from kg2rag.compute.vectors import VectorCache

        with tempfile.TemporaryDirectory() as folder:
            cache = VectorCache(kg2rag.Store(folder), "bench", about["dim"])
            return cache.of(passages, lambda batch: encoder.forward(batch, about["dtype"]))

    def plain() -> np.ndarray:
        return network.encode(passages, normalize_embeddings=True, show_progress_bar=False)

    cosine = float(np.einsum("ij,ij->i", ours(), plain()).min())
    return f"encode {len(passages)} passages", best_of(ours), best_of(plain), f"cosine ≥ {cosine:.5f}"


def dense(kb: kg2rag.KnowledgeBase, data: kg2rag.QADataset, _: int) -> Result:
    """A batch of questions, rankings included, against one FAISS call a question."""
    import faiss

    system, queries = kg2rag.Dense(kb), data.queries
    vectors = kb.encode_queries(queries)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(kb.vectors)

    def ours() -> list[list[int]]:
        return [ranking.rows.tolist() for ranking in system.retrieve_batch(queries, 10)]

    def plain() -> list[list[int]]:
        return [index.search(vector[None], 10)[1][0].tolist() for vector in vectors]

    return f"dense, {len(queries)} questions", best_of(ours), best_of(plain), _overlap(ours(), plain())


def bm25(kb: kg2rag.KnowledgeBase, data: kg2rag.QADataset, _: int) -> Result:
    """A batch of questions, rankings included, against `bm25s.BM25.retrieve`."""
    import bm25s

    settings, queries = LexicalSettings(), data.queries
    system = kg2rag.BM25(kb)
    index = bm25s.BM25(k1=settings.k1, b=settings.b, method=settings.variant)
    index.index([settings.terms(text) for text in data.corpus.contents], show_progress=False)

    def ours() -> list[list[int]]:
        return [ranking.rows.tolist() for ranking in system.retrieve_batch(queries, 10)]

    def plain() -> list[list[int]]:
        terms = [settings.terms(query.text) for query in queries]
        return index.retrieve(terms, k=10, show_progress=False)[0].tolist()

    return f"bm25, {len(queries)} questions", best_of(ours), best_of(plain), _overlap(ours(), plain())


def mention_walk(kb: kg2rag.KnowledgeBase, data: kg2rag.QADataset, _: int) -> Result:
    """Personalised PageRank over the mention graph, against networkx."""
    import networkx as nx

    from kg2rag.knowledge.graph.pagerank import NodeWeights, walks

    graph = mention_graph(kb, backward=0.3, name_weight=0.03, max_mentions=50)
    queries = data.queries[:10]
    n = graph.n_nodes
    hits = kg2rag.Dense(kb).retrieve_batch(queries, 10)
    restarts = [NodeWeights.of(ranking.rows, np.maximum(ranking.scores, 0.01)) for ranking in hits]
    network = nx.DiGraph()
    network.add_nodes_from(range(n))
    for source, target, weight in zip(graph.sources.tolist(), graph.targets.tolist(), graph.weights, strict=True):
        known = network.get_edge_data(source, target, {"weight": 0.0})["weight"]
        network.add_edge(source, target, weight=known + weight)

    def ours() -> np.ndarray:
        return np.stack([walk.shares for walk in walks(graph.walked, restarts, 0.5)])

    def plain() -> np.ndarray:
        starts = [dict(zip(start.nodes.tolist(), start.weights.tolist(), strict=True)) for start in restarts]
        ranks = [nx.pagerank(network, alpha=0.5, personalization=start, tol=1e-12) for start in starts]
        return np.array([[rank[node] for node in range(n)] for rank in ranks])

    gap = float(np.abs(ours() - plain()).max())
    return f"PageRank, {len(queries)} questions, {n} nodes", best_of(ours), best_of(plain), f"within {gap:.0e}"


def best_of(work: Callable[[], object], repeats: int = 3) -> float:
    """Seconds of the fastest repeat."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _overlap(ours: list[list[int]], plain: list[list[int]]) -> str:
    shared = [len(set(a) & set(b)) / max(len(a), 1) for a, b in zip(ours, plain, strict=True)]
    return f"{100 * float(np.mean(shared)):.1f} % of top 10"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"


if __name__ == "__main__":
    typer.run(main)
