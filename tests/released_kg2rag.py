"""KG2RAG's released behaviour told a second time, plainly: one question, loops, sets and networkx.

Written after a description of that behaviour, apart from `kg2rag.retrievers.kg2rag.official` and without its data
structures, so that a mistake has to be made twice to go unseen. Where the released code walks a Python set, whose order
the hash seed of the process decides, this walks in the order of insertion.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import networkx as nx

Chunk = tuple[str, int]  # a title and a sentence number
Parts = Sequence[str]  # head, relation, tail


class Edge(NamedTuple):
    """A triple of a chunk between two vertices, or an edge of none between two names that the question mentions."""

    one: str
    other: str
    source: Any
    weight: float


class Released(NamedTuple):
    """What the released code works out for a question, in its own order."""

    seeds: dict[Chunk, float]
    appended: dict[Chunk, float]
    trees: list[list[Chunk]]
    strings: list[str]
    returned: list[Chunk]


def overlap(name: str, question: str) -> float:
    n = min(3, len(name), len(question))
    if n <= 0:
        return 0.0

    def pieces(text: str) -> set[str]:
        joined = "".join(word for word in text.lower().split() if word not in string.punctuation)
        return {joined[at : at + n] for at in range(len(joined) - n + 1)}

    return (len(pieces(name) & pieces(question)) + 0.01) / (len(pieces(name)) + 0.01)


def answer(
    question: str,
    texts: Mapping[Chunk, str],
    triples: Mapping[Chunk, Sequence[Parts]],
    cosines: Mapping[Chunk, float],
    score: Callable[[str, str], float],
) -> Released:
    """Follow one question through expansion, filter and arrangement.

    `texts`: of the question's chunks, "title: sentence", in the order of its context. `triples`: where there are any.
    """
    seeds = dict(sorted(cosines.items(), key=lambda pair: -pair[1])[:10])
    appended = expand(seeds, list(texts), triples)
    nodes = {**seeds, **appended}
    edges = graph_edges(question, nodes, triples)
    trees = trees_of(edges)
    strings = ["".join(texts[chunk] for chunk in tree) for tree in trees]
    kept = choose(question, nodes, texts, trees, strings, score)
    first_seen = list(dict.fromkeys(title for title, _ in kept))
    returned = sorted(kept, key=lambda chunk: (first_seen.index(chunk[0]), chunk[1]))
    return Released(seeds, appended, trees, strings, returned)


def mean(values: Sequence[float]) -> float:
    """Summed one by one, for `sum` of newer Pythons makes up for rounding."""
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


def expand(
    seeds: Mapping[Chunk, float], chunks: Sequence[Chunk], triples: Mapping[Chunk, Sequence[Parts]]
) -> dict[Chunk, float]:
    """The chunks appended, best first."""
    pool = {title for title, _ in chunks}
    heard: dict[str, list[float]] = {}  # title -> all that was ever added to its score
    for (title, _), cosine in seeds.items():
        heard.setdefault(title, []).append(cosine)
    seed_titles = list(heard)
    high = highly_related(seeds, heard)

    def hear(chunk: Chunk, known: Iterable[str], score: float) -> list[str]:
        ends = [end for head, _, tail in triples.get(chunk, ()) for end in (head, tail)]
        new = [end for end in ends if end in pool and end not in known]
        for title in new:
            heard.setdefault(title, []).append(score)
        return new

    added = [title for chunk, cosine in seeds.items() for title in hear(chunk, seed_titles, cosine)]
    frontier = dict.fromkeys([*added, *seed_titles])
    others = [chunk for chunk in chunks if chunk not in seeds]
    reached = []
    for source in frontier:
        passed_on = mean(heard[source])
        for chunk in others:
            reached += hear(chunk, frontier, passed_on) if chunk[0] == source else []
    with_triples = {title for title, _ in triples}
    pulled = [title for title in dict.fromkeys([*frontier, *reached]) if title in high or title not in seed_titles]
    appended = [chunk for title in pulled if title in with_triples for chunk in others if chunk[0] == title]
    average = sum(seeds.values()) / len(seeds)
    scores = {chunk: mean([*heard[chunk[0]], average]) for chunk in dict.fromkeys(appended)}
    return dict(sorted(scores.items(), key=lambda pair: -pair[1]))


def highly_related(seeds: Iterable[Chunk], heard: Mapping[str, Sequence[float]]) -> set[str]:
    """The two titles with the best mean, and those that the first half of the seeds has twice."""
    listed = [title for title, _ in seeds]
    best = sorted(heard, key=lambda title: -mean(heard[title]))[:2]
    return {*best, *(title for rank, title in enumerate(listed[: len(listed) // 2]) if title in listed[:rank])}


def graph_edges(question: str, nodes: Mapping[Chunk, float], triples: Mapping[Chunk, Sequence[Parts]]) -> list[Edge]:
    """Every edge of the graph, as it is made: those of triples, then those between mentioned names."""
    told = [(chunk, *parts) for chunk in nodes for parts in triples.get(chunk, ())]
    edges = [Edge(head.strip(), tail.strip(), chunk, nodes[chunk]) for chunk, head, _, tail in told]
    names = [title for title, _ in nodes] + [end for edge in edges for end in edge[:2]]
    mentioned = dict.fromkeys(name for name in names if overlap(name, question) >= 0.9)
    relations = {label for _, _, relation, _ in told if overlap(label := relation.strip(), question) >= 0.9}
    for _, head, relation, tail in told:
        if relation in relations and (head in mentioned or tail in mentioned):
            mentioned[head] = mentioned[tail] = None
    linked = {frozenset(edge[:2]) for edge in edges}
    pairs = itertools.combinations(mentioned, 2)
    return edges + [Edge(*pair, None, 0.0) for pair in pairs if frozenset(pair) not in linked]


def trees_of(edges: Sequence[Edge]) -> list[list[Any]]:
    """Of each component, the largest first: the sources of its maximum spanning tree, or of its heaviest self-loop."""
    graph, trees = multigraph([], edges), []
    for component in sorted(nx.connected_components(graph), key=len, reverse=True):
        part = multigraph([v for v in graph if v in component], [edge for edge in edges if edge.one in component])
        if len(part) == 1:
            trees.append([max(part.edges(data=True), key=lambda edge: edge[2]["weight"])[2]["source"]])
        else:
            kept = nx.maximum_spanning_tree(part).edges(data="source")
            trees.append([source for *_, source in kept if source is not None])
    return trees


def multigraph(vertices: Iterable[str], edges: Iterable[Edge]) -> nx.MultiGraph:
    """A graph walked in the order of these vertices, then of the edges."""
    graph = nx.MultiGraph()
    graph.add_nodes_from(vertices)
    for one, other, source, weight in edges:
        graph.add_edge(one, other, source=source, weight=weight)
    return graph


def choose(
    question: str,
    nodes: Mapping[Chunk, float],
    texts: Mapping[Chunk, str],
    trees: Sequence[Sequence[Chunk]],
    strings: Sequence[str],
    score: Callable[[str, str], float],
) -> list[Chunk]:
    """The chunks kept, as the nodes are listed; without any tree, as they are scored."""

    def best(candidates: Sequence[str]) -> list[int]:
        scores = [score(question, text) for text in candidates]
        return sorted(range(len(scores)), key=lambda at: -scores[at])

    listed = list(nodes)
    if not trees:
        return [listed[at] for at in best([texts[chunk] for chunk in listed])[:10]]
    kept: set[Chunk] = set()
    for at in best(strings):
        if len(kept | set(trees[at])) > 10:
            break
        kept |= set(trees[at])
    if len(kept) < 5:
        rest = [chunk for chunk in listed if chunk not in kept]
        for at in best([texts[chunk] for chunk in rest])[:10]:
            if len(kept) < 10:
                kept.add(listed[at])  # the place among the rest, read off the list of all
    return [chunk for chunk in listed if chunk in kept]
