"""`ask`, `explain` and `systems`: the hits of systems; `context`: the input of a reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kg2rag.cli.option_groups import arg, expand_groups, opt
from kg2rag.cli.options import GRAPHS, DataOptions, EncoderOptions, SystemOptions
from kg2rag.cli.printing import (
    print_json,
    print_line,
    print_rich,
    print_table,
    print_text,
)

QUESTION = arg(..., "Id or text of a question of the set, or a new question.")


def list_systems(
    name: str | None = arg(None, "Describe this system, with all its parameters."),
) -> None:
    """List the systems, or describe one: its method, and the parameters that --set can change."""
    from kg2rag.retrievers.systems import SYSTEMS

    if name is None:
        rows = []
        for system in SYSTEMS.names():
            rows.append((system, SYSTEMS.description(system).partition("\n")[0]))
        print_table(("system", "method"), rows)
        print_text("kg2rag systems NAME describes one system and its parameters.")
        return
    print_text(f"{name}: {SYSTEMS.description(name)}")
    defaults = SYSTEMS.parameters(name)
    print_table(
        ("parameter", "default"),
        ((key, repr(value)) for key, value in defaults.items()),
    )
    if defaults:
        first = next(iter(defaults))
        print_text(f"Change a parameter by --set, such as --set {name}.{first}=VALUE.")


@expand_groups()
def ask(
    data: DataOptions,
    encoding: EncoderOptions,
    question: str = arg(..., "A question in natural language."),
    system: str | None = opt(
        None, "System that searches. Default: the recommended one."
    ),
    graph: str = opt("mentions", GRAPHS),
    k: int = opt(5, "Number of hits.", "--k", min=1),
    as_json: bool = opt(
        False,
        "Print the context of the hits as JSON, with the triples of the graph.",
        "--json",
    ),
) -> None:
    """Search documents or a set: passages with their file, headings and path in the graph."""
    from kg2rag.answers.context import context as context_of
    from kg2rag.knowledge import KnowledgeBase
    from kg2rag.retrievers.systems import recommended

    kb = KnowledgeBase.build(data.load().corpus, graph, embedder=encoding.encoder())
    if as_json:
        print_json(context_of(recommended(kb, system), question, k=k).to_json())
        return
    for rank, hit in enumerate(kb.retrieve(question, k, system=system), start=1):
        source = [
            hit.metadata.get("file", hit.passage_id),
            *hit.metadata.get("headings", ()),
        ]
        print_line(
            f"{rank}. {hit.title or hit.passage_id}  [{' > '.join(map(str, source))}]"
        )
        if hit.path_text:
            print_line(f"   by {hit.path_text}")
        print_line(f"   {' '.join(hit.text.split())}\n")


@expand_groups(systems="mention_ppr,dense")
def explain(
    data: DataOptions,
    systems: SystemOptions,
    question: str = QUESTION,
    k: int = opt(5, "Number of hits of each system.", "--k", min=1),
) -> None:
    """Explain the hits of systems: stages, paths, terms of the scores, and ranks of the gold."""
    from kg2rag.report.question_explanation import explain as run

    dataset = data.load()
    print_rich(run(systems.build(dataset.corpus)[1], dataset, question, k=k))


@dataclass(frozen=True)
class OneSystemOptions(SystemOptions):
    """The options that name one system, a graph and an encoder."""

    systems: str = opt(
        "hybrid", "System that searches; `kg2rag systems` lists them.", "--system"
    )


@expand_groups()
def context(
    data: DataOptions,
    systems: OneSystemOptions,
    question: str = QUESTION,
    tokens: int = opt(
        4500, "Maximum size of the context, by the encoder's tokenizer.", min=1
    ),
    graph_tokens: int | None = opt(
        None, "Maximum size of the graph block. Default: a ninth of --tokens.", min=0
    ),
    k: int = opt(20, "Hits; the context has those that fit.", "--k", min=1),
    hops: int = opt(1, "Longest chains of triples in the graph block.", min=1, max=3),
    as_json: bool = opt(False, "Print text, citations and triples as JSON.", "--json"),
) -> None:
    """Print the context of a question: the graph block and the passages, within a budget of tokens.

    Passages and triples that do not fit are listed on stderr, so stdout has only the context.
    """
    from kg2rag.answers.context import context as context_of
    from kg2rag.report.question_explanation import find_question

    dataset = data.load()
    _, query = find_question(dataset, question)
    kb, built = systems.build(dataset.corpus)
    if len(built) != 1:
        raise ValueError(
            f"A context needs one system, not {', '.join(built)}. Name one with --system."
        )
    (system,) = built.values()
    budgets: dict[str, Any] = {
        "tokens": tokens,
        "graph_tokens": graph_tokens,
        "hops": hops,
    }
    formatted = context_of(system, query, k=k, kb=kb, **budgets)
    if as_json:
        print_json(formatted.to_json())
    else:
        print_line(formatted.text)
    n_passages = len(formatted.citations)
    print_line(
        f"{formatted.tokens} of {tokens} tokens, {n_passages} passages", err=True
    )
    for dropped in formatted.dropped:
        print_line(f"left out ({dropped.why}): {dropped.what}", err=True)
