"""What was chosen by looking at questions names systems and sets that exist."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

import kg2rag.retrievers
from kg2rag.retrievers.systems import SYSTEMS

REPORTED = {"musique-100", "hotpotqa-300", "2wiki-1000", "2wiki-kg-500", "cosqa-500"}


def test_what_was_chosen_names_a_system_and_questions() -> None:
    files = (file.name for file in walk_packages(kg2rag.retrievers.__path__, "kg2rag.retrievers."))
    rows = [row for file in files if ".adapters" not in file for row in getattr(import_module(file), "TUNING", ())]
    assert rows
    for row in rows:
        assert row.system in SYSTEMS
        assert row.kind in ("fitted", "chosen", "known")
        assert set(row.sets) <= REPORTED
        assert row.sets or row.training, row
