"""What mention_ppr walks: edges, weights and readable paths, worked out on five passages."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
import pytest

from kg2rag.extraction.mentions.finding import find_mentions
from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.pagerank import NodeWeights
from kg2rag.retrievers.mention_ppr.graph import (
    BACKWARD,
    LINK,
    NAME,
    MentionGraph,
    WalkedPaths,
    build,
    mention_graph,
    strongest_paths,
)
from kg2rag.types import Corpus, IntArray, Passage

PAGES = (
    ("Ed Wood", "A film. Tim Burton made it with Johnny Depp."),
    ("Tim Burton", "He was born in Burbank."),
    ("Sweeney Todd", "A film. Tim Burton made it. Tim Burton liked Johnny Depp."),
    ("Rebecca (film)", "It rests on Rebecca (novel)."),
    ("Rebecca (novel)", "A story. Burbank loved Sweeney Todd."),
)
CORPUS = Corpus.from_passages(
    [Passage(f"p{i}", title, text, f"d{i}", 0) for i, (title, text) in enumerate(PAGES)]
)
DEPP, BURBANK = 5, 6  # nodes behind the five passages


@pytest.fixture(scope="module")
def table() -> MentionTable:
    return find_mentions(CORPUS)


@pytest.fixture(scope="module")
def graph(table: MentionTable) -> MentionGraph:
    return build(table, len(CORPUS), backward=0.3, name_weight=0.1, max_mentions=50)


def edges(graph: MentionGraph, kind: int) -> dict[tuple[int, int], float]:
    """(source, target) -> weight of the edges of one kind."""
    columns = (graph.sources, graph.targets, graph.weights, graph.kinds)
    edges_ = zip(*(column.tolist() for column in columns), strict=True)
    return {
        (source, target): weight
        for source, target, weight, found in edges_
        if found == kind
    }


def test_nodes_are_the_passages_then_the_names(
    table: MentionTable, graph: MentionGraph
) -> None:
    assert table.names[table.n_titles :] == ["Johnny Depp", "Burbank"]
    assert (graph.n_passages, graph.n_nodes) == (5, 7)


def test_a_title_links_to_its_page(graph: MentionGraph) -> None:
    assert edges(graph, LINK) == {(0, 1): 1.0, (2, 1): 1.0, (3, 4): 1.0, (4, 2): 1.0}


def test_a_link_may_be_walked_backward_for_less(graph: MentionGraph) -> None:
    assert edges(graph, BACKWARD) == {
        (1, 0): 0.3,
        (1, 2): 0.3,
        (4, 3): 0.3,
        (2, 4): 0.3,
    }


def test_names_join_their_passages_both_ways_by_rarity(graph: MentionGraph) -> None:
    weight = 0.1 * log(1 + 5 / 2)  # each is named by two of five passages
    pairs = [(0, DEPP), (2, DEPP), (1, BURBANK), (4, BURBANK)]
    assert edges(graph, NAME) == {
        ends: pytest.approx(weight) for pair in pairs for ends in (pair, pair[::-1])
    }


def test_a_title_of_two_pages_shares_its_weight() -> None:
    corpus = Corpus.from_passages(
        [
            Passage("a", "Rebecca (film)", "A film.", "a", 0),
            Passage("b", "Rebecca (novel)", "A novel.", "b", 0),
            Passage("c", "Daphne", "She wrote Rebecca.", "c", 0),
        ]
    )
    graph = build(
        find_mentions(corpus),
        len(corpus),
        backward=0.5,
        name_weight=0.1,
        max_mentions=50,
    )
    assert edges(graph, LINK) == {(2, 0): 0.5, (2, 1): 0.5}
    assert edges(graph, BACKWARD) == {(0, 2): 0.25, (1, 2): 0.25}


def test_a_title_that_too_many_passages_name_gives_no_link(table: MentionTable) -> None:
    graph = build(table, len(CORPUS), backward=0.3, name_weight=0.1, max_mentions=1)
    # Tim Burton is named by two.
    assert edges(graph, LINK) == {
        (3, 4): 1.0,
        (4, 2): 1.0,
    }


def test_two_sentences_that_make_one_mention_are_one_edge(graph: MentionGraph) -> None:
    assert np.count_nonzero((graph.sources == 2) & (graph.targets == 1)) == 1


def test_a_corpus_without_mentions_is_a_graph_without_edges() -> None:
    corpus = Corpus.from_passages(
        [Passage("a", "", "nothing", "a", 0), Passage("b", "B", "at all", "b", 0)]
    )
    graph = build(
        find_mentions(corpus),
        len(corpus),
        backward=0.3,
        name_weight=0.1,
        max_mentions=50,
    )
    assert (graph.n_nodes, len(graph.targets)) == (2, 0)


class Arrivals:
    """A walk with only the (source, target) that brought most into each node."""

    def __init__(self, graph: MentionGraph, via: dict[int, tuple[int, int]]) -> None:
        ends = list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
        self._via = {node: (ends.index(edge), edge[0]) for node, edge in via.items()}

    def strongest_incoming(self, nodes: IntArray) -> IntArray:
        return np.array([self._via.get(node, (-1, -1)) for node in nodes.tolist()]).T


def paths(
    graph: MentionGraph,
    rows: list[int],
    via: dict[int, tuple[int, int]],
    starts: list[int],
) -> WalkedPaths:
    walk: Any = Arrivals(graph, via)
    restart = NodeWeights(np.array(starts), np.ones(len(starts)))
    return WalkedPaths(
        graph,
        CORPUS,
        ["Johnny Depp", "Burbank"],
        strongest_paths(np.array(rows), walk, restart),
    )


def path(
    graph: MentionGraph, row: int, via: dict[int, tuple[int, int]], starts: list[int]
) -> list[str]:
    return list(map(str, paths(graph, [row], via, starts).get(row, ())))


def test_a_path_reads_from_where_the_walk_began(graph: MentionGraph) -> None:
    via = {1: (0, 1), BURBANK: (1, BURBANK), 4: (BURBANK, 4)}
    assert path(graph, 4, via, [0]) == [
        "Ed Wood -[mentions]-> Tim Burton",
        "Tim Burton -[mentions]-> Burbank",
        "Rebecca (novel) -[mentions]-> Burbank",
    ]


def test_a_link_walked_backward_reads_as_in_the_text(graph: MentionGraph) -> None:
    assert path(graph, 2, {2: (1, 2)}, [1]) == ["Sweeney Todd -[mentions]-> Tim Burton"]


def test_a_passage_where_the_walk_began_has_no_path(graph: MentionGraph) -> None:
    assert path(graph, 1, {1: (0, 1)}, [0, 1]) == []


def test_a_path_that_runs_in_a_circle_is_cut(graph: MentionGraph) -> None:
    assert path(graph, 1, {1: (0, 1), 0: (1, 0)}, [3]) == [
        "Ed Wood -[mentions]-> Tim Burton"
    ]


def test_the_triples_of_a_path_name_their_passage(graph: MentionGraph) -> None:
    found = paths(graph, [0, 1], {1: (0, 1)}, [0])
    assert found.get(0) == ()
    (triple,) = found.get(1)
    assert (triple.passage_id, triple.strength) == ("p0", 10.0)


def test_shuffled_mentions_make_a_graph_of_their_own(
    kb_of: Callable[..., KnowledgeBase],
) -> None:
    kb = kb_of(*PAGES)
    shuffled = kb.placebo(seed=1)
    expected = build(
        shuffled.mentions, len(CORPUS), backward=0.3, name_weight=0.1, max_mentions=50
    )
    assert mention_graph(kb, 0.3, 0.1, 50) is mention_graph(kb, 0.3, 0.1, 50)
    assert (
        mention_graph(shuffled, 0.3, 0.1, 50).targets.tolist()
        == expected.targets.tolist()
    )
