"""LlamaIndex's retrievers <-> ours; needs `pip install llama-index-core`.

engine = RetrieverQueryEngine.from_args(as_llamaindex(kg2rag.MentionPPR(kb), kb.corpus, k=5))
kg2rag.compare({"theirs": from_llamaindex(their_retriever, kb.corpus)}, data)
"""

from __future__ import annotations

from collections.abc import Iterator

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from kg2rag.retrievers.adapters.bridge import Ours, answering
from kg2rag.retrievers.adapters.recorded import Answering
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Corpus


class KG2RAGRetriever(BaseRetriever):  # type: ignore[misc]
    """One of our systems as LlamaIndex's; make one with `as_llamaindex`."""

    def __init__(self, ours: Ours) -> None:
        super().__init__()
        self._ours = ours

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(id_=passage.id, text=passage.text, metadata=about), score=hit.score)
            for passage, hit, about in self._ours.hits(query_bundle.query_str)
        ]


def as_llamaindex(retriever: Retriever, corpus: Corpus, k: int = 10) -> KG2RAGRetriever:
    """A LlamaIndex retriever of `k` nodes; their metadata hold title, doc_id, stage and path."""
    return KG2RAGRetriever(Ours(retriever, corpus, k))


def from_llamaindex(retriever: BaseRetriever, corpus: Corpus, name: str = "llamaindex") -> Answering:
    """A LlamaIndex retriever as one of our systems; a node's id is its `node_id`."""

    def documents(text: str) -> Iterator[tuple[str | None, str]]:
        for found in retriever.retrieve(text):
            yield found.node.node_id, found.node.get_content()

    return answering(corpus, documents, name)
