"""Our speed beside the plain libraries', on the same work in the same run: a table of ratios.

    make bench                                   the bundled set
    make bench ARGS="musique --path FOLDER"      any other
    make bench ARGS="--passages 100000"          a larger invented corpus

A ratio of 2 says that we took half the time. Each work is checked for equal results before it is timed, where both have
the same; the best of three repeats counts. The rows of `mention_chains` have one exact dense search of the same
questions as the plain library, so that their ratios are below 1. Threads and load stand below the table: a ratio from a
busy machine is worth little.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from scale_inputs import hashing, world

import kg2rag
from kg2rag.compute import processor, threads
from kg2rag.knowledge import LexicalSettings
from kg2rag.retrievers.mention_ppr.graph import mention_graph

QUESTIONS = 100
FILES = 2_000


def main(
    dataset: Annotated[str, typer.Argument()] = "bundled",
    path: Annotated[Path | None, typer.Option()] = None,
    texts: Annotated[int, typer.Option(help="Passages encoded in the encoding benchmark.")] = 256,
    passages: Annotated[int, typer.Option(help="Passages of the invented corpus.")] = 10_000,
) -> None:
    """Run every benchmark on one data set."""
    data = kg2rag.load(dataset, path=path)
    kb = kg2rag.KnowledgeBase.build(data.corpus)
    table = Table("work", "ours", "plain", "ratio", "same results", title=repr(data))
    rows = [bench(kb, data, texts) for bench in (encoding, dense, bm25, mention_walk)]
    rows += chains(kb, data.queries[:QUESTIONS], f"{len(data.corpus):,} passages")
    with tempfile.TemporaryDirectory() as folder:
        rows += chains(*invented(Path(folder), passages), f"{passages:,} invented passages")
        rows.append(documents(Path(folder)))
    for name, ours, plain, same in rows:
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


def chains(kb: kg2rag.KnowledgeBase, queries: Sequence[kg2rag.Query], corpus: str) -> list[Result]:
    """`mention_chains` in a batch and one by one, against one exact dense search of the same questions."""
    system, plain = kg2rag.MentionChains(kb), kg2rag.Dense(kb)
    for retriever in (system, plain):
        retriever.prepare(queries)
    few = queries[::10]

    def batch(retriever: kg2rag.Retriever) -> object:
        return retriever.retrieve_batch(queries, 10)

    def one_by_one(retriever: kg2rag.Retriever) -> object:
        return [retriever.retrieve(query, 10) for query in few]

    return [
        (
            f"mention_chains, {name}, {corpus}",
            best_of(partial(ask, system)),
            best_of(partial(ask, plain)),
            "not compared",
        )
        for name, ask in ((f"{len(queries)} questions", batch), (f"{len(few)} one by one", one_by_one))
    ]


def invented(folder: Path, passages: int) -> tuple[kg2rag.KnowledgeBase, list[kg2rag.Query]]:
    """An invented corpus of this size and its questions, see `scale_inputs.py`."""
    files = world(folder, passages, triples=3)
    corpus = kg2rag.Corpus.open(files / "corpus.arrow")
    records = map(json.loads, (files / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    queries = [kg2rag.Query(record["id"], record["question"]) for record in records]
    return kg2rag.KnowledgeBase.build(corpus, embedder=hashing(), store=kg2rag.Store(str(folder / "store"))), queries


def documents(folder: Path) -> Result:
    """`from_folder` of many small files into an empty store, against reading them."""
    texts = folder / "texts"
    texts.mkdir()
    for number in range(FILES):
        (texts / f"{number}.txt").write_text(f"Note {number}\n\nIt says nothing of note {number + 1}.\n" * 5)

    def ours() -> int:
        with tempfile.TemporaryDirectory(dir=folder) as store:
            return len(kg2rag.from_folder(texts, store=kg2rag.Store(store)).corpus)

    def plain() -> int:
        return len([path.read_text(encoding="utf-8") for path in sorted(texts.iterdir())])

    return f"from_folder, {FILES:,} files", best_of(ours), best_of(plain), f"{ours():,} and {plain():,} texts"


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
