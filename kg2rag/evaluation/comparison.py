"""Systems and a data set -> a `Comparison`: the runs of the systems, their scores and tests.

Stored runs are read; other runs are computed and stored (see `runs`). After a killed comparison,
the same call runs only the missing systems, and a further system runs without the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, overload

from kg2rag.compute import TokenCounter
from kg2rag.evaluation.answer_scores import Rules
from kg2rag.evaluation.comparison_record import record_comparison
from kg2rag.evaluation.metrics import DEFAULT_METRICS, Metrics, parse_metrics
from kg2rag.evaluation.multi_result import Comparisons, require_one_setting
from kg2rag.evaluation.named_systems import (
    Graphs,
    Systems,
    SystemsOfSets,
    name_systems,
    require_names,
    systems_of_set,
)
from kg2rag.evaluation.overlap import POOL_DEPTH, agreement
from kg2rag.evaluation.passage_tokens import PassageTokens
from kg2rag.evaluation.reader_answers import (
    AnswerReader,
    read_answers,
    require_reader,
)
from kg2rag.evaluation.result import Comparison
from kg2rag.evaluation.runs import Run, announce_work, run
from kg2rag.evaluation.scored_runs import CompareInputs, Scoring, score_runs
from kg2rag.evaluation.storage import require_free_folder
from kg2rag.report.score_sheet import MACRO
from kg2rag.text.registry import unknown
from kg2rag.text.suggestions import suggest_parameters
from kg2rag.types import (
    Count,
    GoldUnit,
    QADataset,
    check,
    require_dataset,
    require_k,
)

Sets = list[QADataset] | tuple[QADataset, ...] | Mapping[str, QADataset]
"""Several data sets, which keep their names, or name -> data set."""
DEFAULT_BASELINES = ("hybrid", "dense")
"""Default baselines, the most preferred first."""


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Advanced options of `compare`.

    Parameters
    ----------
    unit : unit of judgement, "passage" or "document"; the default is the unit of the gold.
    seed : seed of the tests and intervals that draw random numbers; see `significance.score_table`.
    counter : counts the tokens of passages for metrics such as recall@500tokens; the default is the
        tokenizer of the default encoder. `kg2rag.compute.counter_of(kb.embedder)` makes the counter
        of another encoder.
    batch_size : queries passed to a system at once, at least 1; it changes the speed and never a
        result.
    progress : show a progress bar for each system.
    command : the command line, which `config.json` and the report record.
    reader_tokens : maximum length of a reader's context, counted by `counter`.
    answer_rules : data set whose normalisation and F1 score the answers of a reader.
    confirm : called with the plan of a reader's requests; if it returns False, nothing is sent.
    """

    unit: GoldUnit | None = None
    seed: int = 0
    counter: TokenCounter | None = None
    batch_size: Count = 100
    progress: bool = True
    command: str | None = None
    reader_tokens: Count = 1000
    answer_rules: Rules = "squad"
    confirm: Callable[[str], bool] | None = None

    def __post_init__(self) -> None:
        check(self)


DEFAULT_OPTIONS = CompareOptions()


@overload
def compare(
    systems: Systems,
    data: QADataset,
    *,
    metrics: Metrics = DEFAULT_METRICS,
    k: int = 100,
    baseline: str | None = None,
    graphs: Graphs | None = None,
    reader: AnswerReader | None = None,
    folder: Path | str | None = None,
    fresh: bool = False,
    options: CompareOptions = DEFAULT_OPTIONS,
) -> Comparison: ...
@overload
def compare(
    systems: SystemsOfSets,
    data: Sets,
    *,
    metrics: Metrics = DEFAULT_METRICS,
    k: int = 100,
    baseline: str | None = None,
    reader: AnswerReader | None = None,
    folder: Path | str | None = None,
    fresh: bool = False,
    options: CompareOptions = DEFAULT_OPTIONS,
) -> Comparisons: ...
@suggest_parameters(
    **{
        name: f"options=CompareOptions({name}=…)"
        for name in CompareOptions.__dataclass_fields__
    },
)
def compare(
    systems: Systems | SystemsOfSets,
    data: QADataset | Sets,
    *,
    metrics: Metrics = DEFAULT_METRICS,
    k: int = 100,
    baseline: str | None = None,
    graphs: Graphs | None = None,
    reader: AnswerReader | None = None,
    folder: Path | str | None = None,
    fresh: bool = False,
    options: CompareOptions = DEFAULT_OPTIONS,
) -> Comparison | Comparisons:
    """Run systems on the same questions and compare each of them with a baseline.

    Parameters
    ----------
    systems : name -> system, or a list of systems. A system is one of

        - a retriever, such as ``BM25(kb)``, or the name of one in the catalogue, such as
          ``"bm25"``, which is built over the knowledge base of another system, or over
          ``KnowledgeBase.build(data.corpus)``;
        - a function ``(text, k) -> passage ids``, or a run computed elsewhere: a frame, a mapping,
          a ranx ``Run``;
        - a list of systems that differ only in their seed. They are one row: the score of a
          question is the mean over the seeds, and the table shows the standard deviation between
          seeds.

        Names become file names: letters, digits and ``._+-``. On several data sets pass a function
        that makes the systems of a data set, ``{set: {name: system}}``, or a list of names.
    data : one data set, or several, as a list or as name -> data set.
    metrics : names, as a list, such as ``recall@5``, ``all_recall@5``, ``support_f1``,
        ``recall@500tokens``, and functions ``(ranking, gold) -> float``; or column name -> metric.
        See docs/extending.md.
    k : hits per query; no metric may read deeper.
    baseline : the system that all others are tested against. Default: ``"hybrid"`` if it is
        compared, otherwise ``"dense"``, otherwise the first system.
    graphs : name -> knowledge base, or several of them for a placebo under several seeds. Each
        strategy among the `systems`, a class such as ``HippoRAG2``, a function of a knowledge base
        or a name, runs over each graph, as "strategy.graph". A strategy that gains as much over a
        placebo gains from more candidates, not from the graph.
    reader : answers the questions from each system's first passages, such as
        ``Reader(ChatModel(…))``. The table then has ``answer_em``, ``answer_f1`` and
        ``answer_in_context``, and as bounds the answers without passages and from the gold
        passages. See ``reader_tokens``, ``answer_rules`` and ``confirm`` in `CompareOptions`.
    folder : where the result is saved; with several data sets, in ``folder/NAME`` as soon as one is
        compared.
    fresh : run every system again, although the store has its run.
    options : the unit of judgement, seed, batch size and other rarely changed settings; see
        `CompareOptions`.

    Returns
    -------
    Comparison
        Scores, intervals and tests, which display themselves. With several data sets `Comparisons`:
        one comparison for each, and the macro-average.

    Raises
    ------
    ValueError, TypeError : an argument is wrong (before any work), or a ranking cannot be judged.
    RuntimeError : the plan of the reader was not confirmed, or it answered no question for every
        system.
    Exception : what a system raises, with a note that names the system and the first query of the
        batch.

    Examples
    --------
    >>> kg2rag.compare(["bm25", "dense"], data, metrics=["recall@5"])  # doctest: +SKIP
    >>> kg2rag.compare({"mine": my_function, "bm25": BM25(kb)}, data)  # doctest: +SKIP
    >>> kg2rag.compare(["bm25", "dense"], {"a": musique, "b": hotpotqa})  # doctest: +SKIP
    """
    place = None if folder is None else Path(folder)
    if isinstance(data, Mapping | list | tuple):
        if graphs is not None:
            raise ValueError(
                "`graphs` belong to one corpus. On several sets, pass a function that builds the "
                "systems of a set."
            )
        on_set = partial(
            compare,
            metrics=metrics,
            k=k,
            baseline=baseline,
            reader=reader,
            fresh=fresh,
            options=options,
        )
        return _compare_on_sets(systems, data, place, on_set)
    require_dataset(data)
    require_k(k)
    seeded_systems = name_systems(systems, graphs, data)
    baseline = _choose_baseline(baseline, list(seeded_systems))
    parsed = parse_metrics(metrics, k)
    if reader is not None:
        require_reader(reader, data)
    if place is not None:
        require_free_folder(place, systems=list(seeded_systems))
    runs = _run_all(seeded_systems, data, k, fresh=fresh, options=options)
    tokens = PassageTokens(data.corpus, options.counter)
    scoring = Scoring(
        parsed, k, baseline, options.unit or data.unit, tokens, options.seed
    )
    result = _score_all(seeded_systems, runs, data, scoring, reader, options)
    if place is not None:
        result.save(place)
    return result


def _score_all(
    seeded_systems: Mapping[str, Sequence[Any]],
    runs: Mapping[str, Sequence[Run]],
    data: QADataset,
    scoring: Scoring,
    reader: AnswerReader | None,
    options: CompareOptions,
) -> Comparison:
    """The comparison of runs; a reader, if there is one, answers the questions."""
    first = {name: seeds[0] for name, seeds in seeded_systems.items()}
    rankings = {name: seeds[0].rankings for name, seeds in runs.items()}
    answers, usage = None, ""
    if reader is not None:
        answers, usage = read_answers(
            reader,
            rankings,
            data,
            scoring.tokens,
            budget=options.reader_tokens,
            rules=options.answer_rules,
            confirm=options.confirm,
        )
    return Comparison(
        rankings=rankings,
        config=record_comparison(
            seeded_systems, runs, data, scoring, reader, vars(options)
        ),
        inputs=CompareInputs(first, data),
        unjudged=agreement(first, data, min(scoring.k, POOL_DEPTH))
        if data.unjudged
        else None,
        stored=_dates_of_stored_runs(runs),
        usage=usage,
        **score_runs(runs, data, scoring, answers),
    )


def _run_all(
    seeded_systems: Mapping[str, Sequence[Any]],
    data: QADataset,
    k: int,
    *,
    fresh: bool,
    options: CompareOptions,
) -> dict[str, list[Run]]:
    """Name -> a run per seed, in the order of the systems."""
    run_system = partial(
        run,
        data=data,
        k=k,
        batch_size=options.batch_size,
        fresh=fresh,
        progress=options.progress,
    )
    announce_work(chain.from_iterable(seeded_systems.values()), data, k, fresh=fresh)
    # Systems that encode tokens run first: their passes also give the vectors of whole texts, which
    # other systems use.
    order = sorted(
        seeded_systems,
        key=lambda name: not getattr(seeded_systems[name][0], "encodes_tokens", False),
    )
    runs = {}
    for name in order:
        runs[name] = [run_system(system, name=name) for system in seeded_systems[name]]
    return {name: runs[name] for name in seeded_systems}


def _dates_of_stored_runs(runs: Mapping[str, Sequence[Run]]) -> dict[str, str]:
    """System -> date of its earliest run, for systems with rankings from the store."""
    dates = {}
    for name, seeds in runs.items():
        started = [str(run.about["started"]) for run in seeds if run.n_stored]
        if started:
            dates[name] = min(started)
    return dates


def _choose_baseline(baseline: str | None, systems: Sequence[str]) -> str:
    """The baseline, by default the first of `DEFAULT_BASELINES` or of the systems.

    ValueError: the baseline is not compared.
    """
    if baseline is None:
        return next((name for name in DEFAULT_BASELINES if name in systems), systems[0])
    if baseline not in systems:
        raise ValueError(unknown("baseline", baseline, systems))
    return baseline


def _compare_on_sets(
    systems: Any,
    sets: Sets,
    folder: Path | None,
    compare_on_set: Callable[..., Comparison],
) -> Comparisons:
    """One comparison per data set; each is saved in a folder of its name as soon as it is done.

    compare_on_set : `compare` with all options but the systems, the data and the folder.
    """
    datasets = _name_sets(sets)
    if folder is not None:
        require_free_folder(folder, several=True)
    results = {}
    for name, data in datasets.items():
        set_folder = None if folder is None else folder / name
        set_systems = systems_of_set(systems, name, data, list(datasets))
        results[name] = compare_on_set(set_systems, data, folder=set_folder)
    comparisons = Comparisons(results)
    if folder is not None:
        comparisons.save_summary(folder)
    return comparisons


def _name_sets(sets: Sets) -> dict[str, QADataset]:
    """Name -> data set.

    TypeError: something is no data set; ValueError: there is none, a name cannot name a folder, or
    the sets have different settings.
    """
    if isinstance(sets, Mapping):
        pairs = [(name, require_dataset(data)) for name, data in sets.items()]
    else:
        pairs = [(require_dataset(data).name, data) for data in sets]
    if not pairs:
        raise ValueError(
            "No data set to compare on. Pass at least one, such as kg2rag.load('bundled')."
        )
    require_names("Set", [name for name, _ in pairs])
    datasets = dict(pairs)
    if MACRO in datasets:
        raise ValueError(
            f"A set cannot be called {MACRO!r}, which heads a column of the table."
        )
    require_one_setting({name: data.setting for name, data in datasets.items()})
    return datasets
