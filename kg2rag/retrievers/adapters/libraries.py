"""Retrievers of LangChain and LlamaIndex <-> ours; needs `pip install langchain-core` or `llama-index-core`.

chain = as_langchain(kg2rag.MentionPPR(kb), kb.corpus, k=5) | …
engine = RetrieverQueryEngine.from_args(as_llamaindex(kg2rag.MentionPPR(kb), kb.corpus, k=5))
kg2rag.compare({"theirs": from_langchain(their_retriever, kb.corpus)}, data)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kg2rag.retrievers.adapters.recorded import Answering
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Corpus, Hit, Passage, require_k

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever


def as_langchain(retriever: Retriever, corpus: Corpus, k: int = 10) -> BaseRetriever:
    """A LangChain retriever of `k` documents; their metadata hold title, doc_id, score, stage and path."""
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    require_k(k)

    class KG2RAGRetriever(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return [
                Document(id=passage.id, page_content=passage.text, metadata={**about, "score": hit.score})
                for passage, hit, about in _hits(retriever, corpus, query, k)
            ]

    return KG2RAGRetriever()


def from_langchain(retriever: BaseRetriever, corpus: Corpus, name: str = "langchain") -> Answering:
    """A LangChain retriever as one of our systems; a document's id is `Document.id`, else `metadata["id"]`."""

    def documents(text: str) -> Iterator[tuple[str | None, str]]:
        for document in retriever.invoke(text):
            yield document.id or document.metadata.get("id"), document.page_content

    return _answering(corpus, documents, name)


def as_llamaindex(retriever: Retriever, corpus: Corpus, k: int = 10) -> Any:
    """A LlamaIndex retriever of `k` nodes; their metadata hold title, doc_id, stage and path."""
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    require_k(k)

    class KG2RAGRetriever(BaseRetriever):  # type: ignore[misc]
        def _retrieve(self, query_bundle: Any) -> list[Any]:
            return [
                NodeWithScore(node=TextNode(id_=passage.id, text=passage.text, metadata=about), score=hit.score)
                for passage, hit, about in _hits(retriever, corpus, query_bundle.query_str, k)
            ]

    return KG2RAGRetriever()


def from_llamaindex(retriever: Any, corpus: Corpus, name: str = "llamaindex") -> Answering:
    """A LlamaIndex retriever as one of our systems; a node's id is its `node_id`."""

    def documents(text: str) -> Iterator[tuple[str | None, str]]:
        for found in retriever.retrieve(text):
            yield found.node.node_id, found.node.get_content()

    return _answering(corpus, documents, name)


def _hits(retriever: Retriever, corpus: Corpus, text: str, k: int) -> Iterator[tuple[Passage, Hit, dict[str, str]]]:
    """Of each hit its passage, the hit, and the metadata of another library's document."""
    for hit in retriever.retrieve(text, k):
        passage = corpus[corpus.row(hit.passage_id)]
        about = {"title": passage.title, "doc_id": passage.doc_id, "stage": hit.stage, "path": hit.path_text}
        yield passage, hit, about


def _answering(corpus: Corpus, documents: Callable[[str], Iterable[tuple[str | None, str]]], name: str) -> Answering:
    """Another library's retriever as a system; `documents`: of a question, (id, text) of each, best first.

    A document is the passage of its id, else the one with that very text; one that comes again keeps its first place.
    A document that is no passage of the corpus is an error, never left out.
    """
    texts: list[str] = corpus.table["text"].to_pylist()
    known, by_text = set(corpus.ids), dict(zip(reversed(texts), reversed(corpus.ids), strict=True))

    def passage_id(id_: str | None, text: str) -> str:
        found = id_ if id_ in known else by_text.get(text)
        if found is None:
            raise ValueError(
                f"{name}: the document {id_!r}, which begins {text[:60]!r}, is no passage of the corpus, neither by "
                "its id nor by its text. Index the corpus's passages with their ids."
            )
        return found

    def found(question: str, k: int) -> list[str]:
        return list(dict.fromkeys(passage_id(*document) for document in documents(question)))[:k]

    return Answering(corpus, found, name)
