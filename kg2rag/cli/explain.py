"""`kg2rag explain`: one question, some systems side by side, and why each passage is there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg2rag.cli.options import DataOptions, SystemOptions, spread


@spread(systems="mention_ppr,dense")
def explain(
    data: DataOptions,
    question: Annotated[str, typer.Argument(help="Id or text of a question of the set, or a new question.")],
    on: SystemOptions,
    k: Annotated[int, typer.Option("--k", min=1, help="Hits shown of each system.")] = 5,
    html: Annotated[Path | None, typer.Option(help="Also write a self-contained page there.")] = None,
) -> None:
    """Show why systems return what they return: stages, paths, the arithmetic of the scores, and where the gold is."""
    from rich.console import Console

    from kg2rag.report.question_explanation import explain as run

    questions = data.load()
    _, systems = on.build(questions.corpus)
    explained = run(systems, questions, question, k=k)
    console = Console()
    console.print(explained)
    if html is not None:
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(explained.to_html(), encoding="utf-8")
        console.print(f"Page: {html}", highlight=False, soft_wrap=True)
