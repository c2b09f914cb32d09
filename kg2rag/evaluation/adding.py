"""A comparison and further systems -> the comparison of all: what stands keeps its runs, and is not run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack, overload

from kg2rag.compute import EncoderTokens, TokenCounter, counter_of
from kg2rag.evaluation import addable, described, kept, storage
from kg2rag.evaluation.attaching import require_same
from kg2rag.evaluation.budgets import PassageTokens
from kg2rag.evaluation.comparison import Comparison, Inputs
from kg2rag.evaluation.comparisons import Comparisons, saved_sets
from kg2rag.evaluation.configuration import Clock, measured, seeds
from kg2rag.evaluation.first_hits import FILE
from kg2rag.evaluation.graphs import over_graphs
from kg2rag.evaluation.joining import joined, restored, save
from kg2rag.evaluation.metric_names import Metric, Metrics, own_functions, parse_metrics
from kg2rag.evaluation.running import check_systems, require_mapping
from kg2rag.evaluation.score_table import Family
from kg2rag.evaluation.sets import Sets, SystemsOfSets, named_sets, systems_of
from kg2rag.evaluation.tables import Judging, tables
from kg2rag.retrievers.adapters import as_system
from kg2rag.text.records import DataError
from kg2rag.types import GoldUnit, QADataset, Ranking, at_least, require, require_dataset

if TYPE_CHECKING:
    from kg2rag.knowledge import KnowledgeBase


class AddOptions(TypedDict, total=False):
    """What `add_systems` takes besides the comparison, systems and data."""

    graphs: Mapping[str, KnowledgeBase | Sequence[KnowledgeBase]] | None
    metrics: Metrics | None
    k: int | None
    baseline: str | None
    seed: int | None
    unit: GoldUnit | None
    family: Family | None
    clustered: bool | None
    batch_size: int
    progress: bool
    command: str | None
    counter: TokenCounter | None
    resume: bool
    ir_metadata: bool


class _Standing(NamedTuple):
    """The comparison that is added to; `folder` where it was saved, `name` what errors call its configuration."""

    result: Comparison
    folder: Path | None
    name: str


@overload
def add_systems(
    to: Comparison | Path | str, systems: Mapping[str, Any], data: QADataset, **options: Unpack[AddOptions]
) -> Comparison: ...


@overload
def add_systems(
    to: Comparisons | Path | str, systems: SystemsOfSets, data: Sets, **options: Unpack[AddOptions]
) -> Comparisons: ...


def add_systems(to: Any, systems: Any, data: QADataset | Sets, **options: Unpack[AddOptions]) -> Any:
    """Run further systems and bring them into a comparison, as if all had been compared at once.

    Those that are there are not run again, and keep their runs to the byte. Scores, intervals, tests (corrected over
    all systems now), curves and the report are made anew. `config["added"]` says which systems were added when, by
    which version and commit, on which machine: their times were measured then.

    >>> add_systems("reports/musique", {"mine": Mine(kb)}, data)  # doctest: +SKIP

    Parameters
    ----------
    to : a folder in which `compare` saved its result, which is saved there again once all has been run; or a result in
        memory, of which a new one is made. On several sets likewise, each set saved when it is made.
    systems : as `compare` takes them.
    data : the data set of the comparison, or the data sets.
    graphs : as `compare` takes them; of the graphs and encoders that the comparison has.
    metrics : those of the comparison; needed where functions of your own are among them.
    k : that of the comparison, as are all options below; one that is given and differs is an error.
    baseline : the system that the others are tested against.
    seed : of bootstrap and randomisation test.
    unit : what is judged, "passage"s or "document"s.
    family : of tests that Holm's correction runs over.
    clustered : whether questions that share gold are resampled together.
    batch_size : queries given to a system at once; changes speed, never a result.
    progress : a bar per system and one for the statistics.
    command : what the user typed, for `config.json`.
    counter : counts tokens; the one that was used then.
    resume : leave systems that are there already, if they are the same: after an interruption on several sets.
    ir_metadata : head the new runs by what they were made with; those that are there stay as they are.

    Raises
    ------
    ValueError : other questions, passages, graph, encoder or options, or a name that is taken, before any work; the
        message has both values, and the file. Also a comparison of systems under several seeds, of which only the first
        run is kept.
    DataError : a folder whose files are damaged, or that was saved without what is needed.
    FileNotFoundError : a folder without a finished comparison.
    """
    if isinstance(data, Mapping | list | tuple):
        return _on_sets(to, systems, data, options)
    if isinstance(to, Comparisons):
        raise TypeError("This comparison is on several sets. Pass the data sets, by name or in a list.")
    require_dataset(data)
    return _add(_standing(to), systems, data, **options)


def _standing(to: Comparison | Path | str) -> _Standing:
    if isinstance(to, Comparison):
        return _Standing(to, None, "the comparison")
    folder = Path(to)
    if (folder / storage.COMPARED_SETS).is_file():
        raise ValueError(f"{folder} holds comparisons on several sets. Pass their data sets, by name or in a list.")
    if kept.is_kept(folder):
        raise DataError(f"{folder} has only the first hits of each run, as eval/keep.py keeps them. Compare again.")
    result = Comparison.load(folder)
    if not (folder / FILE).is_file():
        raise DataError(f"{folder / FILE} is missing: it was saved without its data set, or before. Compare again.")
    return _Standing(result, folder, str(folder / "config.json"))


def _add(
    to: _Standing,
    systems: Mapping[str, Any],
    data: QADataset,
    *,
    graphs: Mapping[str, KnowledgeBase | Sequence[KnowledgeBase]] | None = None,
    metrics: Metrics | None = None,
    batch_size: int = 100,
    progress: bool = True,
    command: str | None = None,
    counter: TokenCounter | None = None,
    resume: bool = False,
    ir_metadata: bool = False,
    k: int | None = None,
    baseline: str | None = None,
    seed: int | None = None,
    unit: GoldUnit | None = None,
    family: Family | None = None,
    clustered: bool | None = None,
) -> Comparison:
    clock, config, where = Clock(), to.result.config, to.name
    require("batch_size", batch_size, int, at_least(1))
    require_mapping(systems)
    addable.require_single_seeds(where, config)
    given = {"k": k, "baseline": baseline, "seed": seed, "unit": unit, "family": family, "clustered": clustered}
    addable.require_options(where, config, given)
    parsed = _metrics(where, config, metrics)
    addable.require_questions(where, config, data)
    if graphs is None:
        systems = {name: as_system(name, given, data) for name, given in systems.items()}
    repeated = check_systems(systems if graphs is None else over_graphs(systems, graphs))
    if resume:
        repeated = _without_same(config, repeated, data)
    addable.require_new(where, config, repeated)
    first = {name: alike[0] for name, alike in repeated.items()}
    addable.require_knowledge(where, config, first)
    tokens = PassageTokens(data.corpus, _counter(where, config, counter, first))
    before = restored(to.result, to.folder, data)
    if not repeated:
        return before
    done = measured(repeated, data, k=config["k"], batch_size=batch_size, progress=progress)
    addable.require_vectors(where, config, done.about["knowledge"])
    as_then: Any = {name: config[name] for name in ("baseline", "seed", "family", "clustered")}
    by = Judging(parsed, config["k"], config["data"]["unit"], tokens, **as_then)
    runs: dict[str, Sequence[Sequence[Ranking]]] = {name: [run] for name, run in before.rankings.items()}
    runs.update(done.runs)
    made = tables(runs, data, by, earlier=before.per_query, progress=progress)
    added = {**done.about, "command": command, "batch_size": batch_size, "seeds": seeds(repeated), **clock.read()}
    result = Comparison(
        rankings={name: alike[0] for name, alike in runs.items()},
        ms_per_query={**before.ms_per_query, **done.ms_per_query},
        baseline=before.baseline,
        **vars(made),
        inputs=Inputs({**(before.inputs.systems if before.inputs else {}), **first}, data),
        config=joined(config, added),
    )
    if to.folder is not None:
        save(result, to.folder, before.systems, data, ir_metadata=ir_metadata)
    return result


def _metrics(where: str, config: Mapping[str, Any], given: Metrics | None) -> list[Metric]:
    """The metrics of the comparison; functions of the user's own must be given anew."""
    own = config.get("metric_functions", {})
    if given is None and own:
        raise ValueError(f"{where} has metrics of your own: {', '.join(own)}. Pass all its metrics: metrics=[…].")
    parsed = parse_metrics(config["metrics"] if given is None else given, config["k"])
    asked = {
        "metrics": [one.name for one in parsed],
        "metric_functions": own_functions(parsed).get("metric_functions", {}),
    }
    addable.require_options(where, {**config, "metric_functions": own}, asked)
    return parsed


def _counter(
    where: str, config: Mapping[str, Any], given: TokenCounter | None, systems: Mapping[str, object]
) -> TokenCounter:
    """The counter of tokens that was used then: the one given, the default one, or that of the systems' encoder."""
    kbs = described.knowledge_bases(list(systems.values()))
    counters = [EncoderTokens(), *(counter_of(kb.embedder) for kb in kbs)] if given is None else [given]
    for one in counters:
        if addable.same_counter(config["tokens"], repr(one)):
            return one
    raise ValueError(f"Tokens are counted by {counters[0]!r}; {where} has {config['tokens']}. Pass it: counter=….")


def _without_same(config: Mapping[str, Any], systems: Mapping[str, list[Any]], data: QADataset) -> dict[str, list[Any]]:
    """The systems that the comparison lacks; ValueError where one of its names is now another system's."""
    there = {name: alike[0] for name, alike in systems.items() if name in config["systems"]}
    require_same({**config, "systems": there}, there, data)
    return {name: alike for name, alike in systems.items() if name not in there}


def _on_sets(to: Any, systems: Any, data: Sets, options: AddOptions) -> Comparisons:
    """Add to the comparison of each set; the summary is saved last."""
    sets = named_sets(data)
    if options.get("graphs") is not None:
        raise ValueError("graphs are of one corpus. On several sets pass a function of a data set that makes systems.")
    if isinstance(to, Comparisons):
        places: Mapping[str, Any] = to.sets
    elif isinstance(to, Comparison):
        raise TypeError("This comparison is on one set. Pass the data set itself.")
    else:
        places = {name: Path(to) / name for name in saved_sets(to)}
    if set(places) != set(sets):
        raise ValueError(f"The comparison is on {', '.join(places)}; the data are {', '.join(sets)}.")
    made = {
        name: add_systems(place, systems_of(systems, name, sets[name], list(sets)), sets[name], **options)
        for name, place in places.items()
    }
    result = Comparisons(made)
    if not isinstance(to, Comparisons):
        result.save_summary(to)
    return result
