"""`kg2rag reproduce`: published numbers beside ours; `kg2rag verify`: a comparison twice, or on other instructions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TOLERANCE = 0.5  # points; see docs/results.md for what was measured


def reproduce(
    ledgers: Annotated[list[Path], typer.Argument(help="Ledger files, or a folder of them such as eval/ledger.")],
    data: Annotated[Path, typer.Option(help="The folder below which the ledgers' data folders lie.")],
    only: Annotated[str, typer.Option(help="Rows whose ledger/system/set contains this.")] = "",
    out: Annotated[Path | None, typer.Option(help="A .csv file for every row, or a .md file for the tables.")] = None,
    every: Annotated[bool, typer.Option("--all", help="List what cannot be run here one by one, too.")] = False,
) -> None:
    """Run what can be run here of published results: ours, theirs, difference, tolerance, verdict."""
    from kg2rag.experiments.reproduction import Ledger
    from kg2rag.experiments.reproduction import reproduce as run
    from kg2rag.experiments.reproduction.tables import terminal_tables
    from kg2rag.text.cells import csv_of
    from kg2rag.text.shown import console as console_of

    if out is not None and out.suffix not in (".csv", ".md"):
        raise ValueError(f"--out {out}: the table is written as .csv or .md.")
    files = [file for path in ledgers for file in (sorted(path.glob("*.toml")) if path.is_dir() else [path])]
    if not files:
        raise FileNotFoundError(f"{', '.join(map(str, ledgers))}: no ledger (*.toml) there.")
    result = run([Ledger.read(file) for file in files], data, only=only)
    console = console_of()
    for table in terminal_tables(result, every=every):
        console.print(table)
    typer.echo(result.counts())
    if out is not None:
        csv = csv_of(result.frame, float_format="%.4f")
        text = result.to_markdown(every=every) if out.suffix == ".md" else csv
        out.write_text(text, encoding="utf-8")


def verify(
    context: typer.Context,
    fresh: Annotated[bool, typer.Option("--fresh", help="Build everything twice too, vectors included.")] = False,
    across: Annotated[
        bool, typer.Option("--across", help="Instead, under each instruction set of this processor, all built anew.")
    ] = False,
    tolerance: Annotated[
        float, typer.Option(help="With --across: points by which a mean may change.", min=0)
    ] = TOLERANCE,
    keep: Annotated[
        Path | None, typer.Option(help="With --across: a folder for the runs, so that what was interrupted goes on.")
    ] = None,
    table: Annotated[Path | None, typer.Option(help="With --across: a .csv file for what moved.")] = None,
) -> None:
    """Run `kg2rag compare …` twice, with other hash seeds and thread counts, and compare the bytes.

    What follows is handed to `compare`: kg2rag verify bundled --systems bm25,dense
    """
    from kg2rag.experiments.reproduction import verify as run

    if across:
        _across(context.args, tolerance, keep, table)
        return
    if keep is not None or table is not None:
        raise ValueError("--keep and --table go with --across.")
    result = run(context.args, fresh=fresh)
    for name, (first, second) in result.checksums.items():
        typer.echo(f"{'equal    ' if first == second else 'DIFFERENT'}  {name}")
    count = len(result.checksums)
    typer.echo(f"{count - len(result.differing)} of {count} files equal ({' | '.join(result.conditions)}).")
    raise typer.Exit(0 if result else 1)


def _across(arguments: list[str], tolerance: float, keep: Path | None, to: Path | None) -> None:
    """Show how far the instruction sets move a comparison; exit 1 where a mean or a star moves too far."""
    from rich.table import Table

    from kg2rag.experiments.reproduction import across
    from kg2rag.text.cells import csv_of
    from kg2rag.text.shown import console as console_of

    result = across(arguments, keep=keep)
    if to is not None:
        to.write_text(csv_of(result.frame, float_format="%.6f"), encoding="utf-8")
    table = Table("instructions", "largest change, points", "of", "questions, %", "first ten, %", "stars")
    for row in result.frame.to_dict("records"):
        of = f"{row['system']} {row['metric']}" if row["largest"] else ""
        shares = f"{row['questions']:.2f}", f"{row['rankings']:.2f}"
        table.add_row(str(row["setting"]), f"{row['largest']:.3f}", of, *shares, str(row["stars"]))
    console_of().print(table)
    held = result.largest <= tolerance and not result.stars
    typer.echo(f"Largest change {result.largest:.3f} points (tolerance {tolerance:g}), {result.stars} stars.")
    raise typer.Exit(0 if held else 1)
