"""A system -> its components, with their remarks, workloads and tuning."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from kg2rag.knowledge import KnowledgeBase, Workload
from kg2rag.types import Corpus, QADataset, Query


def parts(value: object) -> Iterator[object]:
    """A value, then its fields or members and their parts, depth first.

    Knowledge bases and corpora have no parts.
    """
    yield value
    if isinstance(value, KnowledgeBase | Corpus):
        return
    members: Iterable[Any] = ()
    if is_component(value):
        members = [getattr(value, field.name) for field in fields(value)]  # type: ignore[arg-type]
    elif isinstance(value, Mapping):
        members = value.values()
    elif isinstance(value, list | tuple):
        members = value
    for member in members:
        yield from parts(member)


def is_component(value: object) -> bool:
    """Whether a value is an instance of a dataclass."""
    return is_dataclass(value) and not isinstance(value, type)


def knowledge_bases(system: object) -> list[KnowledgeBase]:
    """The knowledge bases of a system and of the systems in it, each once."""
    return list(
        {
            id(part): part for part in parts(system) if isinstance(part, KnowledgeBase)
        }.values()
    )


def workloads(systems: object, queries: Sequence[Query]) -> list[Workload]:
    """The workloads of all components of some systems: what their models read before a ranking."""
    components: list[Any] = [
        part for part in parts(systems) if hasattr(part, "workloads")
    ]
    return [work for component in components for work in component.workloads(queries)]


def remark(system: object) -> str:
    """The distinct remarks of a system and its retrievers on their rankings, joined by spaces."""
    remarks = dict.fromkeys(
        str(getattr(part, "remark", "") or "")
        for part in parts(system)
        if part is system or hasattr(part, "retrieve_batch")
    )
    return " ".join(filter(None, remarks))


def tuning(system: object, data: QADataset | None = None) -> list[dict[str, Any]]:
    """The records of parameters that were chosen with access to questions, from `TUNING` of modules.

    If coefficients were fitted on questions of `data`, compared by their texts, a record has their
    number.
    """
    components = [part for part in parts(system) if is_component(part)]
    rows: list[dict[str, Any]] = []
    for module in dict.fromkeys(type(component).__module__ for component in components):
        for row in getattr(sys.modules.get(module), "TUNING", ()):
            rows.append(
                {
                    **row._asdict(),
                    "sets": list(row.sets),
                    "training": list(row.training),
                }
            )
    for component in components:
        if data is not None and hasattr(component, "seen"):
            rows += _fitted(component, data)
    return rows


def _fitted(component: Any, data: QADataset) -> list[dict[str, Any]]:
    """The row of a component whose coefficients were fitted on questions of `data`; else none."""
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
