"""`kg2rag build`: a graph over passages, in a folder; `graph`: sizes and hubs of a graph."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kg2rag.cli.option_groups import EXIT_SOME_FAILED, expand_groups, opt
from kg2rag.cli.options import GRAPHS, DataOptions, DrawOptions, ModelOptions
from kg2rag.cli.printing import print_line, print_table

if TYPE_CHECKING:
    from kg2rag.extraction import Extractor
    from kg2rag.llm.extraction import ExtractionRun, PromptedTriples
    from kg2rag.types import Corpus, QADataset

EXIT_INTERRUPTED = 130


@dataclass(frozen=True)
class BuildOptions:
    """The options of the graph to build and of its folder."""

    extractor: str = opt(
        "mentions",
        "openie, kg2rag or typed (by a language model), or any --graph of compare.",
    )
    out: Path | None = opt(None, "Folder for the graph; not needed with --plan.")
    plan: bool = opt(
        False, "Estimate calls, tokens and cost, and send nothing.", "--plan"
    )
    retry_failed: bool = opt(
        False,
        "Ask again if an answer was unusable: another seed, a higher temperature, more tokens.",
        "--retry-failed",
    )
    allow_failed: bool = opt(
        False,
        "Write the graph even if passages failed; build.json counts them.",
        "--allow-failed",
    )
    force: bool = opt(
        False,
        "Replace another graph of kg2rag in --out; other files are never touched.",
        "--force",
    )
    limit: int | None = opt(
        None, "Number of passages to ask about, for a trial: the first ones.", min=1
    )
    schema: Path | None = opt(
        None,
        "For typed: TOML with entity_types, relation_types or both. Default: any type.",
    )


@expand_groups(dataset="bundled")
def build(data: DataOptions, model: ModelOptions, options: BuildOptions) -> None:
    """Build a knowledge graph over the passages of a question set.

    `kg2rag compare … --graph 'graph(OUT)'` reads the graph. Every answer of a language model is
    stored as it arrives: an interrupted build continues with the same command. OUT/failed.jsonl
    lists passages that failed and the causes; the exit code is then 3, and no graph is written
    unless --allow-failed is given. The same command asks again if no answer came; --retry-failed
    also asks again if the answer was unusable.
    """
    _check_options(options, model)
    source = _extractor(options, model)
    if options.out is None and not options.plan:
        raise ValueError(
            "Give --out, the folder for the graph, or --plan to estimate the cost."
        )
    dataset = data.load()
    if options.out is None or options.plan:
        print_line(_plan(source, dataset.corpus, options))
        return
    _build(source, dataset, options, options.out)


def _check_options(options: BuildOptions, model: ModelOptions) -> None:
    """Raise ValueError for an option that the extractor does not have."""
    from kg2rag.llm.extraction import STYLES

    if options.schema and options.extractor != "typed":
        raise ValueError("--schema is for --extractor typed.")
    if options.extractor in STYLES:
        return
    values = (
        ("limit", options.limit),
        ("retry-failed", options.retry_failed),
        ("base-url", model.base_url),
        ("model", model.model),
    )
    for name, value in values:
        if value:
            raise ValueError(f"--{name} is for --extractor {' or '.join(STYLES)}.")


def _extractor(options: BuildOptions, model: ModelOptions) -> Extractor:
    """The extractor of that name, with a language model if it needs one."""
    from kg2rag.extraction.sources import SOURCES
    from kg2rag.llm.extraction import STYLES, GraphSchema, PromptedTriples

    if options.extractor not in STYLES:
        return SOURCES.build(options.extractor)
    style = STYLES[options.extractor]
    if options.schema is not None:
        style = style.typed(GraphSchema.read(options.schema))
    return PromptedTriples(
        model.open(f"--extractor {options.extractor}"), style, options.limit
    )


def _plan(source: Extractor, corpus: Corpus, options: BuildOptions) -> str:
    """The text on the calls, tokens and cost of an extraction."""
    from kg2rag.llm.extraction import PromptedTriples

    if isinstance(source, PromptedTriples):
        return str(source.plan(corpus, retry_failed=options.retry_failed))
    return f"{len(corpus):,} passages; no language model is used, nothing is paid."


def _build(
    source: Extractor, dataset: QADataset, options: BuildOptions, out: Path
) -> None:
    """Extract triples, and write the graph or the list of failures."""
    from kg2rag.knowledge.graph.graph_io import check_free, write_failures, write_graph
    from kg2rag.llm.extraction import PromptedTriples

    check_free(out, source, dataset.corpus, force=options.force)
    about: dict[str, Any] = {"corpus_name": dataset.name}
    run = None
    if isinstance(source, PromptedTriples):
        run = _ask(source, dataset.corpus, retry_failed=options.retry_failed)
        about["failures"] = [asdict(failure) for failure in run.failures]
        about |= {
            "failed_passages": len(run.failed_passages),
            "usage": asdict(run.usage),
        }
    failures = about.get("failures", [])
    if failures and not options.allow_failed:
        write_failures(out, failures)
    else:
        extraction = source.extract(dataset.corpus) if run is None else run.extraction
        graph = write_graph(out, extraction, dataset.corpus, source, **about)
        print_line(f"{graph!r}\nWritten to {out}; use it with --graph 'graph({out})'")
    if run is not None and failures:
        n_passages = min(options.limit or len(dataset.corpus), len(dataset.corpus))
        _report_failures(run, n_passages, out, options)
        raise typer.Exit(EXIT_SOME_FAILED)


def _report_failures(
    run: ExtractionRun, n_passages: int, out: Path, options: BuildOptions
) -> None:
    """Print the number of failed passages, and how to ask for them again."""
    consequence = "No graph was written; --allow-failed writes it without them."
    if options.allow_failed:
        consequence = "The graph was written without them."
    count = f"{len(run.failed_passages)} of {n_passages} passages failed"
    print_line(f"{count}, the first: {run.failures[0]}. {consequence}", err=True)
    print_line(f"All failures and their causes: {out / 'failed.jsonl'}.", err=True)
    if any(failure.kind == "output" for failure in run.failures):
        print_line(
            "Ask again with --retry-failed: another seed, a higher temperature, twice the tokens.",
            err=True,
        )
    if any(failure.kind != "output" for failure in run.failures):
        print_line(
            "The same command asks again for answers that did not come.", err=True
        )


def _ask(
    source: PromptedTriples, corpus: Corpus, *, retry_failed: bool
) -> ExtractionRun:
    """The extraction of a language model; SIGTERM or an interrupt ends it after open requests.

    Schedulers of clusters send SIGTERM before they kill a process.
    """
    handler = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run = source.run(corpus, retry_failed=retry_failed)
    except KeyboardInterrupt:
        print_line(
            "Stopped. All answers are stored; the same command continues.", err=True
        )
        raise typer.Exit(EXIT_INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, handler)
    print_line(run.usage)
    return run


@expand_groups()
def report_graph(
    data: DrawOptions,
    graph: str = opt("mentions", GRAPHS),
    hops: int = opt(
        3, "Longest path from the entities of a question, in triples.", min=0
    ),
) -> None:
    """Report a graph: sizes, hubs, and the share of gold within reach of the questions, by type."""
    from kg2rag.evaluation.graph_headroom import graph_report
    from kg2rag.knowledge import KnowledgeBase

    dataset = data.load()
    kb = KnowledgeBase.build(dataset.corpus, graph)
    report = graph_report(kb, dataset, hops=hops, seed=data.seed)
    about = report.graph
    frames = [
        about.sizes.reset_index(),
        about.hubs,
        about.relations,
        report.reach,
        report.links,
    ]
    for frame in frames:
        if frame.empty:  # a set without questions has no reach
            continue
        rows = (_cells(row) for row in frame.itertuples(index=False))
        print_table(list(map(str, frame.columns)), rows)


def _cells(row: Sequence[object]) -> list[str]:
    """The texts of a row, with three decimals."""
    return [f"{value:.3f}" if isinstance(value, float) else str(value) for value in row]
