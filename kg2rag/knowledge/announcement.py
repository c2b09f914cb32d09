"""Messages of a knowledge base on stderr: the time that encoding will take, and a graph without triples."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from kg2rag.compute import Embedder, EndpointEncoder, GivenEncoder, SentenceEncoder, StaticEncoder, Store, counter_of
from kg2rag.compute.models import ModelNotFoundError
from kg2rag.compute.parallel import LINE_SECONDS
from kg2rag.knowledge.graph import KnowledgeGraph

MIN_TEXTS = 200  # fewer are encoded before an estimate would be of use
SAMPLE_TEXTS = 32  # that are encoded to estimate the time of all
MINUTES_FROM_SECONDS = 90


def announce(name: str, texts: Sequence[str], embedder: Embedder, store: Store) -> None:
    """Print the number of some texts and the time, or the tokens, that encoding them will take.

    Nothing is printed if it takes less than ten seconds, if the model cannot be loaded, and for an `Embedder` of the
    user's own class.

    Parameters
    ----------
    name : of the texts, such as "passages".
    """
    if len(texts) < MIN_TEXTS:
        return
    if isinstance(embedder, EndpointEncoder):
        _announce_cost(name, texts, embedder, store)
    elif isinstance(embedder, SentenceEncoder | StaticEncoder | GivenEncoder):
        _announce_sampled(name, texts, embedder, store)


def announce_seconds(name: str, count: int, seconds: float, remark: str = "") -> None:
    """Print how long it will take to encode so many texts; nothing if that is short."""
    if seconds < LINE_SECONDS:
        return
    duration = f"{seconds:.0f} seconds"
    if seconds >= MINUTES_FROM_SECONDS:
        duration = f"{seconds / 60:.0f} minutes"
    print(f"{count:,} {name}: about {duration} to encode them{remark}", file=sys.stderr)  # noqa: T201


def _announce_cost(name: str, texts: Sequence[str], embedder: EndpointEncoder, store: Store) -> None:
    """Print what will be sent to an endpoint; nothing if the store has all vectors."""
    plan = embedder.plan(texts, store)
    if plan["lacking"]:
        cost = f"{plan['lacking']:,} to send to {embedder.model}, about {plan['tokens']:,} tokens"
        print(f"{len(texts):,} {name}: {cost}", file=sys.stderr)  # noqa: T201


def _announce_sampled(
    name: str, texts: Sequence[str], embedder: SentenceEncoder | StaticEncoder | GivenEncoder, store: Store
) -> None:
    """Print the time that encoding takes, by that of a sample, and how many texts of it are cut."""
    sample = list(texts[:: len(texts) // SAMPLE_TEXTS])
    try:
        embedder.encode(sample[:1], store)  # loads the model
        start = time.perf_counter()
        embedder.encode(sample[1:], store)
    except (ModelNotFoundError, ValueError):  # raised again by the first use of the encoder
        return
    seconds = (time.perf_counter() - start) / (len(sample) - 1) * len(texts)
    if seconds >= LINE_SECONDS:
        announce_seconds(name, len(texts), seconds, _cut_texts(sample, embedder, store))


def _cut_texts(sample: Sequence[str], embedder: SentenceEncoder | StaticEncoder | GivenEncoder, store: Store) -> str:
    """How many texts of a sample are longer than the model reads; "" for none, or a limit that is not known."""
    if isinstance(embedder, GivenEncoder):
        return ""
    limit = embedder.describe(store).get("max_tokens")
    if not limit:
        return ""
    n_cut = sum(count > limit for count in counter_of(embedder).count(sample))
    if not n_cut:
        return ""
    return f"; in a sample of {len(sample)}, {n_cut} are cut at {limit} tokens"


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
