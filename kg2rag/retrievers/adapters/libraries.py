"""Retrievers of LangChain and LlamaIndex <-> ours; needs `langchain-core` or `llama-index-core`.

chain = as_langchain(kg2rag.MentionPPR(kb), k=5) | …
engine = RetrieverQueryEngine.from_args(as_llamaindex(kg2rag.MentionPPR(kb), k=5))
kg2rag.compare({"theirs": from_langchain(their_retriever, kb.corpus)}, data)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from kg2rag.retrievers.adapters.recorded import Answering
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Corpus, Hit

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever


def as_langchain(retriever: Retriever, k: int = 10) -> BaseRetriever:
    """A LangChain retriever of `k` documents.

    Their metadata are title, doc_id, score, stage and path.
    """
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    def document(hit: Hit) -> Document:
        return Document(
            id=hit.passage_id,
            page_content=hit.text,
            metadata={**_metadata(hit), "score": hit.score},
        )

    class KG2RAGRetriever(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return list(map(document, retriever.retrieve(query, k)))

    return KG2RAGRetriever()


def as_llamaindex(retriever: Retriever, k: int = 10) -> Any:
    """A LlamaIndex retriever of `k` nodes; their metadata are title, doc_id, stage and path."""
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    def node(hit: Hit) -> Any:
        return NodeWithScore(
            node=TextNode(id_=hit.passage_id, text=hit.text, metadata=_metadata(hit)),
            score=hit.score,
        )

    class KG2RAGRetriever(BaseRetriever):  # type: ignore[misc]
        def _retrieve(self, query_bundle: Any) -> list[Any]:
            return list(map(node, retriever.retrieve(query_bundle.query_str, k)))

    return KG2RAGRetriever()


def _metadata(hit: Hit) -> dict[str, str]:
    """The metadata of a hit in another library's document."""
    return {
        "title": hit.title,
        "doc_id": hit.passage.doc_id,
        "stage": hit.stage,
        "path": hit.path_text,
    }


def from_langchain(
    retriever: BaseRetriever, corpus: Corpus, name: str = "langchain"
) -> Answering:
    """A LangChain retriever as a system.

    The id of a document is `Document.id`, else `metadata["id"]`.
    """
    return _answering(
        corpus,
        name,
        retriever.invoke,
        lambda document: (
            document.id or document.metadata.get("id"),
            document.page_content,
        ),
    )


def from_llamaindex(
    retriever: Any, corpus: Corpus, name: str = "llamaindex"
) -> Answering:
    """A LlamaIndex retriever as a system; the id of a node is its `node_id`."""
    return _answering(
        corpus,
        name,
        retriever.retrieve,
        lambda scored: (scored.node.node_id, scored.node.get_content()),
    )


def _answering(
    corpus: Corpus,
    name: str,
    retrieve: Callable[[str], Iterable[Any]],
    read: Callable[[Any], tuple[str | None, str]],
) -> Answering:
    """Another library's retriever as a system; `read` gives the id and text of a document.

    A document is the passage with its id, else the passage with its exact text. Of repeated documents
    the first counts.
    """
    texts: list[str] = corpus.table["text"].to_pylist()
    ids_of_corpus = set(corpus.ids)
    id_of_text = dict(zip(reversed(texts), reversed(corpus.ids), strict=True))

    def search(question: str, k: int) -> list[str]:
        passage_ids: dict[str, None] = {}
        for document_id, text in map(read, retrieve(question)):
            passage_id = (
                document_id if document_id in ids_of_corpus else id_of_text.get(text)
            )
            if passage_id is None:
                raise ValueError(
                    f"{name}: the document {document_id!r}, which begins {text[:60]!r}, is no passage of the corpus, "
                    "neither by its id nor by its text. Index the corpus's passages with their ids."
                )
            passage_ids[passage_id] = None
        return list(passage_ids)[:k]

    return Answering(corpus, search, name)
