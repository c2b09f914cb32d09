"""Invented corpora with their triples and questions, and an encoder that costs next to nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer

import kg2rag
from kg2rag import Passage, Query
from kg2rag.compute import Role, Store, new_folder
from kg2rag.compute.vectors import VectorCache
from kg2rag.types import Matrix

RELATIONS = ("was taught by", "praised", "wrote to", "travelled with", "succeeded")
BLOCK_PASSAGES = 8192
WORDS = 50_000
QUESTIONS = 100
HASHED_DIMENSIONS = 256


def world(work: Path, passages: int, triples: int) -> Path:
    """The folder of an invented corpus, made where it is missing: corpus.arrow, questions.jsonl, triples-N.jsonl."""
    folder = work / f"world-{passages}-{triples}"
    if not folder.exists():
        work.mkdir(parents=True, exist_ok=True)
        tails = np.random.default_rng(0).integers(0, passages, (passages, triples))
        with new_folder(folder) as partial:
            kg2rag.Corpus.from_passages(pages(tails)).save(partial / "corpus.arrow")
            with (partial / f"triples-{triples}.jsonl").open(
                "w", encoding="utf-8"
            ) as file:
                for number, row in enumerate(tails.tolist()):
                    for relation, tail in zip(RELATIONS, row, strict=False):
                        triple = {
                            "head": name(number),
                            "relation": relation,
                            "tail": name(tail),
                        }
                        file.write(
                            json.dumps({**triple, "passage_id": f"p{number}"}) + "\n"
                        )
            with (partial / "questions.jsonl").open("w", encoding="utf-8") as file:
                for number in range(QUESTIONS):
                    text = f"Who praised the one who taught {name(number * passages // QUESTIONS)}?"
                    file.write(
                        json.dumps({"id": f"q{number}", "question": text}) + "\n"
                    )
    return folder


def questions(folder: Path) -> list[Query]:
    """The questions of an invented corpus."""
    records = map(
        json.loads,
        (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines(),
    )
    return [Query(record["id"], record["question"]) for record in records]


def pages(tails: NDArray[np.int64]) -> Iterator[Passage]:
    """A passage for each person, with whom the person is related, and some sixty other words."""
    random = np.random.default_rng(1)
    for start in range(0, len(tails), BLOCK_PASSAGES):
        rows = tails[start : start + BLOCK_PASSAGES].tolist()
        words = (random.zipf(1.3, (len(rows), 60)) % WORDS).tolist()
        for number, (row, others) in enumerate(zip(rows, words, strict=True), start):
            person = name(number)
            facts = []
            for relation, tail in zip(RELATIONS, row, strict=False):
                facts.append(f"{person} {relation} {name(tail)}.")
            text = f"{' '.join(facts)} It was {' '.join(map(word, others))}."
            yield Passage(f"p{number}", person, text)


def word(number: int) -> str:
    """An invented word of three syllables; different numbers below 512,000 have different ones."""
    syllables = [number // 80**place % 80 for place in range(3)]
    return "".join(
        "bdfghklmnprstvwz"[syllable // 5] + "aeiou"[syllable % 5]
        for syllable in syllables
    )


def name(number: int) -> str:
    """A first and a last name, as no other number has."""
    return f"{word(number % 1201 + 7).title()} {word(number // 1201 + WORDS).title()}"


class HashingEncoder:
    """Words hashed to signed places, which costs next to nothing; its vectors are kept as any encoder's."""

    hasher = HashingVectorizer(n_features=HASHED_DIMENSIONS, dtype=np.float32)

    def __repr__(self) -> str:
        return "HashingEncoder()"

    def fingerprint(self, store: Store) -> str:
        """The name of its vectors in a store."""
        return f"hashing{HASHED_DIMENSIONS}"

    def encode(
        self, texts: Sequence[str], store: Store, role: Role = "passage"
    ) -> Matrix:
        """(n_texts, dim) rows of norm 1, or of zeros."""
        cache = VectorCache(store, self.fingerprint(store), HASHED_DIMENSIONS, role)
        return cache.of(
            list(texts), lambda batch: [self.hasher.transform(batch).toarray()]
        )
