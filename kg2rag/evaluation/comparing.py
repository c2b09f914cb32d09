"""Systems + a data set -> a `Comparison`: run, time, check and score them side by side.

A system is anything with `retrieve_batch(queries, k)` and a `repr` that names its configuration.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from kg2rag.compute import TokenCounter
from kg2rag.evaluation import described
from kg2rag.evaluation.budgets import PassageTokens
from kg2rag.evaluation.comparison import Comparison, Inputs
from kg2rag.evaluation.comparisons import Comparisons
from kg2rag.evaluation.configuration import Clock, about_data, measured, seeds
from kg2rag.evaluation.graphs import Strategy, over_graphs
from kg2rag.evaluation.metric_names import DEFAULT_METRICS, Metrics, own_functions, parse_metrics
from kg2rag.evaluation.running import System, check_systems, require_mapping
from kg2rag.evaluation.score_table import FAMILIES, Family
from kg2rag.evaluation.sets import Sets, SystemsOfSets, named_sets, systems_of
from kg2rag.evaluation.tables import Judging, tables
from kg2rag.retrievers.adapters import as_system
from kg2rag.types import GoldUnit, QADataset, at_least, one_of, require, require_dataset, require_k

if TYPE_CHECKING:
    from kg2rag.knowledge import KnowledgeBase


class ReplacedWarning(UserWarning):
    """A saved comparison could not be resumed: it is run again, and what was saved is replaced."""


class Options(TypedDict, total=False):
    """What `compare` takes besides systems and data."""

    graphs: Mapping[str, KnowledgeBase | Sequence[KnowledgeBase]] | None
    metrics: Metrics
    k: int
    baseline: str | None
    seed: int
    batch_size: int
    progress: bool
    unit: GoldUnit | None
    command: str | None
    counter: TokenCounter | None
    family: Family
    clustered: bool
    resume: bool


@overload
def compare(
    systems: Mapping[str, System | Sequence[System] | Strategy],
    data: QADataset,
    *,
    folder: Path | str | None = None,
    **options: Unpack[Options],
) -> Comparison: ...


@overload
def compare(
    systems: SystemsOfSets, data: Sets, *, folder: Path | str | None = None, **options: Unpack[Options]
) -> Comparisons: ...


def compare(
    systems: Any,
    data: QADataset | Sets,
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
    folder: Path | str | None = None,
    resume: bool = False,
) -> Comparison | Comparisons:
    """Run systems on the same questions and compare them with a baseline.

    On several data sets each is a comparison of its own, and the result, `Comparisons`, has a macro-average over them:

    >>> data = {"musique": kg2rag.load(…), "hotpotqa": kg2rag.load(…)}  # doctest: +SKIP
    >>> compare(lambda one: build_all(KnowledgeBase.build(one.corpus), ["bm25", "dense"]), data)  # doctest: +SKIP

    Parameters
    ----------
    systems : name -> system; the order is that of every table. Names become file names: letters, digits and `._+-`.
        Rankings made elsewhere, and a function (text, k) -> passage ids, are systems too; see `adapters.as_system`.
        A list of systems that differ only in their seed (see `replicates`) is one row: each question's score is its
        mean over the seeds, and the table shows the standard deviation between seeds beside the mean.
        On several sets: a function of a data set that makes its systems, for a system searches one corpus, or
        set -> its systems; the same names on each.
    data : one data set, or several, in a list or by name.
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
    folder : where the result is saved; of several sets each in folder/NAME as soon as it is made, then the summary.
    resume : open what `folder` holds, where the same systems, questions and options made it, in place of running it
        again. Another one there is replaced, after a `ReplacedWarning`. A change of the code is not noticed.

    Raises
    ------
    ValueError : anything wrong with the arguments, before any work; or a ranking that cannot be judged, after it.
    Exception : what a system raises, with a note that names the system and the first query of the batch.
    """
    if isinstance(data, Mapping | list | tuple):
        options = Options(metrics=metrics, k=k, baseline=baseline, seed=seed, batch_size=batch_size, progress=progress)
        options |= Options(unit=unit, command=command, counter=counter, family=family, clustered=clustered)
        return _on_sets(systems, data, graphs, folder, {**options, "resume": resume})
    clock = Clock()
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
    asked = {
        "metrics": [metric.name for metric in parsed],
        **own_functions(parsed),
        "k": k,
        "baseline": baseline,
        "seed": seed,
        "family": family,
        "clustered": clustered,
        "seeds": seeds(repeated),
    }
    if resume and (standing := _standing(folder, first, data, {**asked, "unit": unit or data.unit})) is not None:
        return standing
    done = measured(repeated, data, k=k, batch_size=batch_size, progress=progress)
    tokens, judged = PassageTokens(data.corpus, counter), unit or data.unit
    made = tables(
        done.runs, data, Judging(parsed, k, judged, tokens, baseline, seed, family, clustered), progress=progress
    )
    config = {
        "data": about_data(data, judged),
        **done.about,
        **asked,
        "batch_size": batch_size,
        "tokens": repr(tokens.counter),
        "command": command,
        **clock.read(),
    }
    result = Comparison(
        rankings={name: alike[0] for name, alike in done.runs.items()},
        ms_per_query=done.ms_per_query,
        baseline=baseline,
        **vars(made),
        inputs=Inputs(first, data),
        config={**config, "fingerprint": described.fingerprint(config)},
    )
    if folder is not None:
        result.save(folder)
    return result


def _on_sets(
    systems: Any,
    data: Sets,
    graphs: object,
    folder: Path | str | None,
    options: Options,
) -> Comparisons:
    sets = named_sets(data)
    if graphs is not None:
        raise ValueError(
            "graphs are of one corpus. On several sets pass a function of a data set that makes its systems."
        )
    places = dict.fromkeys(sets) if folder is None else {name: Path(folder) / name for name in sets}
    result = Comparisons(
        {
            name: compare(systems_of(systems, name, one, list(sets)), one, folder=places[name], **options)
            for name, one in sets.items()
        }
    )
    if folder is not None:
        result.save_summary(folder)
    return result


def _standing(
    folder: Path | str | None, systems: Mapping[str, System], data: QADataset, asked: Mapping[str, Any]
) -> Comparison | None:
    """The comparison that a folder holds, where these systems and questions made it as is asked now; else None.

    A `ReplacedWarning` tells of one that is in the way.
    """
    if folder is None or not (Path(folder) / "config.json").is_file():
        return None
    saved = Comparison.load(folder)
    then = {**saved.config, "unit": saved.config["data"]["unit"]}
    changed = [name for name, value in asked.items() if then.get(name) != value]
    try:
        if not changed:
            return saved.attach(systems, data)
        why = f"It was made with other {', '.join(changed)}."
    except ValueError as error:
        why = str(error)
    warnings.warn(f"{folder} holds another comparison, which this one replaces. {why}", ReplacedWarning, stacklevel=3)
    return None
