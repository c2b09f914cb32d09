"""Question sets -> the share of pairs of gold passages, and of random pairs, that the default graph links.

    python eval/links.py DATA eval/results/domains/links.parquet

Sets with one gold passage per question have no pairs, and no rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from public_sets import load_set, table

import kg2rag


def main(
    data: Annotated[
        Path, typer.Argument(help="The folder of the sets, see eval/domains.toml.")
    ],
    out: Annotated[Path, typer.Argument(help="The Parquet file to write.")],
) -> None:
    """Write one row per set and kind of link, and print the shares of gold pairs."""
    frames = []
    for name in table("reported"):
        dataset = load_set(data, name)
        if any(len(question.gold) > 1 for question in dataset.questions):
            kinds = kg2rag.link_kinds(
                kg2rag.KnowledgeBase.build(dataset.corpus), dataset
            )
            frames.append(kinds.assign(set=name))
    links = pd.concat(frames, ignore_index=True)
    links.to_parquet(out, index=False)
    typer.echo(
        links.pivot_table("gold", "set", "kind", sort=False)
        .mul(100)
        .round(1)
        .to_string()
    )


if __name__ == "__main__":
    typer.run(main)
