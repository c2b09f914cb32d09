"""Optuna chooses the configurations: one study for each entry of a sweep on each graph, encoder and setting.

The studies are in `study.db` (sqlite) beside the results and contain complete trials alone, each added once its scores
are on the disk, so that a sweep may be killed at any moment. The sampler of a trial is seeded by its number: its
suggestion depends on the trials before it alone. Trials are chosen in batches of one a job: one seed and one number of
jobs give one sequence of configurations, interrupted or not.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from kg2rag.experiments.sweep.configuration import Configuration
from kg2rag.experiments.sweep.definition import SweptSystem
from kg2rag.experiments.sweep.runner import Runner

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import Trial

STUDY = "study.db"


def optimise(runner: Runner) -> None:
    """Run every study to its number of trials; `runner.order` gets the configurations in the order first chosen."""
    try:
        import optuna
    except ModuleNotFoundError:
        raise ValueError(
            "search = 'optuna' needs the package 'optuna', which is not installed: pip install kg2rag[scale]."
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = f"sqlite:///{(runner.folder.path / STUDY).resolve()}"
    for swept in runner.sweep.swept:
        spaces = hashlib.sha256(repr(sorted(swept.spaces.items())).encode()).hexdigest()[:8]
        place = f"{swept.graph} {swept.encoder} {swept.setting}"
        name = f"{swept.number + 1} {swept.system} {place} {spaces}"  # another space is another study
        kept = optuna.create_study(storage=storage, study_name=name, direction="maximize", load_if_exists=True)
        _optimise(runner, swept, kept)


def _optimise(runner: Runner, swept: SweptSystem, kept: Study) -> None:
    import optuna

    working = optuna.create_study(direction="maximize")  # in memory: may hold trials that never end
    for past in kept.trials:
        working.add_trial(past)
        runner.order.setdefault(past.user_attrs["configuration"])
    while len(working.trials) < runner.sweep.samples:
        batch = min(runner.jobs, runner.sweep.samples - len(working.trials))
        trials = [_ask(runner, swept, working) for _ in range(batch)]
        fresh = {one.id: one for _, one in trials if runner.folder.errors.get(one.id, "open")}
        runner.order |= dict.fromkeys(one.id for _, one in trials)
        runner.run(list(fresh.values()))
        for trial, one in trials:
            _tell(runner, working, trial, one)
            kept.add_trial(working.trials[trial.number])


def _ask(runner: Runner, swept: SweptSystem, working: Study) -> tuple[Trial, Configuration]:
    import optuna

    state = np.random.SeedSequence([runner.sweep.seed, swept.number, len(working.trials)]).generate_state(1)
    working.sampler = optuna.samplers.TPESampler(seed=int(state[0]))
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
