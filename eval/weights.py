"""How far the weights of `dynamic_hybrid` are from the best in hindsight, by rules and as learned.

    python eval/weights.py musique --path FOLDER --out eval/results/weights-mention_ppr-musique-100.csv
    python eval/weights.py hotpotqa --path FOLDER --setting pooled --graph mention_chains --out FILE

recall@5 with each side alone; with the rules' weights; with those of a ridge regression that saw neither a question nor
an equal one (`learned`: nested five-fold cross-validation); with the one point of the grid that is best on average over
these questions (`fixed`); and with the best point for each question (`best`). The last two are chosen by the gold:
bounds, no systems.
`--save FILE` writes the ridge regression of all questions, for `LearnedAnalyser.load`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from fitting import cross_validate, fit
from hindsight import grid_scores, regret, simplex
from public_sets import ENCODER

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
    out: Annotated[Path | None, typer.Option(help="Where the table goes as CSV.")] = None,
    save: Annotated[Path | None, typer.Option(help="Write the analyser fitted on all questions.")] = None,
) -> None:
    """Measure on one data set, show the table and write it."""
    data = kg2rag.load(dataset, path=path, setting=setting)
    hybrid = kg2rag.DynamicHybrid(
        kg2rag.KnowledgeBase.build(data.corpus, embedder=ENCODER), graph=graph, coefficients=coefficients
    )

    def score(rankings: Sequence[kg2rag.Ranking]) -> np.ndarray:
        return evaluate(rankings, data, [METRIC])[METRIC].to_numpy()

    runs = {side: retriever.retrieve_batch(data.queries, 100) for side, retriever in hybrid.sides().items()}
    analyses = [reconsidered(*pair) for pair in zip(hybrid.analyse(data.queries), runs["graph"], strict=True)]
    rules = regret(analyses, runs, score)
    scores = grid_scores(runs, score, simplex())
    learned = cross_validate(data.queries, scores, seed=seed)
    if save is not None:
        fit(data.queries, scores, seed=seed).save(save)
    rows = {side: score(rankings) for side, rankings in runs.items()}
    rows |= {"rules": rules.achieved, "learned": learned, "fixed": rules.fixed, "best": rules.best}
    low, high = interval_of_mean(np.stack(list(rows.values()), axis=1), seed=seed)
    table = pd.DataFrame(
        {
            "weights": name,
            METRIC: values.mean(),
            "low": low[at],
            "high": high[at],
            "regret": (rules.best - values).mean(),
        }
        for at, (name, values) in enumerate(rows.items())
    )
    if out is not None:
        table.to_csv(out, index=False, float_format="%.6f")
    typer.echo(table.round(3).to_string(index=False))
    typer.echo("Best fixed weights: " + ", ".join(f"{side} {w:g}" for side, w in rules.fixed_weights.items()))


if __name__ == "__main__":
    typer.run(main)
