"""Peers beside our systems, on the same passages and vectors: recall, milliseconds a query, peak memory.

    python eval/bench/peers.py musique --path FOLDER --graph 'openie(FILE)' --out peers/musique-100.parquet
    python eval/bench/peers.py hotpotqa --path FOLDER --graph 'subkgs(FILE)' --out peers/hotpotqa-300.parquet
    python eval/bench/peers.py invented --passages 10000 --out peers/invented-10000.parquet
    python eval/bench/peers.py invented --passages 100000 --out peers/invented-100000.parquet

`hubmesh` (0.4, its defaults) makes its own graph of spaCy's names; what of spaCy's pipeline names
do not need is left out. `hippo2 by igraph` is HippoRAG 2 with PageRank as the released code calls
it, one query at a time; both it and `hippo2` walk the triples of `--graph`. Every system ranks with
the vectors of one knowledge base, queries are encoded before; the others are ours. Each system runs
in a separate process, questions are asked one by one, and memory is the most that the process held
until the last of them, libraries included. The invented corpora are those of `scale.py`, with an
encoder that hashes words, and have no gold.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import igraph
import numpy as np
import pandas as pd
import spacy
import typer
from hubmesh import Document, Planner
from hubmesh.adapters import InMemoryStore
from hubmesh.kg import build_entity_kg
from scale_inputs import HashingEncoder, questions, world

import kg2rag
from kg2rag import KnowledgeBase, Query, Question, Ranking, SentenceEncoder
from kg2rag.compute import processor, threads
from kg2rag.evaluation.metrics import evaluate
from kg2rag.extraction.dependency import DependencyTriples
from kg2rag.knowledge.graph.pagerank import NodeWeights
from kg2rag.retrievers.dense import VectorRetriever
from kg2rag.retrievers.published.hipporag.retrievers import HippoRAG2
from kg2rag.retrievers.systems import build
from kg2rag.types import FloatArray, IntArray

DEPTHS = (2, 5, 10)
NO_LIMIT = 10**9  # tokens of hubmesh's context, which would cut its list
BESIDE_NAMES = ["tagger", "parser", "attribute_ruler", "lemmatizer"]
ASKED = 50  # questions of an invented corpus
SYSTEMS = (
    "hubmesh",
    "hippo2 by igraph",
    "bm25",
    "dense",
    "hybrid",
    "mention_ppr",
    "mention_chains",
    "hippo2",
)


@dataclass(frozen=True)
class Hubmesh(VectorRetriever):
    """hubmesh over a knowledge base's passages and vectors."""

    kb: KnowledgeBase = field(repr=False)

    @cached_property
    def planner(self) -> Planner:
        """Its graph of spaCy's names, and its store."""
        corpus, language = (
            self.kb.corpus,
            spacy.load(DependencyTriples.model, exclude=BESIDE_NAMES),
        )
        columns = zip(corpus.ids, corpus.contents, self.kb.vectors, strict=True)
        documents = [
            Document(id=id_, text=text, vector=vector) for id_, text, vector in columns
        ]
        kg = build_entity_kg(documents, nlp=language)
        return Planner(
            store=InMemoryStore.from_documents(documents), kg=kg, nlp=language
        )

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One query after another, as hubmesh does."""
        ids, vectors = self.kb.corpus.ids, self.kb.encode_queries(queries)
        return [
            self._ranking(query, vector, k, ids)
            for query, vector in zip(queries, vectors, strict=True)
        ]

    def _ranking(
        self, query: Query, vector: FloatArray, k: int, ids: Sequence[str]
    ) -> Ranking:
        hits = self.planner.retrieve(
            query.text, top_k=k, budget_tokens=NO_LIMIT, query_vec=vector
        ).sources
        rows = np.array([self.rows[hit.doc.id] for hit in hits], dtype=np.int64)
        return Ranking.from_scores(
            query.id, rows, 1.0 / np.arange(1, len(rows) + 1), ids
        )

    @cached_property
    def rows(self) -> dict[str, int]:
        """Passage id -> corpus row."""
        return {id_: row for row, id_ in enumerate(self.kb.corpus.ids)}


@dataclass(frozen=True)
class ByIgraph(HippoRAG2):
    """HippoRAG 2 with igraph's PageRank."""

    @cached_property
    def network(self) -> igraph.Graph:
        """The same graph in igraph."""
        sources, targets, weights = self.graph.edges()
        network = igraph.Graph(
            self.graph.walk.n_nodes, np.stack([sources, targets], axis=1).tolist()
        )
        network.es["weight"] = weights.tolist()
        return network

    def pagerank(
        self, restarts: Sequence[NodeWeights], masks: Sequence[IntArray | None]
    ) -> list[FloatArray]:
        """As the released code calls it."""
        search = partial(
            self.network.personalized_pagerank,
            damping=self.damping,
            directed=False,
            weights="weight",
            implementation="prpack",
        )
        nodes = np.arange(self.network.vcount())
        return [
            np.array(search(reset=restart.weights_of(nodes).tolist()))
            for restart in restarts
        ]


def main(
    dataset: Annotated[str, typer.Argument(help="A data set, or invented.")],
    path: Annotated[Path | None, typer.Option()] = None,
    graph: Annotated[
        str,
        typer.Option(
            help="The source of the triples that HippoRAG 2 walks; of a data set."
        ),
    ] = "",
    setting: Annotated[str | None, typer.Option()] = None,
    passages: Annotated[int, typer.Option(help="Of an invented corpus.")] = 10_000,
    work: Annotated[Path, typer.Option(help="Where invented corpora are kept.")] = Path(
        "data/cache/scale"
    ),
    systems: Annotated[str, typer.Option(help="Names separated by commas.")] = ",".join(
        SYSTEMS
    ),
    out: Annotated[
        Path | None, typer.Option(help="A Parquet file: a row a system.")
    ] = None,
    worker: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Compare on one set, each system in a separate process."""
    if dataset != "invented" and not graph:
        raise typer.BadParameter(
            "A data set needs --graph, the triples that HippoRAG 2 walks."
        )
    if worker:
        if dataset == "invented":
            data, kb = invented(work, passages)
        else:
            data, kb = loaded(dataset, path=path, setting=setting, graph=graph)
        typer.echo(json.dumps(measured(systems, kb, data)))
        return
    rows = []
    for name in systems.split(","):
        command = [sys.executable, *sys.argv, "--systems", name, "--worker"]
        process = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        rows.append(json.loads(process.stdout.splitlines()[-1]))
        typer.echo(rows[-1], err=True)
    table = pd.DataFrame(rows)
    typer.echo(f"{table.to_string(index=False, float_format='%.1f')}")
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        table.to_parquet(out, index=False)


def loaded(
    dataset: str, graph: str, **options: Any
) -> tuple[kg2rag.QADataset, KnowledgeBase]:
    """A data set and its knowledge base."""
    data = kg2rag.load(dataset, **options)
    return data, KnowledgeBase.build(
        data.corpus, graph, embedder=SentenceEncoder(dtype="float32")
    )


def invented(work: Path, passages: int) -> tuple[kg2rag.QADataset, KnowledgeBase]:
    """An invented corpus with three triples a passage; its questions, with the first passage for gold, and its base."""
    folder = world(work, passages, 3)
    corpus = kg2rag.Corpus.open(folder / "corpus.arrow")
    asked = tuple(
        Question(query.id, query.text, {corpus.ids[0]: 1})
        for query in questions(folder)[:ASKED]
    )
    source = f"triples({folder / 'triples-3.jsonl'})"
    store = kg2rag.Store(work / f"peers-{passages}")
    kb = KnowledgeBase.build(corpus, source, embedder=HashingEncoder(), store=store)
    return kg2rag.QADataset("invented", corpus, asked, "pooled"), kb


def measured(
    name: str, kb: KnowledgeBase, data: kg2rag.QADataset
) -> dict[Hashable, object]:
    """Each question by itself, after a first one that builds: recall in per cent, median milliseconds, memory in MB."""
    kb.vectors, kb.encode_queries(data.queries)  # the same for all, and not timed
    peers = {"hubmesh": Hubmesh, "hippo2 by igraph": ByIgraph}
    system = peers[name](kb) if name in peers else build(name, kb)
    system.prepare(data.queries)
    system.retrieve(data.queries[0], max(DEPTHS))
    spent, rankings = [], []
    for query in data.queries:
        begin = time.perf_counter()
        rankings.append(system.retrieve(query, max(DEPTHS)))
        spent.append(time.perf_counter() - begin)
    recalls = 100 * evaluate(rankings, data, [f"recall@{k}" for k in DEPTHS]).mean()
    if data.name == "invented":  # its gold is arbitrary
        recalls[:] = float("nan")
    return {
        "system": name,
        **recalls.to_dict(),
        "ms": 1000 * statistics.median(spent),
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "set": data.name,
        "passages": len(data.corpus),
        "questions": len(data.questions),
        "threads": threads(),
        "load": round(os.getloadavg()[0], 1),
        "processor": processor(),
    }


if __name__ == "__main__":
    typer.run(main)
