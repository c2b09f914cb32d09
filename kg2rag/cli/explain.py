"""`kg2rag explain`: one question, some systems side by side, and why each passage is there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg2rag.cli.options import (
    DataPath,
    Dataset,
    Graph,
    PassagesOption,
    Revision,
    SettingOption,
    Split,
    load_data,
    parse_settings,
    wanted,
)


def explain(
    dataset: Dataset,
    question: Annotated[str, typer.Argument(help="Id or text of a question of the set, or a new question.")],
    path: DataPath = None,
    split: Split = None,
    setting: SettingOption = None,
    passages: PassagesOption = None,
    revision: Revision = None,
    graph: Graph = "mentions",
    embedder: Annotated[str | None, typer.Option(help="A sentence-transformers model; MiniLM otherwise.")] = None,
    dtype: Annotated[str, typer.Option(help="auto, bfloat16 or float32.")] = "auto",
    systems: Annotated[str, typer.Option(help="Names separated by commas, core (six of them), or all.")] = (
        "mention_ppr,dense"
    ),
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="system.parameter=value; may be repeated.")
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="Hits shown of each system.")] = 5,
    html: Annotated[Path | None, typer.Option(help="Also write a self-contained page there.")] = None,
) -> None:
    """Show why systems return what they return: stages, paths, the arithmetic of the scores, and where the gold is."""
    from rich.console import Console

    from kg2rag.compute.encoder import SentenceEncoder
    from kg2rag.knowledge.base import KnowledgeBase
    from kg2rag.report.question_explanation import explain as run
    from kg2rag.retrievers.systems import build_all

    data = load_data(dataset, path, split, setting, passages, None, 0, revision)
    encoder = SentenceEncoder(embedder, dtype=dtype) if embedder else SentenceEncoder(dtype=dtype)
    kb = KnowledgeBase.build(data.corpus, graph, embedder=encoder)
    explained = run(build_all(kb, wanted(systems), parse_settings(settings or [])), data, question, k=k)
    console = Console()
    console.print(explained)
    if html is not None:
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(explained.to_html(), encoding="utf-8")
        console.print(f"Page: {html}", highlight=False, soft_wrap=True)
