"""The catalogue: name -> builder of the system; docs/extending.md describes how to add one."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping

from kg2rag.extraction.entity_matching import EntityMatching
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.announcement import announce
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.contract import Pipeline, Retriever
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.fusion import RRF_CONSTANT, Fusion, fuse
from kg2rag.retrievers.rerankers import Rerank, named
from kg2rag.retrievers.system_parts import workloads
from kg2rag.text.registry import Registry
from kg2rag.types import checked

COLOUR = "#8C6BB1"  # of the systems in this file, in plots


@checked
def hybrid(
    kb: KnowledgeBase,
    *,
    dense_weight: float = 1.0,
    bm25_weight: float = 1.0,
    constant: float = RRF_CONSTANT,
    depth: int = 100,
) -> Fusion:
    """Dense and BM25 by reciprocal rank fusion."""
    return fuse(
        Dense(kb),
        BM25(kb),
        weights=(dense_weight, bm25_weight),
        constant=constant,
        depth=depth,
    )


@checked
def rerank(
    kb: KnowledgeBase,
    *,
    retriever: str = "bm25",
    reranker: str = "bi-encoder",
    depth: int = 100,
) -> Pipeline:
    """Another system's hits, reranked by a name of `rerankers.RERANKERS` or a cross-encoder."""
    return build(retriever, kb) >> Rerank(kb, reranker=named(reranker, kb), depth=depth)


SYSTEMS: Registry[Retriever] = Registry(
    "system",
    {
        "bm25": "kg2rag.retrievers.bm25:BM25",
        "confidence_gated": "kg2rag.retrievers.designs.confidence_gated:ConfidenceGated",
        "dense": "kg2rag.retrievers.dense:Dense",
        "dynamic_hybrid": "kg2rag.retrievers.designs.dynamic_hybrid.retriever:DynamicHybrid",
        "expansion_queries": "kg2rag.retrievers.expansion_queries:ExpansionQueries",
        "graph_augmented": "kg2rag.retrievers.designs.graph_augmented:graph_augmented",
        "graphrag_local": "kg2rag.retrievers.published.graphrag_local:GraphRAGLocal",
        "hippo1": "kg2rag.retrievers.published.hipporag.retrievers:HippoRAG",
        "hippo2": "kg2rag.retrievers.published.hipporag.retrievers:HippoRAG2",
        "hybrid": hybrid,
        "kg2rag": "kg2rag.retrievers.published.kg2rag.paper:kg2rag",
        "kg2rag_official": "kg2rag.retrievers.published.kg2rag.official:KG2RAGOfficial",
        "lightrag": "kg2rag.retrievers.published.lightrag:LightRAG",
        "linearrag": "kg2rag.retrievers.published.linear_rag:LinearRAG",
        "mention_chains": "kg2rag.retrievers.mention_chains.retriever:MentionChains",
        "mention_ppr": "kg2rag.retrievers.mention_ppr.retriever:MentionPPR",
        "pattern": "kg2rag.retrievers.pattern:Pattern",
        "practical_graphrag": "kg2rag.retrievers.published.practical_graphrag:PracticalGraphRAG",
        "proprag": "kg2rag.retrievers.published.proprag:PathSearch",
        "rerank": rerank,
        "vector_first": "kg2rag.retrievers.designs.vector_first:VectorFirst",
    },
    group="kg2rag.systems",
    context=1,
)
CORE = (
    "bm25",
    "dense",
    "hybrid",
    "expansion_queries",
    "graph_augmented",
    "mention_ppr",
    "mention_chains",
)
"""The systems that a first comparison shows; they need no more than the passages' vectors and a graph."""


def names() -> tuple[str, ...]:
    """Every named system, those of installed packages included, sorted."""
    return SYSTEMS.names()


def parameters(name: str) -> dict[str, object]:
    """The parameters of a system and their defaults; `settings` of `build` may hold these."""
    return SYSTEMS.parameters(name)


def colour(name: str) -> str | None:
    """The colour of a system in plots, `COLOUR` of its file; None if there is none."""
    if name not in SYSTEMS.entries:
        return None
    return getattr(sys.modules[SYSTEMS.entry(name).__module__], "COLOUR", None)


def build(name: str, kb: KnowledgeBase, **settings: object) -> Retriever:
    """The system of a name, such as "bm25" or "bm25(k1=1.2)".

    `settings` : parameter -> value, in place of the default. ParameterError: an unknown system or
    parameter (the known ones are listed), or a value that the system refuses.
    """
    return SYSTEMS.build(name, kb, settings=settings)


def recommended(kb: KnowledgeBase, name: str | None = None) -> Retriever:
    """The named system; without a name `mention_chains`.

    `mention_chains` walks the triples only of an imported graph, whose source is `EntityMatching`.
    """
    if name is not None:
        return build(name, kb)
    triple_weight = 1.0 if isinstance(kb.source, EntityMatching) else 0.0
    return build("mention_chains", kb, triple_weight=triple_weight)


def announce_recommended(kb: KnowledgeBase, name: str | None = None) -> Retriever:
    """The system of `kb.retrieve`: `recommended`, with its cost printed on stderr."""
    system = recommended(kb, name)
    announce("Before the first answer", workloads(system, ()))
    return system


def label(system: object) -> str:
    """The default name of a system: its catalogue name, else the name of its class.

    A fusion is named "dense+bm25", a pipeline "bm25-Rerank", after its members.
    """
    members = getattr(system, "retrievers", ())
    if members:
        return "+".join(map(label, members))
    if isinstance(system, Pipeline):
        return "-".join(map(label, (system.retriever, *system.stages)))
    kind = type(system)
    name_of = {
        entry: name for name, entry in SYSTEMS.entries.items() if isinstance(entry, str)
    }
    return name_of.get(f"{kind.__module__}:{kind.__name__}", kind.__name__)


def systems_by_name(specifications: Iterable[str]) -> dict[str, str]:
    """Name -> system, from specifications such as ["dense", "far=graph_augmented(hops=2)"].

    A system without a name gets one from its text: "bm25(k1=1.2)" becomes bm25-k1-1.2,
    "my.module:Class" becomes Class. ValueError: a name is given twice or belongs to another system.
    """
    system_of: dict[str, str] = {}
    for text in map(str.strip, specifications):
        name, system = _name_and_system(text)
        if name in system_of:
            raise ValueError(
                f"{name!r} is named twice. Name its variants: a={system},b={system}, and set b.PARAMETER."
            )
        if name != system and name in SYSTEMS:
            raise ValueError(
                f"{text!r}: {name!r} is a system itself. Give the variant another name."
            )
        system_of[name] = system
    return system_of


def _name_and_system(text: str) -> tuple[str, str]:
    """The name and the system of "name=system", or of a system without a name."""
    name, equals, system = (part.strip() for part in text.partition("="))
    if "(" in name or not equals:  # the "=" of "bm25(k1=1.2)" belongs to a parameter
        path, bracket, parameters = text.partition("(")
        spelling = f"{path.rpartition(':')[2]}{bracket}{parameters}"
        return re.sub(r"[^\w.+]+", "-", spelling).strip("-"), text
    if not name or not system or "." in name:
        raise ValueError(
            f"{text!r}: write name=system, such as far=graph_augmented(hops=2); a name has no '.'."
        )
    return name, system


def build_all(
    kb: KnowledgeBase,
    wanted: Iterable[str] | Mapping[str, str] | None = None,
    settings: Mapping[str, Mapping[str, object]] | None = None,
    *,
    modules: bool = False,
) -> dict[str, Retriever]:
    """Name -> retriever, for the wanted systems; by default for every system of the catalogue.

    `wanted` : specifications as for `systems_by_name`, or name -> system. `settings` : name -> parameters.
    `modules` : whether a system may be "my.module:Class", which runs the code of the module; False for
    systems named in a file.
    """
    if wanted is None:
        wanted = names()
    system_of = wanted if isinstance(wanted, Mapping) else systems_by_name(wanted)
    parameters_of = settings or {}
    for name in parameters_of:
        if name not in system_of:
            compared = ", ".join(sorted(system_of))
            raise ValueError(
                f"Parameters are set for {name!r}, which is not compared. Compared: {compared}."
            )
    return {
        name: SYSTEMS.build(
            system, kb, settings=parameters_of.get(name), modules=modules
        )
        for name, system in system_of.items()
    }
