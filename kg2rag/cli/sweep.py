"""`kg2rag sweep`: configurations of systems from a file; `reproduce`: published results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kg2rag.cli.option_groups import arg, expand_groups, opt
from kg2rag.cli.options import WorkerOptions, print_reading
from kg2rag.cli.printing import print_line, print_rich, print_table

if TYPE_CHECKING:
    from kg2rag.experiments.sweep import SweepResult


@dataclass(frozen=True)
class SweepActions:
    """The four actions on a sweep; the user chooses one."""

    plan: bool = opt(False, "Print the configurations and run nothing.", "--plan")
    run: bool = opt(
        False, "Run the configurations that are not stored, then report.", "--run"
    )
    report: bool = opt(False, "Report on stored results.", "--report")
    init: str | None = opt(
        None, "Write a commented sweep file for this set to --out.", metavar="SET"
    )

    def __post_init__(self) -> None:
        if self.plan + self.run + self.report + (self.init is not None) != 1:
            raise ValueError("Give one of --plan, --run, --report and --init SET.")


@expand_groups()
def sweep(
    action: SweepActions,
    workers: WorkerOptions,
    file: Path | None = arg(None, "A sweep file; eval/sweeps has some."),
    path: Path | None = opt(None, "File or folder of the set.", "--path"),
    questions: Path | None = opt(
        None, "A .jsonl or .csv of questions about your documents."
    ),
    out: Path | None = opt(
        None,
        "Folder for the results. Default: reports/sweeps/NAME. With --init: the file.",
    ),
    allow_host: list[str] | None = opt(
        None, "Host of an endpoint that the file may name; may be repeated."
    ),
) -> None:
    """Run many configurations: select one on dev questions, judge it on test questions."""
    from kg2rag.experiments.sweep import SweepResult, read_sweep

    if action.init is not None:
        _write_template(action.init, file or out or Path("sweep.toml"))
        return
    if file is None:
        raise ValueError(
            "Give a sweep file; kg2rag sweep --init SET --out FILE writes one."
        )
    planned = read_sweep(file, path=path, questions=questions, hosts=allow_host or ())
    folder = out or Path("reports") / "sweeps" / planned.name
    if action.report:
        _report(SweepResult.load(folder), folder)
        return
    print_reading(planned.dataset)
    if action.plan:
        print_line(planned.plan())
        return
    result = planned.run(
        folder, jobs=workers.processes, backend=workers.backend, cluster=workers.cluster
    )
    _report(result, folder)


def _report(result: SweepResult, folder: Path) -> None:
    """Print and save a result; the exit code is 1 if a configuration failed."""
    from kg2rag.experiments.sweep.results import HEADER

    rows = result.chosen()
    print_table(
        HEADER[:-1], [[cell.replace(" (", "\n(") for cell in row[:-1]] for row in rows]
    )
    for row in rows:
        print_line(f"{row[0]}: {row[-1]}")
    print_line(result.note())
    for failure in result.failed.to_dict("records"):
        configuration = (
            f"{failure['number']}: {failure['system']} {failure['parameters']}"
        )
        print_line(f"Failed: {configuration}: {failure['error']}")
    print_line(f"Report: {result.save(folder)}")
    if len(result.failed):
        raise typer.Exit(1)


def _write_template(dataset: str, file: Path) -> None:
    """Write a sweep file over a data set."""
    from kg2rag.compute import write_output
    from kg2rag.experiments.sweep.template import template

    write_output(file, "sweep file", template(dataset).encode())
    print_line(f"{file}: choose systems and values, then: kg2rag sweep {file} --plan")


def reproduce(
    ledgers: list[Path] = arg(
        ..., "Ledger files, or a folder of them such as eval/ledger."
    ),
    data: Path = opt(..., "The folder with the data folders that the ledgers name."),
    only: str = opt("", "Run only rows whose ledger/system/set contains this."),
    out: Path | None = opt(
        None, "A .csv file for every row, or a .md file for the tables."
    ),
    allow_host: list[str] | None = opt(
        None, "Host of an endpoint that a ledger may name; may be repeated."
    ),
) -> None:
    """Compare published results with ours: difference, tolerance, verdict."""
    from kg2rag.compute import check_outputs, write_output
    from kg2rag.experiments.ledger import Ledger
    from kg2rag.experiments.reproduction import reproduce as run
    from kg2rag.text.cells import csv_of

    if out is not None:
        if out.suffix not in (".csv", ".md"):
            raise ValueError(f"--out {out}: the table is written as .csv or .md.")
        check_outputs(out.parent, [out.name])
    read = [Ledger.read(file) for file in _ledger_files(ledgers)]
    result = run(read, data, only=only, hosts=allow_host or ())
    print_rich(result)
    for group, counts in result.summary().items():
        print_line(
            f"{group}: {', '.join(f'{count} {name}' for name, count in counts.items())}"
        )
    if out is not None:
        text = result.to_markdown()
        if out.suffix == ".csv":
            text = csv_of(result.frame, float_format="%.4f")
        write_output(out, "reproduction", text.encode())


def _ledger_files(paths: Sequence[Path]) -> list[Path]:
    """The ledger files at paths and in folders; FileNotFoundError: one is missing, or all are."""
    files = list[Path]()
    for path in paths:
        files += sorted(path.glob("*.toml")) if path.is_dir() else [path]
    missing = [file for file in files if not file.is_file()]
    if missing or not files:
        listed = ", ".join(map(str, missing or paths))
        raise FileNotFoundError(
            f"{listed}: no ledger was found. A ledger is a TOML file; the folder eval/ledger of the "
            "repository has one for each paper."
        )
    return files
