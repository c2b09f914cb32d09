"""A system -> the components that it is made of, and what these say of themselves: remarks, and how they were tuned."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from kg2rag.knowledge import KnowledgeBase, Workload
from kg2rag.types import Corpus, QADataset, Query


def parts(value: object) -> Iterator[object]:
    """A value and all that it is made of, depth first; a knowledge base and a corpus are not taken apart."""
    yield value
    if isinstance(value, KnowledgeBase | Corpus):
        return
    inside: list[Any] = []
    if is_component(value):
        inside = [getattr(value, field.name) for field in fields(value)]  # type: ignore[arg-type]
    elif isinstance(value, Mapping):
        inside = list(value.values())
    elif isinstance(value, list | tuple):
        inside = list(value)
    for part in inside:
        yield from parts(part)


def is_component(value: object) -> bool:
    """Whether a value is an instance of a dataclass."""
    return is_dataclass(value) and not isinstance(value, type)


def knowledge_bases(system: object) -> list[KnowledgeBase]:
    """The knowledge bases of a system and of the systems in it, each once."""
    return list(
        {id(part): part for part in parts(system) if isinstance(part, KnowledgeBase)}.values()
    )


def workloads(systems: object, queries: Sequence[Query]) -> list[Workload]:
    """What the models of some systems read before these rank the queries, as each of their components says it."""
    components: list[Any] = [part for part in parts(systems) if hasattr(part, "workloads")]
    return [work for component in components for work in component.workloads(queries)]


def remark(system: object) -> str:
    """What a system, and the retrievers that it is made of, say of their rankings; "" for nothing."""
    remarks = dict.fromkeys(
        str(getattr(part, "remark", "") or "")
        for part in parts(system)
        if part is system or hasattr(part, "retrieve_batch")
    )
    return " ".join(filter(None, remarks))


def tuning(system: object, data: QADataset | None = None) -> list[dict[str, Any]]:
    """What was fitted or chosen by looking at questions, in a system and those in it: `TUNING` of their modules.

    If coefficients were fitted on questions of `data`, compared by their texts, a row records how
    many.
    """
    components = [part for part in parts(system) if is_component(part)]
    rows: list[dict[str, Any]] = []
    for module in dict.fromkeys(type(component).__module__ for component in components):
        for row in getattr(sys.modules.get(module), "TUNING", ()):
            rows.append({**row._asdict(), "sets": list(row.sets), "training": list(row.training)})
    for component in components:
        if data is not None and hasattr(component, "seen"):
            rows += _fitted(component, data)
    return rows


def _fitted(component: Any, data: QADataset) -> list[dict[str, Any]]:
    """The row of a component whose coefficients were fitted on questions of `data`; none if on other questions."""
    n_seen = component.seen(data.queries)
    if not n_seen:
        return []
    what = f"coefficients, fitted on {n_seen:,} of these {len(data):,} questions"
    row = {
        "system": type(component).__name__,
        "what": what,
        "kind": "fitted",
        "sets": [data.name],
        "training": [],
    }
    return [row]
