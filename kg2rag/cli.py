"""The command line: `kg2rag compare`, `kg2rag datasets`, `kg2rag store`.

Nothing is decided here: options are parsed, handed to the functions a notebook would call, and their results printed.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from kg2rag.corpus import QADataset
    from kg2rag.store import Entry

app = typer.Typer(
    help="A laboratory for graph-guided retrieval: compare strategies on multi-hop question sets.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
datasets_app = typer.Typer(help="What can be loaded, what is in it, what is odd about it.", no_args_is_help=True)
store_app = typer.Typer(help="The cache of vectors, indexes and graphs.", no_args_is_help=True)
app.add_typer(datasets_app, name="datasets")
app.add_typer(store_app, name="store")


class Setting(StrEnum):
    """Where a question searches."""

    pooled = "pooled"
    distractor = "distractor"


class Passages(StrEnum):
    """What a passage is."""

    paragraph = "paragraph"
    sentence = "sentence"


Dataset = Annotated[str, typer.Argument(help="Name of the set; `kg2rag datasets list` names them.")]
DataPath = Annotated[Path | None, typer.Option("--path", help="File or folder of the set; the hub's copy otherwise.")]
Split = Annotated[str | None, typer.Option(help="Split of the set; its default otherwise.")]
SettingOption = Annotated[Setting | None, typer.Option("--setting", help="Search all passages, or each its own.")]
PassagesOption = Annotated[Passages | None, typer.Option("--passages", help="What a passage is.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Draw so many questions; the corpus stays whole.")]
Seed = Annotated[int, typer.Option(help="Of the draw, the bootstrap and the randomisation test.")]
Revision = Annotated[str | None, typer.Option(help="Revision of the hub's copy.")]


@app.command()
def compare(
    dataset: Dataset = "bundled",
    path: DataPath = None,
    split: Split = None,
    setting: SettingOption = None,
    passages: PassagesOption = None,
    limit: Limit = None,
    revision: Revision = None,
    graph: Annotated[
        str, typer.Option(help="mentions (no LLM), or openie:FILE, subkgs:FILE, triples:FILE.")
    ] = "mentions",
    embedder: Annotated[str | None, typer.Option(help="A sentence-transformers model; MiniLM otherwise.")] = None,
    dtype: Annotated[str, typer.Option(help="auto, bfloat16 or float32.")] = "auto",
    systems: Annotated[str, typer.Option(help="core (six of them), all, or names separated by commas.")] = "core",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="system.parameter=value; may be repeated.")
    ] = None,
    metrics: Annotated[
        str, typer.Option(help="Any of ranx's, all_recall@k, support_f1@k.")
    ] = "recall@2,recall@5,recall@10,all_recall@5,mrr@10",
    k: Annotated[int, typer.Option("--k", min=1, help="Hits a query.")] = 100,
    baseline: Annotated[str | None, typer.Option(help="Tested against; dense otherwise, or the first.")] = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Where the results go; reports/DATASET otherwise.")] = None,
) -> None:
    """Compare retrieval systems on a question set: a table here, everything else in --out."""
    from rich.console import Console

    from kg2rag.embedding import SentenceEncoder
    from kg2rag.evaluation import compare as run
    from kg2rag.knowledge_base import KnowledgeBase
    from kg2rag.systems import build_all

    data = _load(dataset, path, split, setting, passages, limit, seed, revision)
    encoder = SentenceEncoder(embedder, dtype=dtype) if embedder else SentenceEncoder(dtype=dtype)
    kb = KnowledgeBase.build(data.corpus, graph, embedder=encoder)
    result = run(
        build_all(kb, _wanted(systems), _parse_settings(settings or [])),
        data,
        metrics=[metric.strip() for metric in metrics.split(",") if metric.strip()],
        k=k,
        baseline=baseline,
        seed=seed,
        command=shlex.join(["kg2rag", *sys.argv[1:]]),
    )
    folder = out or Path("reports") / dataset
    result.save(folder)
    console = Console()
    console.print(result)
    _say_what_lies_beside(data, graph)
    console.print(f"Report: {folder / 'report.html'}", highlight=False, soft_wrap=True)


@app.command("systems")
def list_systems() -> None:
    """The named systems and the parameters that --set can change."""
    from rich.console import Console

    from kg2rag.systems import names, parameters

    table = _table("system", "parameters")
    for name in names():
        table.add_row(name, ", ".join(f"{key}={value!r}" for key, value in parameters(name).items()) or "none")
    Console().print(table)


@datasets_app.command("list")
def list_datasets() -> None:
    """The sets that can be loaded by name."""
    from rich.console import Console

    from kg2rag.datasets import describe, names

    table = _table("name", "what it is", "settings", "passages", "licence")
    for name in names():
        about = describe(name)
        offers = [_commas(about[part]).replace(", ", ",\n") for part in ("settings", "passages")]
        table.add_row(name, str(about["summary"]), *offers, str(about["licence"]))
    Console().print(table)


@datasets_app.command()
def info(
    dataset: Dataset,
    path: DataPath = None,
    split: Split = None,
    setting: SettingOption = None,
    passages: PassagesOption = None,
    limit: Limit = None,
    seed: Seed = 0,
    revision: Revision = None,
) -> None:
    """Sizes of a set: questions by type and hops, passages, gold, what lies beside it."""
    from rich.console import Console

    from kg2rag.datasets import info as describe_data

    table = _table("what", "value")
    for name, value in describe_data(_load(dataset, path, split, setting, passages, limit, seed, revision)).items():
        table.add_row(name, _readable(value))
    Console().print(table)


@datasets_app.command()
def lint(
    dataset: Dataset,
    path: DataPath = None,
    split: Split = None,
    setting: SettingOption = None,
    passages: PassagesOption = None,
    limit: Limit = None,
    seed: Seed = 0,
    revision: Revision = None,
) -> None:
    """What is odd about a set: duplicates, answers given away, gold that is missing."""
    from rich.console import Console

    from kg2rag.datasets import lint as check

    findings = check(_load(dataset, path, split, setting, passages, limit, seed, revision))
    table = _table("severity", "check", "count", "examples")
    for finding in findings:
        table.add_row(finding.severity, finding.check, str(finding.count), "\n".join(map(str, finding.examples)))
    Console().print(table if findings else "Nothing found.")


@store_app.command("ls")
def list_store() -> None:
    """What the store holds, by stage: entries, size, age of the oldest."""
    from rich.console import Console

    from kg2rag.store import Store

    store = Store()
    table = _table("stage", "entries", "MB", "oldest")
    stages: dict[str, list[Entry]] = {}
    for entry in store.entries():
        stages.setdefault(entry.stage, []).append(entry)
    for stage, found in sorted(stages.items()):
        size, age = sum(entry.size for entry in found), time.time() - min(entry.created for entry in found)
        table.add_row(stage, str(len(found)), f"{size / 1e6:.1f}", f"{age / 86_400:.1f} days")
    typer.echo(f"{store.root}{'' if stages else ': empty'}")
    if stages:
        Console().print(table)


@store_app.command("verify")
def verify_store() -> None:
    """Read every byte and compare it with the manifests. Exit code 1 where something is damaged."""
    from kg2rag.store import Store

    damaged = Store().verify()
    for place, damage in damaged.items():
        typer.echo(f"{place}: {damage}")
    typer.echo(f"Damaged: {len(damaged)}; rebuilt when next needed." if damaged else "All sound.")
    raise typer.Exit(1 if damaged else 0)


@store_app.command("prune")
def prune_store(
    older_than_days: Annotated[float, typer.Option(min=0, help="Entries at least so old; 0 takes all.")] = 30.0,
) -> None:
    """Delete old entries, and what killed builds left behind."""
    from kg2rag.store import Store

    entries, size = Store().prune(older_than_days)
    typer.echo(f"Deleted: {entries} {'entry' if entries == 1 else 'entries'}, {size / 1e6:.1f} MB.")


def main() -> None:
    """Run the command line; a mistake in the input prints one line, not a traceback."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # unset, the tokeniser warns in every forked process
    try:
        app()
    except (ValueError, OSError, KeyError) as error:
        if os.environ.get("KG2RAG_DEBUG"):
            raise
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        typer.echo(f"Error: {message}", err=True)
        for note in getattr(error, "__notes__", ()):
            typer.echo(note, err=True)
        sys.exit(2)


def _load(
    dataset: str,
    path: Path | None,
    split: str | None,
    setting: Setting | None,
    passages: Passages | None,
    limit: int | None,
    seed: int,
    revision: str | None,
) -> QADataset:
    from kg2rag.datasets import load

    return load(
        dataset,
        path=path,
        split=split,
        setting=setting.value if setting else None,
        passages=passages.value if passages else None,
        limit=limit,
        seed=seed,
        revision=revision,
    )


def _wanted(systems: str) -> Sequence[str] | None:
    from kg2rag.systems import CORE

    if systems in ("core", "all"):
        return CORE if systems == "core" else None
    return [name.strip() for name in systems.split(",") if name.strip()]


def _parse_settings(given: list[str]) -> dict[str, dict[str, object]]:
    """["bm25.k1=1.2"] -> {"bm25": {"k1": 1.2}}; values are JSON where they can be read as such, text otherwise."""
    settings: dict[str, dict[str, object]] = {}
    for setting in given:
        target, equals, value = setting.partition("=")
        system, dot, parameter = target.partition(".")
        if not (equals and dot and system and parameter):
            raise ValueError(f"--set {setting!r}: write system.parameter=value, such as bm25.k1=1.2.")
        try:
            settings.setdefault(system, {})[parameter] = json.loads(value)
        except json.JSONDecodeError:
            settings.setdefault(system, {})[parameter] = value
    return settings


def _say_what_lies_beside(data: QADataset, graph: str) -> None:
    from kg2rag.extraction.sources import FROM_FILE

    graphs = [(name.partition(":")[0], file) for name, file in data.extras.items()]
    offers = [f"  --graph {kind}:{file}" for kind, file in graphs if kind in FROM_FILE]
    if graph == "mentions" and offers:
        typer.echo("\n".join(["Beside the questions lies a graph, which was not used:", *offers]))


def _table(*columns: str) -> Table:
    """A table whose first column is never cut: it holds the names one types."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, no_wrap=i == 0, overflow="fold")
    return table


def _readable(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {count}" for name, count in value.items())
    return "" if value is None else _commas(value)


def _commas(values: object) -> str:
    return ", ".join(map(str, values)) if isinstance(values, tuple | list) else str(values)
