"""`kg2rag graph`: what a graph is made of, and how much of a set's gold it could bring in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg2rag.cli.options import DataOptions, Graph, Limit, Seed, spread
from kg2rag.cli.tables import table

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table


@spread()
def report_graph(
    data: DataOptions,
    graph: Graph = "mentions",
    limit: Limit = None,
    seed: Seed = 0,
    resolve: Annotated[bool, typer.Option("--resolve", help="Merge the entities that are one first.")] = False,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Report its placebo; the seed is --seed.")] = False,
    hops: Annotated[int, typer.Option(min=0, help="Triples walked from a question's entities, at most.")] = 3,
    figure: Annotated[Path | None, typer.Option(help="Write the figure here: .svg, .png or .pdf.")] = None,
) -> None:
    """Report a graph: sizes, hubs, and how much of the gold lies within reach of the questions, by type."""
    from rich.console import Console

    from kg2rag.evaluation.graph_report import graph_report
    from kg2rag.knowledge.base import KnowledgeBase

    questions = data.load(limit, seed)
    kb = KnowledgeBase.build(questions.corpus, graph)
    console = Console()
    if resolve:
        resolution = kb.graph.resolve()
        console.print(repr(resolution), markup=False, highlight=False)
        kb = KnowledgeBase.build(questions.corpus, resolution.graph)
    if shuffle:
        kb = KnowledgeBase.build(questions.corpus, kb.graph.perturb(shuffle=True, seed=seed))
    report = graph_report(kb, questions, hops=hops, seed=seed)
    sizes = report.graph.sizes.reset_index()
    for part in (sizes, report.graph.hubs, report.graph.relations, report.reach, report.chains):
        console.print(_shown(part))
    if figure is not None:
        report.figure().savefig(figure)


def _shown(frame: pd.DataFrame) -> Table:
    made = table(*map(str, frame.columns))
    for row in frame.itertuples(index=False):
        made.add_row(*(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row))
    return made
