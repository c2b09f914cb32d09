"""What systems do: `kg2rag systems` lists them, `explain` shows one question, `diagnose` where the gold was lost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg2rag.cli.options import DataOptions, Limit, Seed, SystemOptions, known_systems, show, spread, table


def list_systems(
    name: Annotated[
        str | None, typer.Argument(help="Describe this one, with all its parameters.", autocompletion=known_systems)
    ] = None,
) -> None:
    """Say what each named system does, or all about one: its method, and the parameters that --set can change."""
    from rich.console import Console

    from kg2rag.retrievers.systems import SYSTEMS

    console = Console(highlight=False)
    if name is None:
        show(
            ("system", "what it does"), ((one, SYSTEMS.description(one).partition("\n")[0]) for one in SYSTEMS.names())
        )
        console.print("kg2rag systems NAME says more of one, and which parameters --set changes.", markup=False)
        return
    console.print(f"{name}: {SYSTEMS.description(name)}", markup=False)
    defaults = SYSTEMS.parameters(name)
    show(("parameter", "default"), ((key, repr(value)) for key, value in defaults.items()))
    if defaults:
        console.print(f"Changed by --set {name}.{next(iter(defaults))}=VALUE, and so on.", markup=False)


@spread(systems="mention_ppr,dense")
def explain(
    data: DataOptions,
    question: Annotated[str, typer.Argument(help="Id or text of a question of the set, or a new question.")],
    on: SystemOptions,
    k: Annotated[int, typer.Option("--k", min=1, help="Hits shown of each system.")] = 5,
    html: Annotated[Path | None, typer.Option(help="Also write a self-contained page there.")] = None,
) -> None:
    """Show why systems return what they return: stages, paths, the arithmetic of the scores, and where the gold is."""
    from kg2rag.report.question_explanation import explain as run
    from kg2rag.text.cells import console as console_of

    questions = data.load()
    _, systems = on.build(questions.corpus)
    explained = run(systems, questions, question, k=k)
    console = console_of()
    console.print(explained)
    if html is not None:
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(explained.to_html(), encoding="utf-8")
        console.print(f"Page: {html}", highlight=False, soft_wrap=True)


@spread(dataset="bundled", systems="mention_ppr")
def diagnose(
    data: DataOptions,
    on: SystemOptions,
    limit: Limit = None,
    k: Annotated[int, typer.Option("--k", min=1, help="Hits that count as found.")] = 5,
    tokens: Annotated[
        int | None, typer.Option(min=1, help="Budget of a context: gold that does not fit is lost too.")
    ] = None,
    ladder: Annotated[
        bool, typer.Option("--ladder", help="Also what gold seeds, entities and reranking would give.")
    ] = False,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Where pages and figures go; reports/DATASET otherwise.")] = None,
) -> None:
    """Say which step of a system lost each gold passage: tables here, pages to click through and figures in --out.

    With --ladder also what a perfect step would gain: gold seeds, gold entities, a gold reranking.
    """
    from kg2rag.answers.context import ContextFormatter
    from kg2rag.evaluation.ladder import OracleLadder, oracle_ladder
    from kg2rag.evaluation.waterfall import Waterfall, waterfall
    from kg2rag.text.cells import console as console_of

    questions = data.load(limit, seed)
    kb, systems = on.build(questions.corpus)
    formatter = None if tokens is None else ContextFormatter(kb, passage_tokens=tokens)
    folder, console = out or Path("reports") / data.file_name, console_of()
    folder.mkdir(parents=True, exist_ok=True)
    for name, system in systems.items():
        found = waterfall(name, system, questions, k=k, formatter=formatter)
        reasons = found.reasons()[["lost_at", "gold", "why"]].astype(str)
        console.print(found, table(("lost", "gold", "why"), reasons.itertuples(index=False)))
        pages: dict[str, Waterfall | OracleLadder] = {f"waterfall-{name}": found}
        if ladder:
            metrics = (f"recall@{k}", f"all_recall@{k}")
            rungs = oracle_ladder(kb, questions, system, metrics=metrics, name=name)
            console.print(rungs)
            pages[f"ladder-{name}"] = rungs
        for stem, shown in pages.items():
            (folder / f"{stem}.html").write_text(shown.to_html(), encoding="utf-8")
            shown.figure().savefig(folder / f"{stem}.png", dpi=150)
            console.print(f"{folder / stem}.html and .png", highlight=False, soft_wrap=True)
