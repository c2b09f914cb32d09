"""What `scale.py` measures with: invented corpora with their triples, an encoder that costs nothing, and walks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer

import kg2rag
from kg2rag import Passage
from kg2rag.compute import Store, new_folder
from kg2rag.compute.vectors import VectorCache
from kg2rag.knowledge.graph.pagerank import NodeWeights
from kg2rag.knowledge.graph.pagerank import Walk as Walked
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.mention_ppr.retriever import MentionPPR

RELATIONS = ("was taught by", "praised", "wrote to", "travelled with", "succeeded")
BLOCK, WORDS = 8192, 50_000  # passages at a time, and invented words
HASHED = 256  # dimensions of the hashing encoder


def world(work: Path, passages: int, triples: int) -> Path:
    """The folder of an invented corpus, made where it is missing: corpus.arrow, questions.jsonl, triples-N.jsonl."""
    folder = work / f"world-{passages}-{triples}"
    if not folder.exists():
        work.mkdir(parents=True, exist_ok=True)
        tails = np.random.default_rng(0).integers(0, passages, (passages, triples))
        with new_folder(folder) as partial:
            kg2rag.Corpus.from_passages(pages(tails)).save(partial / "corpus.arrow")
            with (partial / f"triples-{triples}.jsonl").open("w", encoding="utf-8") as file:
                for at, row in enumerate(tails.tolist()):
                    for kind, tail in enumerate(row):
                        triple = {"head": name(at), "relation": RELATIONS[kind], "tail": name(tail)}
                        file.write(json.dumps({**triple, "passage_id": f"p{at}"}) + "\n")
            with (partial / "questions.jsonl").open("w", encoding="utf-8") as file:
                for number in range(100):
                    text = f"Who praised the one who taught {name(number * passages // 100)}?"
                    file.write(json.dumps({"id": f"q{number}", "question": text}) + "\n")
    return folder


def pages(tails: NDArray[np.int64]) -> Iterator[Passage]:
    """A passage a person, which says with whom the person has to do, and some sixty words beside the point."""
    rng = np.random.default_rng(1)
    for start in range(0, len(tails), BLOCK):
        beside = (rng.zipf(1.3, (min(BLOCK, len(tails) - start), 60)) % WORDS).tolist()
        for at, (row, others) in enumerate(zip(tails[start : start + BLOCK].tolist(), beside, strict=True), start):
            facts = (f"{name(at)} {RELATIONS[kind]} {name(tail)}." for kind, tail in enumerate(row))
            yield Passage(f"p{at}", name(at), f"{' '.join(facts)} It was {' '.join(map(word, others))}.")


def word(number: int) -> str:
    """An invented word of three syllables; different numbers below 512,000 have different ones."""
    syllables = (number // 80**place % 80 for place in range(3))
    return "".join("bdfghklmnprstvwz"[one // 5] + "aeiou"[one % 5] for one in syllables)


def name(number: int) -> str:
    """A first and a last name, as no other number has."""
    return f"{word(number % 1201 + 7).title()} {word(number // 1201 + WORDS).title()}"


class Walk:
    """The walks of `mention_ppr`, with its parameters; the start of each is found once."""

    def __init__(self, kb: kg2rag.KnowledgeBase, **given: Any) -> None:
        self.system, self.dense, self.starts = MentionPPR(kb, **given), Dense(kb), dict[str, NodeWeights]()

    def prepare(self, queries: Sequence[kg2rag.Query]) -> None:
        """Find the starts."""
        if new := [query for query in queries if query.id not in self.starts]:
            starts, _ = self.system.restarts(new, self.dense.retrieve_batch(new, self.system.depth))
            self.starts |= zip((query.id for query in new), starts, strict=True)

    def retrieve_batch(self, queries: Sequence[kg2rag.Query], depth: int) -> list[Walked]:  # noqa: ARG002
        """Walk."""
        self.prepare(queries)
        return self.system.walks([self.starts[query.id] for query in queries], [None] * len(queries))

    def retrieve(self, query: kg2rag.Query, depth: int) -> Walked:
        """Walk from one start."""
        return self.retrieve_batch([query], depth)[0]


def hashing() -> object:
    """An encoder that costs next to nothing: words hashed to signed places; its vectors are kept as any encoder's."""
    hasher = HashingVectorizer(n_features=HASHED, dtype=np.float32)

    class Hashing:
        def __repr__(self) -> str:
            return f"Hashing({HASHED})"

        def fingerprint(self, store: Store) -> str:  # noqa: ARG002
            return f"hashing{HASHED}"

        def encode(self, texts: Sequence[str], store: Store, role: str = "passage") -> np.ndarray:
            kept = self.fingerprint(store) + "-queries" * (role == "query")  # apart, as a model's are
            cache = VectorCache(store, kept, HASHED)
            return cache.of(list(texts), lambda batch: hasher.transform(batch).toarray())

    return Hashing()
