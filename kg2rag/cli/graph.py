"""`kg2rag build`: a graph over the passages of a question set, into a folder; `graph`: what a graph is made of."""

from __future__ import annotations

import signal
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kg2rag.cli.declared import SOME_FAILED, opt, spread
from kg2rag.cli.options import GRAPHS, DataOptions, DrawOptions, ModelOptions
from kg2rag.cli.printing import print_line, print_table

if TYPE_CHECKING:
    from kg2rag.extraction.prompted import ExtractionRun, PromptedTriples
    from kg2rag.types import Corpus

INTERRUPTED = 130


@dataclass(frozen=True)
class BuildOptions:
    """What is built, and what becomes of it."""

    extractor: str = opt(
        "mentions", "openie, kg2rag or typed (by a language model), or any --graph of `kg2rag compare`."
    )
    out: Path | None = opt(None, "Folder of the graph; not needed with --plan.")
    plan: bool = opt(False, "Say what it would take and send nothing.", "--plan")
    retry_failed: bool = opt(False, "Ask unusable answers again: other seed, warmer, more tokens.", "--retry-failed")
    allow_failed: bool = opt(False, "Write the graph even where passages failed; it says so.", "--allow-failed")
    force: bool = opt(False, "Replace another graph of kg2rag in --out; other files are never touched.", "--force")
    limit: int | None = opt(None, "Ask about the first so many passages only, for a trial.", min=1)
    schema: Path | None = opt(None, "Of typed: TOML with entity_types, relation_types or both; else any.")


@spread(dataset="bundled")
def build(data: DataOptions, chat: ModelOptions, asked: BuildOptions) -> None:
    """Build a knowledge graph over the passages of a question set.

    `kg2rag compare … --graph 'graph(OUT)'` reads it back. Every answer of a language model is kept as it arrives:
    stopped in any way, the same command goes on where it was. Passages that failed are listed in OUT/failed.jsonl with
    their causes, the exit code is 3, and no graph is written unless --allow-failed is given. The same command asks
    again where no answer came; --retry-failed also where the answer was unusable.
    """
    from kg2rag.extraction.prompted import STYLES, GraphSchema, PromptedTriples
    from kg2rag.extraction.sources import SOURCES
    from kg2rag.knowledge.graph.files import check_free, write_failures, write_graph

    out, again = asked.out, asked.retry_failed
    model = chat.open(f"--extractor {asked.extractor}") if asked.extractor in STYLES else None
    source = None if model else SOURCES.build(asked.extractor)
    only = {"limit": asked.limit, "retry_failed": again, "base_url": chat.base_url, "model": chat.model}
    for options, meant in (({"schema": asked.schema}, ["typed"]), (only, list(STYLES))):
        wrong = [name.replace("_", "-") for name, value in options.items() if value]
        if wrong and asked.extractor not in meant:
            raise ValueError(f"--{wrong[0]} is for --extractor {' or '.join(meant)}.")
    if out is None and not asked.plan:
        raise ValueError("Give --out, the folder for the graph (or --plan, to see what it would take).")
    questions = data.load()
    corpus, prompted = questions.corpus, None
    if model is not None:
        style = STYLES[asked.extractor]
        style = style if asked.schema is None else style.typed(GraphSchema.read(asked.schema))
        source = prompted = PromptedTriples(model, style, asked.limit)
    assert source is not None
    if out is None or asked.plan:
        free = f"{len(corpus):,} passages; no language model is used, nothing is paid."
        print_line(prompted.plan(corpus, retry_failed=again) if prompted else free)
        return
    check_free(out, source, corpus, force=asked.force)
    run = prompted and _ask(prompted, corpus, retry_failed=again)
    failures = [asdict(failure) for failure in run.failures] if run else []
    if failures and not asked.allow_failed:
        write_failures(out, failures)
    else:
        extraction = run.extraction if run else source.extract(corpus)
        told: dict[str, Any] = {"corpus_name": questions.name, "failures": failures}
        if run:
            told |= {"failed_passages": len(run.failed_passages), "usage": asdict(run.usage)}
        graph = write_graph(out, extraction, corpus, source, **told)
        print_line(f"{graph!r}\nWritten to {out}; use it with --graph 'graph({out})'")
    if run and failures:
        less = "the graph lacks them" if asked.allow_failed else "no graph was written (--allow-failed writes it)"
        print_line(
            f"{len(run.failed_passages)} of {len(corpus)} passages failed, the first: {run.failures[0]}.\n"
            f"All of them, with causes: {out / 'failed.jsonl'}; {less}. Ask again with --retry-failed.",
            err=True,
        )
        raise typer.Exit(SOME_FAILED)


def _ask(source: PromptedTriples, corpus: Corpus, *, retry_failed: bool) -> ExtractionRun:
    """Run; a polite end (SIGTERM, as schedulers send it) is an interrupt: answers on their way are waited for."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run = source.run(corpus, retry_failed=retry_failed)
    except KeyboardInterrupt:
        print_line("Stopped. What was answered is kept; the same command goes on from here.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)
    print_line(str(run.usage))
    return run


@spread()
def report_graph(
    data: DrawOptions,
    graph: str = opt("mentions", GRAPHS),
    hops: int = opt(3, "Triples walked from a question's entities, at most.", min=0),
) -> None:
    """Report a graph: sizes, hubs, and how much of the gold lies within reach of the questions, by type."""
    from kg2rag.evaluation.graph_headroom import graph_report
    from kg2rag.knowledge import KnowledgeBase

    questions = data.load()
    report = graph_report(KnowledgeBase.build(questions.corpus, graph), questions, hops=hops, seed=data.seed)
    about = report.graph
    for frame in (about.sizes.reset_index(), about.hubs, about.relations, report.reach, report.links):
        rows = (
            [f"{one:.3f}" if isinstance(one, float) else str(one) for one in row]
            for row in frame.itertuples(index=False)
        )
        print_table(list(map(str, frame.columns)), rows)
