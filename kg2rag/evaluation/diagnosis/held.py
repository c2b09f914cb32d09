"""The systems and data that a comparison was made of, kept in memory, so that its result can be asked why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kg2rag.evaluation.diagnosis.fates import Waterfall, waterfall
from kg2rag.evaluation.diagnosis.ladder import OracleLadder, oracle_ladder
from kg2rag.evaluation.diagnosis.queries import QueryComparison, compare_queries
from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.types.questions import QADataset

if TYPE_CHECKING:
    from kg2rag.evaluation.comparison import Comparison


class Held(NamedTuple):
    """What `compare` was given: of a system with several seeds, the first."""

    systems: Mapping[str, Any]
    data: QADataset


def waterfall_of(comparison: Comparison, system: str, **settings: Any) -> Waterfall:
    """The waterfall of one of a comparison's systems; see `Comparison.waterfall`."""
    held = _held(comparison, system)
    return waterfall(system, held.systems[system], held.data, run=comparison.rankings[system], **settings)


def ladder_of(comparison: Comparison, system: str, **settings: Any) -> OracleLadder:
    """The oracle ladder of one of a comparison's systems; see `Comparison.oracle_ladder`."""
    held = _held(comparison, system)
    retriever = held.systems[system]
    return oracle_ladder(_knowledge_base(retriever, system), held.data, retriever, name=system, **settings)


def pairs_of(comparison: Comparison, a: str, b: str, data: QADataset | None, **settings: Any) -> QueryComparison:
    """Where two of a comparison's systems differ most; see `Comparison.compare_queries`."""
    return compare_queries(comparison, a, b, data if data is not None else _held(comparison, a).data, **settings)


def _held(comparison: Comparison, system: str) -> Held:
    held = comparison.held
    if system not in comparison.systems:
        raise ValueError(f"Unknown system {system!r}. This comparison has: {', '.join(comparison.systems)}.")
    if held is None:
        raise ValueError(
            "This comparison was loaded from files, which hold rankings and no systems. Run kg2rag.compare again, or "
            "build the system and call kg2rag.waterfall or kg2rag.oracle_ladder with it and the data; compare_queries "
            "takes the data alone: data=kg2rag.load(...)."
        )
    return held


def _knowledge_base(system: object, name: str) -> KnowledgeBase:
    """That of the retriever a system is made of."""
    while not isinstance(kb := getattr(system, "kb", None), KnowledgeBase):
        members = getattr(system, "retrievers", None)
        system = members[0] if members else getattr(system, "retriever", None)
        if system is None:
            raise ValueError(f"System {name!r} holds no KnowledgeBase. Call kg2rag.oracle_ladder(kb, data, system).")
    return kb
