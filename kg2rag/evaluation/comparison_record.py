"""Systems, runs and a data set -> the contents of `config.json`, on which all numbers depend."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from kg2rag.evaluation import provenance
from kg2rag.evaluation.graph_use import graph_use, reads_graph
from kg2rag.evaluation.metrics import Metric
from kg2rag.evaluation.runs import Run
from kg2rag.evaluation.scored_runs import Scoring
from kg2rag.evaluation.system_code import CODE, system_codes
from kg2rag.retrievers import system_parts
from kg2rag.types import QADataset


def record_comparison(
    systems: Mapping[str, Sequence[Any]],
    runs: Mapping[str, Sequence[Run]],
    data: QADataset,
    scoring: Scoring,
    reader: object,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """The configuration of a comparison, with its `fingerprint`.

    Dates and machines come from the runs, so they are those of the computation, not of the
    comparison.

    systems, runs : name -> a system, and its run, for each seed.
    reader : the reader that answered the questions; None if there is none.
    options : the fields of `CompareOptions`.
    """
    config = {
        "data": provenance.data(data, scoring.unit),
        **_record_systems(systems, data),
        **_record_runs(systems, runs, len(data)),
        **{name: options[name] for name in ("seed", "batch_size", "command")},
        "metrics": [metric.name for metric in scoring.metrics],
        "k": scoring.k,
        "baseline": scoring.baseline,
        "tokens": repr(scoring.tokens.counter),
    }
    config[CODE] = system_codes(config)
    functions = _metric_functions(scoring.metrics)
    if functions:
        config["metric_functions"] = functions
    if reader is not None:
        config["reader"] = repr(reader)
        config["reader_tokens"] = options["reader_tokens"]
        config["answer_rules"] = options["answer_rules"]
    return {**config, "fingerprint": provenance.fingerprint(config)}


def _metric_functions(metrics: Sequence[Metric]) -> dict[str, str]:
    """Metric -> the full name of its function, for functions of the user."""
    functions = {}
    for metric in metrics:
        if metric.function is not None:
            function_name = getattr(metric.function, "__qualname__", metric.name)
            functions[metric.name] = f"{metric.function.__module__}.{function_name}"
    return functions


def _record_systems(
    systems: Mapping[str, Sequence[Any]], data: QADataset
) -> dict[str, Any]:
    """The entries systems, parameters, tuning, seeds and remarks, each a mapping from system.

    A system with several seeds is represented by the first.
    """
    record: dict[str, Any] = {
        "systems": {},
        "parameters": {},
        "tuning": {},
        "seeds": {},
        "remarks": {},
    }
    for name, seeds in systems.items():
        first = seeds[0]
        record["systems"][name] = repr(first)
        record["parameters"][name] = provenance.parameters(first)
        tuning = system_parts.tuning(first, data)
        if tuning:
            record["tuning"][name] = tuning
        if len(seeds) > 1:
            record["seeds"][name] = [repr(system) for system in seeds]
        remark = system_parts.remark(first)
        if remark:
            record["remarks"][name] = remark
    return record


def _record_runs(
    systems: Mapping[str, Sequence[Any]],
    runs: Mapping[str, Sequence[Run]],
    questions: int,
) -> dict[str, Any]:
    """The entries on graphs, times and inputs of the systems.

    A system with several seeds is represented by the first, except for times.
    """
    first_systems = {name: seeds[0] for name, seeds in systems.items()}
    graph_systems = []
    not_cached = {}
    rankings = {}
    abouts = {}
    for name, seeds in runs.items():
        first = seeds[0]
        rankings[name] = first.rankings
        abouts[name] = first.about
        if first.about["read_graph"] or reads_graph(first.rankings):
            graph_systems.append(name)
        if first.not_cached:
            not_cached[name] = first.not_cached
    return {
        "graph_use": graph_use(rankings),
        "graph_systems": graph_systems,
        **_record_times(runs, questions),
        "not_cached": not_cached,
        **provenance.of_runs(abouts, first_systems),
    }


def _record_times(runs: Mapping[str, Sequence[Run]], questions: int) -> dict[str, Any]:
    """The entries ms_per_query and build_seconds, by system, and seconds, the sum over all.

    Milliseconds are means over seeds, None if unknown; seconds to build are sums over seeds.
    """
    ms_per_query: dict[str, float | None] = {}
    build_seconds = {}
    seconds = 0.0
    for name, seeds in runs.items():
        build = sum(run.build_seconds for run in seeds)
        ms = sum(run.ms_per_query for run in seeds) / len(seeds)
        build_seconds[name] = round(build, 3)
        seconds += build
        if math.isnan(ms):
            ms_per_query[name] = None
        else:
            ms_per_query[name] = round(ms, 3)
            seconds += ms * questions / 1000
    return {
        "ms_per_query": ms_per_query,
        "build_seconds": build_seconds,
        "seconds": round(seconds, 3),
    }
