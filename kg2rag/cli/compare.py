"""`kg2rag compare`: systems side by side; `compare-graphs`: systems over several graphs."""

from __future__ import annotations

import shlex
import sys
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kg2rag.cli.option_groups import (
    EXIT_SOME_FAILED,
    arg,
    expand_groups,
    opt,
    parse_settings,
    split_names,
)
from kg2rag.cli.options import (
    NAMES,
    DrawOptions,
    EncoderOptions,
    ReaderOptions,
    SystemOptions,
    WorkerOptions,
)
from kg2rag.cli.printing import print_line, print_rich

if TYPE_CHECKING:
    from kg2rag.types import QADataset

FURTHER_SETS = "Further sets, for a macro-average; --path is then a folder with a subfolder for each set."
METRICS = "Metrics of ranx, all_recall@k, support_f1@k, recall@500tokens. Default: six standard metrics."
BASELINE = "System to test against. Default: hybrid, otherwise dense, otherwise the first system."
KNOWN_ITEMS = (
    50  # headings and sentences that serve as queries if there are no questions
)


@dataclass(frozen=True)
class ComparisonOptions:
    """The options of a comparison that do not depend on its sets."""

    metrics: str | None = opt(None, METRICS)
    k: int = opt(100, "Hits per query.", "--k", min=1)
    baseline: str | None = opt(None, BASELINE)
    out: Path | None = opt(None, "Folder for the results. Default: reports/DATASET.")
    fresh: bool = opt(
        False, "Run all systems again instead of reading stored runs.", "--fresh"
    )
    open: bool = opt(False, "Open the report in a browser.", "--open")


@expand_groups(dataset="bundled")
def compare(
    data: DrawOptions,
    systems: SystemOptions,
    workers: WorkerOptions,
    reading: ReaderOptions,
    options: ComparisonOptions,
    further: list[str] | None = arg(None, FURTHER_SETS),
) -> None:
    """Compare retrieval systems on a question set. Prints a table and writes a report to --out.

    Stored runs are read: an interrupted comparison continues, and only new systems run. On several
    sets the table has the first metric on each set and its macro-average; the comparison on each
    set is in --out/SET. Without gold, the report shows the agreement of the systems and lets you
    judge their hits.

    With --reader the table also has scores of a language model's answers from the first passages of
    each system. The plan of its requests is printed and confirmed first. Every answer is stored as
    it arrives and paid for once, so the same command continues. The exit code is 3 if answers are
    missing.
    """
    reading.open()  # refuses a model without an address before any work
    if further:
        sets = data.options_of_sets(further)
        folder, missing_answers = _compare_sets(
            sets, systems, workers, reading, options
        )
    else:
        folder, missing_answers = _compare_set(data, systems, workers, reading, options)
    report = folder / "report.html"
    print_line(f"Report: {report}")
    if options.open and not webbrowser.open(report.resolve().as_uri()):
        print_line("No browser can be opened here.", err=True)
    if missing_answers:
        print_line(
            f"{missing_answers} answers are missing. The same command asks for them again.",
            err=True,
        )
        raise typer.Exit(EXIT_SOME_FAILED)


def _compare_set(
    data: DrawOptions,
    systems: SystemOptions,
    workers: WorkerOptions,
    reading: ReaderOptions,
    options: ComparisonOptions,
) -> tuple[Path, int]:
    """Compare on one set; returns the folder of the report and the number of missing answers."""
    from kg2rag.evaluation.storage import require_free_folder

    folder = options.out or Path("reports") / data.file_name
    require_free_folder(folder)
    dataset = data.load()
    if not dataset.questions:
        _judge(folder, dataset, systems, data)
        return folder, 0
    retrievers = systems.build(dataset.corpus)[1]
    require_free_folder(folder, systems=retrievers)
    warn_of_replacement(folder, dataset.name, list(retrievers))
    result = _run(
        retrievers, dataset, folder, data.seed, systems, workers, reading, options
    )
    print_rich(result)
    if systems.graph == "mentions":
        _offer_unused_graphs(dataset)
    return folder, result.missing_answers


def _compare_sets(
    sets: Mapping[str, DrawOptions],
    systems: SystemOptions,
    workers: WorkerOptions,
    reading: ReaderOptions,
    options: ComparisonOptions,
) -> tuple[Path, int]:
    """Compare on several sets; returns the folder of the summary and the number of missing answers."""
    from kg2rag.evaluation.storage import require_free_folder
    from kg2rag.report import TerminalTable

    folder = options.out or Path("reports") / "+".join(sets)
    require_free_folder(folder, several=True)
    for name in sets:
        require_free_folder(folder / name)
    loaded = {name: data.load() for name, data in sets.items()}
    for name, dataset in loaded.items():
        warn_of_replacement(folder / name, dataset.name)
    seed = next(iter(sets.values())).seed

    def build(dataset: QADataset) -> Any:
        return systems.build(dataset.corpus)[1]

    result = _run(build, loaded, folder, seed, systems, workers, reading, options)
    print_rich(result)
    if len(result.metrics) > 1:
        print_rich(TerminalTable(result.macro_sheet))
    for name, comparison in result.sets.items():
        print_line(
            f"{name}: {folder / name / 'report.html'}, of {comparison.config['started']}"
        )
    return folder, sum(
        comparison.missing_answers for comparison in result.sets.values()
    )


def _run(
    systems: Any,
    data: Any,
    folder: Path,
    seed: int,
    system_options: SystemOptions,
    workers: WorkerOptions,
    reading: ReaderOptions,
    options: ComparisonOptions,
) -> Any:
    """The result of `kg2rag.compare` with the options of the command line."""
    from kg2rag.compute import counter_of
    from kg2rag.evaluation import CompareOptions, compare
    from kg2rag.evaluation.metrics import DEFAULT_METRICS

    metrics = split_names(options.metrics or ",".join(DEFAULT_METRICS))
    with workers.open():
        advanced = CompareOptions(
            counter=counter_of(system_options.encoder()),
            seed=seed,
            command=_command(),
            reader_tokens=reading.reader_tokens,
            answer_rules=reading.answer_rules,
            confirm=reading.confirm,
        )
        return compare(
            systems,
            data,
            metrics=metrics,
            k=options.k,
            baseline=options.baseline,
            reader=reading.open(),
            folder=folder,
            fresh=options.fresh,
            options=advanced,
        )


def warn_of_replacement(
    folder: Path, name: str, systems: Sequence[str] | None = None
) -> None:
    """Warn on stderr if a different comparison in the folder will be replaced."""
    from kg2rag.evaluation.storage import other_comparison

    former = other_comparison(folder, name, systems)
    if former:
        print_line(
            f"{folder} holds {former}, which will be replaced. Name another folder with --out.",
            err=True,
        )


def _offer_unused_graphs(dataset: QADataset) -> None:
    """Print the options that read the graph files beside the questions."""
    from kg2rag.extraction.sources import takes_file

    offers = []
    for name, file in dataset.graph_files.items():
        kind = name.partition(":")[0]
        if takes_file(kind):
            offers.append(f"  --graph {shlex.quote(f'{kind}({file})')}")
    if offers:
        print_line("\n".join(["Unused graph file found:", *offers]))


def _judge(
    folder: Path, dataset: QADataset, systems: SystemOptions, data: DrawOptions
) -> None:
    """Write a page to judge hits, and print the agreement of the systems, for a set without gold."""
    from kg2rag.compute import write_outputs
    from kg2rag.datasets import known_items
    from kg2rag.evaluation.overlap import POOL_DEPTH, agreement
    from kg2rag.types import Query

    queries = dataset.unjudged[: data.limit]
    if queries:
        remark = f"The report is a page to judge the hits of {len(queries)} questions."
        print_line(f"No question has gold. {remark}", err=True)
    else:
        rows = known_items(dataset.corpus, data.limit or KNOWN_ITEMS, data.seed).rows
        queries = tuple(Query(row["id"], row["question"]) for row in rows)
        if not queries:
            raise ValueError(
                f"{dataset.name} has no questions, and no heading or sentence that could serve as a "
                "query. Give --questions FILE."
            )
        remark = f"{len(queries)} headings and sentences serve as queries"
        print_line(f"There are no questions: {remark}.", err=True)
    retrievers = systems.build(dataset.corpus)[1]
    result = agreement(retrievers, replace(dataset, unjudged=queries), POOL_DEPTH)
    write_outputs(folder, "comparison", {"report.html": result.to_html().encode()})
    print_line(result)
    print_line(
        "Judge hits in the report, then compare with the file that it saves: --questions FILE."
    )


@expand_groups(dataset="bundled")
def compare_graphs(
    data: DrawOptions,
    encoder: EncoderOptions,
    workers: WorkerOptions,
    graphs: list[str] | None = opt(
        None,
        "NAME=SOURCE; may be repeated. Default: mentions, cooccurrence.",
        "--graph",
    ),
    systems: str = opt("graph_augmented,expansion_queries", NAMES.capitalize()),
    settings: list[str] | None = opt(
        None, "system.parameter=value; may be repeated.", "--set"
    ),
    placebo: int = opt(3, "Number of shuffled copies of each graph.", min=0),
    metrics: str = opt("recall@2,recall@5,recall@10,all_recall@5", "As in compare."),
    out: Path | None = opt(
        None, "Folder for the results. Default: reports/DATASET-graphs."
    ),
) -> None:
    """Compare strategies over several graphs and over shuffled copies of each graph.

    A shuffled graph supplies equally many candidates without information.
    """
    from kg2rag.compute import counter_of
    from kg2rag.evaluation import CompareOptions, compare
    from kg2rag.evaluation.storage import require_free_folder
    from kg2rag.knowledge import KnowledgeBase
    from kg2rag.report import placebo_table
    from kg2rag.retrievers.systems import build, build_all, systems_by_name

    folder = out or Path("reports") / f"{data.file_name}-graphs"
    require_free_folder(folder)
    changes = parse_settings(settings or [])
    system_of = systems_by_name(split_names(systems))
    sources = _graph_sources(
        graphs or ["mentions=mentions", "cooccurrence=cooccurrence"]
    )
    dataset = data.load()
    embedder = encoder.encoder()
    kbs = {}
    shuffled = {}
    for name, source in sources.items():
        kb = KnowledgeBase.build(dataset.corpus, source, embedder=embedder)
        kbs[name] = kb
        if placebo:
            shuffled[f"{name}-shuffled"] = [kb.placebo(seed) for seed in range(placebo)]
    first = next(iter(kbs.values()))
    build_all(first, system_of, changes)  # refuses unknown names before any work
    warn_of_replacement(folder, dataset.name)
    strategies: dict[str, Any] = {
        name: partial(build, system, **changes.get(name, {}))
        for name, system in ({"dense": "dense"} | system_of).items()
    }
    strategies["dense"] = strategies["dense"](first)
    advanced = CompareOptions(
        seed=data.seed, command=_command(), counter=counter_of(first.embedder)
    )
    with workers.open():
        result = compare(
            strategies,
            dataset,
            graphs={**kbs, **shuffled},
            metrics=split_names(metrics),
            baseline="dense",
            options=advanced,
        )
    result.save(folder)
    print_rich(result)
    if placebo > 1:
        print_rich(
            placebo_table(result.sheet, result.against_placebo(), result.metrics[0])
        )
    print_line(f"Report: {folder / 'report.html'}")


def _graph_sources(options: Sequence[str]) -> dict[str, str]:
    """Name -> source, from options such as "llm=openie(FILE)"; ValueError: a name is repeated."""
    sources = dict[str, str]()
    for option in options:
        name, _, source = option.partition("=")
        if not (name and source):
            raise ValueError(
                f"--graph {option!r}: write NAME=SOURCE, such as llm=openie(FILE)."
            )
        if name in sources:
            raise ValueError(
                f"--graph {option!r}: the name {name!r} is given twice. Name each graph once."
            )
        sources[name] = source
    return sources


def _command() -> str:
    """The command line of this process, as a shell would read it."""
    return shlex.join(["kg2rag", *sys.argv[1:]])
