"""Several data sets, and systems for each of them, as a person gives them -> name -> data set, and a set's systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kg2rag.evaluation.running import require_name
from kg2rag.report.table import MACRO
from kg2rag.types import QADataset, called

Sets = list[QADataset] | tuple[QADataset, ...] | Mapping[str, QADataset]
"""Data sets under their own names, or name -> data set."""
Systems = Mapping[str, Any]
SystemsOfSets = Callable[[QADataset], Systems] | Mapping[str, Systems]
"""A function that makes the systems of a data set, or set -> its systems."""


def named_sets(given: object) -> dict[str, QADataset]:
    """Name -> data set, at least one, each name once, and such as can name a folder.

    Raises TypeError: no data sets; ValueError: none, a name twice, or one that cannot name a folder.
    """
    if not isinstance(given, Mapping | list | tuple):
        raise TypeError(
            f"data must be a QADataset, several of them in a list, or name -> QADataset, not {called(given)}."
        )
    pairs = list(given.items()) if isinstance(given, Mapping) else [(getattr(one, "name", ""), one) for one in given]
    if not pairs:
        raise ValueError("No data set to compare on. Pass at least one, such as kg2rag.load('bundled').")
    for name, data in pairs:
        if not isinstance(data, QADataset):
            raise TypeError(
                f"Of several sets each must be a QADataset, not {called(data)}. kg2rag.load(name) gives one."
            )
        require_name("Set", name)
        if name == MACRO:
            raise ValueError(f"A set cannot be called {MACRO!r}, which heads a column of the table.")
    names = [name.lower() for name, _ in pairs]
    twice = next((name for name, _ in pairs if names.count(name.lower()) > 1), None)
    if twice is not None:
        raise ValueError(f"Two sets are called {twice!r}. Pass {{'name': data, …}} with a name for each.")
    return dict(pairs)


def systems_of(systems: object, name: str, data: QADataset, sets: Sequence[str]) -> Systems:
    """The systems of one set.

    Raises TypeError: systems that were built over one corpus; ValueError: systems of other sets than those compared on.
    """
    if callable(systems):
        made: Systems = systems(data)
        return made
    if not isinstance(systems, Mapping) or any(not isinstance(one, Mapping) for one in systems.values()):
        raise TypeError(
            "A system searches one corpus, so several sets need their own: pass a function of a data set, such as "
            "lambda data: kg2rag.systems.build_all(KnowledgeBase.build(data.corpus), ['bm25', 'dense']), or "
            "{set: {name: system}}."
        )
    if set(systems) != set(sets):
        raise ValueError(f"Systems are given for {', '.join(systems)}; the sets are {', '.join(sets)}.")
    found: Systems = systems[name]
    return found
