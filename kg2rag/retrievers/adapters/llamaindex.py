"""LlamaIndex's retrievers <-> ours; needs `pip install llama-index-core`.

engine = RetrieverQueryEngine.from_args(as_llamaindex(kg2rag.MentionPPR(kb), kb.corpus, k=5))
kg2rag.compare({"theirs": FromLlamaIndex(their_retriever, kb.corpus)}, data)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from kg2rag.retrievers.adapters.matching import Matcher, ranked
from kg2rag.retrievers.contract import Retriever
from kg2rag.types.corpus import Corpus
from kg2rag.types.passages import Query
from kg2rag.types.rankings import Ranking


class KG2RAGRetriever(BaseRetriever):  # type: ignore[misc]
    """One of our systems as LlamaIndex's; make one with `as_llamaindex`."""

    def __init__(self, retriever: Retriever, corpus: Corpus, k: int) -> None:
        super().__init__()
        self._retriever, self._corpus, self._k = retriever, corpus, k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        nodes = []
        for hit in self._retriever.retrieve(query_bundle.query_str, self._k):
            passage = self._corpus[self._corpus.row(hit.passage_id)]
            metadata = {"title": passage.title, "doc_id": passage.doc_id, "stage": hit.stage, "path": hit.path_text}
            node = TextNode(id_=passage.id, text=passage.text, metadata=metadata)
            nodes.append(NodeWithScore(node=node, score=hit.score))
        return nodes


def as_llamaindex(retriever: Retriever, corpus: Corpus, k: int = 10) -> KG2RAGRetriever:
    """A LlamaIndex retriever of `k` nodes; their metadata hold title, doc_id, stage and path."""
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}.")
    return KG2RAGRetriever(retriever, corpus, k)


@dataclass(frozen=True)
class FromLlamaIndex(Retriever):
    """A LlamaIndex retriever as one of our systems.

    A node is the passage of that id, else the one with that very text; the order is the retriever's, the score 1/rank.
    It hands out as many as it does, whatever `k` asks for.
    """

    retriever: BaseRetriever = field(repr=False)
    corpus: Corpus = field(repr=False)
    name: str = "llamaindex"

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Ask for one query after another.

        Raises
        ------
        ValueError : a node that is no passage of the corpus, a query with candidates, which LlamaIndex's retrievers
            do not know, or `k` below 1.
        """
        match = self._match
        return [
            ranked(query, [match.row(n.node.node_id, n.node.get_content()) for n in self._ask(query)], match, k)
            for query in queries
        ]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Nothing that we know of."""

    @cached_property
    def _match(self) -> Matcher:
        return Matcher(self.corpus, self.name)

    def _ask(self, query: Query) -> list[NodeWithScore]:
        nodes: list[NodeWithScore] = self.retriever.retrieve(query.text)
        return nodes
