"""`kg2rag diagnose`: for each gold passage, the step of a system that lost it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg2rag.cli.options import (
    DataPath,
    Dataset,
    Graph,
    Limit,
    PassagesOption,
    Revision,
    Seed,
    SettingOption,
    Split,
    load_data,
    parse_settings,
    wanted,
)
from kg2rag.cli.tables import table

if TYPE_CHECKING:
    from rich.table import Table

    from kg2rag.answers.context import ContextFormatter
    from kg2rag.evaluation.diagnosis import Waterfall
    from kg2rag.knowledge.base import KnowledgeBase


def diagnose(
    dataset: Dataset = "bundled",
    path: DataPath = None,
    split: Split = None,
    setting: SettingOption = None,
    passages: PassagesOption = None,
    limit: Limit = None,
    revision: Revision = None,
    graph: Graph = "mentions",
    embedder: Annotated[str | None, typer.Option(help="A sentence-transformers model; MiniLM otherwise.")] = None,
    dtype: Annotated[str, typer.Option(help="auto, bfloat16 or float32.")] = "auto",
    systems: Annotated[
        str, typer.Option(help="core (six of them), all, or names separated by commas.")
    ] = "mention_ppr",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="system.parameter=value; may be repeated.")
    ] = None,
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

    from kg2rag.compute.encoder import SentenceEncoder
    from kg2rag.evaluation.diagnosis import oracle_ladder, waterfall
    from kg2rag.knowledge.base import KnowledgeBase
    from kg2rag.retrievers.systems import build_all

    data = load_data(dataset, path, split, setting, passages, limit, seed, revision)
    encoder = SentenceEncoder(embedder, dtype=dtype) if embedder else SentenceEncoder(dtype=dtype)
    kb = KnowledgeBase.build(data.corpus, graph, embedder=encoder)
    chosen = build_all(kb, wanted(systems), parse_settings(settings or []))
    folder, console, formatter = out or Path("reports") / dataset, Console(), _formatter(kb, tokens)
    folder.mkdir(parents=True, exist_ok=True)
    for name, system in chosen.items():
        found = waterfall(name, system, data, k=k, formatter=formatter)
        console.print(found, _reasons(found))
        pages = {f"waterfall-{name}": found}
        rungs = (
            oracle_ladder(kb, data, system, metrics=(f"recall@{k}", f"all_recall@{k}"), name=name) if ladder else None
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
