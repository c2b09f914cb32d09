"""`kg2rag datasets`: what can be loaded, what is in it, what is odd about it; `kg2rag world` generates a set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from kg2rag.cli.options import DataOptions, Limit, Seed, commas, readable, show, spread

datasets_app = typer.Typer(help="What can be loaded, what is in it, what is odd about it.", no_args_is_help=True)


@datasets_app.command("list")
def list_datasets() -> None:
    """The sets that can be loaded by name."""
    from kg2rag.datasets import describe, families, names

    def row(name: str, about: Mapping[str, object]) -> list[str]:
        offers = [commas(about[option]).replace(", ", ",\n") for option in ("settings", "passages")]
        return [name, str(about["summary"]), *offers, str(about["licence"])]

    def rows() -> Iterator[list[str]]:
        for name in names():
            try:
                yield row(name, describe(name))
            except RuntimeError as error:  # of another package: the other sets are listed all the same
                yield [name, str(error)]
        for name, about in families().items():
            yield row(name, about)

    show(("name", "what it is", "settings", "passages", "licence"), rows())


@datasets_app.command()
@spread()
def info(data: DataOptions, limit: Limit = None, seed: Seed = 0) -> None:
    """Sizes of a set: questions by type and hops, passages, gold, what lies beside it."""
    from kg2rag.datasets import info as run

    show(("what", "value"), ((name, readable(value)) for name, value in run(data.load(limit, seed)).items()))


@datasets_app.command()
@spread()
def lint(data: DataOptions, limit: Limit = None, seed: Seed = 0) -> None:
    """What is odd about a set: duplicates, answers given away, gold that is missing."""
    from kg2rag.datasets import lint as run

    rows = [(one.severity, one.check, str(one.count), "\n".join(one.examples)) for one in run(data.load(limit, seed))]
    if rows:
        show(("severity", "check", "count", "examples"), rows)
    else:
        typer.echo("Nothing found.")


@datasets_app.command()
def get(
    name: Annotated[
        str, typer.Argument(help="A set of the hub, or a reported part of one; `--list` names the parts.")
    ] = "",
    into: Annotated[Path, typer.Option(help="The folder of the sets; NAME is made in it.")] = Path("data/public"),
    split: Annotated[str | None, typer.Option(help="Of a whole set; its default otherwise.")] = None,
    revision: Annotated[str | None, typer.Option(help="The hub's branch, tag or commit.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="The reported parts: questions, and what they need.")] = False,
) -> None:
    """Bring a public set into a folder, or a part that README and docs report, and check it."""
    from kg2rag.datasets import get as run
    from kg2rag.datasets import subsets

    if listed:
        rows = ((one, str(len(part.ids)), part.about, part.needs or "from the hub") for one, part in subsets().items())
        show(("name", "questions", "what it is", "where it is from"), rows)
        return
    if not name:
        raise ValueError(
            "Name a set or a reported part of one: kg2rag datasets get musique-100. --list names the parts."
        )
    place = run(name, into, split=split, revision=revision)
    part = subsets().get(name)
    if part is None:
        typer.echo(f"{place}: as it was got.")
    else:
        typer.echo(f"{place}: the {len(part.ids)} questions and the corpus that are reported.")


def world(
    out: Annotated[Path, typer.Option(help="A new folder.")],
    passages: Annotated[int, typer.Option(help="Passages in all.")] = 1000,
    questions: Annotated[int, typer.Option(help="Questions in all.")] = 100,
    hops: Annotated[str, typer.Option(help="Facts that a question joins: numbers from 1 to 4.")] = "1,2,3,4",
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
    write(World(passages, questions, lengths, dropped, wrong, seed), out)
    typer.echo(f"Written to {out}: {passages:,} passages, {questions:,} questions. All of it is synthetic.")
    typer.echo(f"  kg2rag compare world --path {out} --graph 'triples({out / 'triples.jsonl'})'")
