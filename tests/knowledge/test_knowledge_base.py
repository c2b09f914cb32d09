"""The knowledge base: every part built once, kept in the store, left behind by a pickle."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kg2rag.compute import Store
from kg2rag.extraction import Extraction, Mention
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph, LexicalSettings
from kg2rag.retrievers.published.kg2rag.released import stated_triples
from kg2rag.types import Corpus, Matrix, Passage, QADataset, Query, Question, Triple

PASSAGES = [
    Passage("p0", "Ed Wood", "Ed Wood is a film by Tim Burton.", "d0", 0),
    Passage("p1", "Tim Burton", "Tim Burton was born in Burbank.", "d1", 0),
    Passage("p2", "Burbank", "Burbank is a city.", "d2", 0),
]


@dataclass(frozen=True)
class Alphabet:
    """An embedder that counts letters, so that equal words make equal vectors; notes the texts it was given."""

    asked: list[list[str]] = field(default_factory=list, repr=False, compare=False)

    def fingerprint(self, store: Store) -> str:
        return "alphabet"

    def encode(
        self, texts: Sequence[str], store: Store, role: str = "passage"
    ) -> Matrix:
        self.asked.append([f"{role}: {text}" for text in texts])
        counts = np.array(
            [
                [text.lower().count(chr(97 + i)) + 0.1 for i in range(26)]
                for text in texts
            ]
        )
        vectors: Matrix = counts.reshape(len(texts), 26).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@dataclass(frozen=True)
class Facts:
    """An extractor that counts how often it is asked."""

    fingerprint: str = "facts"
    asked: list[int] = field(default_factory=list, repr=False, compare=False)

    def extract(self, corpus: Corpus) -> Extraction:
        self.asked.append(len(corpus))
        return Extraction(
            (Triple("Ed Wood", "by", "Tim Burton", "p0"),), (Mention("Burbank", "p1"),)
        )


@pytest.fixture
def corpus() -> Corpus:
    return Corpus.from_passages(PASSAGES)


@pytest.fixture
def little(corpus: Corpus, tmp_path: Path) -> KnowledgeBase:
    return KnowledgeBase.build(
        corpus, Facts(), embedder=Alphabet(), store=Store(tmp_path)
    )


def asked(kb: KnowledgeBase) -> list[list[str]]:
    assert isinstance(kb.embedder, Alphabet)
    return kb.embedder.asked


def test_building_computes_nothing(little: KnowledgeBase) -> None:
    assert isinstance(little.source, Facts)
    assert (asked(little), little.source.asked, list(little.store.entries())) == (
        [],
        [],
        [],
    )


def test_the_mention_table_is_not_read_off_the_passages_again(
    little: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, read = little.mentions, list[object]()
    monkeypatch.setattr(Corpus, "titles", property(read.append))
    assert little.mentions is table
    assert not read  # a query asks for the table, and titles are as many as passages


def test_the_graph_is_extracted_once_and_then_read_from_the_store(
    little: KnowledgeBase, corpus: Corpus
) -> None:
    assert little.graph.names == ("Ed Wood", "Tim Burton", "Burbank")
    again = KnowledgeBase.build(
        corpus, Facts(), embedder=Alphabet(), store=little.store
    )
    assert again.graph.fingerprint == little.graph.fingerprint
    other = KnowledgeBase.build(
        corpus, Facts("other"), embedder=Alphabet(), store=little.store
    )
    _ = other.graph
    assert [getattr(kb.source, "asked", None) for kb in (again, other)] == [[], [3]]


def test_passages_are_encoded_with_their_titles(little: KnowledgeBase) -> None:
    assert little.vectors.shape == (3, 26)
    assert asked(little) == [[f"passage: {passage.contents}" for passage in PASSAGES]]


def test_a_query_text_is_encoded_once_however_often_it_is_asked(
    little: KnowledgeBase,
) -> None:
    first = little.encode_queries(
        [Query("1", "river"), Query("2", "bridge"), Query("3", "river")]
    )
    again = little.encode_queries([Query("4", "bridge"), Query("5", "castle")])
    assert asked(little) == [["query: river", "query: bridge"], ["query: castle"]]
    little.encode_once(["castle"])  # for each role once
    assert asked(little)[-1] == ["passage: castle"]
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(again[0], first[1])


def test_entities_are_searched_by_name(little: KnowledgeBase) -> None:
    ((rows, _),) = little.entities.search(
        little.encode_queries([Query("q", "burbank")]), 1
    )
    assert little.graph.names[rows[0]] == "Burbank"
    assert little.entity_names(LexicalSettings()).scores("burton").argmax() == 1


def test_each_setting_of_bm25_is_an_index_of_its_own(little: KnowledgeBase) -> None:
    plain = little.lexical(LexicalSettings())
    assert little.lexical(LexicalSettings()) is plain
    assert little.lexical(LexicalSettings(k1=2.0)) is not plain
    assert [entry.stage for entry in little.store.entries()] == ["bm25", "bm25"]


def test_a_graph_without_entities_has_indexes_that_find_nothing(
    corpus: Corpus, tmp_path: Path
) -> None:
    graph = KnowledgeGraph.build(Extraction(), corpus)
    kb = KnowledgeBase.build(corpus, graph, embedder=Alphabet(), store=Store(tmp_path))
    assert (
        kb.entities.search(kb.encode_queries([Query("q", "burbank")]), 3)[0][0].tolist()
        == []
    )
    assert kb.entity_names(LexicalSettings()).scores("burbank").tolist() == []


def test_candidates_are_rows_and_their_absence_is_none(little: KnowledgeBase) -> None:
    given = [Query("1", "?"), Query("2", "?", ("p2", "p0", "p2")), Query("3", "?", ())]
    found = little.candidates(given)
    assert [None if rows is None else rows.tolist() for rows in found] == [
        None,
        [0, 2],
        [],
    ]
    with pytest.raises(KeyError, match="p9"):
        little.candidates([Query("1", "?", ("p0", "p9"))])


def test_a_pickle_leaves_indexes_and_vectors_behind_and_finds_them_in_the_store(
    little: KnowledgeBase,
) -> None:
    plain = len(pickle.dumps(little))
    scores = little.lexical(LexicalSettings()).scores("city")
    _ = (little.dense, little.graph, little.encode_queries([Query("q", "city")]))
    assert len(pickle.dumps(little)) < plain + 1_000
    again = pickle.loads(pickle.dumps(little))
    assert again.lexical(LexicalSettings()).scores("city").tolist() == scores.tolist()
    assert again.graph.names == little.graph.names
    assert again.source.asked == [3]  # by the first, before it was pickled


FOUND = Extraction(
    (Triple("Ed Wood", "by", "Tim Burton", "p0"), Triple("ED WOOD", "is", "film", "p0"))
)


def test_the_extraction_keeps_the_sources_own_spelling(
    corpus: Corpus, tmp_path: Path
) -> None:
    class Given:
        fingerprint = "given"

        def extract(self, corpus: Corpus) -> Extraction:
            return FOUND

    kb = KnowledgeBase.build(corpus, Given(), store=Store(tmp_path))
    assert [triple.head for triple in stated_triples(kb)[0]] == ["Ed Wood", "ED WOOD"]
    assert stated_triples(kb)[1:] == [[], []]


def test_the_extraction_of_a_given_graph_is_its_triples(
    corpus: Corpus, tmp_path: Path
) -> None:
    kb = KnowledgeBase.build(
        corpus, KnowledgeGraph.build(FOUND, corpus), store=Store(tmp_path)
    )
    assert [triple.head for triple in kb.extraction.triples] == ["Ed Wood", "Ed Wood"]
    assert kb.graph is kb.source


def test_the_vectors_of_the_last_texts_alone_stay_in_memory(
    little: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kg2rag.knowledge.base.MAX_KEPT_VECTORS", 3)
    # more than are kept, and yet all are returned
    together = little.encode_once(["a", "b", "c", "d", "e"])
    before = len(asked(little))
    assert np.array_equal(little.encode_once(["e", "d", "c"]), together[[4, 3, 2]])
    assert len(asked(little)) == before
    assert np.array_equal(little.encode_once(["a"]), together[:1])
    assert asked(little)[before:] == [["passage: a"]]


def test_threads_have_the_vectors_of_their_texts_while_others_remove_them(
    little: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kg2rag.knowledge.base.MAX_KEPT_VECTORS", 3)
    letters = [chr(97 + i) for i in range(26)]
    vector_of = dict(
        zip(letters, Alphabet().encode(letters, little.store), strict=True)
    )
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            texts = [letters[start : start + 4] for start in range(23)] * 20
            results = list(pool.map(little.encode_once, texts))
    finally:
        sys.setswitchinterval(interval)
    for batch, vectors in zip(texts, results, strict=True):
        assert np.array_equal(vectors, [vector_of[text] for text in batch])


def test_a_graph_over_other_passages_is_refused(kb: KnowledgeBase) -> None:
    other = Corpus(kb.corpus.table.slice(1))
    with pytest.raises(ValueError, match="299"):
        KnowledgeBase.build(other, kb.graph)


DATA = QADataset(
    "tiny", Corpus.from_passages(PASSAGES), (Question("q", "Who?", {"p0": 1}),)
)


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        pytest.param({"corpus": Corpus}, "corpus.*class", id="the class"),
        pytest.param(
            {"corpus": None, "graph": Facts()},
            r"build\(corpus, graph",
            id="a graph alone",
        ),
        pytest.param({"corpus": "wiki/"}, "from_folder", id="a path"),
        pytest.param({"graph": Facts}, "graph must be", id="an extractor's class"),
        pytest.param(
            {"embedder": Alphabet}, "embedder must be", id="an embedder's class"
        ),
        pytest.param({"store": "cache"}, "store must be", id="a folder"),
    ],
)
def test_arguments_of_another_type_are_refused_at_once(
    corpus: Corpus, arguments: Any, fix: str
) -> None:
    with pytest.raises(TypeError, match=fix):
        KnowledgeBase.build(**{"corpus": corpus, **arguments})
