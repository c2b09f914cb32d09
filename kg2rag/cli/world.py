"""`kg2rag world`: generate a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def world(
    out: Annotated[Path, typer.Option(help="A new folder.")],
    passages: Annotated[int, typer.Option(help="Passages in all.")] = 1000,
    questions: Annotated[int, typer.Option(help="Questions in all.")] = 100,
    hops: Annotated[str, typer.Option(help="Facts that a question joins: numbers from 1 to 4.")] = "1,2,3,4",
    distractors: Annotated[int, typer.Option(help="Passages a question that name its entities in vain.")] = 0,
    aliases: Annotated[float, typer.Option(min=0, max=1, help="Share of names given as an alias.")] = 0.0,
    typos: Annotated[float, typer.Option(min=0, max=1, help="Share of questions with a misspelt name.")] = 0.0,
    dropped: Annotated[float, typer.Option(min=0, max=1, help="Share of triples left out.")] = 0.0,
    wrong: Annotated[float, typer.Option(min=0, max=1, help="Share of triples with a wrong end.")] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal bytes.")] = 0,
) -> None:
    """Generate a synthetic benchmark: an invented world, its passages, triples and multi-hop questions."""
    from kg2rag.datasets.world import World, write

    try:
        lengths = tuple(int(part) for part in hops.split(","))
    except ValueError:
        raise ValueError(f"--hops {hops!r}: write numbers from 1 to 4, separated by commas.") from None
    made = World(passages, questions, lengths, distractors, aliases, typos, dropped, wrong, seed)
    write(made, out)
    typer.echo(f"Written to {out}: {made.passages:,} passages, {made.questions:,} questions. All of it is synthetic.")
    typer.echo(f"  kg2rag compare world --path {out} --graph triples:{out / 'triples.jsonl'}")
