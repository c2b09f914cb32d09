"""A random but seeded corpus, a graph over it and queries that are awkward in every way we know of.

A teaching set of a few passages hides a retriever that reads `k` as its depth; this one, of a few hundred passages with
forty words and many near-ties, does not.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kg2rag import systems
from kg2rag.compute.store import Store
from kg2rag.extraction import Extraction, Mention
from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.types.corpus import Corpus
from kg2rag.types.passages import Passage, Query, Triple
from kg2rag.types.rankings import Ranking

N_PASSAGES = 300
DEEP, SHALLOW = 60, 7

WORDS = (
    "river mountain painter orchestra bridge harbour novel senator castle engine comet glacier printer library "
    "festival garden theatre railway observatory abbey treaty coach pilot sculptor volcano canal market academy "
    "island lighthouse was built near by the in of and after"
).split()
FIRST = ("Anna", "Boris", "Clara", "Dmitri", "Elena", "Farid", "Greta", "Hugo", "Ines", "Jonas")
LAST = ("Abbott", "Brandt", "Castillo", "Dahl", "Eriksen", "Fontaine", "Grimaldi", "Haddad")
RELATIONS = ("born in", "built", "painted", "married", "succeeded")
NAMES = tuple(f"{first} {last}" for last in LAST for first in FIRST)  # 80; the first 60 are titles too


def corpus(seed: int = 0) -> Corpus:
    """Passages of random words that name each other's titles; five share one text, so that scores tie."""
    random = np.random.default_rng(seed)
    passages = []
    for i in range(N_PASSAGES):
        sentences = [_sentence(random) for _ in range(int(random.integers(1, 4)))]
        title = NAMES[i] if i < 60 else f"{random.choice(WORDS[:30]).title()} {i % 40}"
        text = "The bridge was built by Anna Abbott." if i % 60 == 17 else " ".join(sentences)
        passages.append(Passage(f"p{i}", "Bridge" if i % 60 == 17 else title, text, f"d{i // 2}", i % 2))
    return Corpus.from_passages(passages)


def _sentence(random: np.random.Generator) -> str:
    words = random.choice(WORDS, size=int(random.integers(4, 10))).tolist()
    words.insert(int(random.integers(len(words))), str(random.choice(NAMES)))
    text = " ".join(words)
    return f"{text[0].upper()}{text[1:]}."


def graph(over: Corpus, seed: int = 1) -> KnowledgeGraph:
    """Four hundred random facts between the names, most of them stated by a passage."""
    random = np.random.default_rng(seed)
    triples = []
    for _ in range(400):
        head, tail = random.choice(len(NAMES), size=2, replace=False).tolist()
        passage = f"p{random.integers(N_PASSAGES)}" if random.random() < 0.9 else ""
        strength = float(random.integers(1, 11))
        triples.append(Triple(NAMES[head], str(random.choice(RELATIONS)), NAMES[tail], passage, strength))
    mentions = tuple(Mention(name, f"p{random.integers(N_PASSAGES)}", 0) for name in NAMES)
    return KnowledgeGraph.build(Extraction(tuple(triples), mentions), over)


EMPTY = Extraction()
LONELY = Extraction(mentions=(Mention("Anna Abbott", "p3"),))
UNNAMED = Extraction(
    triples=(Triple("Quetzalcoatl", "rivals", "Huitzilopochtli", "p3"), Triple("Quetzalcoatl", "of", "Tula", "p9"))
)

AWKWARD = (
    Query("empty", ""),
    Query("blank", " \n\t "),
    Query("stop words", "the of and in"),
    Query("unknown words", "zyzzyva qwertz"),
    Query("punctuation", "?!... --- ()[]{}\"'\\ ++ %"),
    Query("emoji", "🌋 vulcão Ünïcödé 東京 Ἀθῆναι \u200d\u202e anna\u0301"),
    Query("lone surrogate", "river \ud83d bridge"),
    Query("null", "river\x00bridge"),
    Query("very long", "Anna Abbott built the bridge near the river. " * 400),
    Query("one letter", "a"),
    Query("tie", "The bridge was built by Anna Abbott."),
)


def queries() -> list[Query]:
    """Forty ordinary questions, half of which name an entity, some with candidates, and the awkward ones."""
    random = np.random.default_rng(2)
    asked = []
    for i in range(40):
        words = " ".join(random.choice(WORDS, size=4).tolist())
        text = f"Which {words} did {random.choice(NAMES)} know?" if i % 2 else f"which {words} was that"
        candidates = (
            tuple(f"p{row}" for row in random.choice(N_PASSAGES, size=10, replace=False)) if i % 5 == 3 else None
        )
        asked.append(Query(f"q{i}", text, candidates))
    return [*asked, *AWKWARD, Query("awkward candidates", "", ("p5",)), Query("same text", asked[1].text)]


def build(store: Store, extraction: Extraction | None = None) -> KnowledgeBase:
    """The knowledge base of the world, with the random graph or one of `extraction`."""
    over = corpus()
    made = graph(over) if extraction is None else KnowledgeGraph.build(extraction, over)
    return KnowledgeBase.build(over, made, store=store)


def facts(ranking: Ranking) -> dict[str, object]:
    """All that a ranking says, as JSON; scores to the last bit."""
    return {
        "query": ranking.query_id,
        "metadata": repr(ranking.metadata),
        "hits": [
            [hit.passage_id, hit.score.hex(), hit.stage, list(map(str, hit.path)), sorted(hit.score_parts.items())]
            for hit in ranking
        ],
    }


def record(root: Path, out: Path, wanted: Sequence[str]) -> None:
    """Write the rankings of some systems, over the store at `root`, to `out`."""
    kb = build(Store(root))
    found = {name: systems.build(name, kb).retrieve_batch(queries(), DEEP) for name in wanted}
    text = json.dumps({name: [facts(ranking) for ranking in rankings] for name, rankings in found.items()})
    out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    record(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3].split(","))
