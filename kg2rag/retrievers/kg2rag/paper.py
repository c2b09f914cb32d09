"""The two KG2RAG systems of the catalogue: as the paper defines it, and as its code was released.

Zhu et al., "Knowledge Graph-Guided Retrieval Augmented Generation", NAACL 2025. `expand`, `organise` and `official`
list what is theirs and what is ours.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, TypeVar, get_type_hints

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.contract import Pipeline
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.kg2rag.expand import Expand
from kg2rag.retrievers.kg2rag.official import KG2RAGOfficial, Switches
from kg2rag.retrievers.kg2rag.organise import Arrangement, Fill, Organise, Overflow
from kg2rag.retrievers.rerankers import DEFAULT_RERANKER, named

Official = TypeVar("Official", bound=Callable[..., KG2RAGOfficial])


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
    reranker: str = DEFAULT_RERANKER,
) -> Pipeline:
    """Dense seeds, their surroundings in the triple graph, and the passages of its best spanning trees.

    `reranker` is "bi-encoder" or the name or folder of a cross-encoder; the paper's is BAAI/bge-reranker-large.
    Without `expansion` the seeds alone are organised; without `organisation` the expanded passages are ranked by
    similarity: the paper's two ablations.
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


def with_switches(build: Official) -> Official:
    """List every field of `Switches` in a builder's signature, which the catalogue and sweeps read."""
    signature, hints = inspect.signature(build), get_type_hints(Switches)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    switches = [
        each.replace(kind=each.KEYWORD_ONLY, annotation=hints[each.name])
        for each in inspect.signature(Switches).parameters.values()
    ]
    vars(build)["__signature__"] = signature.replace(parameters=[*own, *switches])
    build.__annotations__ = {**build.__annotations__, **hints}
    return build


@with_switches
def kg2rag_official(
    kb: KnowledgeBase,
    *,
    mode: Literal["hotpotqa", "musique"] = "musique",
    seeds: int = 10,
    context: int = 10,
    hops: int = 1,
    reranker: str = DEFAULT_RERANKER,
    organisation: bool = True,
    **switches: Any,
) -> KG2RAGOfficial:
    """KG2RAG as released; every switch of `Switches` is a parameter, so that "paper versus code" is one sweep."""
    chosen = Switches(**switches)
    return KG2RAGOfficial(kb, chosen, mode, seeds, context, hops, named(reranker, kb), organisation=organisation)
