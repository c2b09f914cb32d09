"""The arguments of `KnowledgeBase.build` -> its fields, or a `TypeError` that names what to give instead."""

from __future__ import annotations

from kg2rag.compute.encoder import Embedder, SentenceEncoder
from kg2rag.compute.store import Store
from kg2rag.extraction import Extraction, Extractor
from kg2rag.extraction.sources import parse
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.types.corpus import Corpus
from kg2rag.types.questions import QADataset


def checked_corpus(corpus: object) -> Corpus:
    """The corpus; a data set, or a list of passages, is none."""
    if isinstance(corpus, Corpus):
        return corpus
    if isinstance(corpus, QADataset):
        raise TypeError(
            f"A knowledge base is built over a corpus, not over data set {corpus.name!r}: give data.corpus."
        )
    raise TypeError(
        f"A knowledge base is built over a Corpus, not over {_a(corpus)}. "
        "Make one of passages: Corpus.from_passages([Passage(id, title, text, doc_id, position), ...])."
    )


def checked_source(graph: object, corpus: Corpus) -> Extractor | KnowledgeGraph:
    """A graph over the corpus, or an extractor, given itself or by name.

    Raises
    ------
    TypeError : none of the three. ValueError : an unknown name, or a graph over other passages.
    """
    if isinstance(graph, str):
        return parse(graph)
    if isinstance(graph, KnowledgeGraph):
        if list(graph.passage_ids) != corpus.ids:
            raise ValueError(
                f"The graph was built over {graph.n_passages} passages that are not the corpus's {len(corpus)}. Build "
                "it over this corpus, or give the knowledge base the corpus that it was built on."
            )
        return graph
    # No isinstance(graph, Extractor): where Python looks at a property by reading it, that would read whole files.
    if not isinstance(graph, type) and callable(getattr(type(graph), "extract", None)):
        source: Extractor = graph  # type: ignore[assignment]
        return source
    fix = "Make one with KnowledgeGraph.build(extraction, corpus). " if isinstance(graph, Extraction) else ""
    if type(graph).__module__.startswith("networkx"):
        fix = "Make one with KnowledgeGraph.from_networkx(graph, corpus). "
    raise TypeError(
        f"graph is {_a(graph)}; needed: a KnowledgeGraph, an extractor, or the name of a graph source such as "
        f"'mentions' or 'triples:FILE'. {fix}".rstrip()
    )


def checked_embedder(embedder: object) -> Embedder:
    """An embedder, the one of that name, or the default for None."""
    if embedder is None:
        return SentenceEncoder()
    if isinstance(embedder, str):
        return SentenceEncoder(embedder)
    if isinstance(embedder, type) or not all(
        callable(getattr(embedder, name, None)) for name in ("encode", "fingerprint")
    ):
        raise TypeError(
            f"embedder is {_a(embedder)}; needed: the name of a sentence-transformers model, or an object with encode "
            "and fingerprint, such as SentenceEncoder()."
        )
    given: Embedder = embedder  # type: ignore[assignment]
    return given


def checked_store(store: object) -> Store:
    """A store, or the default one for None."""
    if store is None:
        return Store()
    if not isinstance(store, Store):
        raise TypeError(f"store is {_a(store)}; needed: a Store, such as Store(folder).")
    return store


def _a(value: object) -> str:
    """A wrong argument as a message names it: its type, its value where that is short."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    kind, shown = type(value).__name__, repr(value)
    article = "an" if kind[0] in "AEIOUaeiou" else "a"
    return f"{article} {kind} ({shown})" if len(shown) <= 60 else f"{article} {kind}"
