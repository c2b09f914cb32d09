"""What a plan says, and that planning does nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kg2rag.compute import Store
from kg2rag.experiments.sweep import Sweep

Make = Callable[..., Sweep]


def test_a_plan_counts_what_is_left(sweep: Make, tmp_path: Path) -> None:
    sweep(systems={"bm25": {"k1": [0.5]}}).run(tmp_path, jobs=1)
    plan = sweep(systems={"bm25": {"k1": [0.5, 0.9, 1.5]}}).plan(tmp_path, jobs=2)
    assert (plan.total, plan.finished, plan.failed, plan.by_system) == (3, 1, 0, {"bm25": 2})
    assert (plan.questions["dev"], plan.questions["test"]) == (20, 20)


def test_a_plan_writes_nothing(sweep: Make, tmp_path: Path) -> None:
    store = tmp_path / "store"
    wanted = sweep(store=Store(store))
    wanted.plan(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_time_is_not_guessed_before_anything_has_finished(sweep: Make, tmp_path: Path) -> None:
    plan = sweep(store=Store(tmp_path / "store")).plan(tmp_path / "out")
    assert plan.seconds is None
    assert "not known until" in str(plan)


def test_time_is_estimated_from_what_is_finished(sweep: Make, tmp_path: Path) -> None:
    sweep(systems={"bm25": {"k1": [0.5, 0.7]}}).run(tmp_path, jobs=1)
    plan = sweep(systems={"bm25": {"k1": [0.5, 0.7, 0.9, 1.5]}}).plan(tmp_path, jobs=1)
    assert plan.timed == 2
    assert plan.seconds is not None
    assert plan.seconds > 0
