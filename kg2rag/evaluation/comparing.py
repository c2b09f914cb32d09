"""Systems + a data set -> a `Comparison`: ask for each system's run, score the runs, test the differences.

A system is anything with `retrieve_batch(queries, k)` and a `repr` that names its configuration. What a person gives is
named and checked before any work. Runs come from the store where they are there (see `runs`): so a killed comparison
goes on, and one more system runs alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import pandas as pd

from kg2rag.compute import TokenCounter
from kg2rag.evaluation import provenance
from kg2rag.evaluation.comparison import Comparison, Inputs
from kg2rag.evaluation.comparisons import Comparisons, require_one_setting
from kg2rag.evaluation.metrics import DEFAULT_METRICS, Metric, Metrics, PassageTokens, checked_scores, parse_metrics
from kg2rag.evaluation.overlap import POOLED, agreement
from kg2rag.evaluation.runs import Run, run
from kg2rag.evaluation.score_table import score_table
from kg2rag.evaluation.storage import require_place
from kg2rag.evaluation.tables import DEPTHS, graph_use, per_query_table, reads_graph, returned_sizes, token_curve
from kg2rag.knowledge import KnowledgeBase
from kg2rag.report.table import MACRO
from kg2rag.retrievers.adapters import as_system
from kg2rag.retrievers.systems import build_all, label
from kg2rag.types import GoldUnit, QADataset, at_least, called, require, require_dataset, require_k

Graphs = Mapping[str, KnowledgeBase | Sequence[KnowledgeBase]]
"""Name -> knowledge base, or several of them for a placebo under several seeds."""
Sets = list[QADataset] | tuple[QADataset, ...] | Mapping[str, QADataset]
"""Data sets under their own names, or name -> data set."""
Systems = Mapping[str, Any] | Sequence[Any] | str
SystemsOfSets = Callable[[QADataset], Systems] | Mapping[str, Systems] | Sequence[str]
"""A function that makes the systems of a data set, set -> its systems, or names, built over each."""
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


@dataclass(frozen=True)
class Settings:
    """The options of `compare` that are seldom given.

    unit : judge "passage"s or "document"s; the data set's own unit where not given.
    seed : of tests and intervals that must draw; see `score_table`.
    counter : counts tokens; `kg2rag.compute.tokens.counter_of(kb.embedder)`, or the default encoder's where not given.
    batch_size : queries given to a system at once; changes speed, never a result.
    fresh : run every system anew, in place of what the store has.
    command : what the user typed, for `config.json`.
    progress : a bar per system, see `progress_bar`.
    """

    unit: GoldUnit | None = None
    seed: int = 0
    counter: TokenCounter | None = None
    batch_size: int = 100
    fresh: bool = False
    command: str | None = None
    progress: bool = True

    def __post_init__(self) -> None:
        require("batch_size", self.batch_size, int, at_least(1))


@overload
def compare(systems: Systems, data: QADataset | None = None, **options: Any) -> Comparison: ...
@overload
def compare(systems: SystemsOfSets, data: Sets, **options: Any) -> Comparisons: ...
def compare(
    systems: Any,
    data: QADataset | Sets | None = None,
    *,
    graphs: Graphs | None = None,
    metrics: Metrics = DEFAULT_METRICS,
    k: int = 100,
    baseline: str | None = None,
    folder: Path | str | None = None,
    **settings: Any,
) -> Comparison | Comparisons:
    """Run systems on the same questions and compare them with a baseline.

    On several data sets each is a comparison of its own, and the result, `Comparisons`, has a macro-average over them:

    >>> data = {"musique": kg2rag.load(…), "hotpotqa": kg2rag.load(…)}  # doctest: +SKIP
    >>> compare(lambda one: build_all(KnowledgeBase.build(one.corpus), ["bm25", "dense"]), data)  # doctest: +SKIP

    Parameters
    ----------
    systems : name -> system, or a list of systems or of names, which are built over `KnowledgeBase.build(data.corpus)`
        where no other system has a knowledge base; the order is that of every table. Names become file names:
        letters, digits and `._+-`.
        Rankings made elsewhere, and a function (text, k) -> passage ids, are systems too; see `adapters.as_system`.
        A list of systems that differ only in their seed is one row: each question's score is its mean over the seeds,
        and the table shows the standard deviation between seeds beside the mean.
        On several sets: a function of a data set that makes its systems, for a system searches one corpus, or
        set -> its systems; the same names on each.
    data : one data set, or several, in a list or by name.
    graphs : name -> knowledge base, or several of them for a placebo under several seeds. A strategy among the
        `systems` (a class such as `HippoRAG2`, or a function of a knowledge base) is then run over each, as
        "strategy.graph". One that gains as much over a placebo gains from more candidates, not from the graph.
    metrics : any of ranx's, `all_recall@k`, `support_f1@k`, `recall@500tokens`, and functions `(ranking, gold) ->
        float` of your own; a list, or column name -> metric. See docs/extending.md.
    k : hits per query; a metric may not read deeper.
    baseline : the system that the others are tested against; "dense" where there is one, else the first.
    folder : where the result is saved; of several sets each in folder/NAME as soon as it is made, then the summary.
    settings : the rest, by the names of `Settings`, such as `fresh=True`.

    Raises
    ------
    ValueError : anything wrong with the arguments, before any work, or a ranking that cannot be judged, after it.
    Exception : what a system raises, with a note that names the system and the first query of the batch.
    """
    place = None if folder is None else Path(folder)
    if isinstance(data, Mapping | list | tuple):
        if graphs is not None:
            raise ValueError("graphs are of one corpus. On several sets pass a function that makes a set's systems.")
        sets = _named_sets(data)
        if place is not None:
            require_place(place, several=True)
        options, made = {"metrics": metrics, "k": k, "baseline": baseline, **settings}, dict[str, Comparison]()
        for name, one in sets.items():
            own = _systems_of(systems, name, one, list(sets))
            made[name] = compare(own, one, folder=place and place / name, **options)
        together = Comparisons(made)
        if place is not None:
            together.save_summary(place)
        return together
    by = Settings(**settings)
    data = require_dataset(data)
    require_k(k)
    given = given_systems(systems, graphs, data)
    baseline = baseline or ("dense" if "dense" in given else next(iter(given)))
    if baseline not in given:
        raise ValueError(f"Unknown baseline {baseline!r}. Known: {', '.join(given)}.")
    parsed = parse_metrics(metrics, k)
    if place is not None:
        require_place(place)
    asked: dict[str, Any] = {name: getattr(by, name) for name in ("batch_size", "fresh", "progress")}
    # Whoever encodes tokens comes first: the same passes give the vectors of whole texts, and not the other way round.
    order = sorted(given, key=lambda name: not getattr(given[name][0], "encodes_tokens", False))
    made_runs = {name: [run(one, data, k, name=name, **asked) for one in given[name]] for name in order}
    runs = {name: made_runs[name] for name in given}
    tokens = PassageTokens(data.corpus, by.counter)
    own = [(metric.name, metric.function) for metric in parsed if metric.function]
    functions = {name: f"{one.__module__}.{getattr(one, '__qualname__', name)}" for name, one in own}
    config = {
        **_config(given, runs, data, by),
        "metrics": [metric.name for metric in parsed],
        **({"metric_functions": functions} if functions else {}),
        "k": k,
        "baseline": baseline,
        "tokens": repr(tokens.counter),
    }
    result = Comparison(
        rankings={name: alike[0].rankings for name, alike in runs.items()},
        **_tables(runs, data, parsed, tokens, config, by),
        inputs=Inputs(first := {name: alike[0] for name, alike in given.items()}, data),
        unjudged=agreement(first, data, min(k, POOLED)) if data.unjudged else None,
        config={**config, "fingerprint": provenance.fingerprint(config)},
    )
    if place is not None:
        result.save(place)
    return result


def _named_sets(given: Sets) -> dict[str, QADataset]:
    """Name -> data set; TypeError: no data sets; ValueError: none, names that cannot name folders, or two settings."""
    pairs = list(given.items()) if isinstance(given, Mapping) else [(require_dataset(one).name, one) for one in given]
    if not pairs:
        raise ValueError("No data set to compare on. Pass at least one, such as kg2rag.load('bundled').")
    _require_names("Set", [name for name, _ in pairs])
    if MACRO in dict(pairs):
        raise ValueError(f"A set cannot be called {MACRO!r}, which heads a column of the table.")
    require_one_setting({name: require_dataset(data).setting for name, data in pairs})
    return dict(pairs)


def _systems_of(systems: Any, name: str, data: QADataset, sets: Sequence[str]) -> Any:
    """The systems of one set; TypeError: they were built over one corpus; ValueError: they are of other sets."""
    if callable(systems):
        return systems(data)
    if isinstance(systems, list | tuple) and all(isinstance(one, str) for one in systems):
        return systems
    if not isinstance(systems, Mapping) or not all(isinstance(one, Mapping) for one in systems.values()):
        raise TypeError(
            "A system searches one corpus, so several sets need their own: pass a function of a data set, such as "
            "lambda data: kg2rag.systems.build_all(KnowledgeBase.build(data.corpus), ['bm25', 'dense']), or "
            "{set: {name: system}}."
        )
    if set(systems) != set(sets):
        raise ValueError(f"Systems are given for {', '.join(systems)}; the sets are {', '.join(sets)}.")
    return systems[name]


def given_systems(systems: Any, graphs: Graphs | None, data: QADataset) -> dict[str, list[Any]]:
    """Name -> the systems of that name, several where they differ by seed.

    Over `graphs`, a strategy becomes one system for each, called "strategy.graph".

    Raises TypeError: what is no system or graph; ValueError: none, one twice, or a name that cannot name a file.
    """
    pairs = list(systems.items()) if isinstance(systems, Mapping) else _named(systems, data)
    if graphs is None:
        pairs = [(name, as_system(name, given, data)) for name, given in pairs]
    else:
        if not graphs:
            raise ValueError("No graph to compare. Pass {'mentions': KnowledgeBase.build(corpus)}, for example.")
        if all(_built(given) for _, given in pairs):
            raise ValueError("Every system is built already. Pass strategies, such as {'hippo2': HippoRAG2}.")
        pairs = [pair for name, given in pairs for pair in _over(name, given, graphs)]
    if not pairs:
        raise ValueError("No system to compare. Pass at least one, such as {'bm25': BM25(kb)}.")
    _require_names("System", [name for name, _ in pairs])
    return {name: _alike(name, given) for name, given in pairs}


def _built(given: object) -> bool:
    return hasattr(given, "retrieve_batch") and not isinstance(given, type)


def _named(systems: Any, data: QADataset) -> list[tuple[str, Any]]:
    """Systems and names of such, in a list or alone, by what they are called."""
    systems = [systems] if isinstance(systems, str) or _built(systems) else systems
    if not isinstance(systems, list | tuple):
        told = f"systems must be a mapping name -> system, not {called(systems)}."
        raise TypeError(f"{told} Write {{'dense': Dense(kb)}}.")
    bases = (kb for kb in provenance.knowledge_bases(systems) if kb.corpus.fingerprint == data.corpus.fingerprint)
    kb, made = next(bases, None), list[tuple[str, Any]]()
    for one in systems:
        if isinstance(one, str):
            kb = kb or KnowledgeBase.build(data.corpus)
            made += build_all(kb, [one]).items()
        else:
            made.append((label(one), one))
    return made


def _over(name: str, given: Any, graphs: Graphs) -> Iterator[tuple[str, Any]]:
    """A system as it is; a strategy over each graph: a list of systems where that has several knowledge bases."""
    if _built(given):
        yield name, given
        return
    if not callable(given):
        raise TypeError(f"Strategy {name!r} is {given!r}, which is no function of a knowledge base.")
    for graph, bases in graphs.items():
        alike = [bases] if isinstance(bases, KnowledgeBase) else bases
        if not all(isinstance(kb, KnowledgeBase) for kb in alike):
            raise TypeError(f"Graph {graph!r} is {bases!r}, no KnowledgeBase. Make one with KnowledgeBase.build.")
        yield f"{name}.{graph}", [given(kb) for kb in alike]


def _require_names(what: str, names: Sequence[object]) -> None:
    """Raise ValueError where a name cannot name a file, or two would name the same one."""
    lower: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str) or not _SAFE_NAME.fullmatch(name):
            wanted = "Use a letter or digit, then letters, digits and '._+-'."
            raise ValueError(f"{what} name {name!r} cannot name a file. {wanted}")
        if other := lower.get(name.lower()):
            twice = "would be called" if other == name else "differ at most in case; files may not:"
            raise ValueError(f"Two {what.lower()}s {twice} {name!r}. Name them: {{'a': ..., 'b': ...}}.")
        lower[name.lower()] = name


def _alike(name: str, given: Any) -> list[Any]:
    """A system, or one under several seeds, as a list."""
    alike = list(given) if isinstance(given, list | tuple) else [given]
    if not alike:
        raise ValueError(f"System {name!r} is an empty list. Pass a system, or one for every seed.")
    for system in (one for one in alike if not _built(one)):
        if hasattr(system, "retrieve_batch"):
            told = f"System {name!r} is the class {system.__name__}."
            raise TypeError(f"{told} Pass {system.__name__}(kb), or graphs={{…}} to make one over each.")
        raise TypeError(
            f"System {name!r} is {called(system)}, which has no retrieve_batch(queries, k). "
            "Pass a kg2rag.Retriever, such as BM25(kb), a function (text, k) -> passage ids, or a run."
        )
    if any(one == other for at, one in enumerate(alike) for other in alike[:at]):
        raise ValueError(f"System {name!r} contains one system twice. An equal seed is no repetition.")
    return alike


def _tables(
    runs: Mapping[str, Sequence[Run]],
    data: QADataset,
    metrics: Sequence[Metric],
    tokens: PassageTokens,
    config: Mapping[str, Any],
    by: Settings,
) -> dict[str, Any]:
    """Every table of a comparison, by its name there; `runs`: system -> a run for each of its seeds."""
    unit, names, k = by.unit or data.unit, [metric.name for metric in metrics], config["k"]
    depths = pd.Index(sorted({depth for depth in DEPTHS if depth < k} | {k}), name="k")
    every = [*metrics, *(Metric.parse(f"recall@{depth}") for depth in depths if f"recall@{depth}" not in names)]
    together = {name: [ranking for one in alike for ranking in one.rankings] for name, alike in runs.items()}
    how: Any = {"unit": unit, "tokens": tokens}
    scored = {n: [checked_scores(one.rankings, data, every, **how) for one in alike] for n, alike in runs.items()}
    frames = {name: sum(alike[1:], start=alike[0]) / len(alike) for name, alike in scored.items()}
    per_query = per_query_table(frames, data, names, {name: alike[0].rankings for name, alike in runs.items()})
    several = [
        (name, at, one) for name, alike in scored.items() if len(alike) > 1 for at, one in enumerate(alike, start=1)
    ]
    rows = [{"system": name, "run": at, **one[names].mean().to_dict()} for name, at, one in several]  # of every seed
    per_seed = pd.DataFrame(rows) if rows else None
    read = sorted({metric.k or k for metric in metrics if metric.tokens is None})
    curve = {name: [float(frame[f"recall@{depth}"].mean()) for depth in depths] for name, frame in frames.items()}
    return {
        "per_query": per_query,
        "per_seed": per_seed,
        "curve": pd.DataFrame(curve, index=depths),
        "token_curve": token_curve(together, data, tokens, k, unit),
        "sizes": returned_sizes(together, tokens, read),
        "scores": score_table(per_query, names, config["baseline"], per_seed, seed=by.seed),
    }


def _config(
    systems: Mapping[str, Sequence[Any]], runs: Mapping[str, Sequence[Run]], data: QADataset, by: Settings
) -> dict[str, Any]:
    """What the numbers depend on, as JSON values; times and places come from the runs, so they are those of then."""
    first, of_first = ({name: alike[0] for name, alike in some.items()} for some in (systems, runs))
    ms = {name: sum(one.ms_per_query for one in alike) / len(alike) for name, alike in runs.items()}
    build = {name: sum(one.build_seconds for one in alike) for name, alike in runs.items()}
    spent = sum(build.values()) + sum(one * len(data) / 1000 for one in ms.values() if not math.isnan(one))
    return {
        "data": provenance.data(data, by.unit),
        "systems": {name: repr(system) for name, system in first.items()},
        "parameters": {name: provenance.identity(system, record=True) for name, system in first.items()},
        "tuning": {name: rows for name, system in first.items() if (rows := provenance.tuning(system, data))},
        "seeds": {name: list(map(repr, alike)) for name, alike in systems.items() if len(alike) > 1},
        "remarks": {name: text for name, system in first.items() if (text := provenance.remark(system))},
        "graph_use": graph_use({name: one.rankings for name, one in of_first.items()}),
        "graph_systems": [n for n, one in of_first.items() if one.about["read_graph"] or reads_graph(one.rankings)],
        "ms_per_query": {name: None if math.isnan(one) else round(one, 3) for name, one in ms.items()},
        "build_seconds": {name: round(one, 3) for name, one in build.items()},
        "seconds": round(spent, 3),
        "not_cached": {name: one.not_cached for name, one in of_first.items() if one.not_cached},
        **provenance.of_runs({name: one.about for name, one in of_first.items()}, first),
        **{name: getattr(by, name) for name in ("seed", "batch_size", "command")},
    }
