"""The catalogue: name -> how to build that system over a knowledge base.

To add a strategy: one file in `retrievers/` and one line in `SYSTEMS`, or an entry point `kg2rag.systems` of another
package; see docs/add_a_strategy.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast, get_args

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import rerankers
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.confidence_gated import ConfidenceGated
from kg2rag.retrievers.contract import Pipeline, Retriever
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.dynamic_hybrid.analysis import Analyser
from kg2rag.retrievers.dynamic_hybrid.retriever import DynamicHybrid
from kg2rag.retrievers.expansion_queries import ExpansionQueries
from kg2rag.retrievers.fusion import RRF_CONSTANT, Fusion, fuse
from kg2rag.retrievers.graph_augmented import graph_augmented
from kg2rag.retrievers.hipporag.hipporag1 import HippoRAG
from kg2rag.retrievers.hipporag.hipporag2 import HippoRAG2
from kg2rag.retrievers.kg2rag.official import kg2rag_official
from kg2rag.retrievers.kg2rag.organise import kg2rag
from kg2rag.retrievers.linear_rag.retriever import LinearRAG
from kg2rag.retrievers.mention_chains.chains import DEFAULT
from kg2rag.retrievers.mention_chains.retriever import MentionChains
from kg2rag.retrievers.mention_ppr.retriever import MentionPPR
from kg2rag.retrievers.path import PathSearch
from kg2rag.retrievers.pattern import Pattern
from kg2rag.retrievers.practical import PracticalGraphRAG
from kg2rag.retrievers.rerankers import Rerank
from kg2rag.retrievers.vector_first import VectorFirst
from kg2rag.text import plugins
from kg2rag.text.nearest import nearest
from kg2rag.types import ParameterError, annotations_of, check_types, read_value


def hybrid(
    kb: KnowledgeBase,
    *,
    dense_weight: float = 1.0,
    bm25_weight: float = 1.0,
    constant: float = RRF_CONSTANT,
    depth: int = 100,
) -> Fusion:
    """Dense and BM25 by reciprocal rank fusion."""
    return fuse(Dense(kb), BM25(kb), weights=(dense_weight, bm25_weight), constant=constant, depth=depth)


def rerank(
    kb: KnowledgeBase, *, retriever: str = "bm25", reranker: str = rerankers.DEFAULT_RERANKER, depth: int = 100
) -> Pipeline:
    """Another system's hits in the order of a reranker: a name of `rerankers.RERANKERS`, or a cross-encoder."""
    return build(retriever, kb) >> Rerank(kb, reranker=rerankers.named(reranker, kb), depth=depth)


def dynamic_hybrid(
    kb: KnowledgeBase,
    *,
    analyser: str | Analyser = "rules",
    graph: str = "mention_ppr",
    depth: int = 100,
    constant: float = RRF_CONSTANT,
    coefficients: str = DEFAULT,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    sides: str = "",
) -> DynamicHybrid:
    """Four retrievers, weighed per query: see `DynamicHybrid`.

    `sides` names four systems, separated by commas, for dense, sparse, pattern and graph; each may have parameters:
    "dense,bm25,pattern,graph_augmented:hops=2;max_chunks=8".
    """
    members = tuple(_side(side, kb) for side in sides.split(",")) if sides else ()
    given = {"graph": graph, "depth": depth, "constant": constant, "coefficients": coefficients, "weights": weights}
    return DynamicHybrid(kb, analyser, members=members, **given)  # type: ignore[arg-type]


def _side(written: str, kb: KnowledgeBase) -> Retriever:
    """A system of a name such as "bm25:k1=1.2;b=0.7"."""
    name, _, given = written.strip().partition(":")
    settings = dict[str, object]()
    for setting in filter(None, given.split(";")):
        parameter, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"Side {written!r}: write parameter=value, not {setting!r}.")
        settings[parameter] = read_value(value)
    return build(name, kb, **settings)


SYSTEMS: Mapping[str, Callable[..., Retriever]] = {
    "bm25": BM25,
    "confidence_gated": ConfidenceGated,
    "dense": Dense,
    "dynamic_hybrid": dynamic_hybrid,
    "expansion_queries": ExpansionQueries,
    "graph_augmented": graph_augmented,
    "hippo1": HippoRAG,
    "hippo2": HippoRAG2,
    "hybrid": hybrid,
    "kg2rag": kg2rag,
    "kg2rag_official": kg2rag_official,
    "linear": LinearRAG,
    "mention_chains": MentionChains,
    "mention_ppr": MentionPPR,
    "path": PathSearch,
    "pattern": Pattern,
    "practical": PracticalGraphRAG,
    "rerank": rerank,
    "vector_first": VectorFirst,
}


CORE = ("bm25", "dense", "hybrid", "expansion_queries", "graph_augmented", "mention_ppr", "mention_chains")
"""The systems that a first comparison shows; they need no more than the passages' vectors and a graph."""
GROUP = "kg2rag.systems"
_NAMED: Mapping[Any, Callable[[str, KnowledgeBase], object]] = {
    rerankers.PairReranker: rerankers.named,
}


def names() -> tuple[str, ...]:
    """Every named system that needs no training, those of installed packages included, sorted."""
    return plugins.names(GROUP, SYSTEMS)


def parameters(name: str) -> dict[str, object]:
    """The parameters of a system and their defaults; `settings` of `build` may hold these."""
    return _parameters(_builder(name))


def _parameters(builder: Callable[..., Retriever]) -> dict[str, object]:
    known = inspect.signature(builder).parameters.values()
    return {parameter.name: parameter.default for parameter in known if parameter.name != "kb"}


def summary(name: str) -> str:
    """What a system does, in the first line of its docstring."""
    return description(name).partition("\n")[0]


def description(name: str) -> str:
    """The docstring of a system, then, of one that has a file of its own, that file's: method, source, what is ours."""
    builder = _builder(name)
    own, module = inspect.getdoc(builder) or "", inspect.getmodule(builder)
    around = inspect.getdoc(module) if module is not None and module.__name__ != __name__ else None
    return "\n\n".join(filter(None, [own, around]))


def build(name: str, kb: KnowledgeBase, **settings: object) -> Retriever:
    """A system by name, with some parameters other than their defaults.

    A parameter that takes a linker or a reranker also takes a name; `retrievers.linking.naming` has the linkers'.

    ValueError: an unknown system or parameter (the known ones are listed), or a value that the system refuses.
    """
    return _built(_builder(name), name, kb, settings)


def _built(
    builder: Callable[..., Retriever], name: str, kb: KnowledgeBase, settings: Mapping[str, object]
) -> Retriever:
    known = _parameters(builder)
    for parameter in settings:
        if parameter not in known:
            meant = nearest(parameter, known)
            hint = f" Did you mean {meant!r}?" if meant else ""
            raise ValueError(f"System {name!r} has no parameter {parameter!r}. Known: {_listed(known)}.{hint}")
    try:
        given = {parameter: _component(builder, parameter, value, kb) for parameter, value in settings.items()}
        check_types(builder, given)
        return builder(kb, **given)
    except ParameterError as error:
        raise ParameterError(f"System {name!r}: {error}") from None


def labelled(wanted: Iterable[str]) -> dict[str, str]:
    """Name -> system, of systems and of variants of one: ["dense", "far=graph_augmented"], in that order.

    "my.module:Class" is called Class where it is given no other name.

    ValueError: a name twice, or one that belongs to another system.
    """
    chosen: dict[str, str] = {}
    for given in wanted:
        label, equals, system = (part.strip() for part in given.partition("="))
        if equals and not (label and system and "." not in label):
            raise ValueError(f"{given!r}: write name=system, such as far=graph_augmented; a name has no '.'.")
        system = system or label
        label = label if equals else label.rpartition(":")[2]
        if label in chosen:
            raise ValueError(
                f"{label!r} is named twice. To compare a system with itself, name its variants: "
                f"a={system},b={system}, and set b.PARAMETER."
            )
        if label != system and label in names():
            raise ValueError(f"{given!r}: {label!r} is a system itself. Give the variant another name.")
        chosen[label] = system
    return chosen


def build_all(
    kb: KnowledgeBase,
    wanted: Iterable[str] | Mapping[str, str] | None = None,
    settings: Mapping[str, Mapping[str, object]] | None = None,
    *,
    modules: bool = False,
) -> dict[str, Retriever]:
    """Several systems by name, or all.

    Parameters
    ----------
    wanted : names as `labelled` takes them, or name -> system, for variants of one system under several settings.
    settings : name -> parameters.
    modules : whether a system may be "my.module:Class". That runs the module's code, so what comes out of a file is
        built without.
    """
    chosen = dict(wanted) if isinstance(wanted, Mapping) else labelled(names() if wanted is None else wanted)
    unused = [name for name in settings or {} if name not in chosen]
    if unused:
        raise ValueError(f"Parameters are set for {unused[0]!r}, which is not compared. Compared: {_listed(chosen)}.")
    builders = {name: _imported(system) if modules else _builder(system) for name, system in chosen.items()}
    return {name: _built(builder, name, kb, (settings or {}).get(name, {})) for name, builder in builders.items()}


def _builder(name: str) -> Callable[..., Retriever]:
    return plugins.look_up("system", name, SYSTEMS, GROUP)


def _imported(name: str) -> Callable[..., Retriever]:
    return cast(Callable[..., Retriever], plugins.imported("system", name)) if ":" in name else _builder(name)


def _component(builder: Callable[..., Retriever], parameter: str, value: object, kb: KnowledgeBase) -> object:
    """The value of a parameter; the reranker of that name where it takes one."""
    annotation = annotations_of(builder).get(parameter)
    kinds = (annotation, *get_args(annotation))
    named = next((_NAMED[kind] for kind in kinds if kind in _NAMED), None)
    return named(value, kb) if named is not None and isinstance(value, str) else value


def _listed(known: Iterable[str]) -> str:
    return ", ".join(sorted(known)) or "none"
