"""Question sets -> which share of the pairs of gold passages their default graph links, by kind of link.

    python eval/links.py DATA eval/results/domains/links.parquet

Beside each share that of random pairs; a set's graph is that of `KnowledgeBase.build`. Sets of one gold passage a
question have no pair and no row.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from public_sets import load_set, table

import kg2rag


def main(
    data: Annotated[Path, typer.Argument(help="The folder of the sets, see eval/domains.toml.")],
    out: Annotated[Path, typer.Argument(help="The Parquet file to write.")],
) -> None:
    """Build each graph, count and print."""
    found = []
    for name in table("reported"):
        asked = load_set(data, name)
        if any(len(question.gold) > 1 for question in asked.questions):
            kinds = kg2rag.link_kinds(kg2rag.KnowledgeBase.build(asked.corpus), asked)
            found.append(kinds.assign(set=name))
    links = pd.concat(found, ignore_index=True)
    links.to_parquet(out, index=False)
    typer.echo(links.pivot_table("gold", "set", "kind", sort=False).mul(100).round(1).to_string())


if __name__ == "__main__":
    typer.run(main)
