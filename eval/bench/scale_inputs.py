"""What `scale.py` measures with: worlds of any size, as many triples as wanted, an encoder that costs nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

import kg2rag
from kg2rag.compute import Store, new_file
from kg2rag.compute.vectors import VectorCache
from kg2rag.datasets.world import World, write

HASHED = 256  # dimensions of the hashing encoder


def world(work: Path, passages: int, triples: int) -> Path:
    """The folder of a world, generated where it is missing: corpus.arrow, questions.jsonl, triples-N.jsonl."""
    folder = work / f"world-{passages}"
    if not folder.exists():
        work.mkdir(parents=True, exist_ok=True)
        write(World(passages=passages), folder, progress=False)
    if not (folder / "corpus.arrow").exists():
        with new_file(folder / "corpus.arrow") as partial:
            kg2rag.load("world", path=folder).corpus.save(partial)
    if not (folder / f"triples-{triples}.jsonl").exists():
        with new_file(folder / f"triples-{triples}.jsonl") as partial, partial.open("w", encoding="utf-8") as file:
            file.writelines(stated(folder / "triples.jsonl", triples * passages))
    return folder


def stated(file: Path, wanted: int) -> Iterator[str]:
    """The lines of a world's triples, and as many of them the other way round as are wanting, evenly spread."""
    with file.open(encoding="utf-8") as lines:
        there = sum(1 for _ in lines)
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            yield line
            if (number + 1) * (wanted - there) // there > number * (wanted - there) // there:
                triple = json.loads(line)
                turned = {"head": triple["tail"], "relation": f"{triple['relation']} of", "tail": triple["head"]}
                yield json.dumps({**turned, "passage_id": triple["passage_id"]}, ensure_ascii=False) + "\n"


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
