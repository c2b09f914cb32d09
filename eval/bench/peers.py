"""Peers beside our systems, on the same passages and vectors: recall and milliseconds a query.

    python eval/bench/peers.py musique --path FOLDER --graph 'openie(FILE)' --out peers/musique-100.parquet
    python eval/bench/peers.py hotpotqa --path FOLDER --graph 'subkgs(FILE)' --out peers/hotpotqa-300.parquet

`hubmesh` (0.4, its defaults) makes its own graph with spaCy. `hippo2 by igraph` is HippoRAG 2 with PageRank as the
released code calls it, one query at a time; both it and `hippo2` walk the triples of `--graph`. Every system ranks
with the vectors of one knowledge base, queries are encoded before; the others are ours. Questions are asked one by one.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated

import igraph
import numpy as np
import pandas as pd
import spacy
import typer
from hubmesh import Document, Planner
from hubmesh.adapters import InMemoryStore
from hubmesh.kg import build_entity_kg

import kg2rag
from kg2rag import KnowledgeBase, Query, Ranking, SentenceEncoder
from kg2rag.compute import processor, threads
from kg2rag.evaluation.metrics import evaluate
from kg2rag.extraction.dependency import DependencyTriples
from kg2rag.knowledge.graph.pagerank import NodeWeights
from kg2rag.retrievers.dense import VectorRetriever
from kg2rag.retrievers.hipporag.retrievers import HippoRAG2
from kg2rag.retrievers.systems import build
from kg2rag.types import FloatArray, IntArray

DEPTHS = (2, 5, 10)
NO_LIMIT = 10**9  # tokens of hubmesh's context, which would cut its list
OURS = ("bm25", "dense", "hybrid", "mention_ppr", "mention_chains", "hippo2")


@dataclass(frozen=True)
class Hubmesh(VectorRetriever):
    """hubmesh over a knowledge base's passages and vectors."""

    kb: KnowledgeBase = field(repr=False)

    @cached_property
    def planner(self) -> Planner:
        """Its graph of spaCy's names, and its store."""
        corpus, language = self.kb.corpus, spacy.load(DependencyTriples.model)
        columns = zip(corpus.ids, corpus.contents, self.kb.vectors, strict=True)
        documents = [Document(id=id_, text=text, vector=vector) for id_, text, vector in columns]
        kg = build_entity_kg(documents, nlp=language)
        return Planner(store=InMemoryStore.from_documents(documents), kg=kg, nlp=language)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One query after another, as hubmesh does."""
        ids, vectors = self.kb.corpus.ids, self.kb.encode_queries(queries)
        return [self._ranking(query, vector, k, ids) for query, vector in zip(queries, vectors, strict=True)]

    def _ranking(self, query: Query, vector: FloatArray, k: int, ids: Sequence[str]) -> Ranking:
        found = self.planner.retrieve(query.text, top_k=k, budget_tokens=NO_LIMIT, query_vec=vector).sources
        rows = np.array([self.rows[one.doc.id] for one in found], dtype=np.int64)
        return Ranking.of(query.id, rows, 1.0 / np.arange(1, len(rows) + 1), ids)

    @cached_property
    def rows(self) -> dict[str, int]:
        """Passage id -> corpus row."""
        return {id_: row for row, id_ in enumerate(self.kb.corpus.ids)}


@dataclass(frozen=True)
class ByIgraph(HippoRAG2):
    """HippoRAG 2 with igraph's PageRank."""

    @cached_property
    def plain(self) -> igraph.Graph:
        """The same graph."""
        sources, targets, weights = self.graph.edges()
        found = igraph.Graph(
            n=self.graph.walk.n_nodes, edges=np.stack([sources, targets], axis=1).tolist(), directed=False
        )
        found.es["weight"] = weights.tolist()
        return found

    def pagerank(self, restarts: Sequence[NodeWeights], masks: Sequence[IntArray | None]) -> list[FloatArray]:  # noqa: ARG002
        """As the released code calls it."""
        settings = {"damping": self.damping, "directed": False, "weights": "weight", "implementation": "prpack"}
        every = np.arange(self.plain.vcount())
        dense = (restart.at(every).tolist() for restart in restarts)
        return [np.array(self.plain.personalized_pagerank(reset=reset, **settings)) for reset in dense]


def main(
    dataset: Annotated[str, typer.Argument()],
    path: Annotated[Path, typer.Option()],
    graph: Annotated[str, typer.Option(help="The source of the triples that HippoRAG 2 walks.")],
    setting: Annotated[str | None, typer.Option()] = None,
    limit: Annotated[int, typer.Option(help="Ask so many of the questions, drawn at random.")] = 1000,
    out: Annotated[Path | None, typer.Option(help="A Parquet file: a row a system.")] = None,
) -> None:
    """Compare on one set."""
    data = kg2rag.load(dataset, path=path, setting=setting)
    kb = KnowledgeBase.build(data.corpus, graph, embedder=SentenceEncoder(dtype="float32"))
    kb.vectors, kb.encode_queries(data.queries)  # the same for all, and not timed
    systems = {
        "hubmesh": Hubmesh(kb),
        "hippo2 by igraph": ByIgraph(kb),
        **{name: build(name, kb) for name in OURS},
    }
    asked = data.sample(limit)
    table = pd.DataFrame([measured(name, system, asked) for name, system in systems.items()])
    table = table.assign(set=data.name, passages=len(data.corpus), questions=len(asked.questions))
    table = table.assign(threads=threads(), load=round(os.getloadavg()[0], 1), processor=processor())
    typer.echo(f"{table.to_string(index=False, float_format='%.1f')}")
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        table.to_parquet(out, index=False)


def measured(name: str, system: kg2rag.Retriever, data: kg2rag.QADataset) -> dict[Hashable, object]:
    """Each question alone, after a first one that builds: recall in per cent, median milliseconds."""
    system.prepare(data.queries)
    system.retrieve(data.queries[0], max(DEPTHS))
    spent, rankings = [], []
    for query in data.queries:
        begin = time.perf_counter()
        rankings.append(system.retrieve(query, max(DEPTHS)))
        spent.append(time.perf_counter() - begin)
    scores = evaluate(rankings, data, [f"recall@{k}" for k in DEPTHS])
    return {"system": name, **(100 * scores.mean()).to_dict(), "ms": 1000 * statistics.median(spent)}


if __name__ == "__main__":
    typer.run(main)
