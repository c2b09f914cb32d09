"""What a static encoder loses: the same systems over its vectors and over those of the model it was distilled from.

    python eval/static.py musique --path FOLDER --out reports/static-musique-100
    python eval/static.py hotpotqa --path FOLDER --setting pooled --out reports/static-hotpotqa-300

The systems are called "strategy.model" and "strategy.static"; all are tested against `dense.model`. `eval/keep.py`
keeps the output, which docs/results.md shows (`python eval/pages.py`).
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import kg2rag
from kg2rag.compute import DEFAULT_MODEL, SentenceEncoder, StaticEncoder

STRATEGIES = {"dense": kg2rag.Dense, "mention_ppr": kg2rag.MentionPPR}
METRICS = ["recall@2", "recall@5", "recall@10", "all_recall@5", "mrr@10"]


def main(
    dataset: Annotated[str, typer.Argument()] = "bundled",
    path: Annotated[Path | None, typer.Option()] = None,
    setting: Annotated[str | None, typer.Option()] = None,
    model: Annotated[str, typer.Option(help="The sentence-transformers model to distil.")] = DEFAULT_MODEL,
    dim: Annotated[int, typer.Option(help="Principal axes that the static encoder keeps.")] = StaticEncoder.dim,
    out: Annotated[Path | None, typer.Option(help="Where the comparison goes.")] = None,
) -> None:
    """Compare on one data set."""
    data = kg2rag.load(dataset, path=path, setting=setting)
    encoders = {"model": SentenceEncoder(model, dtype="float32"), "static": StaticEncoder(model, dim=dim)}
    kbs = {name: kg2rag.KnowledgeBase.build(data.corpus, embedder=encoder) for name, encoder in encoders.items()}
    command = shlex.join(["python", "eval/static.py", *sys.argv[1:]])
    result = kg2rag.compare(STRATEGIES, data, graphs=kbs, metrics=METRICS, baseline="dense.model", command=command)
    Console().print(result)
    if out is not None:
        result.save(out)


if __name__ == "__main__":
    typer.run(main)
