"""`kg2rag sweep`: many configurations of systems, from a file; `reproduce`: published results, and ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from kg2rag.cli.declared import arg, opt, spread
from kg2rag.cli.options import WorkerOptions
from kg2rag.cli.printing import print_line, print_rich, print_table


@spread()
def sweep(
    by: WorkerOptions,
    file: Path = arg(..., "A sweep file; eval/sweeps holds some."),
    path: Path | None = opt(None, "File or folder of the set.", "--path"),
    plan: bool = opt(False, "Say what would be run.", "--plan"),
    run: bool = opt(False, "Run what the store does not have.", "--run"),
    report: bool = opt(False, "Report on what was run.", "--report"),
    out: Path | None = opt(None, "Where the results go; reports/sweeps/NAME otherwise."),
    allow_host: list[str] | None = opt(None, "Host of an endpoint that the file may name; may be repeated."),
) -> None:
    """Sweep over configurations: choose on dev questions, judge on test questions."""
    from kg2rag.experiments.sweep import SweepResult, read_sweep
    from kg2rag.experiments.sweep.results import HEADER

    if plan + run + report != 1:
        raise ValueError("Say what to do: one of --plan, --run or --report.")
    wanted = read_sweep(file, path=path, hosts=allow_host or ())
    folder = out or Path("reports") / "sweeps" / wanted.name
    if plan:
        print_line(wanted.plan())
        return
    at: dict[str, Any] = {**vars(by), "jobs": 1 if by.jobs is None else by.jobs}
    result = SweepResult.load(folder) if report else wanted.run(folder, **at)
    if result.numbers:
        rows = result.chosen()
        print_table(HEADER[:-1], ([cell.replace(" (", "\n(") for cell in row[:-1]] for row in rows))
        for row in rows:
            print_line(f"{row[0]}: {row[-1]}")
        print_line(result.note())
    for number, system, parameters, error in result.failed[["number", "system", "parameters", "error"]].to_numpy():
        print_line(f"Failed: {number}: {system} {parameters}: {error}")
    print_line(f"Report: {result.save(folder)}")
    if len(result.failed):
        raise typer.Exit(1)


def reproduce(
    ledgers: list[Path] = arg(..., "Ledger files, or a folder of them such as eval/ledger."),
    data: Path = opt(..., "The folder below which the ledgers' data folders lie."),
    only: str = opt("", "Rows whose ledger/system/set contains this."),
    out: Path | None = opt(None, "A .csv file for every row, or a .md file for the tables."),
) -> None:
    """Run what can be run here of published results: ours, theirs, difference, tolerance, verdict."""
    from kg2rag.compute import check_outputs, write_output
    from kg2rag.experiments.ledger import Ledger
    from kg2rag.experiments.reproduction import reproduce as run
    from kg2rag.text.cells import csv_of

    if out is not None and out.suffix not in (".csv", ".md"):
        raise ValueError(f"--out {out}: the table is written as .csv or .md.")
    if out is not None:
        check_outputs(out.parent, [out.name])
    files = [file for path in ledgers for file in (sorted(path.glob("*.toml")) if path.is_dir() else [path])]
    if not files or (missing := [file for file in files if not file.is_file()]):
        raise FileNotFoundError(
            f"{', '.join(map(str, missing if files else ledgers))}: no ledger there. Ledgers are TOML files; those of "
            "the papers that kg2rag follows are in eval/ledger of its repository. --only picks rows of them."
        )
    result = run([Ledger.read(file) for file in files], data, only=only)
    print_rich(result)
    groups = result.summary().items()
    print_line("; ".join(f"{group}: {', '.join(f'{n} {name}' for name, n in own.items())}" for group, own in groups))
    if out is not None:
        text = result.to_markdown() if out.suffix == ".md" else csv_of(result.frame, float_format="%.4f")
        write_output(out, "reproduction", text.encode())
