"""A mention graph joined with a knowledge graph: nodes, edges, weights and what each edge is compared with, by hand."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from kg2rag.extraction import Extraction, Mention
from kg2rag.extraction.mentions.finding import find_mentions
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.knowledge.graph.walks import NodeWeights
from kg2rag.retrievers.mention_ppr.facts import MENTION, TRIPLE, FactGraph, with_facts
from kg2rag.retrievers.mention_ppr.graph import MentionGraph, build
from kg2rag.retrievers.mention_ppr.walks import allowed_nodes, walks
from kg2rag.types import Corpus, Passage, Triple

PAGES = (("Ed Wood", "Tim Burton made it."), ("Tim Burton", "An artist."), ("", "Nothing."))
CORPUS = Corpus.from_passages([Passage(f"p{i}", title, text, f"d{i}", 0) for i, (title, text) in enumerate(PAGES)])
TRIPLES = (
    Triple("Burton", "made", "Ed Wood", "p0", strength=8.0),
    Triple("Burton", "is", "artist", "p1"),
    Triple("Burton", "knows", "Burton", "p1"),
    Triple("artist", "opposes", "Ed Wood", "", strength=2.0),
)
ALSO = (Mention("artist", "p2"),)
BURTON, ED_WOOD, ARTIST = 3, 4, 5  # nodes behind the three passages: the mention graph has no names
N_SENTENCES, N_TRIPLES, N_PASSAGES = 1, 4, 3
VECTORS = np.eye(N_SENTENCES + N_TRIPLES + N_PASSAGES, dtype=np.float32)


@pytest.fixture(scope="module")
def mentions() -> MentionGraph:
    return build(find_mentions(CORPUS), CORPUS, backward=0.3, name_weight=0.1, max_mentions=50)


def joined(mentions: MentionGraph, extraction: Extraction) -> FactGraph:
    graph = KnowledgeGraph.build(extraction, CORPUS)
    triples = VECTORS[N_SENTENCES : N_SENTENCES + graph.n_triples]
    return with_facts(
        mentions,
        graph,
        name_weight=0.1,
        triple_weight=2.0,
        sentence_vectors=VECTORS[:N_SENTENCES],
        triple_vectors=triples,
        passage_vectors=VECTORS[-N_PASSAGES:],
    )


@pytest.fixture(scope="module")
def graph(mentions: MentionGraph) -> FactGraph:
    return joined(mentions, Extraction(TRIPLES, ALSO))


def edges(graph: MentionGraph, kind: int) -> dict[tuple[int, int], tuple[float, list[int]]]:
    """(source, target) -> the weight of an edge of one kind, and the vectors it is compared with."""
    found = {}
    for edge in np.flatnonzero(graph.kinds == kind).tolist():
        texts = graph.sentences[graph.sentence_ptr[edge] : graph.sentence_ptr[edge + 1]].tolist()
        found[int(graph.sources[edge]), int(graph.targets[edge])] = (float(graph.weights[edge]), texts)
    assert len(found) == np.count_nonzero(graph.kinds == kind)
    return found


def test_entities_come_behind_the_nodes_of_the_mention_graph(mentions: MentionGraph, graph: FactGraph) -> None:
    assert (mentions.n_nodes, graph.n_nodes, graph.first_entity) == (3, 6, 3)
    assert graph.facts.names == ("Burton", "Ed Wood", "artist")


def test_what_the_mention_graph_has_stays_as_it_was(mentions: MentionGraph, graph: FactGraph) -> None:
    for kind in (0, 1, 2):
        assert edges(graph, kind) == edges(mentions, kind)
    assert len(edges(graph, 0)) == 1


def test_a_passage_and_its_entities_are_joined_both_ways_by_rarity(graph: FactGraph) -> None:
    twice, once = 0.1 * log(1 + 3 / 2), 0.1 * log(1 + 3 / 1)
    weights = {(0, BURTON): twice, (1, BURTON): twice, (0, ED_WOOD): once, (1, ARTIST): twice, (2, ARTIST): twice}
    both_ways = weights | {ends[::-1]: weight for ends, weight in weights.items()}
    assert {ends: weight for ends, (weight, _) in edges(graph, MENTION).items()} == pytest.approx(both_ways)


def test_a_mention_is_compared_by_the_triples_stated_there_else_by_the_passage(graph: FactGraph) -> None:
    texts = {ends: texts for ends, (_, texts) in edges(graph, MENTION).items() if ends[0] < 3}
    made, is_, knows, second_passage = 1, 2, 3, 7
    assert texts == {
        (0, BURTON): [made],
        (0, ED_WOOD): [made],
        (1, BURTON): [is_, knows],
        (1, ARTIST): [is_],
        (2, ARTIST): [second_passage],
    }


def test_a_triple_joins_its_ends_both_ways_by_its_strength(graph: FactGraph) -> None:
    one_way = {(BURTON, ED_WOOD): (1.6, [1]), (BURTON, ARTIST): (1.0, [2]), (ARTIST, ED_WOOD): (0.4, [4])}
    found = edges(graph, TRIPLE)
    assert found.keys() == {*one_way, *(ends[::-1] for ends in one_way)}  # none from Burton to Burton
    for ends, (weight, texts) in one_way.items():
        assert found[ends] == found[ends[::-1]] == (pytest.approx(weight), texts)


def test_an_edge_between_entities_has_its_triple_and_no_other_has_one(graph: FactGraph) -> None:
    facts_of_edges = [graph.fact(edge) for edge in range(len(graph.targets))]
    assert [fact is not None for fact in facts_of_edges] == (graph.kinds == TRIPLE).tolist()
    assert {fact for fact in facts_of_edges if fact} == {TRIPLES[0], TRIPLES[1], TRIPLES[3]}


def test_a_mask_shuts_the_triples_of_other_passages_and_leaves_those_of_none(graph: FactGraph) -> None:
    shut = graph.weights_within(np.array([1, 2])) == 0
    assert {graph.fact(edge) for edge in np.flatnonzero(shut).tolist()} == {TRIPLES[0]}
    assert graph.triples_within(np.array([1, 2])).tolist() == [1, 2, 3]  # type: ignore[union-attr]
    assert graph.weights_within(None) is graph.weights
    assert graph.triples_within(None) is None


def test_triples_share_a_start_between_their_ends(graph: FactGraph) -> None:
    start = graph.starting_at(np.array([0, 2]), np.array([0.6, 0.2]))
    assert start.dense(graph.n_nodes).tolist() == [0, 0, 0, 0.5, 0.3, 0]


def test_an_empty_knowledge_graph_adds_nothing(mentions: MentionGraph) -> None:
    graph = joined(mentions, Extraction())
    assert (graph.n_nodes, len(graph.targets)) == (mentions.n_nodes, len(mentions.targets))
    assert graph.weights_within(np.array([0])).tolist() == mentions.weights.tolist()


def test_an_empty_mention_graph_can_be_joined() -> None:
    corpus = Corpus.from_passages([Passage("p0", "", "nothing", "d", 0)])
    graph = KnowledgeGraph.build(Extraction((Triple("a", "b", "c", "p0"),)), corpus)
    empty = build(find_mentions(corpus), corpus, backward=0.3, name_weight=0.1, max_mentions=50)
    vectors = {"sentence_vectors": VECTORS[:0], "triple_vectors": VECTORS[:1], "passage_vectors": VECTORS[:1]}
    found = with_facts(empty, graph, name_weight=0.1, triple_weight=1.0, **vectors)
    assert (found.n_nodes, len(found.targets)) == (3, 6)


def test_a_walk_under_a_mask_has_the_bits_of_one_alone(graph: FactGraph) -> None:
    restarts = [NodeWeights(np.array([BURTON]), np.ones(1))] * 3
    masks = [None, np.array([1, 2]), np.array([0])]
    queries = np.tile(VECTORS[1], (3, 1))
    settings = {"damping": 0.5, "temperature": 0.25, "iterations": 5}
    together = walks(graph, graph.vectors, queries, restarts, masks, **settings)
    scores = [walk.dense(graph.n_nodes) for walk in together]
    for i, mask in enumerate(masks):
        (alone,) = walks(graph, graph.vectors, queries[:1], restarts[:1], [mask], **settings)
        assert scores[i].tolist() == alone.dense(graph.n_nodes).tolist()
        assert together[i].via.tolist() == alone.via.tolist()
        assert not scores[i][~allowed_nodes(mask, graph)].any()
    assert scores[0][ED_WOOD] > scores[1][ED_WOOD] > 0  # under the mask over the artist alone
