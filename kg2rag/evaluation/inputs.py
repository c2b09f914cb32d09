"""Systems, graphs and sets as a person gives them -> named and checked, before any work."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kg2rag.evaluation.provenance import knowledge_bases
from kg2rag.knowledge import KnowledgeBase
from kg2rag.report.table import MACRO
from kg2rag.retrievers.adapters import as_system
from kg2rag.retrievers.systems import build_all, label
from kg2rag.types import QADataset, called, require_dataset

Graphs = Mapping[str, KnowledgeBase | Sequence[KnowledgeBase]]
"""Name -> knowledge base, or several of them for a placebo under several seeds."""
Sets = list[QADataset] | tuple[QADataset, ...] | Mapping[str, QADataset]
"""Data sets under their own names, or name -> data set."""
Systems = Mapping[str, Any] | Sequence[Any] | str
SystemsOfSets = Callable[[QADataset], Systems] | Mapping[str, Systems] | Sequence[str]
"""A function that makes the systems of a data set, set -> its systems, or names, built over each."""
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


def given_systems(systems: Any, graphs: Graphs | None, data: QADataset) -> dict[str, list[Any]]:
    """Name -> the systems of that name, several where they differ by seed.

    Over `graphs`, a strategy becomes one system for each, called "strategy.graph".

    Raises TypeError: what is no system or graph; ValueError: none, one twice, or a name that cannot name a file.
    """
    pairs = list(systems.items()) if isinstance(systems, Mapping) else _named(systems, data)
    if graphs is None:
        pairs = [(name, as_system(name, given, data)) for name, given in pairs]
    else:
        if not graphs:
            raise ValueError("No graph to compare. Pass {'mentions': KnowledgeBase.build(corpus)}, for example.")
        if all(_built(given) for _, given in pairs):
            raise ValueError("Every system is built already. Pass strategies, such as {'hippo2': HippoRAG2}.")
        pairs = [pair for name, given in pairs for pair in _over(name, given, graphs)]
    if not pairs:
        raise ValueError("No system to compare. Pass at least one, such as {'bm25': BM25(kb)}.")
    require_names("System", [name for name, _ in pairs])
    return {name: _alike(name, given) for name, given in pairs}


def _built(given: object) -> bool:
    return hasattr(given, "retrieve_batch") and not isinstance(given, type)


def _named(systems: Any, data: QADataset) -> list[tuple[str, Any]]:
    """Systems and names of such, in a list or alone, by what they are called."""
    systems = [systems] if isinstance(systems, str) or _built(systems) else systems
    if not isinstance(systems, list | tuple):
        told = f"systems must be a mapping name -> system, not {called(systems)}."
        raise TypeError(f"{told} Write {{'dense': Dense(kb)}}.")
    bases = (kb for one in systems for kb in knowledge_bases(one) if kb.corpus.fingerprint == data.corpus.fingerprint)
    kb, made = next(bases, None), list[tuple[str, Any]]()
    for one in systems:
        if isinstance(one, str):
            kb = kb or KnowledgeBase.build(data.corpus)
            made += build_all(kb, [one]).items()
        else:
            made.append((label(one), one))
    return made


def _over(name: str, given: Any, graphs: Graphs) -> Iterator[tuple[str, Any]]:
    """A system as it is; a strategy over each graph: a list of systems where that has several knowledge bases."""
    if _built(given):
        yield name, given
        return
    if not callable(given):
        raise TypeError(f"Strategy {name!r} is {given!r}, which is no function of a knowledge base.")
    for graph, bases in graphs.items():
        alike = [bases] if isinstance(bases, KnowledgeBase) else bases
        if not all(isinstance(kb, KnowledgeBase) for kb in alike):
            raise TypeError(f"Graph {graph!r} is {bases!r}, no KnowledgeBase. Make one with KnowledgeBase.build.")
        yield f"{name}.{graph}", [given(kb) for kb in alike]


def require_names(what: str, names: Sequence[object]) -> None:
    """Raise ValueError where a name cannot name a file, or two would name the same one."""
    lower: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str) or not _SAFE_NAME.fullmatch(name):
            wanted = "Use a letter or digit, then letters, digits and '._+-'."
            raise ValueError(f"{what} name {name!r} cannot name a file. {wanted}")
        if other := lower.get(name.lower()):
            twice = "would be called" if other == name else "differ at most in case; files may not:"
            raise ValueError(f"Two {what.lower()}s {twice} {name!r}. Name them: {{'a': ..., 'b': ...}}.")
        lower[name.lower()] = name


def _alike(name: str, given: Any) -> list[Any]:
    """A system, or one under several seeds, as a list."""
    alike = list(given) if isinstance(given, list | tuple) else [given]
    if not alike:
        raise ValueError(f"System {name!r} is an empty list. Pass a system, or one for every seed.")
    for system in (one for one in alike if not _built(one)):
        if hasattr(system, "retrieve_batch"):
            told = f"System {name!r} is the class {system.__name__}."
            raise TypeError(f"{told} Pass {system.__name__}(kb), or graphs={{…}} to make one over each.")
        raise TypeError(
            f"System {name!r} is {called(system)}, which has no retrieve_batch(queries, k). "
            "Pass a kg2rag.Retriever, such as BM25(kb), a function (text, k) -> passage ids, or a run."
        )
    if any(one == other for at, one in enumerate(alike) for other in alike[:at]):
        raise ValueError(f"System {name!r} contains one system twice. An equal seed is no repetition.")
    return alike


def named_sets(given: Sets) -> dict[str, QADataset]:
    """Name -> data set; TypeError: no data sets; ValueError: none, names that cannot name folders, or two settings."""
    pairs = list(given.items()) if isinstance(given, Mapping) else [(require_dataset(one).name, one) for one in given]
    if not pairs:
        raise ValueError("No data set to compare on. Pass at least one, such as kg2rag.load('bundled').")
    require_names("Set", [name for name, _ in pairs])
    if MACRO in dict(pairs):
        raise ValueError(f"A set cannot be called {MACRO!r}, which heads a column of the table.")
    require_one_setting({name: require_dataset(data).setting for name, data in pairs})
    return dict(pairs)


def require_one_setting(settings: Mapping[str, str]) -> None:
    """Raise ValueError where sets are searched in different settings (set -> setting): their mean says nothing."""
    if len(set(settings.values())) > 1:
        listed = ", ".join(f"{name} ({setting})" for name, setting in settings.items())
        remedy = "Load them in one, such as setting='pooled' (--setting pooled), or compare on each alone."
        raise ValueError(f"No macro-average over different settings: {listed}. {remedy}")


def systems_of(systems: Any, name: str, data: QADataset, sets: Sequence[str]) -> Any:
    """The systems of one set; TypeError: they were built over one corpus; ValueError: they are of other sets."""
    if callable(systems):
        return systems(data)
    if isinstance(systems, list | tuple) and all(isinstance(one, str) for one in systems):
        return systems
    if not isinstance(systems, Mapping) or not all(isinstance(one, Mapping) for one in systems.values()):
        raise TypeError(
            "A system searches one corpus, so several sets need their own: pass a function of a data set, such as "
            "lambda data: kg2rag.systems.build_all(KnowledgeBase.build(data.corpus), ['bm25', 'dense']), or "
            "{set: {name: system}}."
        )
    if set(systems) != set(sets):
        raise ValueError(f"Systems are given for {', '.join(systems)}; the sets are {', '.join(sets)}.")
    return systems[name]
