"""Synonym edges and entity resolution at scale: seconds and peak memory, for some numbers of threads.

    python eval/bench/synonyms.py --names 100000 --threads 1,2,4

Every measurement runs in a process of its own, so that its peak is its own. The vectors are made, not encoded: 384
numbers of norm 1 in clusters of a few alike, all leaning to one side as those of sentence encoders do. The names are
made of syllables: people, places, institutions, their acronyms, and misspelt and abbreviated copies of one in ten. Peak
memory is that of the whole process, Python, libraries and the input included; the input's share is given too.
Processor seconds, summed over the threads, say what other work on the machine does not change.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from typing import Annotated

import numpy as np
import typer

DIM = 384
LEAN = 0.4  # of every vector to one side; strangers then have a cosine near 0.1
WORKS = ("edges", "resolution")


def main(
    names: Annotated[int, typer.Option(min=10)] = 100_000,
    threads: Annotated[str, typer.Option(help="Numbers of threads, separated by commas.")] = "1,2,4",
    threshold: Annotated[float, typer.Option(help="Least cosine of a synonym.")] = 0.8,
    worker: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Measure both works and print a table."""
    if worker:
        print(json.dumps(edges(names, threshold) if worker == "edges" else resolution(names)))
        return
    from rich.console import Console
    from rich.table import Table

    from kg2rag.compute import processor

    table = Table(
        "work",
        "threads",
        "seconds",
        "processor seconds",
        "peak, GB",
        "of it input, GB",
        "found",
        title=f"{names:,} names",
    )
    for work in WORKS:
        for number in threads.split(",") if work == "edges" else ["1"]:
            found = measured(work, names, threshold, number)
            numbers = (f"{found[key]:.1f}" for key in ("seconds", "processor"))
            memory = (f"{found[key]:.2f}" for key in ("peak", "input"))
            table.add_row(work, number, *numbers, *memory, found["found"])
    console = Console()
    console.print(table)
    console.print(f"load {', '.join(f'{value:.1f}' for value in os.getloadavg())}, {processor()}")


def measured(work: str, names: int, threshold: float, threads: str) -> dict:
    """One work in a process of its own."""
    limits = dict.fromkeys(("KG2RAG_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
    command = [sys.executable, __file__, "--names", str(names), "--threshold", str(threshold), "--worker", work]
    done = subprocess.run(command, env={**os.environ, **limits}, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def edges(names: int, threshold: float) -> dict:
    """Pairs of alike vectors, as HippoRAG's graph and `KnowledgeGraph.with_synonyms` ask for them."""
    from kg2rag.knowledge.graph.synonyms import synonyms

    vectors = clustered(names)
    before = peak()
    start, busy = time.perf_counter(), time.process_time()
    found = synonyms(vectors, threshold)
    seconds = {"seconds": time.perf_counter() - start, "processor": time.process_time() - busy}
    return {**seconds, "peak": peak(), "input": before, "found": f"{len(found.sources):,} edges"}


def resolution(names: int) -> dict:
    """All methods but the vectors' on a graph of made names."""
    from kg2rag.extraction import Entity, Extraction, Mention
    from kg2rag.knowledge import KnowledgeGraph
    from kg2rag.types import Corpus, Passage

    made = invented(names)
    passages = [Passage(f"p{i}", "", "text", f"p{i}", 0) for i in range(max(names // 10, 1))]
    mentions = tuple(Mention(name, f"p{i % len(passages)}") for i, name in enumerate(made))
    extraction = Extraction(mentions=mentions, entities=tuple(map(Entity, made)))
    graph = KnowledgeGraph.build(extraction, Corpus.from_passages(passages))
    before = peak()
    start, busy = time.perf_counter(), time.process_time()
    found = graph.resolve()
    _ = found.graph
    seconds = {"seconds": time.perf_counter() - start, "processor": time.process_time() - busy}
    about = ", ".join(f"{what}: {count:,}" for what, count in found.summary.items())
    return {**seconds, "peak": peak(), "input": before, "found": f"{graph.n_entities:,} entities; {about}"}


def clustered(size: int, seed: int = 0) -> np.ndarray:
    """(size, DIM) unit vectors around size / 3 centres, some nearer than others."""
    random = np.random.default_rng(seed)
    side = random.standard_normal(DIM)
    side *= LEAN / np.linalg.norm(side)
    centres = random.standard_normal((size // 3, DIM), dtype=np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    vectors = np.empty((size, DIM), dtype=np.float32)
    for first in range(0, size, 10_000):
        part = vectors[first : first + 10_000]
        noise = random.standard_normal(part.shape, dtype=np.float32)
        noise *= random.uniform(0.2, 1.2, (len(part), 1)) / np.linalg.norm(noise, axis=1, keepdims=True)
        part[:] = side + centres[random.integers(len(centres), size=len(part))] + noise
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return vectors


def invented(size: int, seed: int = 0) -> list[str]:
    """Different names of people, places and institutions, and copies with a mistake, an article or an acronym."""
    random = np.random.default_rng(seed)
    onsets, nuclei = "b br c ch d f g gr h j k l m n p r s st t tr v w".split(), "a e i o u ai ea ou".split()
    words = [
        "".join(random.choice(onsets) + random.choice(nuclei) for _ in range(random.integers(2, 5))) + letter
        for letter in "lnrst" * 1200
    ]
    kinds = ("{} {}", "{} {}", "{} County", "University of {}", "Battle of {} {}", "{} {} Railway", "{} River", "{}")
    found: dict[str, None] = {}
    while len(found) < size:
        first, second = (words[int(i)].title() for i in (len(words) * random.random(2) ** 2).tolist())
        name = str(random.choice(kinds)).format(first, second)
        found[name] = None
        chance = random.random()
        if chance < 0.05:
            at = int(random.integers(1, len(name) - 1))
            found[name[:at] + name[at + 1 :]] = None
        elif chance < 0.08:
            found[f"the {name}"] = None
        elif chance < 0.10:
            found["".join(word[0] for word in name.split()).upper()] = None
    return list(found)[:size]


def peak() -> float:
    """The greatest memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    typer.run(main)
