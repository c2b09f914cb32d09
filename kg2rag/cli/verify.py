"""`kg2rag verify`: a comparison twice, byte for byte."""

from __future__ import annotations

from typing import Annotated

import typer


def verify(
    context: typer.Context,
    fresh: Annotated[bool, typer.Option("--fresh", help="Build everything twice too, vectors included.")] = False,
) -> None:
    """Run `kg2rag compare …` twice, with other hash seeds and thread counts, and compare the bytes.

    What follows is handed to `compare`: kg2rag verify bundled --systems bm25,dense
    """
    from kg2rag.experiments.reproduction import verify as run

    result = run(context.args, fresh=fresh)
    for name, (first, second) in result.checksums.items():
        typer.echo(f"{'equal    ' if first == second else 'DIFFERENT'}  {name}")
    count = len(result.checksums)
    typer.echo(f"{count - len(result.differing)} of {count} files equal ({' | '.join(result.conditions)}).")
    raise typer.Exit(0 if result else 1)
