"""LangChain's retrievers and ours, both ways, with the real package."""

from __future__ import annotations

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

import kg2rag
from kg2rag import Query
from kg2rag.retrievers.adapters.langchain import as_langchain, from_langchain


class Fixed(BaseRetriever):
    """Always the same documents."""

    documents: list[Document]

    def _get_relevant_documents(
        self,
        query: str,  # noqa: ARG002
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        return self.documents


@pytest.fixture(scope="module")
def bm25(bundled: kg2rag.QADataset) -> kg2rag.BM25:
    return kg2rag.BM25(kg2rag.KnowledgeBase.build(bundled.corpus))


def test_documents_are_our_hits_in_our_order(bm25: kg2rag.BM25, bundled: kg2rag.QADataset) -> None:
    documents = as_langchain(bm25, bundled.corpus, k=3).invoke("Who began FastAPI?")
    hits = list(bm25.retrieve("Who began FastAPI?", 3))
    assert [document.id for document in documents] == [hit.passage_id for hit in hits]
    first = bundled.corpus[bundled.corpus.row(hits[0].passage_id)]
    assert (documents[0].page_content, documents[0].metadata["title"]) == (first.text, first.title)
    assert documents[0].metadata["score"] == hits[0].score


def test_there_and_back_is_the_same_ranking(bm25: kg2rag.BM25, bundled: kg2rag.QADataset) -> None:
    system = from_langchain(as_langchain(bm25, bundled.corpus, k=5), bundled.corpus)
    ours, theirs = (one.retrieve_batch(bundled.queries[:5], 5) for one in (bm25, system))
    assert [ranking.passage_ids for ranking in theirs] == [ranking.passage_ids for ranking in ours]


def test_documents_without_ids_are_found_by_their_text(bundled: kg2rag.QADataset) -> None:
    passage = bundled.corpus[7]
    theirs = Fixed(documents=[Document(page_content=passage.text), Document(page_content=passage.text)])
    assert from_langchain(theirs, bundled.corpus).retrieve("anything", 5).passage_ids == [passage.id]


def test_a_document_of_another_corpus_is_an_error(bundled: kg2rag.QADataset) -> None:
    theirs = Fixed(documents=[Document(page_content="something else")])
    with pytest.raises(ValueError, match=r"begins 'something else', is no passage of the corpus"):
        from_langchain(theirs, bundled.corpus).retrieve("anything", 5)


def test_candidates_are_refused_and_not_ignored(bundled: kg2rag.QADataset) -> None:
    theirs = from_langchain(Fixed(documents=[]), bundled.corpus)
    with pytest.raises(ValueError, match="knows no candidates"):
        theirs.retrieve_batch([Query("q", "?", (bundled.corpus.ids[0],))], 5)
