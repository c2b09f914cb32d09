"""The two KG2RAG systems of the catalogue: as the paper defines it, and as its code was released.

Zhu et al., "Knowledge Graph-Guided Retrieval Augmented Generation", NAACL 2025. What is theirs and what ours stands in
`stages.expand`, `stages.organise` and `retrievers.kg2rag_official`.
"""

from __future__ import annotations

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.retrievers.contract import Pipeline
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.kg2rag.expand import Expand
from kg2rag.retrievers.kg2rag.official import KG2RAGOfficial, Switches
from kg2rag.retrievers.kg2rag.official.switches import EdgeOrder, Entities, Expansion, Order, Refill, Score, Text
from kg2rag.retrievers.kg2rag.organise import Arrangement, Fill, Organise, Overflow
from kg2rag.retrievers.rerankers.encoders import BI_ENCODER, named


def kg2rag(
    kb: KnowledgeBase,
    *,
    hops: int = 1,
    seeds: int = 10,
    context: int = 10,
    overflow: Overflow = "cut",
    fill: Fill = "unlinked",
    arrangement: Arrangement = "depth_first",
    expansion: bool = True,
    organisation: bool = True,
    reranker: str = BI_ENCODER,
) -> Pipeline:
    """Dense seeds, their surroundings in the triple graph, and the passages of its best spanning trees.

    `reranker` is "bi-encoder" or the name or folder of a cross-encoder; the paper's is BAAI/bge-reranker-large.
    Without `expansion` the seeds alone are organised; without `organisation` what was expanded comes by similarity:
    the paper's two ablations.
    """
    if not (expansion or organisation):
        raise ValueError("kg2rag without expansion and organisation is dense retrieval: use the system 'dense'.")
    organise = Organise(
        kb,
        context=context,
        overflow=overflow,
        fill=fill,
        arrangement=arrangement,
        reranker=named(reranker, kb),
        depth=1000 if expansion else seeds,
    )
    if not expansion:
        return Dense(kb) >> organise
    expanded = Dense(kb) >> Expand(kb, hops=hops, seeds=seeds)
    return expanded >> organise if organisation else expanded


def kg2rag_official(
    kb: KnowledgeBase,
    *,
    mode: str = "musique",
    seeds: int = 10,
    context: int = 10,
    hops: int = 1,
    reranker: str = BI_ENCODER,
    organisation: bool = True,
    expansion: Expansion = "titles",
    expanded_score: Score = "smoothed",
    all_seed_titles: bool = False,
    titles_without_triples: bool = False,
    entities: Entities = "spelling",
    query_edges: bool = True,
    short_spans_match: bool = True,
    self_loops: bool = True,
    edge_order: EdgeOrder = "iteration",
    rerank_on: Text = "text",
    repeat_passages: bool = True,
    overflow: Overflow = "stop",
    refill: Refill = "misaligned",
    order: Order = "similarity",
    group_titles: bool = True,
    separator: str = ": ",
) -> KG2RAGOfficial:
    """KG2RAG as released; every switch of `Switches` is a parameter, so that "paper versus code" is one sweep."""
    switches = Switches(
        expansion=expansion,
        expanded_score=expanded_score,
        all_seed_titles=all_seed_titles,
        titles_without_triples=titles_without_triples,
        entities=entities,
        query_edges=query_edges,
        short_spans_match=short_spans_match,
        self_loops=self_loops,
        edge_order=edge_order,
        rerank_on=rerank_on,
        repeat_passages=repeat_passages,
        overflow=overflow,
        refill=refill,
        order=order,
        group_titles=group_titles,
        separator=separator,
    )
    return KG2RAGOfficial(kb, switches, mode, seeds, context, hops, named(reranker, kb), organisation=organisation)
