"""How far the weights of `dynamic_hybrid` are from the best in hindsight, by rules and as learned.

    python eval/weights.py musique --path FOLDER
    python eval/weights.py hotpotqa --path FOLDER --setting pooled --graph mention_chains

recall@5 with each side alone; with the rules' weights; with those of a ridge regression that saw neither a question nor
an equal one (nested five-fold cross-validation); with the one point of the grid that is best on average over these
questions; and with the best point for each question. The last two are chosen by the gold: bounds, no systems.
`--save FILE` writes the ridge regression of all questions, for `LearnedAnalyser.load`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from fitting import cross_validate, fit
from hindsight import grid_scores, regret, simplex
from rich.console import Console
from rich.table import Table

import kg2rag
from kg2rag.evaluation import evaluate
from kg2rag.evaluation.intervals import interval_of_mean
from kg2rag.retrievers.dynamic_hybrid.analysis import reconsidered

METRIC = "recall@5"


def main(
    dataset: Annotated[str, typer.Argument()] = "bundled",
    path: Annotated[Path | None, typer.Option()] = None,
    setting: Annotated[str | None, typer.Option()] = None,
    seed: Annotated[int, typer.Option()] = 0,
    graph: Annotated[str, typer.Option(help="The fourth side.")] = kg2rag.DynamicHybrid.graph,
    coefficients: Annotated[str, typer.Option(help="Of mention_chains.")] = kg2rag.DynamicHybrid.coefficients,
    save: Annotated[Path | None, typer.Option(help="Write the analyser fitted on all questions.")] = None,
) -> None:
    """Measure on one data set."""
    data = kg2rag.load(dataset, path=path, setting=setting)
    hybrid = kg2rag.DynamicHybrid(kg2rag.KnowledgeBase.build(data.corpus), graph=graph, coefficients=coefficients)

    def score(rankings: Sequence[kg2rag.Ranking]) -> np.ndarray:
        return evaluate(rankings, data, [METRIC])[METRIC].to_numpy()

    runs = {side: retriever.retrieve_batch(data.queries, 100) for side, retriever in hybrid.sides().items()}
    analyses = [reconsidered(*pair) for pair in zip(hybrid.analyse(data.queries), runs["graph"], strict=True)]
    rules = regret(analyses, runs, score)
    scores = grid_scores(runs, score, simplex())
    learned = cross_validate(data.queries, scores, seed=seed)
    if save is not None:
        fit(data.queries, scores, seed=seed).save(save)
    rows = {f"{side} alone": score(rankings) for side, rankings in runs.items()}
    rows |= {"rules": rules.achieved, "learned, cross-validated": learned}
    rows |= {"best fixed weights (gold)": rules.fixed, "best weights per question (gold)": rules.best}
    table = Table("weights", METRIC, "95 %", "regret", title=repr(data))
    low, high = interval_of_mean(np.stack(list(rows.values()), axis=1), seed=seed)
    for at, (name, values) in enumerate(rows.items()):
        lost = 100 * float((rules.best - values).mean())
        table.add_row(name, f"{100 * values.mean():.1f}", f"{100 * low[at]:.1f}–{100 * high[at]:.1f}", f"{lost:.1f}")
    console = Console()
    console.print(table)
    console.print("Best fixed weights: " + ", ".join(f"{side} {w:g}" for side, w in rules.fixed_weights.items()))


if __name__ == "__main__":
    typer.run(main)
