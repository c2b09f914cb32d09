"""Strategies over several graphs, placebos under several seeds, and recorded runs beside them."""

from __future__ import annotations

import pytest

import kg2rag
from kg2rag import Dense, ExpansionQueries, KnowledgeBase
from kg2rag.evaluation.named_systems import name_systems

METRICS = ["recall@5", "mrr@10"]


@pytest.fixture(scope="module")
def data() -> kg2rag.QADataset:
    return kg2rag.load("bundled", limit=30)


@pytest.fixture(scope="module")
def mentions(data: kg2rag.QADataset) -> KnowledgeBase:
    return KnowledgeBase.build(data.corpus)


@pytest.fixture(scope="module")
def written(data: kg2rag.QADataset) -> KnowledgeBase:
    return KnowledgeBase.build(data.corpus, f"triples({data.graph_files['triples']})")


def test_each_strategy_is_a_row_for_each_graph_and_a_built_system_one_row(
    data: kg2rag.QADataset, mentions: KnowledgeBase, written: KnowledgeBase
) -> None:
    result = kg2rag.compare(
        {"dense": Dense(mentions), "expansion": ExpansionQueries},
        data,
        graphs={"mentions": mentions, "written": written},
        metrics=METRICS,
    )
    assert result.systems == ["dense", "expansion.mentions", "expansion.written"]
    alone = kg2rag.compare(
        {"expansion": ExpansionQueries(written)}, data, metrics=METRICS
    )
    assert (
        result.to_frame().loc["expansion.written", METRICS].tolist()
        == alone.to_frame().iloc[0][METRICS].tolist()
    )


@pytest.mark.parametrize(
    ("systems", "graphs", "message"),
    [
        ({"x": ExpansionQueries}, {}, "No graph to compare"),
        ({}, {"g": None}, "No system to compare"),
        ({"x": ExpansionQueries}, {"g": "mentions"}, "no KnowledgeBase"),
        ({"x": 3}, {"g": "mentions"}, "no KnowledgeBase"),
    ],
)
def test_what_cannot_be_set_over_a_graph_is_refused(
    data: kg2rag.QADataset,
    systems: dict[str, object],
    graphs: dict[str, object],
    message: str,
) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        name_systems(systems, graphs, data)  # type: ignore[arg-type]
