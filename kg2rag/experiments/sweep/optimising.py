"""Optuna chooses the configurations: one study for each entry of a sweep on each graph, encoder and setting.

The studies are in `study.db` (sqlite) beside the results and contain complete trials alone, each added once its scores
are on the disk, so that a sweep may be killed at any moment. The sampler of a trial is seeded by its number: its
suggestion depends on the trials before it alone. Trials are chosen in batches of one a job: one seed and one number of
jobs give one sequence of configurations, interrupted or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from kg2rag.experiments.sweep.configuration import Configuration
from kg2rag.experiments.sweep.definition import SweptSystem
from kg2rag.experiments.sweep.runner import Runner

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import Trial

STUDY = "study.db"


def optimise(runner: Runner) -> list[str]:
    """Run every study to its number of trials; the ids of all configurations, in the order first chosen."""
    from importlib.util import find_spec

    if find_spec("optuna") is None:
        raise ValueError(
            "search = 'optuna' needs the package 'optuna', which is not installed: pip install kg2rag[scale]."
        )
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = f"sqlite:///{(runner.folder.path / STUDY).resolve()}"
    for swept in runner.sweep.swept:
        kept = optuna.create_study(storage=storage, study_name=_name(swept), direction="maximize", load_if_exists=True)
        _optimise(runner, swept, kept)
    return runner.order


def _optimise(runner: Runner, swept: SweptSystem, kept: Study) -> None:
    import optuna

    working = optuna.create_study(direction="maximize")  # in memory: may hold trials that never end
    for past in kept.trials:
        working.add_trial(past)
        _order(runner, past.user_attrs["configuration"])
    while len(working.trials) < runner.sweep.samples:
        batch = min(runner.jobs, runner.sweep.samples - len(working.trials))
        trials = [_ask(runner, swept, working) for _ in range(batch)]
        fresh = {one.id: one for _, one in trials if runner.folder.errors.get(one.id, "open")}
        for _, one in trials:
            _order(runner, one.id)
        runner.run(list(fresh.values()))
        for trial, one in trials:
            _tell(runner, working, trial, one)
            kept.add_trial(working.trials[trial.number])


def _ask(runner: Runner, swept: SweptSystem, working: Study) -> tuple[Trial, Configuration]:
    import optuna

    number = len(working.trials)
    working.sampler = optuna.samplers.TPESampler(seed=_seed(runner.sweep.seed, swept.number, number))
    trial: Any = working.ask()
    parameters = {name: space.suggest(name, trial) for name, space in swept.spaces.items()}
    one = runner.sweep.configuration(swept, parameters)
    trial.set_user_attr("configuration", one.id)
    return trial, one


def _tell(runner: Runner, working: Study, trial: Trial, configuration: Configuration) -> None:
    """The mean dev score; a failed configuration is a failed trial."""
    from optuna.trial import TrialState

    if runner.folder.errors[configuration.id]:
        working.tell(trial, state=TrialState.FAIL)
        return
    table = runner.folder.table(configuration.id)
    dev = table.filter(pc.equal(table["split"], "dev"))
    working.tell(trial, float(pc.mean(dev[runner.sweep.goal]).as_py()))


def _order(runner: Runner, id_: str) -> None:
    if id_ not in runner.order:
        runner.order.append(id_)


def _seed(*parts: int) -> int:
    import numpy as np

    state: Sequence[Any] = np.random.SeedSequence(parts).generate_state(1).tolist()
    return int(state[0])


def _name(swept: SweptSystem) -> str:
    """Of a study: another space is another study."""
    import hashlib

    spaces = hashlib.sha256(repr(sorted(swept.spaces.items())).encode()).hexdigest()[:8]
    return f"{swept.name} {spaces}"
