"""Each system on long queries -> CPU milliseconds of the slowest, by length: eval/results/long_queries.csv.

    python eval/bench/long_queries.py
    python eval/bench/long_queries.py hotpotqa --path DATA/hotpotqa-300 --setting pooled

Every system of the catalogue searches a set for texts of 1,000, 10,000 and 1,000,000 characters: one title
again and again, all titles, a passage's text, sentences of one letter, blanks, and words that nobody wrote. Each is
asked alone, encoding included, after short queries have opened the indexes. CPU time counts what all threads do, so on
idle cores no query takes longer than that, and no other program on the machine changes it.
"""

from __future__ import annotations

import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

import kg2rag
from kg2rag.compute import Store
from kg2rag.retrievers.systems import build, names
from kg2rag.types import Corpus

RESULTS = Path(__file__).resolve().parent.parent / "results" / "long_queries.csv"
LENGTHS = (1_000, 10_000, 1_000_000)


def texts(corpus: Corpus) -> dict[str, str]:
    """Name of each kind of text -> a piece of it, to be repeated."""
    titles = list(dict.fromkeys(corpus.titles))
    return {
        "one title": f"{titles[0]} ",
        "all titles": " ".join(titles) + " ",
        "a passage": f"{corpus.contents[0]} ",
        "sentences of one letter": "A. ",
        "blanks": " \n",
        "words of nobody": " ".join(f"qx{number}zv" for number in range(100_000)),
    }


def main(
    dataset: Annotated[str, typer.Argument()] = "bundled",
    path: Annotated[Path | None, typer.Option()] = None,
    setting: Annotated[str | None, typer.Option()] = None,
    systems: Annotated[str, typer.Option(help="Names separated by commas, or all.")] = "all",
    write: Annotated[bool, typer.Option(help="Write eval/results/long_queries.csv.")] = True,
) -> None:
    """Time every system on every text."""
    rows = []
    data = kg2rag.load(dataset, path=path, setting=setting)
    with tempfile.TemporaryDirectory() as folder:
        kb = kg2rag.KnowledgeBase.build(data.corpus, store=Store(Path(folder)) if dataset == "bundled" else None)
        for name in names() if systems == "all" else systems.split(","):
            try:
                system = build(name, kb)
                for query in data.queries[:5]:  # opens indexes, compiles loops
                    system.retrieve(query, 10)
                    system.retrieve(f"{query.text} {data.corpus.titles[0]}", 10)
            except (ValueError, ImportError, TypeError) as error:  # a language model, or files, that are not here
                typer.echo(f"{name}: {str(error)[:100]}")
                continue
            row: dict[str, object] = {"set": dataset, "system": name}
            for length in LENGTHS:
                slowest = (-1.0, "")
                for kind, piece in texts(data.corpus).items():
                    text = "".join(islice(cycle(piece), length))
                    start = time.process_time()
                    system.retrieve(text, 10)
                    slowest = max(slowest, (1000 * (time.process_time() - start), kind))
                row |= {f"{length} characters": slowest[0], f"slowest of {length}": slowest[1]}
            rows.append(row)
            typer.echo(row)
    table = pd.DataFrame(rows)
    if write:
        former = pd.read_csv(RESULTS) if RESULTS.is_file() else table.iloc[:0]
        pd.concat([former[former["set"] != dataset], table]).to_csv(RESULTS, index=False, float_format="%.0f")


if __name__ == "__main__":
    typer.run(main)
