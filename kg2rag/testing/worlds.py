"""A seed -> random knowledge bases, the worlds of the contract, with ordinary and awkward queries."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from kg2rag.compute import Embedder, Role, Store
from kg2rag.extraction import Extraction, Mention
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.text.normalisation import normalise
from kg2rag.types import Corpus, Matrix, Passage, Query, Triple

N_PASSAGES = 300
FIRST = "random facts"

_TEXTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
WORDS: list[str] = " ".join(_TEXTS["words"]).split()
NAMES = tuple(
    f"{first} {last}"
    for last in _TEXTS["last names"]
    for first in _TEXTS["first names"]
)
"""80 names; the first 60 are titles too."""


def corpus(seed: int = 0) -> Corpus:
    """A corpus of random sentences, each with a name; five passages are equal, so that scores tie."""
    random = np.random.default_rng(seed)
    passages = list[Passage]()
    for i in range(N_PASSAGES):
        text = " ".join(_sentence(random) for _ in range(int(random.integers(1, 4))))
        title = NAMES[i] if i < 60 else f"{random.choice(WORDS[:30]).title()} {i % 40}"
        if i % 60 == 17:
            title, text = "Bridge", "The bridge was built by Anna Abbott."
        passages.append(Passage(f"p{i}", title, text, f"d{i // 2}", i % 2))
    return Corpus.from_passages(passages)


def _sentence(random: np.random.Generator) -> str:
    """A sentence of random words and one name."""
    words = random.choice(WORDS, size=int(random.integers(4, 10))).tolist()
    words.insert(int(random.integers(len(words))), str(random.choice(NAMES)))
    text = " ".join(words)
    return f"{text[0].upper()}{text[1:]}."


def graph(passages: Corpus, seed: int = 1) -> KnowledgeGraph:
    """A graph of four hundred random triples between names, most of them with a passage."""
    random = np.random.default_rng(seed)
    triples = []
    for _ in range(400):
        head, tail = random.choice(len(NAMES), size=2, replace=False).tolist()
        passage = f"p{random.integers(N_PASSAGES)}" if random.random() < 0.9 else ""
        strength = float(random.integers(1, 11))
        relation = str(random.choice(_TEXTS["relations"]))
        triples.append(Triple(NAMES[head], relation, NAMES[tail], passage, strength))
    mentions = tuple(
        Mention(name, f"p{random.integers(N_PASSAGES)}", 0) for name in NAMES
    )
    return KnowledgeGraph.build(Extraction(tuple(triples), mentions), passages)


ODD_GRAPHS: Mapping[str, Extraction] = {
    "an empty graph": Extraction(),
    "a graph that no query names": Extraction(
        (Triple("Quetzalcoatl", "rivals", "Huitzilopochtli", "p3"),)
    ),
}
AWKWARD = (
    *(Query(id_, text) for id_, text in _TEXTS["awkward"].items()),
    Query("very long", "Anna Abbott built the bridge near the river. " * 100),
    Query("many names", f"Did {', '.join(NAMES[::9])} build it?"),
    Query("awkward candidates", "", ("p5",)),
)


def queries() -> list[Query]:
    """Forty ordinary queries, some with candidates, and the awkward ones.

    Every second ordinary query names an entity.
    """
    random = np.random.default_rng(2)
    ordinary = list[Query]()
    for i in range(40):
        words = " ".join(random.choice(WORDS, size=4).tolist())
        text = f"which {words} was that"
        if i % 2:
            text = f"Which {words} did {random.choice(NAMES)} know?"
        candidates = None
        if i % 5 == 3:
            rows = random.choice(N_PASSAGES, size=10, replace=False)
            candidates = tuple(f"p{row}" for row in rows)
        ordinary.append(Query(f"q{i}", text, candidates))
    return [*ordinary, *AWKWARD, Query("same text", ordinary[1].text)]


def queries_for(kb: KnowledgeBase, world: str) -> Sequence[Query]:
    """The queries of a world: all in the first, every third ordinary one in the others.

    A corpus that is too small for the candidates of ordinary queries has only the awkward ones.
    """
    if world == FIRST:
        return queries()
    if len(kb.corpus) < N_PASSAGES:
        return AWKWARD
    return [*queries()[:40:3], *AWKWARD]


def is_ordinary(query: Query) -> bool:
    """Whether a query has words of the corpus and no candidates, so that it must have a hit."""
    return query.id[1:].isdigit() and query.candidates is None


DIM = 256


@dataclass(frozen=True)
class HashedWords:
    """An embedder without a model: each word of a text adds 1 to the axis of its hash."""

    def fingerprint(self, store: Store) -> str:
        """The rules of the embedder and its number of axes."""
        return f"hashing vectorizer, {DIM}"

    def encode(
        self, texts: Sequence[str], store: Store, role: Role = "passage"
    ) -> Matrix:
        """The vectors of texts, (n_texts, DIM), with norm 1, or 0 for a text without a word."""
        from sklearn.feature_extraction.text import HashingVectorizer

        words = {"preprocessor": normalise, "token_pattern": r"\S+"}
        vectorizer = HashingVectorizer(n_features=DIM, alternate_sign=False, **words)
        vectors = vectorizer.transform([*texts, ""]).toarray()
        return np.asarray(vectors[:-1], dtype=np.float32)


def build(store: Store, embedder: Embedder | None = None) -> KnowledgeBase:
    """The knowledge base of the first world."""
    passages = corpus()
    return KnowledgeBase.build(
        passages, graph(passages), store=store, embedder=embedder
    )


@cache
def knowledge_bases() -> Mapping[str, KnowledgeBase]:
    """Name -> knowledge base of each world, in a temporary store until the process ends."""
    store = Store(Path(_folder().name))
    whole = corpus()
    half_titled = Corpus.from_passages(
        [
            replace(passage, title="") if i % 2 else passage
            for i, passage in enumerate(whole)
        ]
    )
    single = Corpus.from_passages(
        [Passage("p5", "", "Anna Abbott built the bridge.", "d", 0)]
    )
    worlds: dict[str, tuple[Corpus, KnowledgeGraph | str]] = {
        FIRST: (whole, graph(whole)),
        "passages without titles": (half_titled, graph(half_titled)),
    }
    for name, extraction in ODD_GRAPHS.items():
        worlds[name] = (whole, KnowledgeGraph.build(extraction, whole))
    worlds["one passage"] = (single, "mentions")
    bases = {}
    for name, (passages, source) in worlds.items():
        bases[name] = KnowledgeBase.build(
            passages, source, store=store, embedder=HashedWords()
        )
    return bases


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that is deleted when the process ends."""
    return tempfile.TemporaryDirectory(prefix="kg2rag-testing-")
