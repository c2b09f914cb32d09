"""`kg2rag compare`: systems side by side on a question set."""

from __future__ import annotations

import shlex
import sys
import webbrowser
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kg2rag.cli.options import (
    DataOptions,
    Limit,
    Seed,
    SystemOptions,
    WorkerOptions,
    announce,
    known_metrics,
    known_sets,
    last_of,
    split_names,
    spread,
)

if TYPE_CHECKING:
    from kg2rag.compute import TokenCounter


@spread(dataset="bundled")
def compare(
    data: DataOptions,
    on: SystemOptions,
    by: WorkerOptions,
    further: Annotated[
        list[str] | None,
        typer.Argument(
            help="Further sets, for a macro-average; --path then holds a folder by the name of each.",
            autocompletion=known_sets,
        ),
    ] = None,
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
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Where the results go; reports/DATASET otherwise.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run all systems anew, in place of what is stored.")] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
) -> None:
    """Compare retrieval systems on a question set: a table here, everything else in --out.

    What was run before is read from the store: a killed comparison goes on, and one more system runs alone.
    On several sets, the first metric on each and its macro-average; each set's own comparison is in --out/SET.
    """
    from kg2rag.evaluation.metric_names import DEFAULT_METRICS
    from kg2rag.text.cells import console as console_of

    names = list(DEFAULT_METRICS) if metrics is None else split_names(metrics)
    if pairs is not None and pairs not in names:
        raise ValueError(f"--pairs {pairs!r} is none of the metrics: {', '.join(names)}.")
    asked = Asked(names, k, baseline, seed, family, clustered, fresh, shlex.join(["kg2rag", *sys.argv[1:]]))
    sets = data.several(further or [])
    folder = out or Path("reports") / "+".join(sets)
    if further and (runs or pairs is not None or margin is not None):
        raise ValueError("--runs, --pairs and --margin are of one set. Leave them out, or name one set.")
    if further:
        on_several(sets, on, by, asked, folder, limit)
    else:
        on_one(data, on, by, asked, folder, limit, runs=runs or [], pairs=pairs, margin=margin)
    console_of().print(f"Report: {folder / 'report.html'}", highlight=False, soft_wrap=True)
    if show and not webbrowser.open((folder / "report.html").resolve().as_uri()):
        typer.echo("No browser can be opened here.", err=True)


@dataclass(frozen=True)
class Asked:
    """The options of a comparison that do not depend on its sets."""

    metrics: list[str]
    k: int
    baseline: str | None
    seed: int
    family: Literal["metric", "all"]
    clustered: bool
    fresh: bool
    command: str

    def run(self, folder: Path, systems: Any, data: Any, counter: TokenCounter) -> Any:
        """The comparison, saved in the folder."""
        from kg2rag.evaluation import compare

        return compare(systems, data, folder=folder, counter=counter, **vars(self))


def on_one(
    data: DataOptions,
    on: SystemOptions,
    by: WorkerOptions,
    asked: Asked,
    folder: Path,
    limit: int | None,
    *,
    runs: list[Path],
    pairs: str | None,
    margin: float | None,
) -> None:
    """Compare on one set, save and show."""
    from kg2rag.compute import counter_of
    from kg2rag.evaluation.storage import other_comparison, require_place
    from kg2rag.extraction.sources import takes_file
    from kg2rag.report import margin_table, pairs_table
    from kg2rag.retrievers.adapters import Recorded
    from kg2rag.retrievers.adapters.trec import name_of
    from kg2rag.text.cells import console as console_of

    require_place(folder)
    questions = data.load(limit, asked.seed)
    kb, systems = on.build(questions.corpus)
    for file in runs:
        name = name_of(file)
        if name in systems:
            raise ValueError(f"--runs {file}: {name!r} is the name of another system. Rename the file.")
        systems[name] = Recorded.of(file, questions.corpus, queries=[one.id for one in questions.questions])
    announce(folder, replaced=other_comparison(folder, questions.name, list(systems)))
    with by.open():
        result = asked.run(folder, systems, questions, counter_of(kb.embedder))
    console = console_of()
    console.print(result)
    if pairs is not None:
        console.print(pairs_table(result.sheet, result.pairs(pairs), pairs))
    if margin is not None:
        console.print(margin_table(result.sheet, result.non_inferiority(margin), result.metrics[0], margin))
    graphs = [(name.partition(":")[0], file) for name, file in questions.graph_files.items()]
    offers = [f"  --graph {shlex.quote(f'{kind}({file})')}" for kind, file in graphs if takes_file(kind)]
    if on.graph == "mentions" and offers:
        typer.echo("\n".join(["Beside the questions lies a graph, which was not used:", *offers]))


def on_several(
    sets: Mapping[str, DataOptions], on: SystemOptions, by: WorkerOptions, asked: Asked, folder: Path, limit: int | None
) -> None:
    """Compare on several sets, save and show."""
    from kg2rag.compute import counter_of
    from kg2rag.evaluation.storage import other_comparison, require_place
    from kg2rag.report import TerminalTable
    from kg2rag.text.cells import console as console_of

    require_place(folder, several=True)
    for name in sets:
        require_place(folder / name)
    loaded = {name: one.load(limit, asked.seed) for name, one in sets.items()}
    for name, one in loaded.items():
        announce(folder / name, replaced=other_comparison(folder / name, one.name))
    with by.open():
        result = asked.run(folder, lambda one: on.build(one.corpus)[1], loaded, counter_of(on.encoder()))
    console = console_of()
    console.print(result)
    if len(result.metrics) > 1:
        console.print(TerminalTable(result.macro_sheet))
    for name, one in result.sets.items():
        line = f"{name}: {folder / name / 'report.html'}, of {one.config['started']}"
        console.print(line, highlight=False, soft_wrap=True)
