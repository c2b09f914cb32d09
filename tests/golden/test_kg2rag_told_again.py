"""`KG2RAGOfficial` on HotpotQA and the published sub-graphs, against its released behaviour told a second time.

The second telling (`released_kg2rag`) walks in insertion order wherever the released code walks a set, which is ours,
so that everything must be equal. The reranker is a lottery drawn by the string, so that one blank more in it would give
another selection. Sentences without text, 3 of 12,543, are left out: they are none of our passages.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from released_kg2rag import Chunk, Released, answer

from kg2rag.compute import Role, Store
from kg2rag.datasets import load
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.kg2rag.official import KG2RAGOfficial, QueryPlan
from kg2rag.types import FloatArray, Matrix, Ranking

pytestmark = [pytest.mark.realdata, pytest.mark.slow]


def drawn(question: str, text: str) -> float:
    digest = hashlib.sha256(f"{question}\0{text}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


class Lottery:
    def scores(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        return np.array([drawn(*pair) for pair in pairs])


@dataclass(frozen=True)
class RandomWords:
    """A text is the sum of its words' vectors, each drawn by its letters: fast, and no two texts are equally close."""

    drawn: dict[str, FloatArray] = field(default_factory=dict, repr=False)

    def fingerprint(self, store: Store) -> str:  # noqa: ARG002
        return "random words"

    def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:  # noqa: ARG002
        sums = np.stack([sum(map(self.word, text.lower().split()), np.zeros(64)) for text in texts])
        return (sums / np.linalg.norm(sums, axis=1, keepdims=True)).astype(np.float32)

    def word(self, word: str) -> FloatArray:
        if word not in self.drawn:
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
            self.drawn[word] = np.random.default_rng(seed).standard_normal(64)
        return self.drawn[word]


class Told(NamedTuple):
    """Question by question: ours, and the second telling."""

    kb: KnowledgeBase
    plans: list[QueryPlan]
    rankings: list[Ranking]
    again: list[Released]

    def chunk(self, row: int) -> Chunk:
        passage = self.kb.corpus[row]
        return passage.title, passage.position

    def chunks(self, rows: Sequence[int]) -> list[Chunk]:
        return [self.chunk(row) for row in rows]


def texts_of(record: Mapping[str, list[tuple[str, list[str]]]]) -> dict[Chunk, str]:
    return {
        (title, number): f"{title}: {sentence}"
        for title, sentences in record["context"]
        for number, sentence in enumerate(sentences)
        if sentence.strip()
    }


def cosines_of(kb: KnowledgeBase, question: str, texts: Mapping[Chunk, str]) -> dict[Chunk, float]:
    """Of each chunk; what is encoded has no blanks at the ends of a sentence."""
    stripped = [f"{title}: {text[len(title) + 2 :].strip()}" for (title, _), text in texts.items()]
    found = kb.encode_once(stripped) @ kb.encode_once([question], "query")[0]
    return dict(zip(texts, found.astype(np.float64).tolist(), strict=True))


@pytest.fixture(scope="module")
def run(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Told:
    scratch, folder = tmp_path_factory.mktemp("hotpotqa"), shared_data / "hotpotqa-300"
    file, subkgs = folder / "hotpot_dev_distractor.json", folder / "subkgs.jsonl"
    data = load("hotpotqa", path=file, setting="distractor", passages="sentence")
    kb = KnowledgeBase.build(data.corpus, f"subkgs({subkgs})", embedder=RandomWords(), store=Store(scratch / "store"))
    system = KG2RAGOfficial(kb, mode="hotpotqa", reranker=Lottery(), max_characters=None)
    graphs = {each["title"]: each["sentences"] for each in map(json.loads, subkgs.read_text().splitlines())}
    again = []
    for record in json.loads(file.read_text()):
        texts = texts_of(record)
        triples = {chunk: found for chunk in texts if (found := graphs.get(chunk[0], {}).get(str(chunk[1])))}
        again.append(answer(record["question"], texts, triples, cosines_of(kb, record["question"], texts), drawn))
    return Told(kb, system.plan(data.queries), system.retrieve_batch(data.queries, 10), again)


def test_the_same_seeds_and_appended_sentences_in_the_same_order_with_the_same_scores(run: Told) -> None:
    assert len(run.again) == 300
    for plan, other in zip(run.plans, run.again, strict=True):
        assert run.chunks(list(plan.nodes)) == [*other.seeds, *other.appended]
        assert plan.n_seeds == len(other.seeds)
        scores = [*other.seeds.values(), *other.appended.values()]
        assert list(plan.nodes.values()) == pytest.approx(scores, abs=1e-6)


def test_the_same_trees_of_the_same_sentences_and_the_same_strings(run: Told) -> None:
    for plan, other in zip(run.plans, run.again, strict=True):
        assert [run.chunks([plan.rows[fact] for fact in tree]) for tree in plan.trees] == other.trees
        assert plan.texts == other.strings


def test_the_same_sentences_are_selected_and_returned_in_the_same_order(run: Told) -> None:
    for ranking, other in zip(run.rankings, run.again, strict=True):
        assert run.chunks(ranking.rows.tolist()) == other.returned
