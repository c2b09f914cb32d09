"""Every system of the catalogue keeps the contract. A new system is covered by its line in `SYSTEMS`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import pytest

from kg2rag import systems
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.contract import Retriever
from kg2rag.testing import check_retriever
from kg2rag.testing.trial import processes_differ
from kg2rag.testing.worlds import FIRST, knowledge_bases, queries

K = 20
# system -> promise -> why it does not hold for it. An excuse that is not needed fails, too.
EXCUSED: dict[str, dict[str, str]] = {
    "kg2rag_official": {
        "parameter hops": "counts for the graph expansion alone, and the default expands by titles",
    },
    "mention_ppr": {
        "parameter triple_seed_weight": "counts with a triple_weight alone, which is 0 by default",
        "parameter triple_seeds": "counts with a triple_weight alone, which is 0 by default",
    },
    "pattern": {
        "finds something": "looks up names, typos and rare words only; frequent words are left to other systems",
    },
}


def builder(name: str) -> Callable[..., Retriever]:
    """The system's builder as the command line calls it."""

    @wraps(systems.SYSTEMS[name])
    def build(kb: KnowledgeBase, **settings: object) -> Retriever:
        return systems.build(name, kb, **settings)

    return build


@pytest.mark.parametrize("name", systems.names())
def test_the_system_keeps_the_contract(name: str) -> None:
    check_retriever(builder(name), k=K, excused=EXCUSED.get(name), other_process=False)


def test_only_known_systems_are_excused_and_each_says_why() -> None:
    assert set(EXCUSED) <= set(systems.names())
    assert all(
        len(reason.split()) >= 4
        for excuses in EXCUSED.values()
        for reason in excuses.values()
    )


def test_another_process_with_another_hash_seed_ranks_alike() -> None:
    built = systems.build_all(knowledge_bases()[FIRST])
    found = {
        name: system.retrieve_batch(queries(), K) for name, system in built.items()
    }
    assert list(processes_differ(built, found, queries(), K)) == []
