"""Systems, runs and a data set -> `config.json` of a comparison: what its numbers depend on, as JSON values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from kg2rag.evaluation import provenance
from kg2rag.evaluation.graph_use import graph_use, reads_graph
from kg2rag.evaluation.metrics import Metric
from kg2rag.evaluation.runs import Run
from kg2rag.types import QADataset


def record_comparison(
    systems: Mapping[str, Sequence[Any]],
    runs: Mapping[str, Sequence[Run]],
    data: QADataset,
    asked: Mapping[str, Any],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """The configuration of a comparison, with its `fingerprint`.

    Dates and machines come from the runs, so they are those of the computation, not of the comparison.

    systems, runs : name -> a system, and its run, for each seed.
    asked : `metrics` (parsed), `k`, `baseline` and `tokens`, the counter.
    options : the fields of `CompareOptions`.
    """
    metrics: Sequence[Metric] = asked["metrics"]
    functions = {metric.name: _qualified_name(metric) for metric in metrics if metric.function}
    config = {
        "data": provenance.data(data, options["unit"]),
        **_record_systems(systems, data),
        **_record_runs(systems, runs, len(data)),
        **{name: options[name] for name in ("seed", "batch_size", "command")},
        "metrics": [metric.name for metric in metrics],
        **({"metric_functions": functions} if functions else {}),
        "k": asked["k"],
        "baseline": asked["baseline"],
        "tokens": repr(asked["tokens"]),
    }
    return {**config, "fingerprint": provenance.fingerprint(config)}


def _qualified_name(metric: Metric) -> str:
    function = metric.function
    return f"{function.__module__}.{getattr(function, '__qualname__', metric.name)}"


def _record_systems(systems: Mapping[str, Sequence[Any]], data: QADataset) -> dict[str, Any]:
    """Of each system its parameters, what was tuned, and its remark; of several seeds, the first."""
    first = {name: seeds[0] for name, seeds in systems.items()}
    tuning = {name: provenance.tuning(system, data) for name, system in first.items()}
    remarks = {name: provenance.remark(system) for name, system in first.items()}
    return {
        "systems": {name: repr(system) for name, system in first.items()},
        "parameters": {name: provenance.identity(system, record=True) for name, system in first.items()},
        "tuning": {name: numbers for name, numbers in tuning.items() if numbers},
        "seeds": {name: [repr(system) for system in seeds] for name, seeds in systems.items() if len(seeds) > 1},
        "remarks": {name: remark for name, remark in remarks.items() if remark},
    }


def _record_runs(
    systems: Mapping[str, Sequence[Any]], runs: Mapping[str, Sequence[Run]], questions: int
) -> dict[str, Any]:
    """How each system used its graph, how long it took, and what its run read; of several seeds, mostly the first."""
    first_systems = {name: seeds[0] for name, seeds in systems.items()}
    first_runs = {name: seeds[0] for name, seeds in runs.items()}
    ms = {name: sum(seed.ms_per_query for seed in seeds) / len(seeds) for name, seeds in runs.items()}
    build = {name: sum(seed.build_seconds for seed in seeds) for name, seeds in runs.items()}
    answering = sum(milliseconds * questions / 1000 for milliseconds in ms.values() if not math.isnan(milliseconds))
    graph_systems = [name for name, first in first_runs.items() if _uses_graph(first)]
    return {
        "graph_use": graph_use({name: first.rankings for name, first in first_runs.items()}),
        "graph_systems": graph_systems,
        "ms_per_query": {name: None if math.isnan(value) else round(value, 3) for name, value in ms.items()},
        "build_seconds": {name: round(seconds, 3) for name, seconds in build.items()},
        "seconds": round(sum(build.values()) + answering, 3),
        "not_cached": {name: first.not_cached for name, first in first_runs.items() if first.not_cached},
        **provenance.of_runs({name: first.about for name, first in first_runs.items()}, first_systems),
    }


def _uses_graph(run: Run) -> bool:
    return bool(run.about["read_graph"]) or reads_graph(run.rankings)
