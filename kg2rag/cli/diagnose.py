"""`kg2rag diagnose`: for each gold passage, the step of a system that lost it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg2rag.cli.options import DataOptions, Limit, Seed, SystemOptions, spread
from kg2rag.cli.tables import table

if TYPE_CHECKING:
    from rich.table import Table

    from kg2rag.answers.context import ContextFormatter
    from kg2rag.evaluation.diagnosis import Waterfall
    from kg2rag.knowledge.base import KnowledgeBase


@spread(dataset="bundled", systems="mention_ppr")
def diagnose(
    data: DataOptions,
    on: SystemOptions,
    limit: Limit = None,
    k: Annotated[int, typer.Option("--k", min=1, help="Hits that count as found.")] = 5,
    tokens: Annotated[
        int | None, typer.Option(min=1, help="Budget of a context: gold that does not fit is lost too.")
    ] = None,
    ladder: Annotated[bool, typer.Option(help="Also what gold seeds, entities and reranking would give.")] = False,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Where pages and figures go; reports/DATASET otherwise.")] = None,
) -> None:
    """Say where the gold went: tables here, pages to click through and figures in --out."""
    from rich.console import Console

    from kg2rag.evaluation.diagnosis import oracle_ladder, waterfall

    questions = data.load(limit, seed)
    kb, systems = on.build(questions.corpus)
    folder, console, formatter = out or Path("reports") / data.dataset, Console(), _formatter(kb, tokens)
    folder.mkdir(parents=True, exist_ok=True)
    for name, system in systems.items():
        found = waterfall(name, system, questions, k=k, formatter=formatter)
        console.print(found, _reasons(found))
        pages = {f"waterfall-{name}": found}
        rungs = (
            oracle_ladder(kb, questions, system, metrics=(f"recall@{k}", f"all_recall@{k}"), name=name)
            if ladder
            else None
        )
        if rungs is not None:
            console.print(rungs)
            pages[f"ladder-{name}"] = rungs  # type: ignore[assignment]
        for stem, shown in pages.items():
            (folder / f"{stem}.html").write_text(shown.to_html(), encoding="utf-8")
            shown.figure().savefig(folder / f"{stem}.png", dpi=150)
            console.print(f"{folder / stem}.html and .png", highlight=False, soft_wrap=True)


def _formatter(kb: KnowledgeBase, tokens: int | None) -> ContextFormatter | None:
    from kg2rag.answers.context import ContextFormatter

    return None if tokens is None else ContextFormatter(kb, passage_tokens=tokens)


def _reasons(found: Waterfall) -> Table:
    listed = table("lost", "gold", "why")
    for row in found.reasons().itertuples(index=False):
        listed.add_row(str(row.lost_at), str(row.gold), str(row.why))
    return listed
