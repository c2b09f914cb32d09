"""Our personalised PageRank beside igraph's PRPACK, on one graph: a ratio and the largest difference.

    python eval/bench/pagerank.py musique --path FOLDER --graph openie:FILE
    python eval/bench/pagerank.py random --nodes 100000

The restarts are those of `hippo2` for the set's questions; of a random graph (Barabási and Albert's, four edges a node,
seeded) five random nodes a query. igraph solves them one after another on one thread, as it can; its weights are an
edge attribute, so that converting them is not timed. Ours is timed on one thread and on all, in one batch, and query by
query; whole, and ending once the first ten or hundred ranked nodes are certain. The results are checked before anything
is timed: the same order of the first ranked nodes and, of whole solutions, scores within 1e-8. The best of three
repeats counts.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated

import numba
import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import kg2rag
from kg2rag.compute import processor
from kg2rag.knowledge.graph.pagerank import pagerank
from kg2rag.knowledge.graph.undirected import UndirectedGraph
from kg2rag.retrievers.hipporag.hipporag2 import HippoRAG2
from kg2rag.retrievers.hipporag.memory import phrase_graph

TOLERANCE = 1e-8
DEPTH = 100
CERTAIN = (0, 10, 100)


def main(
    dataset: Annotated[str, typer.Argument()] = "bundled",
    path: Annotated[Path | None, typer.Option()] = None,
    graph: Annotated[str, typer.Option(help="The source of the triples.")] = "mentions",
    float32: Annotated[bool, typer.Option(help="Encode in float32.")] = False,
    limit: Annotated[int, typer.Option(help="Solve for so many of the questions.")] = 100,
    nodes: Annotated[int, typer.Option(help="Of a random graph.")] = 100_000,
) -> None:
    """Time both on the graph and the questions of one data set."""
    if dataset == "random":
        title, walked, edges, restarts, n_unranked, damping = random_problem(nodes, limit)
    else:
        data = kg2rag.load(dataset, path=path)
        embedder = kg2rag.SentenceEncoder(dtype="float32" if float32 else "auto")
        kb = kg2rag.KnowledgeBase.build(data.corpus, graph, embedder=embedder)
        system = HippoRAG2(kb)
        phrases, restarts = phrase_graph(kb, system.synonym_threshold), restarts_of(system, data.queries[:limit])
        title, walked, edges = repr(data), phrases.walk, phrases.edges()
        n_unranked, damping = phrases.n_phrases, system.damping
    sources, targets, weights = edges
    import igraph

    plain = igraph.Graph(n=walked.n_nodes, edges=np.stack([sources, targets], axis=1).tolist(), directed=False)
    plain.es["weight"] = weights.tolist()
    resets = [restart.tolist() for restart in restarts]

    def theirs() -> np.ndarray:
        settings = {"damping": damping, "directed": False, "weights": "weight", "implementation": "prpack"}
        return np.array([plain.personalized_pagerank(reset=reset, **settings) for reset in resets])

    def ours(certain: int) -> np.ndarray:
        return pagerank(walked, restarts, damping, certain=certain, ranked=slice(n_unranked, None))

    def one_by_one(certain: int) -> np.ndarray:
        ranked = slice(n_unranked, None)
        rows = (restarts[i : i + 1] for i in range(len(restarts)))
        return np.concatenate([pagerank(walked, row, damping, certain=certain, ranked=ranked) for row in rows])

    expected = theirs()
    difference = compared(ours(0), expected)
    for certain in CERTAIN:
        check_order(ours(certain)[:, n_unranked:], expected[:, n_unranked:], certain or DEPTH)
    reference = best_of_three(theirs) / len(restarts)
    table = Table("PageRank", "ms a query", "ratio", title=f"{title}: {walked.n_nodes:,} nodes, {len(weights):,} edges")
    table.add_row("igraph, PRPACK, 1 thread", f"{1000 * reference:.3f}", "1.0")
    all_threads = numba.config.NUMBA_NUM_THREADS
    for threads in dict.fromkeys((1, all_threads)):
        numba.set_num_threads(threads)
        for (name, work), certain in product((("batch", ours), ("one by one", one_by_one)), CERTAIN):
            seconds = best_of_three(partial(work, certain)) / len(restarts)
            what = f"first {certain}" if certain else "whole"
            row = f"kg2rag, {what}, {name}, {threads} threads"
            table.add_row(row, f"{1000 * seconds:.3f}", f"{reference / seconds:.1f}")
    console = Console()
    console.print(table)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    console.print(f"{len(restarts)} queries; greatest difference of a score {difference:.1e}; the same order")
    console.print(f"load {load}, {processor()}")


def random_problem(
    nodes: int, queries: int
) -> tuple[str, UndirectedGraph, tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray, int, float]:
    """Title, graph, edges, restarts, how many nodes are not ranked, and damping: all are ranked, at `hippo2`'s."""
    import igraph

    random.seed(0)
    ends = np.array(igraph.Graph.Barabasi(nodes, 4).get_edgelist())
    draws = np.random.default_rng(0)
    edges = (ends[:, 0], ends[:, 1], 0.1 + draws.random(len(ends)))
    restarts = np.zeros((queries, nodes))
    for restart in restarts:
        restart[draws.choice(nodes, 5, replace=False)] = draws.random(5)
    return "random graph", UndirectedGraph.from_edges(*edges, nodes), edges, restarts, 0, 0.5


def restarts_of(system: HippoRAG2, queries: list[kg2rag.Query]) -> np.ndarray:
    """(n_queries, n_nodes) what `hippo2` starts its walks from; queries without a fact are left out."""
    linked = [(query, start) for query, start in zip(queries, system.link(queries), strict=True) if len(start.phrases)]
    return system.restarts([query for query, _ in linked], [start for _, start in linked])[0]


def compared(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The greatest difference; ends the program where it is not to be had."""
    difference = float(np.abs(ours - theirs).max())
    if difference > TOLERANCE:
        raise SystemExit(f"Scores differ by {difference:.1e}, more than {TOLERANCE:.0e}.")
    return difference


def check_order(ours: np.ndarray, theirs: np.ndarray, depth: int) -> None:
    """End the program where the first nodes are not in the same order."""
    for query, (left, right) in enumerate(zip(ours, theirs, strict=True)):
        order = np.argsort(-left, kind="stable")[:depth]
        # Scores that differ by less than both solvers' rounding have no order.
        if (np.diff(right[order]) > 1e-12).any() or right[order].min() < np.partition(right, -depth)[-depth] - 1e-12:
            raise SystemExit(f"The first {depth} passages of query {query} are not the same.")


def best_of_three(work: Callable[[], object]) -> float:
    """Seconds of the fastest of three runs."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    typer.run(main)
