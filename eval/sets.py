"""The public sets -> how many questions and passages each has, and of how many questions the gold is not official.

    python eval/sets.py DATA          writes eval/results/sets.csv

`derived` counts the questions of 2WikiMultihopQA whose gold titles were worked out from the evidence triples.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from public_sets import REPORTED, TRAINING, reported, training

import kg2rag
from kg2rag.types import QADataset

RESULTS = Path(__file__).resolve().parent / "results" / "sets.csv"


def main(data: Annotated[Path, typer.Argument(help="The folder of the public sets.")]) -> None:
    """Count, write and show."""
    found = {name: reported(data, name) for name in REPORTED}
    # The questions that a graph was extracted for.
    found["2wiki-kg-500-test"] = kg2rag.load("2wiki-kg", path=data / "2wiki-kg-500", split="test")
    found |= {f"train-{name}": training(data, name) for name in TRAINING}
    table = pd.DataFrame([{"set": name} | counted(one) for name, one in found.items()])
    table.to_csv(RESULTS, index=False)
    typer.echo(table.to_string(index=False))


def counted(data: QADataset) -> dict[str, int]:
    """The counts of one set."""
    status = data.source.get("gold_status", {})
    derived = sum(number for kind, number in status.items() if kind.startswith("derived"))
    return {"questions": len(data), "passages": len(data.corpus), "derived": derived}


if __name__ == "__main__":
    typer.run(main)
