"""Systems + a data set -> a `Comparison`: run, time, check and score them side by side.

A system is anything with `retrieve_batch(queries, k)` and a `repr` that names its configuration.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pandas as pd

from kg2rag.compute import TokenCounter
from kg2rag.compute.progress import bar as progress_bar
from kg2rag.evaluation import described, provenance
from kg2rag.evaluation.budgets import PassageTokens, returned_sizes
from kg2rag.evaluation.comparison import Comparison, Inputs
from kg2rag.evaluation.curves import depth_curve, depths_below, token_curve
from kg2rag.evaluation.graph_use import graph_use
from kg2rag.evaluation.graphs import Strategy, over_graphs
from kg2rag.evaluation.metric_names import DEFAULT_METRICS, Metric, Metrics, own_functions, parse_metrics
from kg2rag.evaluation.metrics import checked_scores
from kg2rag.evaluation.running import System, check_systems, remarks, require_mapping, run
from kg2rag.evaluation.score_table import FAMILIES, Family, per_query_table, score_table
from kg2rag.retrievers.adapters import as_system
from kg2rag.types import GoldUnit, QADataset, Ranking, at_least, one_of, require, require_dataset, require_k

if TYPE_CHECKING:
    from kg2rag.knowledge import KnowledgeBase


def compare(
    systems: Mapping[str, System | Sequence[System] | Strategy],
    data: QADataset,
    *,
    graphs: Mapping[str, KnowledgeBase | Sequence[KnowledgeBase]] | None = None,
    metrics: Metrics = DEFAULT_METRICS,
    k: int = 100,
    baseline: str | None = None,
    seed: int = 0,
    batch_size: int = 100,
    progress: bool = True,
    unit: GoldUnit | None = None,
    command: str | None = None,
    counter: TokenCounter | None = None,
    family: Family = "metric",
    clustered: bool = False,
) -> Comparison:
    """Run systems on the same questions and compare them with a baseline.

    Parameters
    ----------
    systems : name -> system; the order is that of every table. Names become file names: letters, digits and `._+-`.
        Rankings made elsewhere, and a function (text, k) -> passage ids, are systems too; see `adapters.as_system`.
        A list of systems that differ only in their seed (see `replicates`) is one row: each question's score is its
        mean over the seeds, and the table shows the standard deviation between seeds beside the mean.
    graphs : name -> knowledge base, or several of them for a placebo under several seeds. A strategy among the
        `systems` (a class such as `HippoRAG2`, or a function of a knowledge base) is then run over each, as
        "strategy.graph"; see `kg2rag.evaluation.graphs`.
    metrics : any of ranx's, `all_recall@k`, `support_f1@k`, `recall@500tokens`, and functions `(ranking, gold) ->
        float` of your own; a list, or column name -> metric. See docs/add_a_metric.md.
    k : hits per query; a metric may not read deeper.
    baseline : the system that the others are tested against; "dense" where there is one, else the first.
    seed : of bootstrap and randomisation test.
    batch_size : queries given to a system at once; changes speed, never a result.
    progress : a bar per system and one for the statistics, see `kg2rag.compute.progress`.
    unit : judge "passage"s or "document"s; the data set's own unit where not given.
    command : what the user typed, for `config.json`.
    counter : counts tokens; `kg2rag.compute.tokens.counter_of(kb.embedder)`, or the default encoder's where not given.
    family : of tests that Holm's correction runs over: the systems within each "metric", or "all" metrics together,
        for a claim that rests on several.
    clustered : resample questions that share gold together, for they are not independent: wider intervals, and
        tests that take a shared passage for one piece of evidence.

    Raises
    ------
    ValueError : anything wrong with the arguments, before any work; or a ranking that cannot be judged, after it.
    Exception : what a system raises, with a note that names the system and the first query of the batch.
    """
    started, begin, load = datetime.now(UTC), time.perf_counter(), provenance.load_average()
    commit = provenance.commit()  # which may be another when a long run ends
    require_dataset(data)
    require_k(k)
    require("batch_size", batch_size, int, at_least(1))
    require("family", family, str, one_of(FAMILIES))
    require_mapping(systems)
    if graphs is None:
        systems = {name: as_system(name, given, data) for name, given in systems.items()}
    repeated = check_systems(systems if graphs is None else over_graphs(systems, graphs))
    if baseline is None:
        baseline = "dense" if "dense" in repeated else next(iter(repeated))
    if baseline not in repeated:
        raise ValueError(f"Unknown baseline {baseline!r}. Known: {', '.join(repeated)}.")
    parsed = parse_metrics(metrics, k)
    first = {name: alike[0] for name, alike in repeated.items()}
    encodings, runs = described.encodings(first), dict[str, list[list[Ranking]]]()
    ms_per_query: dict[str, float] = {}
    unread: dict[str, list[str]] = {}
    for name, alike in repeated.items():
        read_before = described.graph_reads(alike)
        done = [run(name, system, data, k, batch_size, progress=progress) for system in alike]
        if described.graph_reads(alike) == read_before and (given := described.given_graphs(alike)):
            unread[name] = given
        runs[name] = [rankings for rankings, _ in done]
        ms_per_query[name] = round(sum(ms for _, ms in done) / len(done), 3)
    tokens, judged = PassageTokens(data.corpus, counter), unit or data.unit
    names = [metric.name for metric in parsed]
    together = {name: [ranking for run in alike for ranking in run] for name, alike in runs.items()}
    read = sorted({metric.k or k for metric in parsed if metric.tokens is None})
    with progress_bar(len(runs) + 3, "scores, intervals, tests", "step", shown=progress) as bar:
        scored = {}
        for name, alike_runs in runs.items():
            scored[name] = _score(alike_runs, data, parsed, k=k, unit=judged, tokens=tokens)
            bar.update()
        frames = {name: sum(alike[1:], start=alike[0]) / len(alike) for name, alike in scored.items()}
        first_runs = {name: alike_runs[0] for name, alike_runs in runs.items()}
        per_query, per_seed = per_query_table(frames, data, names, first_runs), _per_seed(scored, names)
        scores = score_table(per_query, names, baseline, seed, per_seed, family=family, clustered=clustered)
        bar.update()
        by_tokens = token_curve(together, data, tokens, k, judged)
        bar.update()
        sizes = returned_sizes(together, tokens, read)
        bar.update()
    about = described.parameters(first)
    config = {
        "data": {**described.data(data), "unit": judged, "gold_out_of_reach": _out_of_reach(data)},
        "systems": {name: repr(system) for name, system in first.items()},
        "parameters": about,
        "tuning": described.tuning(about),
        "knowledge": described.knowledge(first, encodings),
        "graphs": described.graphs(first),
        "graph_unread": unread,
        "seeds": {name: list(map(repr, alike)) for name, alike in repeated.items() if len(alike) > 1},
        "remarks": remarks(first),
        "graph_use": graph_use({name: alike[0] for name, alike in runs.items()}),
        "metrics": [metric.name for metric in parsed],
        **own_functions(parsed),
        "k": k,
        "baseline": baseline,
        "seed": seed,
        "family": family,
        "clustered": clustered,
        "batch_size": batch_size,
        "tokens": repr(tokens.counter),
        "command": command,
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - begin, 3),
        "ms_per_query": {name: None if ms != ms else ms for name, ms in ms_per_query.items()},
        "load_average": {"start": load, "end": provenance.load_average()},
        **provenance.environment(),
        "commit": commit,
    }
    return Comparison(
        rankings=first_runs,
        ms_per_query=ms_per_query,
        baseline=baseline,
        per_query=per_query,
        per_seed=per_seed,
        scores=scores,
        curve=depth_curve(frames, k),
        token_curve=by_tokens,
        sizes=sizes,
        inputs=Inputs(first, data),
        config={**config, "fingerprint": described.fingerprint(config)},
    )


def _score(
    runs: Sequence[Sequence[Ranking]],
    data: QADataset,
    metrics: Sequence[Metric],
    *,
    k: int,
    unit: GoldUnit,
    tokens: PassageTokens,
) -> list[pd.DataFrame]:
    """The scores of each run of a system, by metric and of the recall at every depth of the curve."""
    names = [metric.name for metric in metrics]
    of_curve = [Metric.parse(f"recall@{depth}") for depth in depths_below(k) if f"recall@{depth}" not in names]
    return [checked_scores(run, data, [*metrics, *of_curve], unit=unit, tokens=tokens) for run in runs]


def _out_of_reach(data: QADataset) -> int:
    """How many questions have gold that is not among their own candidates, which caps every system's recall."""
    corpus = data.corpus
    name = str if data.unit == "passage" else lambda id_: corpus.doc_ids[corpus.row(id_)]
    return sum(q.candidates is not None and not set(q.gold) <= set(map(name, q.candidates)) for q in data.questions)


def _per_seed(scored: Mapping[str, Sequence[pd.DataFrame]], metrics: Sequence[str]) -> pd.DataFrame | None:
    """The means of every single run of the systems with several seeds: system, run (from 1), then the metrics."""
    rows = [
        {"system": name, "run": number, **frame[list(metrics)].mean().to_dict()}
        for name, alike in scored.items()
        if len(alike) > 1
        for number, frame in enumerate(alike, start=1)
    ]
    return pd.DataFrame(rows) if rows else None
