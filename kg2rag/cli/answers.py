"""The last mile: `kg2rag context` prints what a reader would be given, `kg2rag answer` lets one read and scores it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from kg2rag.cli.model_options import ModelOptions
from kg2rag.cli.options import DataOptions, Limit, Seed, SystemOptions, spread

SOME_FAILED = 3
Tokens = Annotated[int, typer.Option(min=1, help="Of a whole context, at most; counted by the encoder's tokenizer.")]
GraphTokens = Annotated[int | None, typer.Option(min=0, help="Of its graph block; a ninth of --tokens otherwise.")]
Hits = Annotated[int, typer.Option("--k", min=1, help="Hits of a question; those that fit are read.")]


@dataclass(frozen=True)
class OneSystem(SystemOptions):
    """The options that name one system and what it runs on."""

    systems: Annotated[str, typer.Option("--system", help="Whose hits are read; `kg2rag systems` lists them.")] = (
        "hybrid"
    )


@spread()
def context(
    data: DataOptions,
    question: Annotated[str, typer.Argument(help="Id or text of a question of the set, or a new question.")],
    on: OneSystem,
    tokens: Tokens = 4500,
    graph_tokens: GraphTokens = None,
    k: Hits = 20,
) -> None:
    """Print the context of a question: the graph block and the passages, within a budget of tokens.

    What was left out, and why, goes to stderr, so that the output is the context and nothing else.
    """
    from kg2rag.answers.context import assemble
    from kg2rag.report.question_explanation import find_question

    questions = data.load()
    _, query = find_question(questions, question)
    kb, systems = on.build(questions.corpus)
    if len(systems) != 1:
        raise ValueError(f"A context is of one system, not of {', '.join(systems)}. Name one with --system.")
    (system,) = systems.values()
    ranking = system.retrieve(query, k)
    (made,) = assemble(kb, [query], [ranking], tokens=tokens, graph_tokens=graph_tokens)
    typer.echo(made.text)
    cited = f"{made.tokens} of {tokens} tokens, {len(made.citations)} of {len(ranking)} passages"
    typer.echo(cited, err=True)
    for dropped in made.dropped:
        typer.echo(f"left out ({dropped.why}): {dropped.what}", err=True)


@spread(systems="dense,hybrid,graph_augmented", dataset="bundled")
def answer(
    data: DataOptions,
    chat: ModelOptions,
    on: SystemOptions,
    limit: Limit = None,
    tokens: Tokens = 4500,
    graph_tokens: GraphTokens = None,
    k: Hits = 20,
    reasoned: Annotated[bool, typer.Option("--reasoned", help="Let the model reason before it answers.")] = False,
    rules: Annotated[
        Literal["squad", "hotpotqa", "musique"], typer.Option(help="Whose normalisation and F1.")
    ] = "squad",
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Where the answers go; reports/DATASET-answers otherwise.")] = None,
) -> None:
    """Let a language model answer from the contexts of some systems: exact match and F1 of each.

    Answers are kept as they arrive; stopped in any way, the same command goes on where it was. A question without an
    answer is counted as failed, never scored; the table is over the questions that every system answered, and the exit
    code is 3 where there is another.
    """
    from rich.console import Console

    from kg2rag.answers.comparing import compare_answers
    from kg2rag.answers.reader import REASONED, SHORT, Reader

    reader = Reader(chat.open("A reader"), REASONED if reasoned else SHORT)
    questions = data.load(limit, seed)
    kb, systems = on.build(questions.corpus)
    budget = {"tokens": tokens, "graph_tokens": graph_tokens}
    result = compare_answers(systems, questions, kb, reader, k=k, rules=rules, seed=seed, **budget)  # type: ignore[arg-type]
    folder = out or Path("reports") / f"{data.file_name}-answers"
    result.save(folder)
    console = Console()
    console.print(str(result), markup=False, highlight=False)
    for name, answers in result.answers.items():
        console.print(f"{name}: {answers.usage}", markup=False, highlight=False)
    console.print(f"Answers and contexts: {folder}", highlight=False, soft_wrap=True)
    failed = {name: report.failed for name, report in result.reports.items() if report.failed}
    for name, failures in failed.items():
        first, failure = next(iter(failures.items()))
        typer.echo(f"{name}: {len(failures)} questions failed, the first {first!r}: {failure}", err=True)
    if failed:
        raise typer.Exit(SOME_FAILED)
