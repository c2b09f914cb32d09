"""Thousands of single queries in one process -> the time of each, and the memory: eval/results/endurance.csv.

    python eval/bench/endurance.py hotpotqa --path DATA/hotpotqa-300
    python eval/bench/endurance.py --queries 1000 --no-write

Every query is new: a question of the set that lacks one of its words, or two. It is encoded, which has a row of its
own, and then asked alone of each system; `mention_chains` encodes its sub-phrases, too. Latencies are milliseconds on
the wall, of everything that a caller waits for; memory is what the process holds of its own.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable
from itertools import combinations, islice
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import psutil
import typer

import kg2rag
from kg2rag.compute import Store, processor, threads
from kg2rag.compute.progress import bar
from kg2rag.retrievers.systems import CORE, build
from kg2rag.types import QADataset

RESULTS = Path(__file__).resolve().parent.parent / "results" / "endurance.csv"
ENCODING = "encode the query"
SYSTEMS = tuple(name for name in CORE if name != "expansion_queries")  # which encodes twenty texts a question
POINTS = 10  # measurements of memory


def questions(data: QADataset, count: int) -> list[str]:
    """As many different ones: without one word each, then without two."""
    words = [query.text.split() for query in data.queries]
    texts = (
        " ".join(word for place, word in enumerate(own) if place not in gone)
        for fewer in (1, 2)
        for own in words
        for gone in combinations(range(len(own)), fewer)
    )
    return list(islice(dict.fromkeys(texts), count))


def main(
    dataset: Annotated[str, typer.Argument()] = "bundled",
    path: Annotated[Path | None, typer.Option()] = None,
    systems: Annotated[str, typer.Option(help="Names separated by commas.")] = ",".join(SYSTEMS),
    queries: Annotated[int, typer.Option(min=POINTS)] = 10_000,
    write: Annotated[bool, typer.Option(help="Write eval/results/endurance.csv.")] = True,
) -> None:
    """Ask every system every question."""
    data = kg2rag.load(dataset, path=path, **({} if dataset == "bundled" else {"setting": "pooled"}))
    texts = questions(data, queries)
    if len(texts) < queries:
        raise typer.BadParameter(f"{dataset} gives {len(texts):,} different questions.", param_hint="--queries")
    with tempfile.TemporaryDirectory() as folder:
        kb = kg2rag.KnowledgeBase.build(data.corpus, store=Store(Path(folder)))
        opened = {name: build(name, kb) for name in systems.split(",")}
        for system in opened.values():
            system.prepare(data.queries[:1])
            system.retrieve(data.queries[0], 10)
        seconds = {name: np.empty(queries) for name in [ENCODING, *opened]}
        memory: list[tuple[int, float]] = [(0, held())]
        with bar(queries, "asking", "query") as progress:
            for number, text in enumerate(texts):
                seconds[ENCODING][number] = timed(lambda text=text: kb.encode_once([text], "query"))
                for name, system in opened.items():
                    seconds[name][number] = timed(lambda text=text, system=system: system.retrieve(text, 10))
                progress.update(1)
                if (number + 1) % (queries // POINTS) == 0:
                    memory.append((number + 1, held()))
    table = rows(dataset, seconds, memory)
    typer.echo(table.to_string(index=False))
    if write:
        table.to_csv(RESULTS, index=False, float_format="%.2f")


def rows(dataset: str, seconds: dict[str, np.ndarray], memory: list[tuple[int, float]]) -> pd.DataFrame:
    """A row a system with its milliseconds, and one for each measurement of memory; on all, what they were taken on."""
    machine = {"set": dataset, "threads": threads(), "load": os.getloadavg()[0], "processor": processor()}
    times = [
        {
            "what": name,
            "queries": len(each),
            **{f"p{share}": 1000 * float(np.percentile(each, share)) for share in (50, 95, 99)},
            "slowest": 1000 * float(each.max()),
        }
        for name, each in seconds.items()
    ]
    sizes = [{"what": "memory", "queries": asked, "MB": size} for asked, size in memory]
    return pd.DataFrame([{**row, **machine} for row in (*times, *sizes)])


def timed(work: Callable[[], object]) -> float:
    """Seconds on the wall."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def held() -> float:
    """Megabytes that the process holds in memory, of its own and not of mapped files."""
    gc.collect()
    return psutil.Process().memory_full_info().uss / 1e6


if __name__ == "__main__":
    typer.run(main)
