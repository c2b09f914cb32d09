"""`kg2rag compare-graphs`: the same strategies over several graphs, a placebo among them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kg2rag.cli.options import DataOptions, Limit, Seed, split_names, spread


@spread(dataset="bundled")
def compare_graphs(
    data: DataOptions,
    limit: Limit = None,
    graph: Annotated[list[str] | None, typer.Option("--graph", help="NAME=SOURCE; may be repeated.")] = None,
    systems: Annotated[str, typer.Option(help="Names separated by commas.")] = "graph_augmented,expansion_queries",
    placebo: Annotated[int, typer.Option(min=0, help="Seeds under which each graph is shuffled, too.")] = 3,
    metrics: Annotated[str, typer.Option(help="As in compare.")] = "recall@2,recall@5,recall@10,all_recall@5",
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Where the results go; reports/DATASET-graphs otherwise.")] = None,
) -> None:
    """Compare graphs under the same strategies, and with shuffled ones, which add as many candidates."""
    from rich.console import Console

    from kg2rag.evaluation import compare
    from kg2rag.knowledge.base import KnowledgeBase
    from kg2rag.retrievers.systems import build

    questions = data.load(limit, seed)
    sources = dict(_named(given) for given in graph or ["mentions=mentions", "cooccurrence=cooccurrence"])
    kbs = {name: KnowledgeBase.build(questions.corpus, source) for name, source in sources.items()}
    first = next(iter(kbs.values()))
    shuffled = {f"{name}-shuffled": [kb.placebo(seed) for seed in range(placebo)] for name, kb in kbs.items()}
    strategies = {name: partial(build, name) for name in split_names(systems)}
    result = compare(
        {"dense": build("dense", first), **strategies},
        questions,
        graphs={**kbs, **(shuffled if placebo else {})},
        metrics=split_names(metrics),
        baseline="dense",
        seed=seed,
    )
    folder = out or Path("reports") / f"{data.dataset}-graphs"
    result.save(folder)
    console = Console()
    console.print(result)
    console.print(f"Report: {folder / 'report.html'}", highlight=False, soft_wrap=True)


def _named(given: str) -> tuple[str, str]:
    name, equals, source = given.partition("=")
    if not (equals and name and source):
        raise ValueError(f"--graph {given!r}: write NAME=SOURCE, such as llm=openie:FILE.")
    return name, source
