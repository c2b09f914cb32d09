"""LlamaIndex's retrievers and ours, both ways, with the real package."""

from __future__ import annotations

import pytest
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

import kg2rag
from kg2rag import Query
from kg2rag.retrievers.adapters.llamaindex import as_llamaindex, from_llamaindex


class Fixed(BaseRetriever):
    """Always the same texts."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self.texts = texts

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:  # noqa: ARG002
        return [NodeWithScore(node=TextNode(text=text), score=1.0) for text in self.texts]


@pytest.fixture(scope="module")
def bm25(bundled: kg2rag.QADataset) -> kg2rag.BM25:
    return kg2rag.BM25(kg2rag.KnowledgeBase.build(bundled.corpus))


def test_nodes_are_our_hits_in_our_order(bm25: kg2rag.BM25, bundled: kg2rag.QADataset) -> None:
    nodes = as_llamaindex(bm25, bundled.corpus, k=3).retrieve("Who began FastAPI?")
    hits = list(bm25.retrieve("Who began FastAPI?", 3))
    assert [(node.node.node_id, node.score) for node in nodes] == [(hit.passage_id, hit.score) for hit in hits]
    first = bundled.corpus[bundled.corpus.row(hits[0].passage_id)]
    assert (nodes[0].node.get_content(), nodes[0].node.metadata["title"]) == (first.text, first.title)


def test_there_and_back_is_the_same_ranking(bm25: kg2rag.BM25, bundled: kg2rag.QADataset) -> None:
    system = from_llamaindex(as_llamaindex(bm25, bundled.corpus, k=5), bundled.corpus)
    ours, theirs = (one.retrieve_batch(bundled.queries[:5], 5) for one in (bm25, system))
    assert [ranking.passage_ids for ranking in theirs] == [ranking.passage_ids for ranking in ours]


def test_nodes_with_ids_of_their_own_are_found_by_their_text(bundled: kg2rag.QADataset) -> None:
    passage = bundled.corpus[7]
    assert from_llamaindex(Fixed(passage.text), bundled.corpus).retrieve("anything", 5).passage_ids == [passage.id]


def test_a_node_of_another_corpus_is_an_error(bundled: kg2rag.QADataset) -> None:
    with pytest.raises(ValueError, match=r"begins 'something else', is no passage of the corpus"):
        from_llamaindex(Fixed("something else"), bundled.corpus).retrieve("anything", 5)


def test_candidates_are_refused_and_not_ignored(bundled: kg2rag.QADataset) -> None:
    with pytest.raises(ValueError, match="knows no candidates"):
        from_llamaindex(Fixed(), bundled.corpus).retrieve_batch([Query("q", "?", (bundled.corpus.ids[0],))], 5)
