"""A mention graph joined with a knowledge graph: nodes, edges, and weights, by hand."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from kg2rag.extraction import Extraction, Mention
from kg2rag.extraction.mentions.finding import find_mentions
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.knowledge.graph.pagerank import NodeWeights, walks
from kg2rag.retrievers.mention_ppr.graph import (
    MENTION,
    TRIPLE,
    FactGraph,
    MentionGraph,
    build,
    with_facts,
)
from kg2rag.types import Corpus, Passage, Triple

PAGES = (
    ("Ed Wood", "Tim Burton made it."),
    ("Tim Burton", "An artist."),
    ("", "Nothing."),
)
CORPUS = Corpus.from_passages(
    [Passage(f"p{i}", title, text, f"d{i}", 0) for i, (title, text) in enumerate(PAGES)]
)
TRIPLES = (
    Triple("Burton", "made", "Ed Wood", "p0", strength=8.0),
    Triple("Burton", "is", "artist", "p1"),
    Triple("Burton", "knows", "Burton", "p1"),
    Triple("artist", "opposes", "Ed Wood", "", strength=2.0),
)
ALSO = (Mention("artist", "p2"),)
# Nodes behind the three passages: the mention graph has no names.
BURTON, ED_WOOD, ARTIST = (
    3,
    4,
    5,
)


@pytest.fixture(scope="module")
def mentions() -> MentionGraph:
    return build(
        find_mentions(CORPUS),
        len(CORPUS),
        backward=0.3,
        name_weight=0.1,
        max_mentions=50,
    )


def joined(mentions: MentionGraph, extraction: Extraction) -> FactGraph:
    return with_facts(
        mentions,
        KnowledgeGraph.build(extraction, CORPUS),
        name_weight=0.1,
        triple_weight=2.0,
    )


@pytest.fixture(scope="module")
def graph(mentions: MentionGraph) -> FactGraph:
    return joined(mentions, Extraction(TRIPLES, ALSO))


def edges(graph: MentionGraph, kind: int) -> dict[tuple[int, int], float]:
    """(source, target) -> the weight of an edge of one kind."""
    these = np.flatnonzero(graph.kinds == kind)
    columns = graph.sources[these], graph.targets[these], graph.weights[these]
    found = {
        (a, b): weight
        for a, b, weight in zip(*(column.tolist() for column in columns), strict=True)
    }
    assert len(found) == len(these)
    return found


def test_entities_come_behind_the_nodes_of_the_mention_graph(
    mentions: MentionGraph, graph: FactGraph
) -> None:
    assert (mentions.n_nodes, graph.n_nodes, graph.knowledge_graph.n_entities) == (
        3,
        6,
        3,
    )
    assert graph.knowledge_graph.names == ("Burton", "Ed Wood", "artist")


def test_what_the_mention_graph_has_stays_as_it_was(
    mentions: MentionGraph, graph: FactGraph
) -> None:
    for kind in (0, 1, 2):
        assert edges(graph, kind) == edges(mentions, kind)
    assert len(edges(graph, 0)) == 1


def test_a_passage_and_its_entities_are_joined_both_ways_by_rarity(
    graph: FactGraph,
) -> None:
    twice, once = 0.1 * log(1 + 3 / 2), 0.1 * log(1 + 3 / 1)
    weights = {
        (0, BURTON): twice,
        (1, BURTON): twice,
        (0, ED_WOOD): once,
        (1, ARTIST): twice,
        (2, ARTIST): twice,
    }
    both_ways = weights | {ends[::-1]: weight for ends, weight in weights.items()}
    assert edges(graph, MENTION) == pytest.approx(both_ways)


def test_a_triple_joins_its_ends_both_ways_by_its_strength(graph: FactGraph) -> None:
    # none from Burton to Burton
    one_way = {(BURTON, ED_WOOD): 1.6, (BURTON, ARTIST): 1.0, (ARTIST, ED_WOOD): 0.4}
    assert edges(graph, TRIPLE) == pytest.approx(
        one_way | {ends[::-1]: weight for ends, weight in one_way.items()}
    )


def test_an_edge_between_entities_has_its_triple_and_no_other_has_one(
    graph: FactGraph,
) -> None:
    facts_of_edges = [graph.stated_triple(edge) for edge in range(len(graph.targets))]
    assert [fact is not None for fact in facts_of_edges] == (
        graph.kinds == TRIPLE
    ).tolist()
    assert {fact for fact in facts_of_edges if fact} == {
        TRIPLES[0],
        TRIPLES[1],
        TRIPLES[3],
    }


def test_a_mask_shuts_the_triples_of_other_passages_and_leaves_those_of_none(
    graph: FactGraph,
) -> None:
    within = graph.walk_graph_within(np.array([1, 2]))
    assert {
        graph.stated_triple(edge) for edge in within.edges[within.weights == 0].tolist()
    } == {TRIPLES[0]}
    assert graph.triples_within(np.array([1, 2])).tolist() == [1, 2, 3]  # type: ignore[union-attr]
    assert graph.walk_graph_within(None) is graph.walk_graph
    assert graph.triples_within(None) is None


def test_triples_share_a_start_between_their_ends(graph: FactGraph) -> None:
    start = graph.triple_restart(np.array([0, 2]), np.array([0.6, 0.2]))
    assert start.weights_of(np.arange(graph.n_nodes)).tolist() == [0, 0, 0, 0.5, 0.3, 0]


def test_an_empty_knowledge_graph_adds_nothing(mentions: MentionGraph) -> None:
    graph = joined(mentions, Extraction())
    assert (graph.n_nodes, len(graph.targets)) == (
        mentions.n_nodes,
        len(mentions.targets),
    )
    assert sorted(graph.walk_graph_within(np.array([0])).weights) == sorted(
        mentions.weights
    )


def test_an_empty_mention_graph_can_be_joined() -> None:
    corpus = Corpus.from_passages([Passage("p0", "", "nothing", "d", 0)])
    graph = KnowledgeGraph.build(Extraction((Triple("a", "b", "c", "p0"),)), corpus)
    empty = build(
        find_mentions(corpus),
        len(corpus),
        backward=0.3,
        name_weight=0.1,
        max_mentions=50,
    )
    found = with_facts(empty, graph, name_weight=0.1, triple_weight=1.0)
    assert (found.n_nodes, len(found.targets)) == (3, 6)


def test_a_walk_under_a_mask_takes_no_triple_of_other_passages(
    graph: FactGraph,
) -> None:
    start = [NodeWeights(np.array([BURTON]), np.ones(1))]
    scores = []
    for mask in (None, np.array([1, 2])):
        (walk,) = walks(
            graph.walk_graph_within(mask),
            start,
            0.5,
            steps=5,
            scopes=[graph.allowed_nodes(mask)],
        )
        scores.append(walk.dense(graph.n_nodes))
    assert scores[0][0] > scores[1][0] == 0
    # Under the mask over the artist alone.
    assert scores[0][ED_WOOD] > scores[1][ED_WOOD] > 0
