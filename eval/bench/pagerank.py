"""Personalised PageRank of ours beside igraph's PRPACK on one graph: milliseconds and the largest difference.

    python eval/bench/pagerank.py musique --path FOLDER --graph 'openie(FILE)'
    python eval/bench/pagerank.py random --nodes 100000

The restarts are those of `hippo2` for the set's questions; of a random graph (Barabási and Albert's, four edges a node,
seeded) five random nodes a query. igraph solves them one after another; its weights are an edge attribute, so that
converting them is not timed. The best of three repeats counts.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import igraph
import numpy as np
import typer

import kg2rag
from kg2rag.knowledge.graph.pagerank import NodeWeights, WalkGraph, walks
from kg2rag.retrievers.published.hipporag.retrievers import HippoRAG2

Edges = tuple[np.ndarray, np.ndarray, np.ndarray]
TOLERANCE = 1e-8


def main(
    dataset: Annotated[str, typer.Argument()] = "bundled",
    path: Annotated[Path | None, typer.Option()] = None,
    graph: Annotated[str, typer.Option(help="The source of the triples.")] = "mentions",
    limit: Annotated[int, typer.Option(help="Solve for so many of the questions.")] = 100,
    nodes: Annotated[int, typer.Option(help="Of a random graph.")] = 100_000,
) -> None:
    """Time both on the graph and the questions of one data set."""
    if dataset == "random":
        edges, restarts = random_problem(nodes, limit)
    else:
        data = kg2rag.load(dataset, path=path)
        system = HippoRAG2(kg2rag.KnowledgeBase.build(data.corpus, graph))
        edges, restarts = system.graph.edges(), restarts_of(system, data.queries[:limit])
        nodes = system.graph.walk.n_nodes
    walked = WalkGraph.undirected(*edges, nodes)
    starts = [NodeWeights.of_dense(restart) for restart in restarts]
    plain = igraph.Graph(n=nodes, edges=np.stack(edges[:2], axis=1).tolist(), directed=False)
    plain.es["weight"] = edges[2].tolist()
    resets = [restart.tolist() for restart in restarts]

    def theirs() -> np.ndarray:
        settings = {"damping": 0.5, "directed": False, "weights": "weight", "implementation": "prpack"}
        return np.array([plain.personalized_pagerank(reset=reset, **settings) for reset in resets])

    def batch() -> np.ndarray:
        return np.array([walk.shares for walk in walks(walked, starts, 0.5)])

    def one_by_one() -> np.ndarray:
        return np.array([walks(walked, [start], 0.5)[0].shares for start in starts])

    difference = float(np.abs(batch() - theirs()).max())
    if difference > TOLERANCE:
        raise SystemExit(f"Scores differ by {difference:.1e}, more than {TOLERANCE:.0e}.")
    typer.echo(f"{nodes:,} nodes, {len(edges[2]):,} edges, {len(restarts)} queries; difference {difference:.1e}")
    for name, work in {"igraph": theirs, "batch": batch, "one by one": one_by_one}.items():
        typer.echo(f"{name:>12} {1000 * best_of_three(work) / len(restarts):8.3f} ms a query")


def random_problem(nodes: int, queries: int) -> tuple[Edges, np.ndarray]:
    """Edges and restarts, (n_queries, n_nodes)."""
    random.seed(0)
    ends = np.array(igraph.Graph.Barabasi(nodes, 4).get_edgelist())
    draws = np.random.default_rng(0)
    restarts = np.zeros((queries, nodes))
    for restart in restarts:
        restart[draws.choice(nodes, 5, replace=False)] = draws.random(5)
    return (ends[:, 0], ends[:, 1], 0.1 + draws.random(len(ends))), restarts


def restarts_of(system: HippoRAG2, queries: list[kg2rag.Query]) -> np.ndarray:
    """(n_queries, n_nodes) what `hippo2` starts its walks from; queries without a fact are left out."""
    linked = [(query, start) for query, start in zip(queries, system.link(queries), strict=True) if len(start.phrases)]
    starts = system.restarts([query for query, _ in linked], [start for _, start in linked])[0]
    dense = np.zeros((len(starts), system.graph.walk.n_nodes))
    for restart, start in zip(dense, starts, strict=True):
        restart[start.nodes] = start.weights
    return dense


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
