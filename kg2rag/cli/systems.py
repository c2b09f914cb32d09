"""What systems do: `ask`, `systems`, `explain`; and what a reader makes of it: `context`, `answer`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import typer

from kg2rag.cli.declared import SOME_FAILED, arg, opt, spread
from kg2rag.cli.options import GRAPHS, DataOptions, DrawOptions, EncoderOptions, ModelOptions, SystemOptions
from kg2rag.cli.printing import print_json, print_line, print_rich, print_table

QUESTION = arg(..., "Id or text of a question of the set, or a new question.")


def list_systems(name: str | None = arg(None, "Describe this one, with all its parameters.")) -> None:
    """Say what each named system does, or all about one: its method, and the parameters that --set can change."""
    from kg2rag.retrievers.systems import SYSTEMS

    wrapped = {"markup": False, "highlight": False}
    if name is None:
        rows = [(one, SYSTEMS.description(one).partition("\n")[0]) for one in SYSTEMS.names()]
        print_table(("system", "what it does"), rows)
        print_rich("kg2rag systems NAME says more of one, and which parameters --set changes.", **wrapped)
        return
    print_rich(f"{name}: {SYSTEMS.description(name)}", **wrapped)
    defaults = SYSTEMS.parameters(name)
    print_table(("parameter", "default"), ((key, repr(value)) for key, value in defaults.items()))
    if defaults:
        print_rich(f"Changed by --set {name}.{next(iter(defaults))}=VALUE, and so on.", **wrapped)


@spread()
def ask(
    data: DataOptions,
    encoding: EncoderOptions,
    question: str = arg(..., "In your own words; nothing is judged."),
    system: str | None = opt(None, "Whose hits; the recommended one's otherwise."),
    graph: str = opt("mentions", GRAPHS),
    k: int = opt(5, "Hits shown.", "--k", min=1),
    as_json: bool = opt(False, "Print the context of these hits as JSON, what the graph says included.", "--json"),
) -> None:
    """Ask a folder of documents, or a set, a question: the passages with their file, headings and path."""
    from kg2rag.answers.context import context as context_of
    from kg2rag.knowledge import KnowledgeBase
    from kg2rag.retrievers.systems import recommended

    kb = KnowledgeBase.build(data.load().corpus, graph, embedder=encoding.encoder())
    if as_json:
        print_json(context_of(recommended(kb, system), question, k=k).to_json())
        return
    for rank, hit in enumerate(kb.retrieve(question, k, system=system), start=1):
        place = [hit.metadata.get("file", hit.passage_id), *hit.metadata.get("headings", ())]
        print_line(f"{rank}. {hit.title or hit.passage_id}  [{' > '.join(map(str, place))}]")
        if hit.path_text:
            print_line(f"   by {hit.path_text}")
        print_line(f"   {' '.join(hit.text.split())}\n")


@spread(systems="mention_ppr,dense")
def explain(
    data: DataOptions,
    on: SystemOptions,
    question: str = QUESTION,
    k: int = opt(5, "Hits shown of each system.", "--k", min=1),
) -> None:
    """Show why systems return what they return: stages, paths, the arithmetic of the scores, and where the gold is."""
    from kg2rag.report.question_explanation import explain as run

    questions = data.load()
    print_rich(run(on.build(questions.corpus)[1], questions, question, k=k))


@dataclass(frozen=True)
class OneSystem(SystemOptions):
    """The options that name one system and what it runs on."""

    systems: str = opt("hybrid", "Whose hits are read; `kg2rag systems` lists them.", "--system")


@dataclass(frozen=True)
class ContextOptions:
    """The options of a context."""

    tokens: int = opt(4500, "Of a whole context, at most; counted by the encoder's tokenizer.", min=1)
    graph_tokens: int | None = opt(None, "Of its graph block; a ninth of --tokens otherwise.", min=0)
    k: int = opt(20, "Hits of a question; those that fit are read.", "--k", min=1)


@spread()
def context(
    data: DataOptions,
    on: OneSystem,
    size: ContextOptions,
    question: str = QUESTION,
    hops: int = opt(1, "From 2 on, the graph block has the chains that lead so far.", min=1, max=3),
    as_json: bool = opt(False, "Print all of it as data: text, citations, what the graph says.", "--json"),
) -> None:
    """Print the context of a question: the graph block and the passages, within a budget of tokens.

    What was left out, and why, goes to stderr, so that the output is the context and nothing else.
    """
    from kg2rag.answers.context import context as context_of
    from kg2rag.report.question_explanation import find_question

    questions = data.load()
    _, query = find_question(questions, question)
    kb, systems = on.build(questions.corpus)
    if len(systems) != 1:
        raise ValueError(f"A context is of one system, not of {', '.join(systems)}. Name one with --system.")
    (system,) = systems.values()
    made = context_of(system, query, hops=hops, kb=kb, **vars(size))
    if as_json:
        print_json(made.to_json())
    else:
        print_line(made.text)
    print_line(f"{made.tokens} of {size.tokens} tokens, {len(made.citations)} passages", err=True)
    for dropped in made.dropped:
        print_line(f"left out ({dropped.why}): {dropped.what}", err=True)


@spread(systems="dense,hybrid,graph_augmented", dataset="bundled")
def answer(
    data: DrawOptions,
    chat: ModelOptions,
    on: SystemOptions,
    size: ContextOptions,
    reasoned: bool = opt(False, "Let the model reason before it answers.", "--reasoned"),
    rules: Literal["squad", "hotpotqa", "musique"] = opt("squad", "Whose normalisation and F1."),
    out: Path | None = opt(None, "Where the answers go; reports/DATASET-answers otherwise."),
) -> None:
    """Let a language model answer from the contexts of some systems: exact match and F1 of each.

    Answers are kept as they arrive; stopped in any way, the same command goes on where it was. A question without an
    answer is counted as failed, never scored; the table is over the questions that every system answered, and the exit
    code is 3 where there is another.
    """
    from kg2rag.answers.comparing import FILES as ANSWER_FILES
    from kg2rag.answers.comparing import compare_answers
    from kg2rag.answers.reader import REASONED, SHORT, Reader
    from kg2rag.compute import check_outputs

    reader = Reader(chat.open("A reader"), REASONED if reasoned else SHORT)
    folder = out or Path("reports") / f"{data.file_name}-answers"
    check_outputs(folder, ANSWER_FILES)
    questions = data.load()
    kb, systems = on.build(questions.corpus)
    result = compare_answers(systems, questions, kb, reader, rules=rules, seed=data.seed, **vars(size))
    result.save(folder)
    print_line(str(result))
    for name, answers in result.answers.items():
        print_line(f"{name}: {answers.usage}")
    print_line(f"Answers and contexts: {folder}")
    failed = {name: answers.failed for name, answers in result.answers.items() if answers.failed}
    for name, failures in failed.items():
        first, failure = next(iter(failures.items()))
        print_line(f"{name}: {len(failures)} questions failed, the first {first!r}: {failure}", err=True)
    if failed:
        raise typer.Exit(SOME_FAILED)
