"""`kg2rag build`: a graph over the passages of a question set, written to a folder."""

from __future__ import annotations

import signal
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg2rag.cli.model_options import ModelOptions, TypeOptions
from kg2rag.cli.options import DataOptions, WorkerOptions, spread

if TYPE_CHECKING:
    from kg2rag.extraction.prompted import ExtractionRun, PromptedTriples
    from kg2rag.types import Corpus

SOME_FAILED = 3
INTERRUPTED = 130


@spread(dataset="bundled")
def build(
    data: DataOptions,
    chat: ModelOptions,
    types: TypeOptions,
    by: WorkerOptions,
    extractor: Annotated[
        str, typer.Option(help="openie, kg2rag or typed (by a language model), or any --graph of `kg2rag compare`.")
    ] = "mentions",
    out: Annotated[Path | None, typer.Option(help="Folder of the graph; not needed with --plan.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Say what it would take and send nothing.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask unusable answers again: other seed, warmer, more tokens.")
    ] = False,
    allow_failed: Annotated[
        bool, typer.Option("--allow-failed", help="Write the graph even where passages failed; it says so.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the graph of another build in --out.")] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask about the first so many passages only, for a trial.")
    ] = None,
) -> None:
    """Build a knowledge graph over the passages of a question set.

    `kg2rag compare … --graph 'graph(OUT)'` reads it back. Every answer of a language model is kept as it arrives:
    stopped in any way, the same command goes on where it was. Passages that failed are listed in OUT/failed.jsonl with
    their causes, the exit code is 3, and no graph is written unless --allow-failed is given. The same command asks
    again where no answer came; --retry-failed also where the answer was unusable.
    """
    from kg2rag.extraction.prompted import STYLES, PromptedTriples
    from kg2rag.extraction.sources import SOURCES
    from kg2rag.knowledge.graph.files import check_free, write_failures, write_graph

    types.check(extractor)
    model = chat.open(f"--extractor {extractor}") if extractor in STYLES else None
    only = {"limit": limit, "retry-failed": retry_failed, "base-url": chat.base_url, "model": chat.model}
    if model is None and (wrong := [name for name, value in only.items() if value]):
        raise ValueError(f"--{wrong[0]} is for language models: --extractor {' or '.join(STYLES)}.")
    source = None if model else SOURCES.build(extractor)
    if out is None and not plan:
        raise ValueError("Give --out, the folder for the graph (or --plan, to see what it would take).")
    questions = data.load()
    corpus = questions.corpus
    asked = None
    if model is not None:
        style = types.style(extractor, model, corpus, send=not plan, retry_failed=retry_failed)
        source = asked = PromptedTriples(model, style, limit, merge_descriptions=types.merge_descriptions)
    assert source is not None
    if plan:
        free = f"{len(corpus):,} passages; no language model is used, nothing is paid."
        typer.echo(asked.plan(corpus, retry_failed=retry_failed) if asked else free)
        return
    assert out is not None
    if not force:
        check_free(out, source, corpus)
    run = asked and _ask(asked, corpus, retry_failed=retry_failed)
    failures = [asdict(failure) for failure in run.failures] if run else []
    if failures and not allow_failed:
        write_failures(out, failures)
    else:
        with by.open():
            extraction = run.extraction if run else source.extract(corpus)
        graph = write_graph(
            out,
            extraction,
            corpus,
            source,
            corpus_name=questions.name,
            failures=failures,
            failed_passages=len(run.failed_passages) if run else 0,
            usage=asdict(run.usage) if run else None,
        )
        typer.echo(f"{graph!r}\nWritten to {out}; use it with --graph 'graph({out})'")
    if run and failures:
        left = (
            "the graph lacks them" if allow_failed else "no graph was written (--allow-failed writes it without them)"
        )
        typer.echo(
            f"{len(run.failed_passages)} of {len(corpus)} passages failed, the first: {run.failures[0]}.\n"
            f"All of them, with causes: {out / 'failed.jsonl'}; {left}. Ask again with --retry-failed.",
            err=True,
        )
        raise typer.Exit(SOME_FAILED)


def _ask(source: PromptedTriples, corpus: Corpus, *, retry_failed: bool) -> ExtractionRun:
    """Run; a polite end (SIGTERM, as schedulers send it) is an interrupt: answers on their way are waited for."""
    from kg2rag.compute import CompletionError

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run = source.run(corpus, retry_failed=retry_failed)
    except KeyboardInterrupt:
        typer.echo("Stopped. What was answered is kept; the same command goes on from here.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except CompletionError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None
    finally:
        signal.signal(signal.SIGTERM, before)
    typer.echo(str(run.usage))
    return run
