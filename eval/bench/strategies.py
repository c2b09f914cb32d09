r"""The cost of named systems on one set: seconds to build, peak memory, milliseconds a query in batches and one by one.

    python eval/bench/strategies.py 2wiki --path FOLDER --systems mention_ppr,mention_chains \
        --out eval/results/costs/2wiki-1000.parquet

Each system has a process and an empty store. It is built from the passages, encoding included, until its
first answer; then prepared for all questions, whose encoding is not timed, and timed: all of them, the best of three
times, and sixty one by one, the median.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

import kg2rag
from kg2rag.compute import Store, processor, threads
from kg2rag.retrievers.systems import build

BATCH = 100
ONE_BY_ONE = 60
K = 100
REPEATS = 3


def main(
    dataset: Annotated[str, typer.Argument()],
    path: Annotated[Path, typer.Option()],
    systems: Annotated[str, typer.Option(help="Names separated by commas.")],
    out: Annotated[Path | None, typer.Option(help="A Parquet file.")] = None,
    worker: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Measure the systems, each in a separate process."""
    if worker:
        typer.echo(json.dumps(measured(systems, dataset, path)))
        return
    rows = []
    for name in systems.split(","):
        options = ["--path", str(path), "--systems", name, "--worker"]
        command = [sys.executable, __file__, dataset, *options]
        process = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append(json.loads(process.stdout.splitlines()[-1]))
    table = pd.DataFrame(rows)
    typer.echo(table.to_string(index=False))
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        table.to_parquet(out, index=False)


def measured(name: str, dataset: str, path: Path) -> dict[str, object]:
    """One system in this process."""
    data = kg2rag.load(dataset, path=path)
    queries = data.queries
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        kb = kg2rag.KnowledgeBase.build(data.corpus, store=Store(folder))
        system = build(name, kb)
        system.retrieve_batch(queries[:1], K)
        spent = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        system.prepare(queries)
        batches = [
            queries[start : start + BATCH] for start in range(0, len(queries), BATCH)
        ]
        of_all = min(milliseconds(system, batches) for _ in range(REPEATS))
        single = [milliseconds(system, [[query]]) for query in queries[:ONE_BY_ONE]]
        return {
            "system": name,
            "passages": len(data.corpus),
            "questions": len(queries),
            "build_s": round(spent, 1),
            "peak_mb": round(peak),
            "ms_batch": of_all / len(queries),
            "ms_alone": statistics.median(single),
            "threads": threads(),
            "load": round(os.getloadavg()[0], 1),
            "processor": processor(),
        }


def milliseconds(
    system: kg2rag.Retriever, batches: Sequence[Sequence[kg2rag.Query]]
) -> float:
    """How long a system takes for some batches of questions."""
    start = time.perf_counter()
    for batch in batches:
        system.retrieve_batch(batch, K)
    return 1000 * (time.perf_counter() - start)


if __name__ == "__main__":
    typer.run(main)
