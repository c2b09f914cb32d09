"""A few new passages in a knowledge base beside a build from scratch: seconds, texts encoded, a check that both agree.

    python eval/bench/incremental.py musique --path FOLDER --graph openie:FILE

Some passages are held out, and the others are built with an empty store ("cold"): every part is, one after the other.
Then `kb.add` brings the passages in and every part is built over all ("add"). At last the same corpus is built from
scratch with a store that holds nothing but vectors, of all texts ("warm"): what a second run with other passages finds.
Before the table is printed, the graphs, arrays and rankings of "add" and "warm" are held against each other.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import kg2rag
from kg2rag.compute import processor, threads
from kg2rag.knowledge import LexicalSettings
from kg2rag.retrievers.hipporag.memory import fact_vectors, phrase_graph, phrase_vectors, phrases
from kg2rag.retrievers.linear_rag.graph import tri_graph
from kg2rag.retrievers.mention_ppr.graph import mention_graph
from kg2rag.retrievers.systems import build

PARTS: Mapping[str, Callable[[kg2rag.KnowledgeBase], object]] = {
    "vectors": lambda kb: kb.vectors,
    "graph": lambda kb: kb.graph,
    "entities": lambda kb: kb.entities,
    "triple_vectors": lambda kb: kb.triple_vectors,
    "entity_names": lambda kb: kb.entity_names(LexicalSettings()),
    "bm25": lambda kb: kb.lexical(LexicalSettings()),
    "trigram": lambda kb: kb.trigram,
    "mentions": lambda kb: kb.mentions,
    "mention_graph": lambda kb: mention_graph(kb, 0.2, 0.3, 50),
    "tri_graph": lambda kb: tri_graph(kb),
    "sentence_vectors": lambda kb: kb.sentence_vectors,
    "phrases": lambda kb: phrases(kb),
    "phrase_vectors": lambda kb: phrase_vectors(kb),
    "fact_vectors": lambda kb: fact_vectors(kb),
    "phrase_graph": lambda kb: phrase_graph(kb, 0.8),
}
MADE_OF_TEXTS = ("vectors", "sentence_vectors")
INDEXES = ("entities", "triple_vectors", "phrase_vectors", "fact_vectors")
SYSTEMS = ("bm25", "dense", "hybrid", "mention_ppr", "linear", "hippo2", "graph_augmented")
Seconds = dict[str, tuple[float, int]]


@dataclass(frozen=True)
class CountedEncoder(kg2rag.SentenceEncoder):
    """The default encoder; notes how many texts go through the network."""

    passed: list[int] = field(default_factory=list, repr=False, compare=False)

    def forward(self, texts, dtype, role="passage"):
        """Vectors of texts; their number is noted."""
        self.passed.append(len(texts))
        return super().forward(texts, dtype, role)


def main(
    dataset: Annotated[str, typer.Argument()] = "bundled",
    path: Annotated[Path | None, typer.Option()] = None,
    graph: Annotated[str, typer.Option(help="The source of the graph.")] = "mentions",
    share: Annotated[float, typer.Option(help="Share of the passages that is new.", min=0, max=0.5)] = 0.01,
    parts: Annotated[str, typer.Option(help="Names separated by commas, or all.")] = "all",
) -> None:
    """Time both on one data set."""
    data = kg2rag.load(dataset, path=path)
    chosen = list(PARTS) if parts == "all" else parts.split(",")
    held = data.corpus.ids[:: round(1 / share)]
    new = data.corpus.without([id_ for id_ in data.corpus.ids if id_ not in frozenset(held)])
    encoder = CountedEncoder()
    with tempfile.TemporaryDirectory() as root:
        first, second = (kg2rag.Store(Path(root) / name) for name in ("first", "second"))
        encoder.fingerprint(first)  # loads the network and settles its dtype, which is no part of a build
        small = kg2rag.KnowledgeBase.build(data.corpus, graph, embedder=encoder, store=first).remove(held)
        cold = timed(small, chosen, encoder)
        large = small.add(new)
        added = timed(large, chosen, encoder)
        for kept in (*first.root.glob("vectors-*"), first.root / "encoder"):
            shutil.copytree(kept, second.root / kept.name)
        scratch = kg2rag.KnowledgeBase.build(large.corpus, large.source, embedder=encoder, store=second)
        warm = timed(scratch, chosen, encoder)
        compared(large, scratch, chosen, data.queries)
    title = f"{data!r}, graph {graph}: {len(new)} new passages of {len(large.corpus):,}"
    report(title, {"cold": cold, "add": added, "warm": warm})


def timed(kb: kg2rag.KnowledgeBase, chosen: list[str], encoder: CountedEncoder) -> Seconds:
    """Seconds that each part takes after those before it, and the texts encoded for it."""
    found: Seconds = {}
    for name in chosen:
        encoder.passed.clear()
        start = time.perf_counter()
        PARTS[name](kb)
        found[name] = time.perf_counter() - start, sum(encoder.passed)
    return found


def compared(
    large: kg2rag.KnowledgeBase, scratch: kg2rag.KnowledgeBase, chosen: list[str], queries: list[kg2rag.Query]
) -> None:
    """End the program where the two differ in a bit."""
    for name in chosen:
        one, other = PARTS[name](large), PARTS[name](scratch)
        if name == "graph" and one != other:
            raise SystemExit("The graphs differ.")
        if name in (*MADE_OF_TEXTS, *INDEXES):
            pair = (one, other) if name in MADE_OF_TEXTS else (one.vectors, other.vectors)
            if not np.array_equal(*pair):
                raise SystemExit(f"{name} differ.")
    if len(chosen) < len(PARTS):
        return
    for name in SYSTEMS:
        pairs = zip(*(build(name, kb).retrieve_batch(queries, 100) for kb in (large, scratch)), strict=True)
        if any(not np.array_equal(a.rows, b.rows) or not np.array_equal(a.scores, b.scores) for a, b in pairs):
            raise SystemExit(f"The rankings of {name} differ.")


def report(title: str, runs: Mapping[str, Seconds]) -> None:
    """A line for each part, and their sums."""
    table = Table("part", *(f"{run}, {what}" for run in runs for what in ("s", "texts")), title=title)
    for part in runs["add"]:
        table.add_row(part, *(cell for run in runs.values() for cell in (f"{run[part][0]:.2f}", f"{run[part][1]:,}")))
    sums = {name: sum(seconds for seconds, _ in run.values()) for name, run in runs.items()}
    texts = {name: sum(count for _, count in run.values()) for name, run in runs.items()}
    table.add_section()
    table.add_row("all", *(cell for name in runs for cell in (f"{sums[name]:.2f}", f"{texts[name]:,}")))
    console = Console(width=120)
    console.print(table)
    console.print(f"add takes {sums['add'] / sums['cold']:.3f} of cold, {sums['add'] / sums['warm']:.2f} of warm")
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    console.print(f"{threads()} threads, load {load}, {processor()[:80]}")


if __name__ == "__main__":
    typer.run(main)
