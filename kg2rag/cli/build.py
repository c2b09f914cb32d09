"""`kg2rag build`: a graph over the passages of a question set, written to a folder."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg2rag.cli.options import DataOptions, spread

if TYPE_CHECKING:
    from kg2rag.compute.llm import ChatModel
    from kg2rag.extraction import Extractor
    from kg2rag.extraction.prompted import ExtractionRun, PromptedTriples
    from kg2rag.types.questions import QADataset

SOME_FAILED = 3
INTERRUPTED = 130
_LLM = "Language model"


class Structured(StrEnum):
    """How JSON is requested from the endpoint."""

    json_schema = "json_schema"
    json_object = "json_object"
    prompt = "prompt"


@dataclass(frozen=True)
class ModelOptions:
    """The options of a language model."""

    base_url: Annotated[
        str | None, typer.Option(help="OpenAI-compatible endpoint, with its /v1.", rich_help_panel=_LLM)
    ] = None
    model: Annotated[str | None, typer.Option(help="Its name there.", rich_help_panel=_LLM)] = None
    api_key_env: Annotated[
        str, typer.Option(help="Environment variable with the key; none for no key.", rich_help_panel=_LLM)
    ] = "OPENAI_API_KEY"
    structured: Annotated[Structured, typer.Option(help="How JSON is requested.", rich_help_panel=_LLM)] = (
        Structured.json_schema
    )
    temperature: Annotated[float, typer.Option(min=0, rich_help_panel=_LLM)] = 0.0
    max_tokens: Annotated[int, typer.Option(min=1, help="Of an answer.", rich_help_panel=_LLM)] = 2048
    concurrency: Annotated[int, typer.Option(min=1, help="Requests at a time.", rich_help_panel=_LLM)] = 8
    rpm: Annotated[float | None, typer.Option(help="Requests a minute, retries included.", rich_help_panel=_LLM)] = None
    timeout: Annotated[float, typer.Option(help="Seconds.", rich_help_panel=_LLM)] = 60.0
    prompt_price: Annotated[float | None, typer.Option(help="Per million tokens.", rich_help_panel=_LLM)] = None
    completion_price: Annotated[float | None, typer.Option(help="Per million tokens.", rich_help_panel=_LLM)] = None

    def open(self, extractor: str) -> ChatModel:
        """The model's endpoint; ValueError where it is not named."""
        from kg2rag.compute.llm import ChatModel

        if self.base_url is None or self.model is None:
            raise ValueError(f"--extractor {extractor} asks a language model: give --base-url and --model.")
        given = asdict(self) | {"structured": self.structured.value}
        if self.api_key_env in ("none", ""):
            given["api_key_env"] = None
        return ChatModel(**given)


@spread(dataset="bundled")
def build(
    data: DataOptions,
    chat: ModelOptions,
    extractor: Annotated[
        str, typer.Option(help="openie or kg2rag (by a language model), or any --graph that `kg2rag compare` takes.")
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

    `kg2rag compare … --graph graph:OUT` reads it back. Every answer of a language model is kept as it arrives: stopped
    in any way, the same command goes on where it was. Passages that failed are listed in OUT/failed.jsonl with their
    causes, the exit code is 3, and no graph is written unless --allow-failed is given. The same command asks again
    where no answer came; --retry-failed also where the answer was unusable.
    """
    from kg2rag.extraction.prompted import STYLES, PromptedTriples
    from kg2rag.extraction.sources import parse

    source: Extractor
    if extractor in STYLES:
        source = PromptedTriples(chat.open(extractor), extractor, limit)
    else:
        _only_for_models(limit=limit, retry_failed=retry_failed, base_url=chat.base_url, model=chat.model)
        source = parse(extractor)
    if out is None and not plan:
        raise ValueError("Give --out, the folder for the graph (or --plan, to see what it would take).")
    questions = data.load()
    if plan:
        typer.echo(_plan(source, questions, retry_failed))
        return
    assert out is not None
    _build(source, questions, out, retry_failed=retry_failed, allow_failed=allow_failed, force=force)


def _only_for_models(**given: object) -> None:
    from kg2rag.extraction.prompted import STYLES

    if wrong := [name for name, value in given.items() if value]:
        raise ValueError(f"--{wrong[0].replace('_', '-')} is for language models: --extractor {' or '.join(STYLES)}.")


def _plan(source: Extractor, data: QADataset, retry_failed: bool) -> str:
    from kg2rag.extraction.prompted import PromptedTriples

    if isinstance(source, PromptedTriples):
        return str(source.plan(data.corpus, retry_failed=retry_failed))
    return f"{len(data.corpus):,} passages; no language model is used, nothing is paid."


def _build(
    source: Extractor, data: QADataset, out: Path, *, retry_failed: bool, allow_failed: bool, force: bool
) -> None:
    from kg2rag.extraction.prompted import PromptedTriples
    from kg2rag.knowledge.graph.folder import check_free, write_graph

    if not force:
        check_free(out, source, data.corpus)
    if isinstance(source, PromptedTriples):
        _ask(source, data, out, retry_failed=retry_failed, allow_failed=allow_failed)
        return
    graph = write_graph(out, source.extract(data.corpus), data.corpus, source, corpus_name=data.name)
    typer.echo(f"{graph!r}\nWritten to {out}; use it with --graph graph:{out}")


def _ask(source: PromptedTriples, data: QADataset, out: Path, *, retry_failed: bool, allow_failed: bool) -> None:
    """Run, write what there is to write, say what failed; leaves with an exit code where some did."""
    from kg2rag.compute.llm import CompletionError
    from kg2rag.knowledge.graph.folder import write_failures, write_graph

    try:
        with _terminable():
            run = source.run(data.corpus, retry_failed=retry_failed)
    except KeyboardInterrupt:
        typer.echo("Stopped. What was answered is kept; the same command goes on from here.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except CompletionError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None
    typer.echo(str(run.usage))
    failures, failed = [asdict(failure) for failure in run.failures], len(run.failed_passages)
    if not failures or allow_failed:
        graph = write_graph(
            out,
            run.extraction,
            data.corpus,
            source,
            corpus_name=data.name,
            failures=failures,
            failed_passages=failed,
            usage=asdict(run.usage),
        )
        typer.echo(f"{graph!r}\nWritten to {out}; use it with --graph graph:{out}")
    else:
        write_failures(out, failures)
    if failures:
        _say_what_failed(run, data, out, allowed=allow_failed)
        raise typer.Exit(SOME_FAILED)


def _say_what_failed(run: ExtractionRun, data: QADataset, out: Path, *, allowed: bool) -> None:
    left = "the graph lacks them" if allowed else "no graph was written (--allow-failed writes it without them)"
    typer.echo(
        f"{len(run.failed_passages)} of {len(data.corpus)} passages failed, the first: {run.failures[0]}.\n"
        f"All of them, with causes: {out / 'failed.jsonl'}; {left}. Ask again with --retry-failed.",
        err=True,
    )


@contextmanager
def _terminable() -> Iterator[None]:
    """Take a polite end (SIGTERM, as schedulers send it) as an interrupt: answers on their way are waited for."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
