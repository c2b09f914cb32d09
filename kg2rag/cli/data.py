"""`kg2rag datasets`: what can be loaded, what is in it, what is odd about it; `store`: the cache."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import typer

from kg2rag.cli.declared import SOME_FAILED, arg, opt, spread
from kg2rag.cli.options import GRAPHS, DataOptions, DrawOptions, ModelOptions
from kg2rag.cli.printing import print_line, print_rich, print_table

datasets_app = typer.Typer(help="What can be loaded, what is in it, what is odd about it.", no_args_is_help=True)
store_app = typer.Typer(help="The cache of vectors, indexes and graphs.", no_args_is_help=True)


@datasets_app.command("list")
def list_datasets() -> None:
    """The sets that can be loaded by name."""
    from kg2rag.datasets import describe, names

    rows = []
    for name in names():
        try:
            about = describe(name)
        except RuntimeError as error:  # of another package: the other sets are listed all the same
            rows.append([name, str(error)])
        else:
            offers = [_readable(about[option]).replace(", ", ",\n") for option in ("settings", "passages")]
            rows.append([name, str(about["summary"]), *offers, str(about["licence"])])
    print_table(("name", "what it is", "settings", "passages", "licence"), rows)


@datasets_app.command()
@spread()
def info(data: DrawOptions) -> None:
    """Sizes of a set: questions by type and hops, passages, gold, what lies beside it."""
    from kg2rag.datasets import info as run

    print_table(("what", "value"), ((name, _readable(value)) for name, value in run(data.load()).items()))


@datasets_app.command()
@spread()
def lint(data: DrawOptions) -> None:
    """What is odd about a set: duplicates, answers given away, gold that is missing."""
    from kg2rag.datasets import lint as run

    found = run(data.load())
    rows = ([_readable(cell).replace(", ", "\n") for cell in row] for row in found.to_numpy().tolist())
    print_table(list(map(str, found)), rows) if len(found) else print_rich("Nothing found.")


@spread()
def questions(
    data: DataOptions,
    chat: ModelOptions,
    out: Path = opt(Path("questions.jsonl"), "Where they go; the page to review them lies beside it."),
    plan: bool = opt(False, "Say what it would take and send nothing.", "--plan"),
    known_item: bool = opt(False, "Without a model: headings and sentences as queries.", "--known-item"),
    limit: int = opt(50, "Chains of passages that are tried, or known items.", min=1),
    hops: int = opt(2, "Passages of a chain.", min=2),
    graph: str = opt("mentions", GRAPHS),
    seed: int = opt(0, "Of the draw."),
) -> None:
    """Make a test set from a folder of documents: multi-hop questions by a language model, or known items.

    A model writes a question for a chain of passages that share names, and answers it anew: it stays where all passages
    answer it, and none alone. Answers are kept as they arrive and paid once. Review the page; compare by --questions.
    """
    from kg2rag.compute import SentenceEncoder, Store, check_outputs
    from kg2rag.datasets import plan_questions, questions_from
    from kg2rag.extraction.sources import SOURCES
    from kg2rag.knowledge import KnowledgeBase

    page = out.with_suffix(".html")
    if page == out:
        raise ValueError(f"--out {out}: the questions are written as .jsonl, and the page to review them beside them.")
    if not plan:
        check_outputs(out.parent, [out.name, page.name])
    corpus = data.load().corpus
    model = None if known_item else chat.open("A question of several passages (--known-item makes others)")
    kb = KnowledgeBase(corpus, SOURCES.build(graph), SentenceEncoder(), Store())  # nothing is encoded
    if plan:
        free = f"{limit} known items; no language model is used, nothing is paid."
        print_line(plan_questions(kb, model, limit=limit, hops=hops, seed=seed) if model else free)
        return
    made = questions_from(kb, model, limit=limit, hops=hops, seed=seed)
    print_line(made)
    made.label().save(page)
    made.save(out)
    print_line(f"{out}, for kg2rag compare {data.dataset} --questions; to review: {page}")
    if made.failures:
        first = f"{len(made.failures)} calls failed, the first: {made.failures[0]}."
        print_line(f"{first} The same command asks again.", err=True)
        raise typer.Exit(SOME_FAILED)


def _readable(value: object) -> str:
    """A value as one reads it: counts by name, lists without brackets, nothing for None."""
    if isinstance(value, Mapping):
        value = [f"{name}: {count}" for name, count in value.items()]
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else "" if value is None else str(value)


@datasets_app.command()
def get(
    name: str = arg("", "A reported part of a set; `--list` names them."),
    into: Path = opt(Path("data/public"), "The folder of the sets; NAME is made in it."),
    listed: bool = opt(False, "The reported parts: questions, and what they need.", "--list"),
) -> None:
    """Bring a part of a public set that README and docs report into a folder, and check it."""
    from kg2rag.datasets import get as run
    from kg2rag.datasets import subsets

    if listed:
        rows = ((one, str(len(part.ids)), part.about, part.needs or "from the hub") for one, part in subsets().items())
        print_table(("name", "questions", "what it is", "where it is from"), rows)
    elif name:
        print_line(f"{run(name, into)}: the {len(subsets()[name].ids)} questions and the corpus that are reported.")
    else:
        raise ValueError("Name a reported part of a set: kg2rag datasets get musique-100. --list names the parts.")


@store_app.command("prune")
def prune_store(older_than_days: float = opt(30.0, "Entries unused for at least so long; 0 takes all.", min=0)) -> None:
    """Delete entries that were long not used, and what killed builds left behind; none that a running process uses."""
    from kg2rag.compute import Store

    entries, size = Store().prune(older_than_days)
    print_line(f"Deleted: {entries} {'entry' if entries == 1 else 'entries'}, {size / 1e6:.1f} MB.")
