"""KG2RAG's released behaviour told a second time, plainly: one question, loops, sets and networkx.

Written after a description of that behaviour, apart from `kg2rag.retrievers.kg2rag.official` and without its data
structures, so that a mistake has to be made twice to go unseen. Where the released code walks a Python set, `in_order`
says in which order: that of insertion, or the set's own, which the hash seed of the process decides.
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
    """A triple between two vertices, or (without a source) an edge between two names that the question mentions."""

    one: str
    other: str
    source: Chunk | None
    weight: float


class Released(NamedTuple):
    """Everything that the released code works out for a question, in its own order.

    Attributes
    ----------
    walks : the vertices of each component, in the order in which they were walked. One `trees` and `strings` each.
    """

    seeds: dict[Chunk, float]
    appended: dict[Chunk, float]
    edges: list[Edge]
    walks: list[list[str]]
    trees: list[list[Chunk]]
    strings: list[str]
    kept: list[Chunk]
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
    *,
    in_order: bool,
) -> Released:
    """Follow one question through expansion, filter and arrangement.

    Parameters
    ----------
    texts : of the question's chunks, "title: sentence", in the order of its context.
    triples : of the chunks that have any.
    """
    seeds = dict(sorted(cosines.items(), key=lambda pair: -pair[1])[:10])
    appended = expand(seeds, list(texts), triples, in_order=in_order)
    nodes = {**seeds, **appended}
    edges = graph_edges(question, nodes, triples, in_order=in_order)
    graph = multigraph(edges)
    components = sorted(nx.connected_components(graph), key=len, reverse=True)
    trees, walks = [], []
    for component in components:
        part = ordered_part(edges, [v for v in graph if v in component]) if in_order else graph.subgraph(component)
        walks.append(list(part))
        trees.append(sources(part))
    strings = ["".join(texts[chunk] for chunk in tree) for tree in trees]
    kept = choose(question, nodes, texts, trees, strings, score)
    first_seen = list(dict.fromkeys(title for title, _ in kept))
    returned = sorted(kept, key=lambda chunk: (first_seen.index(chunk[0]), chunk[1]))
    return Released(seeds, appended, edges, walks, trees, strings, kept, returned)


def mean(values: Sequence[float]) -> float:
    """Summed one by one, for `sum` of newer Pythons makes up for rounding."""
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


def expand(
    seeds: Mapping[Chunk, float], chunks: Sequence[Chunk], triples: Mapping[Chunk, Sequence[Parts]], *, in_order: bool
) -> dict[Chunk, float]:
    """The chunks appended, best first."""

    def collection(items: Iterable[Any]) -> Iterable[Any]:
        return dict.fromkeys(items) if in_order else set(items)

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
    frontier = collection([*added, *seed_titles])
    others = [chunk for chunk in chunks if chunk not in seeds]
    reached = []
    for source in frontier:
        passed_on = mean(heard[source])
        for chunk in others:
            reached += hear(chunk, frontier, passed_on) if chunk[0] == source else []
    with_triples = {title for title, _ in triples}
    pulled = [title for title in collection([*frontier, *reached]) if title in high or title not in seed_titles]
    appended = [chunk for title in pulled if title in with_triples for chunk in others if chunk[0] == title]
    average = sum(seeds.values()) / len(seeds)
    scores = {chunk: mean([*heard[chunk[0]], average]) for chunk in collection(appended)}
    return dict(sorted(scores.items(), key=lambda pair: -pair[1]))


def highly_related(seeds: Iterable[Chunk], heard: Mapping[str, Sequence[float]]) -> set[str]:
    """The two titles with the best mean, and those that the first half of the seeds has twice."""
    listed = [title for title, _ in seeds]
    best = sorted(heard, key=lambda title: -mean(heard[title]))[:2]
    return {*best, *(title for rank, title in enumerate(listed[: len(listed) // 2]) if title in listed[:rank])}


def graph_edges(
    question: str, nodes: Mapping[Chunk, float], triples: Mapping[Chunk, Sequence[Parts]], *, in_order: bool
) -> list[Edge]:
    """Every edge of the graph, as it is made: those of triples, then those between mentioned names."""
    told = [(chunk, *parts) for chunk in nodes for parts in triples.get(chunk, ())]
    edges = [Edge(head.strip(), tail.strip(), chunk, nodes[chunk]) for chunk, head, _, tail in told]
    names = [title for title, _ in nodes] + [end for edge in edges for end in edge[:2]]
    mentioned = dict.fromkeys(name for name in names if overlap(name, question) >= 0.9)
    relations = {label for _, _, relation, _ in told if overlap(label := relation.strip(), question) >= 0.9}
    for _, head, relation, tail in told:
        if relation in relations and (head in mentioned or tail in mentioned):
            mentioned[head] = mentioned[tail] = None
    walked: Iterable[str] = mentioned if in_order else set(mentioned)
    linked = {frozenset(edge[:2]) for edge in edges}
    pairs = itertools.combinations(walked, 2)
    return edges + [Edge(*pair, None, 0.0) for pair in pairs if frozenset(pair) not in linked]


def multigraph(edges: Iterable[Edge]) -> nx.MultiGraph:
    graph = nx.MultiGraph()
    for one, other, source, weight in edges:
        graph.add_edge(one, other, source=source, weight=weight)
    return graph


def ordered_part(edges: Iterable[Edge], vertices: Sequence[str]) -> nx.MultiGraph:
    """The component of these vertices, walked in this order."""
    part = nx.MultiGraph()
    part.add_nodes_from(vertices)
    inside = set(vertices)
    for one, other, source, weight in edges:
        if one in inside:
            part.add_edge(one, other, source=source, weight=weight)
    return part


def sources(part: nx.MultiGraph) -> list[Chunk]:
    """The chunks of a component's tree: of each edge of its maximum spanning tree, or of its heaviest self-loop."""
    if len(part) == 1:
        heaviest = max(part.edges(data=True), key=lambda edge: edge[2]["weight"])
        return [heaviest[2]["source"]]
    tree = nx.maximum_spanning_tree(part)
    return [data["source"] for *_, data in tree.edges(data=True) if data["source"] is not None]


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
