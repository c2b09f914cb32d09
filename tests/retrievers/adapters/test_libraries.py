"""Retrievers of LangChain and LlamaIndex and ours, both ways, with the real packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from llama_index.core.retrievers import BaseRetriever as LlamaRetriever
from llama_index.core.schema import NodeWithScore, TextNode

import kg2rag
from kg2rag import Query
from kg2rag.retrievers.adapters.libraries import (
    as_langchain,
    as_llamaindex,
    from_langchain,
    from_llamaindex,
)


class LangChainTexts(BaseRetriever):
    texts: list[str]

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return [Document(page_content=text) for text in self.texts]


class LlamaIndexTexts(LlamaRetriever):
    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self.texts = texts

    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(text=text), score=1.0) for text in self.texts
        ]


class Library(NamedTuple):
    """How a library is entered and left, always the same texts, and its hits' id, text, title and score."""

    theirs: Callable[..., Any]
    ours: Callable[..., Any]
    always: Callable[[list[str]], Any]
    shown: Callable[[Any], tuple[str, str, str, float]]


LIBRARIES = {
    "LangChain": Library(
        as_langchain,
        from_langchain,
        lambda texts: LangChainTexts(texts=texts),
        lambda hit: (
            hit.id,
            hit.page_content,
            hit.metadata["title"],
            hit.metadata["score"],
        ),
    ),
    "LlamaIndex": Library(
        as_llamaindex,
        from_llamaindex,
        LlamaIndexTexts,
        lambda hit: (
            hit.node.node_id,
            hit.node.get_content(),
            hit.node.metadata["title"],
            hit.score,
        ),
    ),
}
pytestmark = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)


def test_a_library_gets_our_hits_in_our_order(library: Library) -> None:
    bundled = kg2rag.load("bundled")
    bm25 = kg2rag.BM25(kg2rag.KnowledgeBase.build(bundled.corpus))
    theirs, hits = library.theirs(bm25, k=3), bm25.retrieve("Who began FastAPI?", 3)
    found = (theirs.invoke if hasattr(theirs, "invoke") else theirs.retrieve)(
        "Who began FastAPI?"
    )
    assert list(map(library.shown, found)) == [
        (hit.passage_id, hit.text, hit.title, hit.score) for hit in hits
    ]
    there_and_back = library.ours(library.theirs(bm25, k=5), bundled.corpus)
    ours, theirs = (
        one.retrieve_batch(bundled.queries[:5], 5) for one in (bm25, there_and_back)
    )
    assert [ranking.passage_ids for ranking in theirs] == [
        ranking.passage_ids for ranking in ours
    ]


def test_hits_without_our_ids_are_found_by_their_text_and_strangers_are_errors(
    library: Library,
) -> None:
    corpus = kg2rag.load("bundled").corpus
    passage = corpus[7]
    theirs = library.ours(library.always([passage.text, passage.text]), corpus)
    assert theirs.retrieve("anything", 5).passage_ids == [passage.id]
    with pytest.raises(ValueError, match="something else"):
        library.ours(library.always(["something else"]), corpus).retrieve("anything", 5)
    with pytest.raises(ValueError, match="candidates"):
        theirs.retrieve_batch([Query("q", "?", (corpus.ids[0],))], 5)
