"""`kg2rag datasets`: sets, sizes and faults; `questions`: a test set of documents; `store`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kg2rag.cli.option_groups import EXIT_SOME_FAILED, arg, expand_groups, opt
from kg2rag.cli.options import GRAPHS, DataOptions, DrawOptions, ModelOptions
from kg2rag.cli.printing import print_line, print_table

if TYPE_CHECKING:
    from kg2rag.datasets.known_items import WrittenQuestions

datasets_app = typer.Typer(
    help="Sets that can be loaded, their sizes and their faults.", no_args_is_help=True
)
store_app = typer.Typer(
    help="The cache of vectors, indexes and graphs.", no_args_is_help=True
)


@datasets_app.command("list")
def list_datasets() -> None:
    """List the sets that can be loaded by name."""
    from kg2rag.datasets import describe, names

    rows = []
    for name in names():
        try:
            about = describe(name)
        except RuntimeError as error:  # in another package; the other sets are listed
            rows.append([name, str(error)])
        else:
            settings = _readable(about["settings"]).replace(", ", ",\n")
            passages = _readable(about["passages"]).replace(", ", ",\n")
            summary = str(about["summary"])
            rows.append([name, summary, settings, passages, str(about["licence"])])
    print_table(("name", "description", "settings", "passages", "licence"), rows)


@datasets_app.command()
@expand_groups()
def info(data: DrawOptions) -> None:
    """Print the sizes of a set: questions by type and hops, passages, gold, graph files."""
    from kg2rag.datasets import info as run

    sizes = run(data.load())
    print_table(
        ("size", "value"), [(name, _readable(value)) for name, value in sizes.items()]
    )


@datasets_app.command()
@expand_groups()
def lint(data: DrawOptions) -> None:
    """Find faults of a set: duplicates, questions that contain their answer, missing gold."""
    from kg2rag.datasets import lint as run

    faults = run(data.load())
    if faults.empty:
        print_line("No faults were found.")
        return
    rows = []
    for fault in faults.to_numpy().tolist():
        rows.append([_readable(cell).replace(", ", "\n") for cell in fault])
    print_table(list(map(str, faults)), rows)


@expand_groups()
def questions(
    data: DataOptions,
    model_options: ModelOptions,
    out: Path = opt(
        Path("questions.jsonl"),
        "File for the questions; the page to review them is written beside it.",
    ),
    plan: bool = opt(
        False, "Estimate calls, tokens and cost, and send nothing.", "--plan"
    ),
    known_item: bool = opt(
        False, "Use headings and sentences as queries; needs no model.", "--known-item"
    ),
    limit: int = opt(
        50, "Number of chains of passages to try, or of known items.", min=1
    ),
    hops: int = opt(2, "Number of passages in a chain.", min=2),
    graph: str = opt("mentions", GRAPHS),
    seed: int = opt(0, "Seed of the draw."),
) -> None:
    """Make a test set from documents: multi-hop questions by a language model, or known items.

    A model writes a question for a chain of passages that share names. The question is kept if the
    model answers it from all passages of the chain, but from no single one. Answers are stored as
    they arrive and paid once. Review the page, then compare with --questions.
    """
    from kg2rag.compute import SentenceEncoder, Store, check_outputs
    from kg2rag.extraction.sources import SOURCES
    from kg2rag.knowledge import KnowledgeBase
    from kg2rag.llm import plan_questions, questions_from

    page = out.with_suffix(".html")
    if page == out:
        raise ValueError(
            f"--out {out}: the questions are written as .jsonl, and the page to review them beside them."
        )
    if not plan:
        check_outputs(out.parent, [out.name, page.name])
    corpus = data.load().corpus
    model = (
        None if known_item else model_options.open("Without --known-item, this command")
    )
    # The encoder only names the knowledge base: no text is encoded.
    kb = KnowledgeBase(corpus, SOURCES.build(graph), SentenceEncoder(), Store())
    if not plan:
        written = questions_from(kb, model, limit=limit, hops=hops, seed=seed)
        _save_questions(written, out, page, data.dataset)
    elif model is None:
        print_line(f"{limit} known items; no language model is used, nothing is paid.")
    else:
        print_line(plan_questions(kb, model, limit=limit, hops=hops, seed=seed))


def _save_questions(
    written: WrittenQuestions, out: Path, page: Path, dataset: str
) -> None:
    """Write the questions and the page to review them.

    The exit code is `EXIT_SOME_FAILED` if calls failed or there is no question.
    """
    print_line(written)
    if written.rows:
        written.label().save(page)
        written.save(out)
        print_line(
            f"To review: {page}. To compare: kg2rag compare {shlex.quote(dataset)} --questions {out}"
        )
    else:
        print_line(f"No question was written, so {out} is not.", err=True)
    if written.failures:
        print_line(
            f"{len(written.failures)} calls failed, the first: {written.failures[0]}.",
            err=True,
        )
    if any(failure.kind != "output" for failure in written.failures):
        print_line(
            "The same command asks again for answers that did not come.", err=True
        )
    if written.failures or not written.rows:
        raise typer.Exit(EXIT_SOME_FAILED)


def _readable(value: object) -> str:
    """The text of a value: counts by name, lists without brackets, "" for None."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        value = [f"{name}: {count}" for name, count in value.items()]
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    return str(value)


@datasets_app.command()
def get(
    name: str = arg("", "Name of a reported part of a set; --list prints them."),
    into: Path = opt(
        Path("data/public"), "Folder for the sets; NAME is created in it."
    ),
    listed: bool = opt(
        False, "List the reported parts, their questions and their origin.", "--list"
    ),
) -> None:
    """Download a part of a public set that README and docs report, and check it."""
    from kg2rag.datasets import get as run
    from kg2rag.datasets import subsets

    if listed:
        rows = []
        for label, part in subsets().items():
            rows.append(
                (label, str(len(part.ids)), part.about, part.needs or "from the hub")
            )
        print_table(("name", "questions", "description", "origin"), rows)
    elif name:
        print_line(
            f"{run(name, into)}: the {len(subsets()[name].ids)} questions and the corpus that are reported."
        )
    else:
        raise ValueError(
            "Name a reported part of a set: kg2rag datasets get musique-100. --list names the parts."
        )


@store_app.command("prune")
def prune_store(
    older_than_days: float = opt(
        30.0,
        "Delete entries that were unused for this many days; 0 deletes all.",
        min=0,
    ),
) -> None:
    """Delete old entries of the store and the remains of killed builds; other files stay."""
    from kg2rag.compute import Store

    entries, size = Store().prune(older_than_days)
    print_line(f"Entries deleted: {entries:,} ({size / 1e6:.1f} MB).")
