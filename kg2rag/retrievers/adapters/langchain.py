"""LangChain's retrievers <-> ours; needs `pip install langchain-core`.

chain = as_langchain(kg2rag.MentionPPR(kb), kb.corpus, k=5) | …
kg2rag.compare({"theirs": from_langchain(their_retriever, kb.corpus)}, data)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from kg2rag.retrievers.adapters.bridge import Ours, answering
from kg2rag.retrievers.adapters.recorded import Answering
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Corpus


class KG2RAGRetriever(BaseRetriever):
    """One of our systems as LangChain's; make one with `as_langchain`."""

    ours: Any

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 (LangChain passes it by name)
    ) -> list[Document]:
        return [
            Document(id=passage.id, page_content=passage.text, metadata={**about, "score": hit.score})
            for passage, hit, about in self.ours.hits(query)
        ]


def as_langchain(retriever: Retriever, corpus: Corpus, k: int = 10) -> KG2RAGRetriever:
    """A LangChain retriever of `k` documents; their metadata hold title, doc_id, score, stage and path."""
    return KG2RAGRetriever(ours=Ours(retriever, corpus, k))


def from_langchain(retriever: BaseRetriever, corpus: Corpus, name: str = "langchain") -> Answering:
    """A LangChain retriever as one of our systems; a document's id is `Document.id`, else `metadata["id"]`."""

    def documents(text: str) -> Iterator[tuple[str | None, str]]:
        for document in retriever.invoke(text):
            yield document.id or document.metadata.get("id"), document.page_content

    return answering(corpus, documents, name)
