"""A graph whose corpus changes: what is left, and what is told, as one build makes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from incremental_world import BY_HAND, CHANGES, NAMES, STARTS, THREE, WORDS, changed, passage

from kg2rag.compute import Store
from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.combined import joined, without
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.knowledge.graph.editing import as_extraction, edited
from kg2rag.types import Corpus, Passage, Triple


def facts(passages: Sequence[Passage]) -> Extraction:
    """Facts of the passages that have a title, in several spellings, with and without records, one unstated."""
    titled = [one for one in passages if one.title]
    own = [Triple(one.title.upper(), f"stands in {one.id}", one.id, one.id, 4) for one in titled]
    shared = [
        Triple(one.title, "is", "a title", id_, 1 + len(one.text) % 9, description=one.text)
        for one in titled
        for id_ in (one.id, "")
    ]
    mentions = tuple(Mention(name, one.id) for one in passages for name in NAMES if name in one.text)
    described = tuple(Entity(one.title, "title", one.text, (one.id,)) for one in titled)
    return Extraction((*own, *shared), mentions, (*described, Entity("Nobody")))


def described_facts(passages: Sequence[Passage]) -> Extraction:
    """The same with a record for every entity, in its first spelling."""
    found = facts(passages)
    names = [*(one.name for one in found.entities), *(e for t in found.triples for e in (t.head.title(), t.tail))]
    return replace(found, entities=tuple(map(Entity, (*NAMES, *names))))


@settings(max_examples=60, deadline=None)
@given(start=STARTS)
def test_a_graph_read_as_an_extraction_builds_the_same_graph(start: list[Passage]) -> None:
    corpus = Corpus.from_passages(start)
    graph = KnowledgeGraph.build(facts(start), corpus)
    assert KnowledgeGraph.build(as_extraction(graph), corpus) == graph


@settings(max_examples=60, deadline=None)
@given(start=STARTS, changes=CHANGES)
def test_where_every_entity_is_described_the_graph_is_that_of_one_build(
    start: list[Passage], changes: list[Any]
) -> None:
    corpus, known = Corpus.from_passages(start), described_facts(start)
    kb = KnowledgeBase.build(corpus, KnowledgeGraph.build(known, corpus), embedder=WORDS, store=Store("unused"))
    for kind, passages in changes:
        kb, gone, more = changed(kb, kind, passages, described_facts)
        known = joined(without(known, gone), more or Extraction())
    assert kb.graph.fingerprint == KnowledgeGraph.build(known, kb.corpus).fingerprint


@pytest.fixture
def given_graph(tmp_path: Path) -> KnowledgeBase:
    corpus = Corpus.from_passages(THREE)
    return KnowledgeBase.build(corpus, KnowledgeGraph.build(BY_HAND, corpus), embedder=WORDS, store=Store(tmp_path))


def test_what_only_a_removed_passage_names_is_gone_and_nothing_else(given_graph: KnowledgeBase) -> None:
    left = given_graph.remove(["p0"]).graph
    # Ed Wood is named by p0 alone; Oscar was never named; director is the end of a triple that no passage states.
    assert left.names == ("Oscar", "Tim Burton", "Burbank", "director")
    assert left.relations == ("born in", "is")
    assert [str(left.triple(i)) for i in range(2)] == ["Tim Burton -[born in]-> Burbank", "Tim Burton -[is]-> director"]
    assert [left.passage_ids[row] for row in left.passages_of(left.entity("Burbank"))[0]] == ["p1", "p2"]


def test_what_is_told_of_a_new_passage_is_merged_under_the_names_that_are_there(given_graph: KnowledgeBase) -> None:
    found = Extraction((Triple("TIM BURTON", "by", "Big Fish", "p3"),), entities=(Entity("ed wood", "film"),))
    more = given_graph.add([passage("p3", "Big Fish")], extraction=found).graph
    assert more.names == (*given_graph.graph.names, "Big Fish")
    assert more.types[more.entity("Ed Wood")] == "film"
    assert str(more.triple(3)) == "Tim Burton -[by]-> Big Fish"
    assert more.relations == given_graph.graph.relations


def test_a_replaced_passage_states_what_is_told_and_no_more_what_it_did(given_graph: KnowledgeBase) -> None:
    found = Extraction((Triple("Ed Wood", "by", "Ed Burns", "p0"),))
    changed_graph = given_graph.replace([passage("p0", "Ed Wood")], extraction=found).graph
    assert [str(changed_graph.triple(int(i))) for i in changed_graph.triples_of(changed_graph.entity("Ed Wood"))] == [
        "Ed Wood -[by]-> Ed Burns"
    ]


def test_the_strengths_of_an_unstated_triple_told_twice_are_the_greatest(given_graph: KnowledgeBase) -> None:
    found = Extraction((Triple("Tim Burton", "is", "director", "", 9),))
    graph = given_graph.add([passage("p3")], extraction=found).graph
    assert (graph.n_triples, graph.triple(2).strength) == (3, 9)


def test_a_graph_without_a_word_of_the_new_passages_says_nothing_of_them(given_graph: KnowledgeBase) -> None:
    graph = given_graph.add([passage("p3")]).graph
    assert graph.n_passages == 4
    assert replace(graph, passage_ids=given_graph.corpus.ids) == given_graph.graph


def test_removing_what_was_added_gives_the_old_graph(given_graph: KnowledgeBase) -> None:
    found = Extraction((Triple("Tim Burton", "made", "Big Fish", "p3"),), (Mention("Burbank", "p3"),))
    back = given_graph.add([passage("p3")], extraction=found).remove(["p3"])
    assert back.graph == given_graph.graph
    assert back.corpus.fingerprint == given_graph.corpus.fingerprint


def test_a_graph_over_a_corpus_that_lacks_passages_says_nothing_of_them() -> None:
    corpus = Corpus.from_passages(THREE)
    graph = KnowledgeGraph.build(BY_HAND, corpus)
    assert edited(graph, corpus) == graph
    assert edited(graph, corpus.without(["p0"])) == edited(graph, corpus.without(["p0"]), gone=["p0"])
