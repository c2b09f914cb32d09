"""Optuna: seeded, kept in a file, resumed where it stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kg2rag.experiments.sweep import Sweep, runner
from kg2rag.experiments.sweep.workbench import Outcome

Make = Callable[..., Sweep]
SPACE = {"bm25": {"k1": {"low": 0.1, "high": 3.0}, "b": [0.2, 0.4, 0.6]}}

pytest.importorskip("optuna")


def results(sweep: Make, out: Path, *, samples: int = 15, jobs: int = 1, resume: bool = False) -> bytes:
    sweep(systems=SPACE, search="optuna", samples=samples, seed=3).run(out, jobs=jobs, resume=resume)
    return (out / "results.parquet").read_bytes()


def test_one_process_and_one_seed_give_one_file(sweep: Make, tmp_path: Path) -> None:
    assert results(sweep, tmp_path / "a") == results(sweep, tmp_path / "b")


def test_a_study_goes_on_where_it_stopped(sweep: Make, tmp_path: Path) -> None:
    results(sweep, tmp_path / "short", samples=11)
    assert results(sweep, tmp_path / "short", resume=True) == results(sweep, tmp_path / "whole")


def test_a_study_that_was_interrupted_ends_in_the_same_file(
    sweep: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, ran = runner.Runner.keep, []

    def stop(self: runner.Runner, configuration: object, outcome: Outcome) -> None:
        ran.append(outcome.id)
        if len(ran) == 12:
            raise KeyboardInterrupt
        keep(self, configuration, outcome)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(runner.Runner, "keep", stop)
        with pytest.raises(KeyboardInterrupt):
            results(sweep, tmp_path / "stopped")
    assert results(sweep, tmp_path / "stopped", resume=True) == results(sweep, tmp_path / "whole")


def test_later_trials_are_chosen_by_earlier_ones(sweep: Make, tmp_path: Path) -> None:
    import optuna

    results(sweep, tmp_path)
    (name,) = optuna.get_all_study_names(f"sqlite:///{tmp_path / 'study.db'}")
    study = optuna.load_study(study_name=name, storage=f"sqlite:///{tmp_path / 'study.db'}")
    assert len(study.trials) == 15
    assert all(trial.state.name == "COMPLETE" for trial in study.trials)
