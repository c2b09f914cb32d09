r"""The cost of named systems on one set: seconds to build, peak memory, milliseconds a query in batches and one by one.

    python eval/bench/strategies.py 2wiki --path FOLDER --systems mention_ppr,mention_chains \
        --out eval/results/costs/2wiki-1000.parquet

Each system has a process and an empty store. It is built from the passages, encoding included, until its
first answer; then prepared for all questions, whose encoding is not timed, and timed: all of them, the best of three
times, and sixty one by one, the median. Beside them: one FAISS search of the same vectors, 100 questions at a time.
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
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import faiss
import pandas as pd
import typer

import kg2rag
from kg2rag.compute import Store, processor, threads
from kg2rag.retrievers.systems import build

BATCH, ALONE, K = 100, 60, 100


def main(
    dataset: Annotated[str, typer.Argument()],
    path: Annotated[Path, typer.Option()],
    systems: Annotated[str, typer.Option(help="Names separated by commas.")],
    out: Annotated[Path | None, typer.Option(help="A Parquet file.")] = None,
    one: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Measure the systems, each in a separate process."""
    if one:
        typer.echo(json.dumps(measured(systems, dataset, path)))
        return
    rows = []
    for name in systems.split(","):
        command = [sys.executable, __file__, dataset, "--path", str(path), "--systems", name, "--one"]
        rows.append(
            json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        )
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
        index = faiss.IndexFlatIP(kb.vectors.shape[1])
        index.add(kb.vectors)
        vectors, batches = kb.encode_queries(queries), range(0, len(queries), BATCH)
        return {
            "system": name,
            "passages": len(data.corpus),
            "questions": len(queries),
            "build_s": round(spent, 1),
            "peak_mb": round(peak),
            "ms_batch": best(lambda: [system.retrieve_batch(queries[at : at + BATCH], K) for at in batches])
            / len(queries),
            "ms_alone": statistics.median(
                once(lambda q=query: system.retrieve_batch([q], K)) for query in queries[:ALONE]
            ),
            "ms_faiss": best(lambda: [index.search(vectors[at : at + BATCH], K) for at in batches]) / len(queries),
            "threads": threads(),
            "load": round(os.getloadavg()[0], 1),
            "processor": processor(),
        }


def once(work: Callable[[], object]) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def best(work: Callable[[], object]) -> float:
    """Milliseconds of the best of three times."""
    return min(once(work) for _ in range(3))


if __name__ == "__main__":
    typer.run(main)
