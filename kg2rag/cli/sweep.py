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
    plan: Annotated[bool, typer.Option("--plan", help="Say what would be done, and how long it takes.")] = False,
    run: Annotated[bool, typer.Option("--run", help="Run all configurations.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Run those that are not finished.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Report on those that are finished.")] = False,
    jobs: Annotated[int, typer.Option(min=0, help="Processes; 0: as many as there are processors.")] = 0,
    backend: Backend = "loky",
    cluster: Cluster = None,
    out: Annotated[Path | None, typer.Option(help="Where the results go; reports/sweeps/NAME otherwise.")] = None,
) -> None:
    """Sweep over configurations: choose on dev questions, judge on test questions."""
    from kg2rag.experiments.sweep import SweepResult, read_sweep

    if plan + run + resume + report != 1:
        raise ValueError("Say what to do: one of --plan, --run, --resume or --report.")
    wanted = read_sweep(file, path=path)
    folder = out or Path("reports") / "sweeps" / wanted.name
    if plan:
        typer.echo(str(wanted.plan(folder, jobs=jobs)))
        return
    if report:
        result = SweepResult.load(folder)
    else:
        try:
            result = wanted.run(folder, jobs=jobs, resume=resume, backend=backend, cluster=cluster)
        except KeyboardInterrupt:
            typer.echo(f"\nInterrupted. What is finished lies in {folder}; go on with --resume.", err=True)
            raise typer.Exit(130) from None
    _show(result)
    page = result.save_report(folder)
    typer.echo(f"Report: {page}")
    if len(result.failed):
        raise typer.Exit(1)


def _show(result: SweepResult) -> None:
    from kg2rag.experiments.sweep.results import HEADER, chosen, note
    from kg2rag.text.cells import console as console_of

    if result.numbers:
        console, rows = console_of(), chosen(result)
        show(HEADER[:-1], ([cell.replace(" (", "\n(") for cell in row[:-1]] for row in rows))
        for row in rows:
            console.print(f"{row[0]}: {row[-1]}", highlight=False, soft_wrap=True)
        console.print(note(result), highlight=False)
    failed = result.failed
    if len(failed):
        typer.echo(f"{len(failed)} of {len(failed) + len(result.numbers)} configurations failed:")
        for number, system, parameters, error in failed[["number", "system", "parameters", "error"]].to_numpy():
            typer.echo(f"  {number}: {system} {parameters}: {error}")
