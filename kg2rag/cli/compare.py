"""`kg2rag compare`: systems side by side on a question set."""

from __future__ import annotations

import shlex
import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Literal

import typer

from kg2rag.cli.completion import known_metrics, last_of
from kg2rag.cli.options import DataOptions, Limit, Seed, SystemOptions, WorkerOptions, announce, split_names, spread


@spread(dataset="bundled")
def compare(
    data: DataOptions,
    on: SystemOptions,
    by: WorkerOptions,
    limit: Limit = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Any of ranx's, all_recall@k, support_f1@k, recall@500tokens; six usual ones otherwise.",
            autocompletion=last_of(known_metrics),
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="Hits a query.")] = 100,
    baseline: Annotated[str | None, typer.Option(help="Tested against; dense otherwise, or the first.")] = None,
    runs: Annotated[list[Path] | None, typer.Option(help="A TREC run file of another system; may be repeated.")] = None,
    pairs: Annotated[str | None, typer.Option(help="A metric in which every pair of systems is tested.")] = None,
    margin: Annotated[
        float | None, typer.Option(help="A loss that would not matter: which systems lose less, in the first metric?")
    ] = None,
    family: Annotated[Literal["metric", "all"], typer.Option(help="Tests corrected together.")] = "metric",
    clustered: Annotated[bool, typer.Option("--clustered", help="Draw questions that share gold together.")] = False,
    ir_metadata: Annotated[
        bool, typer.Option("--ir-metadata", help="Head each run by what it was made with; trec_eval skips no headers.")
    ] = False,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Where the results go; reports/DATASET otherwise.")] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
) -> None:
    """Compare retrieval systems on a question set: a table here, everything else in --out."""
    from kg2rag.compute import counter_of
    from kg2rag.evaluation import compare as run
    from kg2rag.evaluation.metric_names import DEFAULT_METRICS
    from kg2rag.evaluation.storage import require_place
    from kg2rag.extraction.sources import takes_file
    from kg2rag.report import margin_table, pairs_table
    from kg2rag.retrievers.adapters import Recorded
    from kg2rag.retrievers.adapters.trec import name_of
    from kg2rag.text.shown import console as console_of

    names = list(DEFAULT_METRICS) if metrics is None else split_names(metrics)
    if pairs is not None and pairs not in names:
        raise ValueError(f"--pairs {pairs!r} is none of the metrics: {', '.join(names)}.")
    folder = out or Path("reports") / data.dataset
    former = require_place(folder)
    questions = data.load(limit, seed)
    kb, systems = on.build(questions.corpus)
    for file in runs or []:
        name = name_of(file)
        if name in systems:
            raise ValueError(f"--runs {file}: {name!r} is the name of another system. Rename the file.")
        systems[name] = Recorded.from_trec(file, questions.corpus, queries=[one.id for one in questions.questions])
    announce(folder, replaced=former)
    with by.open():
        result = run(
            systems,
            questions,
            metrics=names,
            k=k,
            baseline=baseline,
            seed=seed,
            command=shlex.join(["kg2rag", *sys.argv[1:]]),
            counter=counter_of(kb.embedder),
            family=family,
            clustered=clustered,
        )
    result.save(folder, ir_metadata=ir_metadata)
    console = console_of()
    console.print(result)
    if pairs is not None:
        console.print(pairs_table(result.sheet, result.pairs(pairs), pairs))
    if margin is not None:
        console.print(margin_table(result.sheet, result.non_inferiority(margin), result.metrics[0], margin))
    graphs = [(name.partition(":")[0], file) for name, file in questions.graph_files.items()]
    offers = [f"  --graph {kind}:{file}" for kind, file in graphs if takes_file(kind)]
    if on.graph == "mentions" and offers:
        typer.echo("\n".join(["Beside the questions lies a graph, which was not used:", *offers]))
    console.print(f"Report: {folder / 'report.html'}", highlight=False, soft_wrap=True)
    if show and not webbrowser.open((folder / "report.html").resolve().as_uri()):
        typer.echo("No browser can be opened here.", err=True)
