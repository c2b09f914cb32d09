"""The lines that a newcomer writes first: each works, or is refused with the line that does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import kg2rag
from kg2rag import BM25, BiEncoder, Dense, KnowledgeBase, Passage, Rerank, compare, fuse

TEXTS = {
    "a": "Ada wrote notes on the engine.",
    "b": "Charles built engines.",
    "c": "The Thames flows through London.",
}


def letters(texts):
    return np.array(
        [
            [text.lower().count(chr(97 + at)) + 0.01 for at in range(26)]
            for text in texts
        ]
    )


@pytest.fixture(autouse=True)
def _store(tmp_path, monkeypatch):
    monkeypatch.setenv("KG2RAG_STORE", str(tmp_path))


@pytest.fixture
def data():
    return kg2rag.from_frames(
        TEXTS,
        [
            {"question": "Who wrote notes?", "gold": "a"},
            {"question": "Which river?", "gold": "c"},
        ],
    )


@pytest.fixture
def kb(data):
    return KnowledgeBase.build(data, embedder=letters)


def test_systems_may_be_a_list_names_or_one(kb, data):
    assert compare([BM25(kb)], data).systems == ["bm25"]
    assert compare(BM25(kb), data).systems == ["bm25"]
    names = [
        "bm25",
        "dense",
        BM25(kb, k1=0.5) >> Rerank(kb),
        fuse(Dense(kb), BM25(kb)),
        "low=bm25(k1=0.1)",
    ]
    assert compare(names, data).systems == [
        "bm25",
        "dense",
        "bm25-Rerank",
        "dense+bm25",
        "low",
    ]
    with pytest.raises(ValueError, match="'bm25'"):
        compare([BM25(kb), BM25(kb, k1=0.5)], data)
    with pytest.raises(TypeError, match="data"):
        compare([BM25(kb)])


def test_results_are_indexed_by_metric_or_system(kb, data):
    result = compare(
        ["bm25", BM25(kb) >> Rerank(kb)], data, metrics=["recall@1", "mrr@5"]
    )
    assert result["recall@1"].index.tolist() == ["bm25", "bm25-Rerank"]
    assert result["bm25"]["mrr@5"] == result["mrr@5"]["bm25"]
    with pytest.raises(KeyError, match=r"recall@1, mrr@5"):
        result["recall@9"]


class Predicting:
    def predict(self, pairs):
        return [len(text) for _, text in pairs]


@pytest.mark.parametrize("reranker", [lambda _, text: len(text), Predicting()])
def test_a_function_or_a_model_reranks(kb, reranker):
    found = (Dense(kb) >> Rerank(kb, reranker=reranker)).retrieve("Who?", 3)
    assert found.passage_ids == ["c", "a", "b"]


def test_a_reranker_is_named_and_belongs_into_a_stage(kb):
    assert Rerank(kb, reranker="bi-encoder") == Rerank(kb, BiEncoder(kb))
    for reranker in (BiEncoder(kb), Predicting()):
        with pytest.raises(TypeError, match=r"Rerank\(kb, reranker="):
            Dense(kb) >> reranker
    with pytest.raises(ValueError, match="7"):
        Rerank(kb, reranker=7)


def test_a_passage_needs_an_id_and_a_text_and_a_hit_has_them():
    passage = Passage("a", "Ada wrote.")
    assert (passage.title, passage.text, passage.doc_id, passage.position) == (
        "",
        "Ada wrote.",
        "a",
        0,
    )
    assert Passage("a", "Ada", "She wrote.").title == "Ada"
    hit = KnowledgeBase.build(
        [passage, Passage("b", "Bells ring.", metadata={"lang": "en"})]
    ).retrieve("bells", 1, system="bm25")[0]
    assert (hit.text, hit.title, hit.metadata) == ("Bells ring.", "", {"lang": "en"})


@pytest.mark.parametrize(
    "corpus",
    [["Ada wrote.", "Bells ring."], [{"text": "Ada wrote."}, {"text": "Bells ring."}]],
)
def test_a_question_needs_no_data_set(corpus):
    kb = KnowledgeBase.build(corpus, embedder=letters)
    assert kb.retrieve("Which bells ring?")[0].text == "Bells ring."
    assert (
        "chains" in repr(kb.retrieve("Which bells ring?"))
        or len(kb.retrieve("Which bells ring?")) == 2
    )


def test_metadata_filter_a_question():
    frame = pd.DataFrame(
        {
            "text": ["Ada wrote.", "Ada schrieb.", "Ada sang."],
            "lang": ["en", "de", "en"],
        }
    )
    kb = KnowledgeBase.build(frame, embedder=letters)
    assert set(kb.retrieve("Ada", where={"lang": "en"}).passage_ids) == {"0", "2"}
    assert kb.retrieve("Ada", where={"lang": "de"}, system="hybrid").passage_ids == [
        "1"
    ]


def test_a_graph_of_ones_own_is_used_by_the_recommended_system():
    kb = KnowledgeBase.build(
        TEXTS, embedder=letters, graph=[("Ada", "worked with", "Charles")]
    )
    assert len(kb.retrieve("Who worked with Ada?")) == 3
    assert kb.usage["graph reads"] > 0
