"""The parts of a knowledge base that the store keeps: opened where the store has them, else built and kept.

Each is keyed by what its contents depend on, and by nothing else, so that a second process, or another knowledge base
over the same corpus or graph, opens it instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from kg2rag.compute.store import Store
from kg2rag.extraction import Extractor
from kg2rag.extraction.mentions.finding import VERSION as MENTION_VERSION
from kg2rag.extraction.mentions.finding import MentionTable, find_mentions
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.knowledge.indexes.lexical import LexicalIndex, LexicalSettings
from kg2rag.knowledge.indexes.trigram import VERSION as TRIGRAM_VERSION
from kg2rag.knowledge.indexes.trigram import TrigramIndex
from kg2rag.text.lexicon import FUNCTION_WORDS, Lexicon
from kg2rag.text.normalisation import normalise
from kg2rag.types.corpus import Corpus


def graph(store: Store, corpus: Corpus, source: Extractor) -> KnowledgeGraph:
    """What an extractor finds in the corpus, as a graph."""
    key = {"corpus": corpus.fingerprint, "source": source.fingerprint}
    path = store.entry("graph", key, lambda folder: KnowledgeGraph.build(source.extract(corpus), corpus).save(folder))
    return KnowledgeGraph.load(path, corpus)


def mentions(store: Store, corpus: Corpus) -> MentionTable:
    """The titles and names that the passages mention."""
    key = {"corpus": corpus.fingerprint, "rules": MENTION_VERSION}
    return MentionTable.load(store.entry("mentions", key, lambda folder: find_mentions(corpus).save(folder)))


def trigram(store: Store, corpus: Corpus) -> TrigramIndex:
    """The names and words of the passages, by spelling."""
    key = {"corpus": corpus.fingerprint, "rules": TRIGRAM_VERSION}
    return TrigramIndex(store.entry("trigram", key, lambda folder: TrigramIndex.write(folder, corpus.contents)))


def lexical(
    store: Store, stage: str, settings: LexicalSettings, fingerprint: str, texts: Sequence[str]
) -> LexicalIndex:
    """BM25 over the passages ("bm25") or the entities' names ("bm25-entities"), whose fingerprint is given."""
    of = {"bm25": "corpus", "bm25-entities": "graph"}[stage]
    path = store.entry(
        stage,
        {of: fingerprint, **asdict(settings)},
        lambda folder: LexicalIndex.write(folder, texts, settings),
        libraries=("bm25s", "pystemmer"),
    )
    return LexicalIndex(path, settings)


def triple_texts(graph: KnowledgeGraph) -> list[str]:
    """What is encoded of each triple: "head relation tail"."""
    table = graph.triples
    parts = zip(table.heads.tolist(), table.relations.tolist(), table.tails.tolist(), strict=True)
    return [f"{graph.names[head]} {graph.relations[relation]} {graph.names[tail]}" for head, relation, tail in parts]


def entity_lexicon(graph: KnowledgeGraph) -> tuple[Lexicon, list[int]]:
    """Finds the names, and then the aliases, of entities; the list says which entity a match is."""
    codes: dict[str, int] = {}
    for entity, name in enumerate(graph.names):
        codes.setdefault(normalise(name), entity)
    for entity, aliases in enumerate(graph.aliases):
        for alias in aliases:
            codes.setdefault(normalise(alias), entity)
    for word in FUNCTION_WORDS:
        codes.pop(word, None)
    return Lexicon(list(codes)), list(codes.values())
