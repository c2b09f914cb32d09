"""A process whose strings have other hashes shows a retriever that iterates a set."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.dense import Dense
from kg2rag.testing.trial import processes_differ
from kg2rag.testing.worlds import FIRST, knowledge_bases
from kg2rag.types import Query, Ranking

ASKED = [Query("1", "Which bridge did Anna Abbott know?"), Query("2", "")]
BY_CHANCE = """
from dataclasses import dataclass, replace

from kg2rag.retrievers.dense import Dense
from kg2rag.types import Notes


@dataclass(frozen=True)
class ByChance(Dense):
    def retrieve_batch(self, queries, k):
        order = " ".join({f"word {i}" for i in range(100)})
        return [replace(each, notes=Notes(other={"order": order})) for each in super().retrieve_batch(queries, k)]
"""


def test_a_retriever_that_iterates_a_set_ranks_otherwise_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = knowledge_bases()[FIRST]
    (tmp_path / "ranks_by_chance.py").write_text(BY_CHANCE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    system = importlib.import_module("ranks_by_chance").ByChance(kb)
    systems = {"sound": Dense(kb), "by chance": system}
    rankings = {name: each.retrieve_batch(ASKED, 5) for name, each in systems.items()}
    [(name, sentence)] = processes_differ(systems, rankings, ASKED, 5)
    assert name == "by chance"
    assert sentence.startswith(
        "query '1' ('Which bridge did Anna Abbott know?'): another PYTHONHASHSEED gives"
    )


@dataclass(frozen=True)
class OfANotebook(Retriever):
    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        raise NotImplementedError


OfANotebook.__module__ = "__main__"


def test_a_class_that_only_this_process_knows_is_not_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import __main__

    monkeypatch.setattr(__main__, "OfANotebook", OfANotebook, raising=False)
    assert list(processes_differ({"": OfANotebook()}, {"": []}, ASKED, 5)) == []
