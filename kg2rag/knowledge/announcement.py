"""What is said on stderr of a knowledge base: how long encoding takes, before it begins; that its graph is empty."""

from __future__ import annotations

import sys
import time

from kg2rag.compute import Embedder, EndpointEncoder, GivenEncoder, SentenceEncoder, StaticEncoder, Store, counter_of
from kg2rag.compute.models import ModelNotFoundError
from kg2rag.compute.parallel import EVERY
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.types import Corpus

LEAST, SAMPLE = 2000, 32  # passages from which it is worth measuring, and those that are encoded for it


def announce(corpus: Corpus, embedder: Embedder, store: Store) -> None:
    """Say on stderr how many passages there are, and about how long it takes to encode those that the store lacks.

    Silent where it takes less than ten seconds, the model cannot be had, or the `Embedder` is of the user's own class.
    """
    if len(corpus) < LEAST:
        return
    size = f"{len(set(corpus.doc_ids)):,} documents, {len(corpus):,} passages"
    if isinstance(embedder, EndpointEncoder):
        plan = embedder.plan(corpus.contents, store)
        if plan["lacking"]:
            said = f"{plan['lacking']:,} to send to {embedder.model}, about {plan['tokens']:,} tokens"
            print(f"{size}: {said}", file=sys.stderr)  # noqa: T201
        return
    if not isinstance(embedder, SentenceEncoder | StaticEncoder | GivenEncoder):
        return
    rows = range(0, len(corpus), len(corpus) // SAMPLE)
    sample = [corpus[row].contents for row in rows]
    try:
        embedder.encode(sample[:1], store)  # which loads the model
        start = time.perf_counter()
        embedder.encode(sample[1:], store)
    except (ModelNotFoundError, ValueError):
        return
    seconds = (time.perf_counter() - start) / (len(sample) - 1) * len(corpus)
    if seconds < EVERY:
        return
    limit = 0 if isinstance(embedder, GivenEncoder) else int(embedder.describe(store).get("max_tokens") or 0)
    long = sum(count > limit for count in counter_of(embedder).count(sample)) if limit else 0
    more = f"; of {len(sample)} passages looked at, {long} are cut at {limit} tokens" if long else ""
    spent = f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"
    print(f"{size}: about {spent} to encode them{more}", file=sys.stderr)  # noqa: T201


def announce_empty(graph: KnowledgeGraph, source: object) -> KnowledgeGraph:
    """The graph; where it has no triple, that and what to do are said."""
    if not graph.n_triples:
        sizes = f"{graph.n_entities:,} entities, {graph.n_passages:,} passages"
        what = "strategies that follow triples find nothing in it. Give KnowledgeBase.build another graph, such as"
        said = f"The graph of {source!r:.80} has no triple ({sizes}): {what} 'mentions' or 'cooccurrence'."
        print(said, file=sys.stderr)  # noqa: T201
    return graph
