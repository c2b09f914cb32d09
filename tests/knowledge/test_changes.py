"""Passages added, removed and replaced: what results is what a build from scratch makes, to the last bit."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from extraction_world import corpus as stated_corpus
from extraction_world import passages as stated_passages
from extraction_world import reply
from hypothesis import given, settings
from incremental_world import BY_HAND, CHANGES, STARTS, THREE, WORDS, changed, nothing, passage
from llm_server import last_message, serving
from word_embedder import DIM

from kg2rag import systems
from kg2rag.compute import ChatModel, Role, Store
from kg2rag.compute.vectors import VectorCache
from kg2rag.extraction import Extraction, Mention
from kg2rag.extraction.prompted import PromptedTriples
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph, LexicalSettings
from kg2rag.knowledge.indexes.lexical import LexicalIndex
from kg2rag.retrievers.hipporag.memory import phrase_graph, phrases
from kg2rag.retrievers.kg2rag.released import stated_triples
from kg2rag.retrievers.linear_rag import tri_graph
from kg2rag.retrievers.mention_ppr.graph import mention_graph
from kg2rag.testing import worlds
from kg2rag.testing.trial import facts
from kg2rag.types import Corpus, Matrix, Passage, Query, Triple

QUERIES = [Query("q1", "Who built the Bridge that Clara saw?"), Query("q2", "Was Dahl in Ely?"), Query("q3", "")]


# Equal to a build from scratch


def of_parts(kb: KnowledgeBase) -> dict[str, Any]:
    """Everything that is built of a corpus, in a form that can be compared."""
    table, synonyms = phrases(kb), phrase_graph(kb, 0.8).synonyms
    walked = mention_graph(kb, 0.2, 0.3, 50)
    return {
        "corpus": kb.corpus.fingerprint,
        "graph": kb.graph.fingerprint,
        "notes": dict(kb.graph.notes),
        "vectors": kb.vectors.tobytes(),
        "entities": kb.entities.vectors.tobytes(),
        "triples": kb.triple_vectors.vectors.tobytes(),
        "mentions": [_plain(getattr(kb.mentions, one.name)) for one in fields(kb.mentions)],
        "mention graph": [_plain(getattr(walked, one.name)) for one in fields(walked)],
        "tri-graph": [tri_graph(kb).occurrences.others.tolist(), tri_graph(kb).sentence_rows.tolist()],
        "phrases": [table.phrases, table.fact_texts, table.facts.tolist(), table.rows.tolist()],
        "statements": table.statements,
        "synonyms": [synonyms.sources.tolist(), synonyms.targets.tolist(), synonyms.cosines.tolist()],
        "lexicon": kb.entity_lexicon[1],
        "stated": stated_triples(kb),
        "trigram": {name: _plain(value) for name, value in vars(kb.trigram).items()},
        "bm25": _scores(kb.lexical(LexicalSettings()), kb.corpus.contents),
        "bm25 of names": _scores(kb.entity_names(LexicalSettings()), kb.graph.names),
    }


def _scores(index: LexicalIndex, texts: Sequence[str]) -> list[list[float]]:
    """Of every text, for each word in any of them."""
    words = dict.fromkeys(word for text in texts for word in text.split())
    return [index.scores(word).tolist() for word in words]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | pa.Array) else value


def rankings(kb: KnowledgeBase, names: Sequence[str], queries: Sequence[Query]) -> dict[str, Any]:
    found = {name: systems.build(name, kb).retrieve_batch(queries, 5) for name in names}
    return {name: [facts(ranking) for ranking in given] for name, given in found.items()}


@settings(max_examples=10, deadline=None)
@given(start=STARTS, changes=CHANGES)
def test_any_changes_end_where_a_build_from_scratch_does(start: list[Passage], changes: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        kb = KnowledgeBase.build(Corpus.from_passages(start), "mentions", embedder=WORDS, store=Store(one))
        for kind, passages in changes:
            _ = kb.graph, kb.vectors, phrases(kb), kb.encode_queries(QUERIES)  # nothing of it may show later
            kb, _, _ = changed(kb, kind, passages, nothing)
        fresh = Corpus.from_passages(list(kb.corpus))
        scratch = KnowledgeBase.build(fresh, "mentions", embedder=WORDS, store=Store(other))
        assert of_parts(kb) == of_parts(scratch)
        asked = ("bm25", "dense", "mention_ppr", "graph_augmented", "hippo2", "linearrag")
        assert rankings(kb, asked, QUERIES) == rankings(scratch, asked, QUERIES)


@pytest.fixture(scope="module")
def world() -> list[Passage]:
    return list(worlds.corpus())[:70]


@pytest.mark.parametrize("name", systems.names())
def test_every_system_ranks_as_over_a_build_from_scratch(name, pair_of_knowledge_bases):
    within = ("p3", "p21", "p40", "p66", "p69")
    queries = [replace(query, candidates=query.candidates and within) for query in worlds.queries()[:12]]
    one, other = (rankings(kb, [name], queries) for kb in pair_of_knowledge_bases)
    assert one == other


@pytest.fixture(scope="module")
def pair_of_knowledge_bases(
    world: list[Passage], tmp_path_factory: pytest.TempPathFactory
) -> tuple[KnowledgeBase, KnowledgeBase]:
    """Seventy passages, by way of changes and at once. Of all passages that a query may ask for, none is missing."""
    other_text = [replace(one, text="Anna Abbott painted the river.") for one in world[20:24]]
    passing = [passage(f"x{i}", "Bridge", "The bridge was built by Hugo Dahl.") for i in range(4)]
    stores = [Store(tmp_path_factory.mktemp(name)) for name in ("changed", "scratch")]
    kb = KnowledgeBase.build(Corpus.from_passages(world[:60]), "mentions", embedder=WORDS, store=stores[0])
    kb = kb.replace(other_text).add(passing).add(world[60:]).remove([one.id for one in passing]).replace(world[20:24])
    return kb, KnowledgeBase.build(Corpus.from_passages(world), "mentions", embedder=WORDS, store=stores[1])


# What is not done again


@dataclass(frozen=True)
class CountedEncoder:
    """`WordEmbedder` behind the cache of the real encoders; notes what goes through the network."""

    passed: list[str] = field(default_factory=list, compare=False)

    def fingerprint(self, store: Store) -> str:  # noqa: ARG002
        return "counted"

    def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:  # noqa: ARG002
        def forward(batch: Sequence[str]) -> Matrix:
            self.passed.extend(batch)
            return WORDS.encode(batch, store)

        return VectorCache(store, "counted", DIM).of(texts, forward)


def test_only_new_texts_go_through_the_network(tmp_path: Path) -> None:
    encoder = CountedEncoder()
    kb = KnowledgeBase.build(Corpus.from_passages(THREE), embedder=encoder, store=Store(tmp_path))
    _ = kb.vectors
    assert sorted(encoder.passed) == sorted(one.contents for one in THREE)
    new = passage("p3", "Big Fish")
    vectors = kb.add([new]).remove(["p0"]).replace([replace(THREE[1], id="p2", text="Other.")]).vectors
    assert sorted(encoder.passed[3:]) == [new.contents, "Tim Burton\nOther."]
    assert np.array_equal(vectors[0], kb.vectors[1])


def test_questions_that_were_encoded_stay_encoded(tmp_path: Path) -> None:
    encoder = CountedEncoder()
    kb = KnowledgeBase.build(Corpus.from_passages(THREE), embedder=encoder, store=Store(tmp_path))
    kb.encode_queries(QUERIES)
    shutil.rmtree(kb.store.root / "vectors")  # so that only memory has them
    more = kb.add([passage("p3")])
    more.encode_queries([*QUERIES, Query("q", "Another?")])
    assert encoder.passed[len(QUERIES) :] == ["Another?"]


def test_what_a_later_knowledge_base_encodes_does_not_reach_the_earlier(tmp_path: Path) -> None:
    encoder = CountedEncoder()
    kb = KnowledgeBase.build(Corpus.from_passages(THREE), embedder=encoder, store=Store(tmp_path))
    kb.add([passage("p3")]).encode_queries([Query("q", "Another?")])
    shutil.rmtree(kb.store.root / "vectors")
    kb.encode_queries([Query("q", "Another?")])
    assert encoder.passed == ["Another?", "Another?"]


def test_a_language_model_is_asked_about_new_passages_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving(reply, prompt_of=last_message) as server:
        model = ChatModel(server.url, "tiny", api_key_env=None, store=Store(tmp_path / "answers"))
        source = PromptedTriples(model, "openie")
        kb = KnowledgeBase.build(stated_corpus(3), source, embedder=WORDS, store=Store(tmp_path / "kb"))
        assert kb.graph.n_triples == 6
        before = len(server.bodies)
        more = kb.add(stated_passages(5)[3:]).remove(["p0"])
        assert more.graph.n_triples == 8
        asked = [body["messages"][-1]["content"] for body in server.bodies[before:]]
    assert len(asked) == 4  # two steps for each of two passages
    assert all("Note 3" in prompt or "Note 4" in prompt for prompt in asked)


@pytest.fixture
def given_graph(tmp_path: Path) -> KnowledgeBase:
    corpus = Corpus.from_passages(THREE)
    return KnowledgeBase.build(corpus, KnowledgeGraph.build(BY_HAND, corpus), embedder=WORDS, store=Store(tmp_path))


# The knowledge base that is changed


def test_a_change_computes_nothing_and_leaves_the_old_one_as_it_was(tmp_path: Path) -> None:
    kb = KnowledgeBase.build(Corpus.from_passages(THREE), embedder=WORDS, store=Store(tmp_path))
    before = of_parts(kb)
    entries = len(list(kb.store.entries()))
    kb.add([passage("p3", "Ed Wood")])
    kb.remove(["p0", "p1"])
    later = kb.replace([passage("p2", "Tim Burton")])
    assert len(list(kb.store.entries())) == entries
    _ = of_parts(later)
    assert kb.corpus.ids == ["p0", "p1", "p2"]
    again = KnowledgeBase.build(kb.corpus, embedder=WORDS, store=kb.store)
    assert of_parts(kb) == of_parts(again) == before


def test_passages_are_appended_and_replaced_ones_keep_their_place(given_graph: KnowledgeBase) -> None:
    kb = given_graph.add([passage("p9"), passage("p3")]).remove(["p1"]).replace([passage("p0", "Batman")])
    assert kb.corpus.ids == ["p0", "p2", "p9", "p3"]
    assert kb.corpus.titles[0] == "Batman"


def test_no_passages_change_nothing(given_graph: KnowledgeBase) -> None:
    for kb in (given_graph.add([]), given_graph.remove([]), given_graph.replace([])):
        assert kb.corpus is given_graph.corpus
        assert kb.graph == given_graph.graph


def test_passages_may_come_from_a_generator(given_graph: KnowledgeBase) -> None:
    kb = given_graph.add(passage(f"p{i}") for i in (3, 4)).remove(id_ for id_ in ("p3",))
    assert kb.corpus.ids == ["p0", "p1", "p2", "p4"]
    assert kb.replace(passage(id_, "New") for id_ in ("p4",)).corpus.titles[-1] == "New"


def test_an_extraction_may_speak_of_the_new_passages_alone(given_graph: KnowledgeBase) -> None:
    for other in ("p0", "p7"):
        with pytest.raises(ValueError, match=other):
            given_graph.add([passage("p3")], extraction=Extraction((Triple("A", "r", "B", other),)))
    with pytest.raises(ValueError, match="p1"):
        given_graph.replace([passage("p0")], extraction=Extraction(mentions=(Mention("A", "p1"),)))
