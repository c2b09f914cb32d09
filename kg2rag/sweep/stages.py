"""A configuration -> which stages of its knowledge base lie in the store, and which have to be computed.

What a system uses is found by running it over a corpus of a few passages; whether the real thing is there, by asking a
store that opens entries and builds none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from kg2rag import systems as catalogue
from kg2rag.corpus import Corpus, QADataset
from kg2rag.embedding import Embedder, SentenceEncoder
from kg2rag.extraction import Extraction, Mention
from kg2rag.graph import KnowledgeGraph
from kg2rag.knowledge_base import KnowledgeBase
from kg2rag.store import Store
from kg2rag.sweep.configuration import Configuration
from kg2rag.sweep.definition import Sweep
from kg2rag.types import Passage, Query, Triple

_MADE_OF = tuple(one.name for one in fields(KnowledgeBase))
_IN_MEMORY = ("dense", "entity_lexicon", "mention_graph", "tri_graph", "extraction", "stated_triples")
"""Parts that are made anew in every process from others that the store keeps."""


class Missing(Exception):  # noqa: N818 - a finding, not an error
    """Something is not in the store."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class LookingStore(Store):
    """Opens entries; where it would have to build one, or to remove a damaged one, it raises `Missing`."""

    def _build(self, path: Path, stage: str, *_: object) -> NoReturn:  # noqa: ARG002
        raise Missing(stage)

    def _discard(self, path: Path) -> NoReturn:
        raise Missing(f"{path.parent.name} (damaged)")


class LookingEncoder(SentenceEncoder):
    """An encoder that finds vectors in the store and raises `Missing` where it would have to encode."""

    def _lengths(self, texts: Any) -> NoReturn:
        raise Missing(f"{len(texts):,} texts to encode")


@dataclass(frozen=True)
class Stage:
    """One part that a system uses: its name, and what is missing of it (empty where the store has it)."""

    name: str
    missing: str = ""


def encoded(sweep: Sweep, configuration: Configuration) -> bool:
    """Whether the store has the vectors of all passages; False for embedders that keep none there."""
    return all(
        isinstance(kb.embedder, LookingEncoder) and not _missing(lambda kb=kb: kb.vectors)  # type: ignore[misc]
        for kb, _ in _looking(sweep, configuration)
    )


def stages(sweep: Sweep, configuration: Configuration) -> list[Stage]:
    """The stages of a configuration, by name."""
    found: dict[str, str] = {}
    for name in used(configuration):
        for kb, data in _looking(sweep, configuration):
            what = _missing(lambda name=name, kb=kb, data=data: _ask(name, kb, data))  # type: ignore[misc]
            found[_label(name)] = found.get(_label(name)) or what
    return [Stage(name, missing) for name, missing in sorted(found.items())]


def used(configuration: Configuration) -> list[Any]:
    """The parts of a knowledge base that a system uses: names of attributes, and keys of what it memorises."""
    with tempfile.TemporaryDirectory() as root:
        kb = _tiny(Store(root))
        system = catalogue.build(configuration.system, kb, **configuration.parameters)
        system.retrieve_batch([Query("q", "Who built the bridge that Anna Abbott painted?")], 3)
        attributes = [name for name in kb.__dict__ if name not in (*_MADE_OF, *_IN_MEMORY)]
        keys = [key for key in kb._memory if key[0] not in _IN_MEMORY]
    return [*attributes, *keys]


def _label(name: Any) -> str:
    if isinstance(name, str):
        return name.replace("_", " ")
    if name == ("encoded", "query"):
        return "questions"
    if name == ("encoded", "passage"):
        return "texts made of what is found"
    return f"{name[0]}".replace("_", " ")


def _ask(name: Any, kb: KnowledgeBase, data: QADataset) -> object:
    """Open one part."""
    if isinstance(name, str):
        return getattr(kb, name)
    opener: dict[str, Callable[..., object]] = {
        "bm25": kb.lexical,
        "bm25-entities": kb.entity_names,
        "phrase_graph": kb.phrase_graph,
    }
    if name == ("encoded", "query"):
        return kb.encode_queries(data.queries)
    if name[0] == "encoded":
        raise Missing("known only when it runs")
    if name[0] == "dense":
        return kb.dense_over(name[1])
    return opener[name[0]](*name[1:]) if name[0] in opener else None


def _missing(open_: Callable[[], object]) -> str:
    try:
        open_()
    except Missing as found:
        return found.what
    return ""


def _looking(sweep: Sweep, configuration: Configuration) -> Iterator[tuple[KnowledgeBase, QADataset]]:
    bench = sweep.bench(configuration)
    embedder: Embedder = bench.encoder
    if type(embedder) is SentenceEncoder:
        embedder = LookingEncoder(**{one.name: getattr(embedder, one.name) for one in fields(embedder)})
    for data in sweep.opened(configuration.setting):
        yield KnowledgeBase.build(data.corpus, bench.graph, embedder=embedder, store=LookingStore(bench.store)), data


@cache
def _world() -> tuple[Corpus, KnowledgeGraph]:
    texts = {
        "Anna Abbott": "Anna Abbott painted the Old Bridge.",
        "Old Bridge": "The Old Bridge was built by Boris Brandt.",
        "Boris Brandt": "Boris Brandt was an engineer. He married Clara Dahl.",
        "Clara Dahl": "Clara Dahl was a pilot.",
    }
    corpus = Corpus.from_passages([Passage(title, title, text, title, 0) for title, text in texts.items()])
    triples = (
        Triple("Anna Abbott", "painted", "Old Bridge", "Anna Abbott"),
        Triple("Old Bridge", "built by", "Boris Brandt", "Old Bridge"),
        Triple("Boris Brandt", "married", "Clara Dahl", "Boris Brandt"),
    )
    mentions = tuple(Mention(title, title, 0) for title in texts)
    return corpus, KnowledgeGraph.build(Extraction(triples, mentions), corpus)


def _tiny(store: Store) -> KnowledgeBase:
    corpus, graph = _world()
    return KnowledgeBase.build(corpus, graph, embedder=_Bytes(), store=store)


@dataclass(frozen=True)
class _Bytes:
    """An embedder that costs nothing: a text's vector counts its bytes."""

    def fingerprint(self, store: Store) -> str:  # noqa: ARG002
        return "bytes"

    def encode(self, texts: Any, store: Store, role: str = "passage") -> Any:  # noqa: ARG002
        import numpy as np

        counts = np.ones((len(texts), 256), dtype=np.float32)
        for row, text in zip(counts, texts, strict=True):
            row += np.bincount(np.frombuffer(text.encode(), dtype=np.uint8), minlength=256)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)
