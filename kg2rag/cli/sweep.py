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


def reproduce(
    ledgers: Annotated[list[Path], typer.Argument(help="Ledger files, or a folder of them such as eval/ledger.")],
    data: Annotated[Path, typer.Option(help="The folder below which the ledgers' data folders lie.")],
    only: Annotated[str, typer.Option(help="Rows whose ledger/system/set contains this.")] = "",
    out: Annotated[Path | None, typer.Option(help="A .csv file for every row, or a .md file for the tables.")] = None,
) -> None:
    """Run what can be run here of published results: ours, theirs, difference, tolerance, verdict."""
    from kg2rag.experiments.ledger import Ledger
    from kg2rag.experiments.reproduction import reproduce as run
    from kg2rag.text.cells import console, csv_of

    if out is not None and out.suffix not in (".csv", ".md"):
        raise ValueError(f"--out {out}: the table is written as .csv or .md.")
    files = [file for path in ledgers for file in (sorted(path.glob("*.toml")) if path.is_dir() else [path])]
    missing = [str(file) for file in files if not file.is_file()] or ([] if files else list(map(str, ledgers)))
    if missing:
        raise FileNotFoundError(
            f"{', '.join(missing)}: no ledger there. Ledgers are TOML files; those of the papers that kg2rag follows "
            "are in eval/ledger of its repository. --only picks rows of them."
        )
    result = run([Ledger.read(file) for file in files], data, only=only)
    console().print(result)
    counts = (
        f"{group}: {', '.join(f'{n} {name}' for name, n in own.items())}" for group, own in result.summary().items()
    )
    typer.echo("; ".join(counts))
    if out is not None:
        text = result.to_markdown() if out.suffix == ".md" else csv_of(result.frame, float_format="%.4f")
        out.write_text(text, encoding="utf-8")


def verify(context: typer.Context) -> None:
    """Make a comparison twice, with other hash seeds and thread counts and all built anew, and compare the bytes.

    What follows is handed to `compare`: kg2rag verify bundled --systems bm25,dense
    """
    from kg2rag.experiments.verification import verify as run

    result = run(context.args)
    for name, (first, second) in result.checksums.items():
        typer.echo(f"{'equal    ' if first == second else 'DIFFERENT'}  {name}")
    typer.echo(f"{len(result.checksums) - len(result.differing)} of {len(result.checksums)} files equal.")
    raise typer.Exit(bool(result.differing))
