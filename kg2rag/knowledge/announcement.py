"""Messages of a knowledge base on stderr: the time that encoding will take, and a graph without triples."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from kg2rag.compute import Embedder, EndpointEncoder, GivenEncoder, SentenceEncoder, StaticEncoder, Store, counter_of
from kg2rag.compute.models import ModelNotFoundError
from kg2rag.compute.parallel import LINE_SECONDS
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.types import Corpus

MIN_PASSAGES = 2000  # fewer are encoded before an estimate would be of use
SAMPLE_PASSAGES = 32  # that are encoded to estimate the time of all
MINUTES_FROM_SECONDS = 90


def announce(corpus: Corpus, embedder: Embedder, store: Store) -> None:
    """Print the size of a corpus and the time, or the tokens, that encoding the passages will take.

    Nothing is printed if it takes less than ten seconds, if the model cannot be loaded, and for an `Embedder` of the
    user's own class.
    """
    if len(corpus) < MIN_PASSAGES:
        return
    if isinstance(embedder, EndpointEncoder):
        message = _cost(corpus, embedder, store)
    elif isinstance(embedder, SentenceEncoder | StaticEncoder | GivenEncoder):
        message = _time(corpus, embedder, store)
    else:
        return
    if message:
        size = f"{len(set(corpus.doc_ids)):,} documents, {len(corpus):,} passages"
        print(f"{size}: {message}", file=sys.stderr)  # noqa: T201


def _cost(corpus: Corpus, embedder: EndpointEncoder, store: Store) -> str:
    """What will be sent to an endpoint; "" if the store has all vectors."""
    plan = embedder.plan(corpus.contents, store)
    if not plan["lacking"]:
        return ""
    return f"{plan['lacking']:,} to send to {embedder.model}, about {plan['tokens']:,} tokens"


def _time(corpus: Corpus, embedder: SentenceEncoder | StaticEncoder | GivenEncoder, store: Store) -> str:
    """The time that encoding takes, by that of a sample, and how many passages of it are cut; "" if it is short."""
    rows = range(0, len(corpus), len(corpus) // SAMPLE_PASSAGES)
    sample = [corpus[row].contents for row in rows]
    try:
        embedder.encode(sample[:1], store)  # loads the model
        start = time.perf_counter()
        embedder.encode(sample[1:], store)
    except (ModelNotFoundError, ValueError):  # raised again by the first use of the encoder
        return ""
    seconds = (time.perf_counter() - start) / (len(sample) - 1) * len(corpus)
    if seconds < LINE_SECONDS:
        return ""
    duration = f"{seconds:.0f} seconds"
    if seconds >= MINUTES_FROM_SECONDS:
        duration = f"{seconds / 60:.0f} minutes"
    return f"about {duration} to encode them{_cut_passages(sample, embedder, store)}"


def _cut_passages(sample: Sequence[str], embedder: SentenceEncoder | StaticEncoder | GivenEncoder, store: Store) -> str:
    """How many passages of a sample are longer than the model reads; "" for none, or a limit that is not known."""
    if isinstance(embedder, GivenEncoder):
        return ""
    limit = embedder.describe(store).get("max_tokens")
    if not limit:
        return ""
    n_cut = sum(count > limit for count in counter_of(embedder).count(sample))
    if not n_cut:
        return ""
    return f"; in a sample of {len(sample)} passages, {n_cut} are cut at {limit} tokens"


def announce_empty(graph: KnowledgeGraph, source: object) -> KnowledgeGraph:
    """The graph itself; a graph without triples is reported on stderr."""
    if not graph.n_triples:
        message = (
            f"The graph of {source!r:.80} has no triples ({graph.n_entities:,} entities, {graph.n_passages:,} "
            "passages); strategies that follow triples return nothing from it. Pass another graph to "
            "KnowledgeBase.build, such as 'mentions' or 'cooccurrence'."
        )
        print(message, file=sys.stderr)  # noqa: T201
    return graph
