"""Sources that are files, over a corpus that changes: nothing dangles, and only what was removed is gone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from incremental_world import BY_HAND, THREE, WORDS, passage

from kg2rag.compute import Store
from kg2rag.datasets import load
from kg2rag.extraction import Extraction
from kg2rag.extraction.combined import CombinedExtractor, GivenExtraction, joined, without
from kg2rag.extraction.importers.hipporag import HippoRAGOpenIE
from kg2rag.extraction.importers.saved import SavedGraph
from kg2rag.extraction.importers.triples import TriplesFile
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.knowledge.graph.files import write_graph
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Corpus, Passage, Triple

KINDS = ("entities", "relations", "triples", "mentions", "passages")


@pytest.fixture
def openie(tmp_path: Path) -> Path:
    """HippoRAG's file of `BY_HAND`."""
    documents = [
        {
            "passage": one.contents,
            "extracted_entities": [one.title],
            "extracted_triples": [[t.head, t.relation, t.tail] for t in BY_HAND.triples if t.passage_id == one.id],
        }
        for one in THREE
    ]
    file = tmp_path / "openie.json"
    file.write_text(json.dumps({"docs": documents}))
    return file


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """`BY_HAND` as a table of triples."""
    rows = [f"{t.head}\t{t.relation}\t{t.tail}\t{t.passage_id}" for t in BY_HAND.triples]
    file = tmp_path / "triples.tsv"
    file.write_text("\n".join(["head\trelation\ttail\tpassage_id", *rows]))
    return file


Built = Callable[[Any], KnowledgeBase]


@pytest.fixture
def over(tmp_path: Path) -> Built:
    def build(source: Any, passages: Sequence[Passage] = THREE) -> KnowledgeBase:
        return KnowledgeBase.build(Corpus.from_passages(passages), source, embedder=WORDS, store=Store(tmp_path / "s"))

    return build


def triples_of(kb: KnowledgeBase) -> list[str]:
    return [str(kb.graph.triple(i)) for i in range(kb.graph.n_triples)]


def test_a_file_may_speak_of_passages_that_were_removed(openie: Path, over: Built) -> None:
    kb = over(HippoRAGOpenIE(openie)).remove(["p0"])
    assert triples_of(kb) == ["Tim Burton -[born in]-> Burbank"]
    assert kb.graph.names == ("Tim Burton", "Burbank")
    assert kb.graph == over(HippoRAGOpenIE(openie, partial=True), THREE[1:]).graph
    assert kb.graph.notes["documents outside the corpus"] == 1


def test_a_passage_that_comes_back_has_its_triples_again(openie: Path, over: Built) -> None:
    kb = over(HippoRAGOpenIE(openie))
    back = kb.remove(["p2"]).add([THREE[2]])
    assert back.graph == kb.graph


def test_a_source_that_is_whole_is_not_allowed_to_be_partial_by_an_addition(openie: Path, over: Built) -> None:
    assert over(HippoRAGOpenIE(openie)).add([passage("p3")]).source == HippoRAGOpenIE(openie)


def test_the_sources_of_a_union_change_each_for_itself(openie: Path, table: Path, over: Built) -> None:
    kb = over(CombinedExtractor((HippoRAGOpenIE(openie), TriplesFile(table, partial=False)))).remove(["p0"])
    assert triples_of(kb) == ["Tim Burton -[born in]-> Burbank", "Tim Burton -[is]-> director"]


def test_a_table_does_not_speak_of_a_text_that_was_replaced(table: Path, over: Built) -> None:
    kb = over(TriplesFile(table)).replace([passage("p0", "Batman")])
    assert triples_of(kb) == ["Tim Burton -[born in]-> Burbank", "Tim Burton -[is]-> director"]
    assert kb.graph.find("Ed Wood") is None


def test_a_saved_graph_goes_on_over_another_corpus(tmp_path: Path, over: Built) -> None:
    corpus = Corpus.from_passages(THREE)
    write_graph(tmp_path / "graph", BY_HAND, corpus, Mentions(), corpus_name="three")
    kb = over(SavedGraph(tmp_path / "graph")).add([passage("p3")]).remove(["p0"])
    assert kb.graph == KnowledgeGraph.build(without(BY_HAND, ["p0"]), kb.corpus)


def test_what_is_told_comes_after_what_the_source_finds(openie: Path, over: Built) -> None:
    fish, bats = (
        Extraction((Triple("Tim Burton", "made", name, id_),)) for name, id_ in (("Fish", "p3"), ("Bat", "p4"))
    )
    kb = over(HippoRAGOpenIE(openie)).add([passage("p3")], extraction=fish).add([passage("p4")], extraction=bats)
    assert kb.source == CombinedExtractor((HippoRAGOpenIE(openie), GivenExtraction(joined(fish, bats))))
    assert triples_of(kb)[2:] == ["Tim Burton -[made]-> Fish", "Tim Burton -[made]-> Bat"]
    assert triples_of(kb.remove(["p3"]))[2:] == ["Tim Burton -[made]-> Bat"]


@pytest.mark.realdata
def test_musique_without_some_passages_is_the_graph_of_the_others(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "musique-100"
    file = folder / "openie_results_ner_gpt-3.5-turbo-1106.json"
    corpus = load("musique", path=folder).corpus
    kb = KnowledgeBase.build(corpus, f"openie({file})", embedder=WORDS, store=Store(tmp_path))
    gone = corpus.ids[5::50]
    scratch = KnowledgeGraph.build(
        HippoRAGOpenIE(file, partial=True).extract(corpus.without(gone)), kb.remove(gone).corpus
    )
    assert kb.remove(gone).graph == scratch
    # The same from a graph that was given: the same triples, if in the order of the whole graph's entities.
    left = KnowledgeBase.build(corpus, kb.graph, embedder=WORDS, store=Store(tmp_path)).remove(gone).graph
    assert [getattr(left, f"n_{kind}") for kind in KINDS] == [getattr(scratch, f"n_{kind}") for kind in KINDS]
    assert {
        (entity_key(t.head), t.relation, entity_key(t.tail), t.passage_id) for t in map(left.triple, range(500))
    } == {(entity_key(t.head), t.relation, entity_key(t.tail), t.passage_id) for t in map(scratch.triple, range(500))}
