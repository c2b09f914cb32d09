"""What mention_ppr walks: edges, weights, sentences and readable paths, worked out on five passages."""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np
import pytest
from word_embedder import WordEmbedder

from kg2rag.compute import Store
from kg2rag.extraction.mentions.finding import find_mentions
from kg2rag.extraction.mentions.sentences import mention_sentences
from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.walks import NodeWeights, Walk
from kg2rag.retrievers.mention_ppr.graph import BACKWARD, LINK, NAME, MentionGraph, build, mention_graph
from kg2rag.retrievers.mention_ppr.walks import walked_paths
from kg2rag.types import Corpus, Passage

PAGES = (
    ("Ed Wood", "A film. Tim Burton made it with Johnny Depp."),
    ("Tim Burton", "He was born in Burbank."),
    ("Sweeney Todd", "A film. Tim Burton made it. Tim Burton liked Johnny Depp."),
    ("Rebecca (film)", "It rests on Rebecca (novel)."),
    ("Rebecca (novel)", "A story. Burbank loved Sweeney Todd."),
)
CORPUS = Corpus.from_passages([Passage(f"p{i}", title, text, f"d{i}", 0) for i, (title, text) in enumerate(PAGES)])
DEPP, BURBANK = 5, 6  # nodes behind the five passages


@pytest.fixture(scope="module")
def table() -> MentionTable:
    return find_mentions(CORPUS)


@pytest.fixture(scope="module")
def graph(table: MentionTable) -> MentionGraph:
    return build(table, CORPUS, backward=0.3, name_weight=0.1, max_mentions=50)


def edges(graph: MentionGraph, kind: int) -> dict[tuple[int, int], float]:
    """(source, target) -> weight of the edges of one kind."""
    columns = (graph.sources, graph.targets, graph.weights, graph.kinds)
    edges_ = zip(*(column.tolist() for column in columns), strict=True)
    return {(source, target): weight for source, target, weight, found in edges_ if found == kind}


def test_nodes_are_the_passages_then_the_names(table: MentionTable, graph: MentionGraph) -> None:
    assert table.names[table.n_titles :] == ["Johnny Depp", "Burbank"]
    assert (graph.n_passages, graph.n_nodes) == (5, 7)


def test_a_title_links_to_its_page(graph: MentionGraph) -> None:
    assert edges(graph, LINK) == {(0, 1): 1.0, (2, 1): 1.0, (3, 4): 1.0, (4, 2): 1.0}


def test_a_link_may_be_walked_backward_for_less(graph: MentionGraph) -> None:
    assert edges(graph, BACKWARD) == {(1, 0): 0.3, (1, 2): 0.3, (4, 3): 0.3, (2, 4): 0.3}


def test_names_join_their_passages_both_ways_by_rarity(graph: MentionGraph) -> None:
    weight = 0.1 * log(1 + 5 / 2)  # each is named by two of five passages
    pairs = [(0, DEPP), (2, DEPP), (1, BURBANK), (4, BURBANK)]
    assert edges(graph, NAME) == {ends: pytest.approx(weight) for pair in pairs for ends in (pair, pair[::-1])}


def test_a_title_of_two_pages_shares_its_weight() -> None:
    corpus = Corpus.from_passages(
        [
            Passage("a", "Rebecca (film)", "A film.", "a", 0),
            Passage("b", "Rebecca (novel)", "A novel.", "b", 0),
            Passage("c", "Daphne", "She wrote Rebecca.", "c", 0),
        ]
    )
    graph = build(find_mentions(corpus), corpus, backward=0.5, name_weight=0.1, max_mentions=50)
    assert edges(graph, LINK) == {(2, 0): 0.5, (2, 1): 0.5}
    assert edges(graph, BACKWARD) == {(0, 2): 0.25, (1, 2): 0.25}


def test_a_title_that_too_many_passages_name_gives_no_link(table: MentionTable) -> None:
    graph = build(table, CORPUS, backward=0.3, name_weight=0.1, max_mentions=1)
    assert edges(graph, LINK) == {(3, 4): 1.0, (4, 2): 1.0}  # Tim Burton is named by two


def test_two_sentences_that_make_one_mention_are_one_edge(graph: MentionGraph) -> None:
    edge = next(e for e in range(len(graph.targets)) if graph.sources[e] == 2 and graph.targets[e] == 1)
    said = graph.sentences[graph.sentence_ptr[edge] : graph.sentence_ptr[edge + 1]]
    assert [graph.texts[row] for row in said] == [
        "Sweeney Todd: Tim Burton made it.",
        "Sweeney Todd: Tim Burton liked Johnny Depp.",
    ]


def test_each_sentence_that_mentions_something_is_kept_once_with_its_title(table: MentionTable) -> None:
    rows, texts = mention_sentences(table, CORPUS)
    assert list(texts) == [
        "Ed Wood: Tim Burton made it with Johnny Depp.",
        "Tim Burton: He was born in Burbank.",
        "Sweeney Todd: Tim Burton made it.",
        "Sweeney Todd: Tim Burton liked Johnny Depp.",
        "Rebecca (film): It rests on Rebecca (novel).",
        "Rebecca (novel): Burbank loved Sweeney Todd.",
    ]
    assert rows.tolist() == [0, 0, 1, 2, 3, 3, 4, 5, 5]


def test_a_corpus_without_mentions_is_a_graph_without_edges() -> None:
    corpus = Corpus.from_passages([Passage("a", "", "nothing", "a", 0), Passage("b", "B", "at all", "b", 0)])
    graph = build(find_mentions(corpus), corpus, backward=0.3, name_weight=0.1, max_mentions=50)
    assert (graph.n_nodes, len(graph.targets), list(graph.texts)) == (2, 0, [])


def path(graph: MentionGraph, row: int, via: dict[int, tuple[int, int]], starts: list[int]) -> list[str]:
    """The path to a row, where `via` gives the (source, target) that brought most into each node."""
    ends = list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    arriving = np.array([ends.index(via[node]) for node in sorted(via)], dtype=np.int64)
    walk = Walk(np.array(sorted(via)), np.ones(len(via)), arriving)
    restart = NodeWeights(np.array(starts), np.ones(len(starts)))
    names = ["Johnny Depp", "Burbank"]
    return list(map(str, walked_paths(np.array([row]), walk, restart, graph, CORPUS, names).get(row, ())))


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
    assert path(graph, 1, {1: (0, 1), 0: (1, 0)}, [3]) == ["Ed Wood -[mentions]-> Tim Burton"]


def test_the_triples_of_a_path_name_their_passage(graph: MentionGraph) -> None:
    ends = list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    walk = Walk(np.array([0, 1]), np.ones(2), np.array([-1, ends.index((0, 1))]))
    paths = walked_paths(np.array([0, 1]), walk, NodeWeights(np.array([0]), np.ones(1)), graph, CORPUS, [])
    assert list(paths) == [1]
    assert (paths[1][0].passage_id, paths[1][0].strength) == ("p0", 10.0)


def test_a_graph_from_the_store_is_the_one_that_was_built(graph: MentionGraph, tmp_path: Path) -> None:
    def opened() -> MentionGraph:
        kb = KnowledgeBase.build(CORPUS, embedder=WordEmbedder(), store=Store(tmp_path))
        return mention_graph(kb, 0.3, 0.1, 50)

    for again in (opened(), opened()):
        for name in ("indptr", "targets", "weights", "kinds", "sentence_ptr", "sentences"):
            found, expected = getattr(again, name), getattr(graph, name)
            np.testing.assert_array_equal(found, expected)
            assert (found.dtype, found.flags.writeable) == (expected.dtype, False)
        assert list(again.texts) == list(graph.texts)


def test_settings_of_the_weights_share_one_entry_of_the_store(tmp_path: Path) -> None:
    kb = KnowledgeBase.build(CORPUS, embedder=WordEmbedder(), store=Store(tmp_path))
    light, heavy = (mention_graph(kb, 0.3, name_weight, 50) for name_weight in (0.1, 0.2))
    assert heavy.targets is light.targets
    assert edges(heavy, NAME) == {ends: pytest.approx(2 * weight) for ends, weight in edges(light, NAME).items()}
    assert edges(heavy, BACKWARD) == edges(light, BACKWARD)
    assert len([entry for entry in kb.store.entries() if entry.stage == "mention-edges"]) == 1


def test_shuffled_mentions_make_a_graph_of_their_own(tmp_path: Path) -> None:
    kb = KnowledgeBase.build(CORPUS, embedder=WordEmbedder(), store=Store(tmp_path))
    shuffled = kb.placebo(seed=1)
    expected = build(shuffled.mentions, CORPUS, backward=0.3, name_weight=0.1, max_mentions=50)
    mention_graph(kb, 0.3, 0.1, 50)
    assert mention_graph(shuffled, 0.3, 0.1, 50).targets.tolist() == expected.targets.tolist()
