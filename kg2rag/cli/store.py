"""`kg2rag store`: what the cache holds, whether it is sound, and its end."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from kg2rag.cli.options import show

store_app = typer.Typer(help="The cache of vectors, indexes and graphs.", no_args_is_help=True)


@store_app.command("ls")
def list_store() -> None:
    """What the store holds, by stage: entries, size, age of the oldest."""
    from kg2rag.compute import Entry, Store

    store = Store()
    stages: dict[str, list[Entry]] = {}
    for entry in store.entries():
        stages.setdefault(entry.stage, []).append(entry)
    typer.echo(f"{store.root}{'' if stages else ': empty'}")
    rows = []
    for stage, found in sorted(stages.items()):
        size, age = sum(entry.size for entry in found), time.time() - min(entry.created for entry in found)
        rows.append((stage, str(len(found)), f"{size / 1e6:.1f}", f"{age / 86_400:.1f} days"))
    if rows:
        show(("stage", "entries", "MB", "oldest"), rows)


@store_app.command("verify")
def verify_store() -> None:
    """Read every byte and compare it with the manifests. Exit code 1 where something is damaged."""
    from kg2rag.compute import Store

    damaged = Store().verify()
    for place, damage in damaged.items():
        typer.echo(f"{place}: {damage}")
    typer.echo(f"Damaged: {len(damaged)}; rebuilt when next needed." if damaged else "All sound.")
    raise typer.Exit(1 if damaged else 0)


@store_app.command("prune")
def prune_store(
    older_than_days: Annotated[
        float, typer.Option(min=0, help="Entries unused for at least so long; 0 takes all.")
    ] = 30.0,
) -> None:
    """Delete entries that were long not used, and what killed builds left behind; none that a running process uses."""
    from kg2rag.compute import Store

    entries, size = Store().prune(older_than_days)
    typer.echo(f"Deleted: {entries} {'entry' if entries == 1 else 'entries'}, {size / 1e6:.1f} MB.")
