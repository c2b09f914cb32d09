"""`kg2rag sweep`: many configurations of systems, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg2rag.cli.options import Backend, Cluster, show

if TYPE_CHECKING:
    from kg2rag.experiments.sweep import SweepResult


def sweep(
    file: Annotated[Path, typer.Argument(help="A sweep file; eval/sweeps holds some.")],
    path: Annotated[Path | None, typer.Option("--path", help="File or folder of the set.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Say what would be run.")] = False,
    run: Annotated[bool, typer.Option("--run", help="Run what the store does not have.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Report on what was run.")] = False,
    jobs: Annotated[int, typer.Option(min=0, help="Processes; 0: as many as there are processors.")] = 1,
    backend: Backend = "loky",
    cluster: Cluster = None,
    out: Annotated[Path | None, typer.Option(help="Where the results go; reports/sweeps/NAME otherwise.")] = None,
) -> None:
    """Sweep over configurations: choose on dev questions, judge on test questions."""
    from kg2rag.experiments.sweep import SweepResult, read_sweep

    if plan + run + report != 1:
        raise ValueError("Say what to do: one of --plan, --run or --report.")
    wanted = read_sweep(file, path=path)
    folder = out or Path("reports") / "sweeps" / wanted.name
    if plan:
        typer.echo(wanted.plan())
        return
    result = SweepResult.load(folder) if report else wanted.run(folder, jobs=jobs, backend=backend, cluster=cluster)
    _show(result)
    typer.echo(f"Report: {result.save(folder)}")
    if len(result.failed):
        raise typer.Exit(1)


def _show(result: SweepResult) -> None:
    from kg2rag.experiments.sweep.results import HEADER
    from kg2rag.text.cells import console as console_of

    if result.numbers:
        console, rows = console_of(), result.chosen()
        show(HEADER[:-1], ([cell.replace(" (", "\n(") for cell in row[:-1]] for row in rows))
        for row in rows:
            console.print(f"{row[0]}: {row[-1]}", highlight=False, soft_wrap=True)
        console.print(result.note(), highlight=False)
    for number, system, parameters, error in result.failed[["number", "system", "parameters", "error"]].to_numpy():
        typer.echo(f"Failed: {number}: {system} {parameters}: {error}")
