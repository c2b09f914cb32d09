"""`kg2rag datasets`: what can be loaded, what is in it, what is odd about it."""

from __future__ import annotations

import typer

from kg2rag.cli.options import DataOptions, Limit, Seed, spread
from kg2rag.cli.tables import commas, readable, table

datasets_app = typer.Typer(help="What can be loaded, what is in it, what is odd about it.", no_args_is_help=True)


@datasets_app.command("list")
def list_datasets() -> None:
    """The sets that can be loaded by name."""
    from rich.console import Console

    from kg2rag.datasets import describe, names

    listed = table("name", "what it is", "settings", "passages", "licence")
    for name in names():
        try:
            about = describe(name)
        except RuntimeError as error:  # of another package: the other sets are listed all the same
            listed.add_row(name, str(error))
            continue
        offers = [commas(about[part]).replace(", ", ",\n") for part in ("settings", "passages")]
        listed.add_row(name, str(about["summary"]), *offers, str(about["licence"]))
    Console().print(listed)


@datasets_app.command()
@spread()
def info(data: DataOptions, limit: Limit = None, seed: Seed = 0) -> None:
    """Sizes of a set: questions by type and hops, passages, gold, what lies beside it."""
    from rich.console import Console

    from kg2rag.datasets import info as describe_data

    listed = table("what", "value")
    for name, value in describe_data(data.load(limit, seed)).items():
        listed.add_row(name, readable(value))
    Console().print(listed)


@datasets_app.command()
@spread()
def lint(data: DataOptions, limit: Limit = None, seed: Seed = 0) -> None:
    """What is odd about a set: duplicates, answers given away, gold that is missing."""
    from rich.console import Console

    from kg2rag.datasets import lint as check

    findings = check(data.load(limit, seed))
    listed = table("severity", "check", "count", "examples")
    for finding in findings:
        listed.add_row(finding.severity, finding.check, str(finding.count), "\n".join(map(str, finding.examples)))
    Console().print(listed if findings else "Nothing found.")
