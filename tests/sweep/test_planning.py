"""What a plan says, and that planning does nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kg2rag.store import Store
from kg2rag.sweep import Sweep
from kg2rag.sweep.stages import LookingStore, Missing, used

Make = Callable[..., Sweep]


def test_a_plan_counts_what_is_left(sweep: Make, tmp_path: Path) -> None:
    sweep(systems={"bm25": {"k1": [0.5]}}).run(tmp_path, jobs=1)
    plan = sweep(systems={"bm25": {"k1": [0.5, 0.9, 1.5]}}).plan(tmp_path, jobs=2)
    assert (plan.total, plan.finished, plan.failed, plan.by_system) == (3, 1, 0, {"bm25": 2})
    assert (plan.questions["dev"], plan.questions["test"]) == (20, 20)


def test_a_plan_writes_nothing(sweep: Make, tmp_path: Path) -> None:
    store = tmp_path / "store"
    wanted = sweep(store=Store(store))
    assert "bm25: to compute (bm25)" in str(wanted.plan(tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


def test_a_plan_names_what_the_store_has(sweep: Make, tmp_path: Path) -> None:
    wanted = sweep(store=Store(tmp_path / "store"), systems={"bm25": {}})
    wanted.run(tmp_path / "out", jobs=1)
    assert "bm25: in the store" in str(wanted.plan(tmp_path / "other"))


def test_time_is_not_guessed_where_something_has_to_be_built(sweep: Make, tmp_path: Path) -> None:
    plan = sweep(store=Store(tmp_path / "store")).plan(tmp_path / "out")
    assert plan.seconds is None
    assert "not known until" in str(plan)


def test_time_is_estimated_from_what_is_finished(sweep: Make, tmp_path: Path) -> None:
    sweep(systems={"bm25": {"k1": [0.5, 0.7]}}).run(tmp_path, jobs=1)
    plan = sweep(systems={"bm25": {"k1": [0.5, 0.7, 0.9, 1.5]}}).plan(tmp_path, jobs=1)
    assert plan.timed == 2
    assert plan.seconds is not None
    assert plan.seconds > 0


def test_what_a_system_uses_is_found_by_running_it(sweep: Make) -> None:
    (one,) = sweep(systems={"kg2rag": {}}).configurations
    assert set(used(one)) >= {"graph", "vectors", ("encoded", "query"), ("encoded", "passage")}
    (other,) = sweep(systems={"mention_ppr": {}}).configurations
    assert {"mentions", "sentence_vectors"} <= {name for name in used(other) if isinstance(name, str)}


def test_a_store_that_is_only_looked_at_builds_nothing(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="letters"):
        LookingStore(tmp_path).entry("letters", {"n": 1}, lambda _: None)
    assert list(tmp_path.iterdir()) == []
