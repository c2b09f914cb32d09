"""Systems in any accepted form -> name -> systems with `retrieve_batch`, one per seed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.adapters import as_system
from kg2rag.retrievers.system_parts import knowledge_bases
from kg2rag.retrievers.systems import build, build_all, label, systems_by_name
from kg2rag.types import QADataset, called

Graphs = Mapping[str, KnowledgeBase | Sequence[KnowledgeBase]]
"""Name -> knowledge base, or a list of them, the placebos of a graph under several seeds."""
Systems = Mapping[str, Any] | Sequence[Any] | str
"""Name -> system, or a list of systems; see `compare`."""
SystemsOfSets = Callable[[QADataset], Systems] | Mapping[str, Systems] | Sequence[str]
"""A function data set -> systems, a mapping set -> systems, or names of systems for all sets."""
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


def name_systems(
    systems: Any, graphs: Graphs | None, data: QADataset
) -> dict[str, list[Any]]:
    """Name -> a list of one system, or of one per seed.

    A system of the catalogue is built over the knowledge base of another system, or over
    `KnowledgeBase.build(data.corpus)`. With `graphs`, a strategy or a name of the catalogue becomes
    one system per graph, called "strategy.graph".

    Raises
    ------
    TypeError : a value is neither a system nor a graph.
    ValueError : there is no system, one is repeated, a name is unknown or cannot name a file.
    """
    pairs = _named_pairs(systems)
    if not pairs:
        raise ValueError(
            "No system to compare. Pass at least one, such as {'bm25': BM25(kb)}."
        )
    pairs = (
        _build_over_corpus(pairs, data)
        if graphs is None
        else _build_over_graphs(pairs, graphs)
    )
    require_names("System", [name for name, _ in pairs])
    return {name: _systems_per_seed(name, system) for name, system in pairs}


def systems_of_set(
    systems: Any, name: str, data: QADataset, sets: Sequence[str]
) -> Any:
    """The systems of the set `name`, selected or made from those passed for several sets.

    Raises TypeError: they are built over one corpus; ValueError: they are for other sets.
    """
    if callable(systems):
        return systems(data)
    if isinstance(systems, list | tuple) and all(
        isinstance(system, str) for system in systems
    ):
        return systems
    is_mapping = isinstance(systems, Mapping)
    if not is_mapping or not all(
        isinstance(part, Mapping) for part in systems.values()
    ):
        raise TypeError(
            "A system searches one corpus, so each set needs systems of its corpus: pass a function of a data set, "
            "such as lambda data: kg2rag.systems.build_all(KnowledgeBase.build(data.corpus), ['bm25', 'dense']), or "
            "{set: {name: system}}."
        )
    if set(systems) != set(sets):
        raise ValueError(
            f"Systems are given for {', '.join(systems)}; the sets are {', '.join(sets)}."
        )
    return systems[name]


def require_names(kind: str, names: Sequence[object]) -> None:
    """Raise ValueError if a name cannot name a file, or two names would name the same file."""
    seen: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str) or not _SAFE_NAME.fullmatch(name):
            allowed = "Use a letter or digit, then letters, digits and '._+-'."
            raise ValueError(f"{kind} name {name!r} cannot name a file. {allowed}")
        earlier = seen.get(name.lower())
        if earlier is not None:
            problem = f"are both called {name!r}"
            if earlier != name:
                problem = (
                    f"are called {earlier!r} and {name!r}, which name the same file"
                )
            raise ValueError(
                f"Two {kind.lower()}s {problem}. Give them names: {{'a': ..., 'b': ...}}."
            )
        seen[name.lower()] = name


def _is_system(value: object) -> bool:
    """Whether a value is a system that is built, and not a class."""
    return hasattr(value, "retrieve_batch") and not isinstance(value, type)


def _named_pairs(systems: Any) -> list[tuple[str, Any]]:
    """The (name, system) of each system, in their order; the name in a list is the label."""
    if isinstance(systems, Mapping):
        return list(systems.items())
    if isinstance(systems, str) or _is_system(systems):
        systems = [systems]
    if not isinstance(systems, list | tuple):
        raise TypeError(
            f"systems must be a mapping name -> system, not {called(systems)}. Write {{'dense': Dense(kb)}}."
        )
    pairs: list[tuple[str, Any]] = []
    for system in systems:
        if isinstance(system, str):
            pairs += systems_by_name([system]).items()
        else:
            pairs.append((_label(system), system))
    return pairs


def _label(system: Any) -> str:
    """The name of a system, function or frame that the user did not name; TypeError for none."""
    if _is_system(system):
        return label(system)
    name = getattr(system, "__name__", None) or getattr(system, "name", None)
    if not isinstance(name, str):
        raise TypeError(
            f"A system is {called(system)} and has no name. Write {{'its_name': …}}."
        )
    return name


def _build_over_corpus(
    pairs: Sequence[tuple[str, Any]], data: QADataset
) -> list[tuple[str, Any]]:
    """The pairs with systems of the catalogue built over one knowledge base, others adapted."""
    kb = _shared_base([system for _, system in pairs], data)
    systems = []
    for name, system in pairs:
        if isinstance(system, str):
            if kb is None:
                kb = KnowledgeBase.build(data.corpus)
            systems.append((name, build_all(kb, {name: system})[name]))
        else:
            systems.append((name, as_system(name, system, data)))
    return systems


def _shared_base(systems: Sequence[Any], data: QADataset) -> KnowledgeBase | None:
    """The first knowledge base of a system over the corpus of `data`; None if there is none."""
    for kb in knowledge_bases(list(systems)):
        if kb.corpus.fingerprint == data.corpus.fingerprint:
            return kb
    return None


def _build_over_graphs(
    pairs: Sequence[tuple[str, Any]], graphs: Graphs
) -> list[tuple[str, Any]]:
    """The pairs with one list of systems per strategy and graph, called "strategy.graph".

    The list has one system per knowledge base of the graph; built systems stay as they are.
    """
    if not graphs:
        raise ValueError(
            "No graph to compare. Pass {'mentions': KnowledgeBase.build(corpus)}, for example."
        )
    if all(_is_system(system) for _, system in pairs):
        raise ValueError(
            "Every system is built already. Pass strategies, such as {'hippo2': HippoRAG2}."
        )
    bases_of = {
        graph: _knowledge_bases(graph, bases) for graph, bases in graphs.items()
    }
    systems: list[tuple[str, Any]] = []
    for name, system in pairs:
        if _is_system(system):
            systems.append((name, system))
        else:
            strategy = _strategy(name, system)
            for graph, bases in bases_of.items():
                systems.append((f"{name}.{graph}", [strategy(kb) for kb in bases]))
    return systems


def _knowledge_bases(graph: str, bases: Any) -> Sequence[KnowledgeBase]:
    """The knowledge bases of a graph as a list; TypeError: something is no knowledge base."""
    kbs = [bases] if isinstance(bases, KnowledgeBase) else bases
    if not isinstance(kbs, list | tuple) or not all(
        isinstance(kb, KnowledgeBase) for kb in kbs
    ):
        raise TypeError(
            f"Graph {graph!r} is {bases!r}, no KnowledgeBase. Make one with KnowledgeBase.build."
        )
    return kbs


def _strategy(name: str, system: Any) -> Callable[[KnowledgeBase], Any]:
    """A function that builds a strategy, or a system of the catalogue, over a knowledge base."""
    if isinstance(system, str):
        return partial(build, system)
    if not callable(system):
        raise TypeError(
            f"Strategy {name!r} is {called(system)}, which is no function of a knowledge base."
        )
    strategy: Callable[[KnowledgeBase], Any] = system
    return strategy


def _systems_per_seed(name: str, value: Any) -> list[Any]:
    """A system or a list of systems, as a list; ValueError: it is empty or has two equal systems."""
    systems = list(value) if isinstance(value, list | tuple) else [value]
    if not systems:
        raise ValueError(
            f"System {name!r} is an empty list. Pass a system, or one for every seed."
        )
    for i, system in enumerate(systems):
        _require_system(name, system)
        if system in systems[:i]:
            raise ValueError(
                f"System {name!r} contains one system twice. An equal seed is no repetition."
            )
    return systems


def _require_system(name: str, system: Any) -> None:
    """Raise TypeError if a value is no built system."""
    if _is_system(system):
        return
    if hasattr(system, "retrieve_batch"):
        kind = system.__name__
        raise TypeError(
            f"System {name!r} is the class {kind}. Pass {kind}(kb), or graphs={{…}} to make one over each."
        )
    raise TypeError(
        f"System {name!r} is {called(system)}, which has no retrieve_batch(queries, k). "
        "Pass a kg2rag.Retriever, such as BM25(kb), a function (text, k) -> passage ids, or a run."
    )
