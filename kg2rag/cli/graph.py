"""`kg2rag graph`: what a graph is made of and how much gold it could reach; `compare-graphs`: systems over several."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from kg2rag.cli.options import (
    NAMES,
    DataOptions,
    EncoderOptions,
    Graph,
    Limit,
    Seed,
    Settings,
    WorkerOptions,
    announce,
    parse_settings,
    split_names,
    spread,
    table,
)


@spread()
def report_graph(
    data: DataOptions,
    graph: Graph = "mentions",
    limit: Limit = None,
    seed: Seed = 0,
    resolve: Annotated[bool, typer.Option("--resolve", help="Merge the entities that are one first.")] = False,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Report its placebo; the seed is --seed.")] = False,
    hops: Annotated[int, typer.Option(min=0, help="Triples walked from a question's entities, at most.")] = 3,
    figure: Annotated[Path | None, typer.Option(help="Write the figure here: .svg, .png or .pdf.")] = None,
) -> None:
    """Report a graph: sizes, hubs, and how much of the gold lies within reach of the questions, by type."""
    from kg2rag.evaluation.graph_report import graph_report
    from kg2rag.knowledge import KnowledgeBase
    from kg2rag.text.cells import console as console_of

    questions = data.load(limit, seed)
    kb = KnowledgeBase.build(questions.corpus, graph)
    console = console_of()
    if resolve:
        resolution = kb.graph.resolve()
        console.print(repr(resolution), markup=False, highlight=False)
        kb = KnowledgeBase.build(questions.corpus, resolution.graph)
    if shuffle:
        kb = KnowledgeBase.build(questions.corpus, kb.graph.perturb(shuffle=True, seed=seed))
    report = graph_report(kb, questions, hops=hops, seed=seed)
    about = report.graph
    for frame in (about.sizes.reset_index(), about.hubs, about.relations, report.reach, report.chains):
        rows = (
            [f"{one:.3f}" if isinstance(one, float) else str(one) for one in row]
            for row in frame.itertuples(index=False)
        )
        console.print(table(list(map(str, frame.columns)), rows))
    if figure is not None:
        report.figure().savefig(figure)


@spread(dataset="bundled")
def compare_graphs(
    data: DataOptions,
    encoding: EncoderOptions,
    by: WorkerOptions,
    limit: Limit = None,
    graph: Annotated[list[str] | None, typer.Option("--graph", help="NAME=SOURCE; may be repeated.")] = None,
    systems: Annotated[str, typer.Option(help=NAMES.capitalize())] = "graph_augmented,expansion_queries",
    settings: Settings = None,
    placebo: Annotated[int, typer.Option(min=0, help="Seeds under which each graph is shuffled, too.")] = 3,
    metrics: Annotated[str, typer.Option(help="As in compare.")] = "recall@2,recall@5,recall@10,all_recall@5",
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Where the results go; reports/DATASET-graphs otherwise.")] = None,
) -> None:
    """Compare graphs under the same strategies, and with shuffled ones, which add as many candidates."""
    from kg2rag.compute import counter_of
    from kg2rag.evaluation import compare
    from kg2rag.evaluation.storage import other_comparison, require_place
    from kg2rag.knowledge import KnowledgeBase
    from kg2rag.report import placebo_table
    from kg2rag.retrievers.systems import build, build_all, labelled
    from kg2rag.text.cells import console as console_of

    folder = out or Path("reports") / f"{data.file_name}-graphs"
    require_place(folder)
    questions = data.load(limit, seed)
    sources = {}
    for given in graph or ["mentions=mentions", "cooccurrence=cooccurrence"]:
        name, equals, source = given.partition("=")
        if not (equals and name and source):
            raise ValueError(f"--graph {given!r}: write NAME=SOURCE, such as llm=openie(FILE).")
        sources[name] = source
    encoder = encoding.encoder()
    kbs = {name: KnowledgeBase.build(questions.corpus, source, embedder=encoder) for name, source in sources.items()}
    shuffled = {f"{name}-shuffled": [kb.placebo(seed) for seed in range(placebo)] for name, kb in kbs.items()}
    first = next(iter(kbs.values()))
    changes: dict[str, dict[str, Any]] = parse_settings(settings or [])
    wanted = labelled(split_names(systems))
    build_all(first, wanted, changes)  # refuses what it does not know before any work
    announce(folder, replaced=other_comparison(folder, questions.name))
    strategies = {name: partial(build, system, **changes.get(name, {})) for name, system in wanted.items()}
    with by.open():
        result = compare(
            {"dense": build("dense", first), **strategies},
            questions,
            graphs={**kbs, **(shuffled if placebo else {})},
            metrics=split_names(metrics),
            baseline="dense",
            seed=seed,
            command=shlex.join(["kg2rag", *sys.argv[1:]]),
            counter=counter_of(first.embedder),
        )
    result.save(folder)
    console = console_of()
    console.print(result)
    if placebo > 1:
        console.print(placebo_table(result.sheet, result.against_placebo(), result.metrics[0]))
    console.print(f"Report: {folder / 'report.html'}", highlight=False, soft_wrap=True)
