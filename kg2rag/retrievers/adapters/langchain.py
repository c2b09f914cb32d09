"""LangChain's retrievers <-> ours; needs `pip install langchain-core`.

chain = as_langchain(kg2rag.MentionPPR(kb), kb.corpus, k=5) | …
kg2rag.compare({"theirs": FromLangChain(their_retriever, kb.corpus)}, data)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from kg2rag.retrievers.adapters.matching import Matcher, ranked
from kg2rag.retrievers.contract import Retriever
from kg2rag.types.corpus import Corpus
from kg2rag.types.passages import Query
from kg2rag.types.rankings import Ranking


class KG2RAGRetriever(BaseRetriever):
    """One of our systems as LangChain's; make one with `as_langchain`."""

    retriever: Any
    corpus: Any
    k: int

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 (LangChain passes it by name)
    ) -> list[Document]:
        documents = []
        for hit in self.retriever.retrieve(query, self.k):
            passage = self.corpus[self.corpus.row(hit.passage_id)]
            about = {"title": passage.title, "doc_id": passage.doc_id, "score": hit.score, "stage": hit.stage}
            metadata = {**about, "path": hit.path_text}
            documents.append(Document(id=passage.id, page_content=passage.text, metadata=metadata))
        return documents


def as_langchain(retriever: Retriever, corpus: Corpus, k: int = 10) -> KG2RAGRetriever:
    """A LangChain retriever of `k` documents; their metadata hold title, doc_id, score, stage and path."""
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}.")
    return KG2RAGRetriever(retriever=retriever, corpus=corpus, k=k)


@dataclass(frozen=True)
class FromLangChain(Retriever):
    """A LangChain retriever as one of our systems.

    A document is the passage of that id (`Document.id`, else `metadata["id"]`), else the one with that very text; the
    order is the retriever's, the score 1/rank. It hands out as many as it does, whatever `k` asks for.
    """

    retriever: BaseRetriever = field(repr=False)
    corpus: Corpus = field(repr=False)
    name: str = "langchain"

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Ask for one query after another.

        Raises
        ------
        ValueError : a document that is no passage of the corpus, a query with candidates, which LangChain's
            retrievers do not know, or `k` below 1.
        """
        match = self._match
        return [
            ranked(query, [match.row(d.id or d.metadata.get("id"), d.page_content) for d in self._ask(query)], match, k)
            for query in queries
        ]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Nothing that we know of."""

    @cached_property
    def _match(self) -> Matcher:
        return Matcher(self.corpus, self.name)

    def _ask(self, query: Query) -> list[Document]:
        return self.retriever.invoke(query.text)
