"""The placebo of a knowledge base: what each strategy is given of it."""

from __future__ import annotations

import pickle

import pytest

from kg2rag import systems
from kg2rag.knowledge import KnowledgeBase
from kg2rag.types import Query

ASKED = [
    Query(f"q{i}", f"Which bridge did {name} build?")
    for i, name in enumerate(("Anna Abbott", "Hugo Dahl"))
]
READ_THE_GRAPH = (
    "confidence_gated dynamic_hybrid expansion_queries(hub_share=1) graph_augmented hippo1 hippo2 kg2rag linearrag "
    "mention_ppr proprag practical_graphrag vector_first"
).split()
TEXT_ALONE = ("bm25", "dense", "hybrid", "pattern")


def hits(name: str, kb: KnowledgeBase) -> list[list[tuple[str, float]]]:
    rankings = systems.build(name, kb).retrieve_batch(ASKED, 30)
    return [[(hit.passage_id, hit.score) for hit in ranking] for ranking in rankings]


@pytest.fixture(scope="module")
def placebo(kb: KnowledgeBase) -> KnowledgeBase:
    return kb.placebo(seed=1)


@pytest.mark.parametrize("name", READ_THE_GRAPH)
def test_it_reaches_every_strategy_that_reads_a_graph(
    name: str, kb: KnowledgeBase, placebo: KnowledgeBase
) -> None:
    assert hits(name, placebo) != hits(name, kb)


@pytest.mark.parametrize("name", TEXT_ALONE)
def test_it_leaves_strategies_that_read_text_alone_as_they_are(
    name: str, kb: KnowledgeBase, placebo: KnowledgeBase
) -> None:
    assert hits(name, placebo) == hits(name, kb)


def test_it_survives_pickling(placebo: KnowledgeBase) -> None:
    again = pickle.loads(pickle.dumps(placebo))
    assert hits("mention_ppr", again) == hits("mention_ppr", placebo)


def test_a_seed_makes_one_placebo(kb: KnowledgeBase, placebo: KnowledgeBase) -> None:
    assert kb.placebo(seed=1).graph == placebo.graph
    assert kb.placebo(seed=2).graph != placebo.graph
