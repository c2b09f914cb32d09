"""How much of the gold a graph could bring in, counted by hand; and on real data."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from word_embedder import WordEmbedder

import kg2rag
from kg2rag.compute import Store
from kg2rag.extraction import Extraction, Mention
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.knowledge.graph.paths import entity_hops, passage_hops
from kg2rag.types import Corpus, Passage, QADataset, Question, Triple

# Ed -p0- Rome -p1- Bonn -p2- Oslo; p3 names Ed alone, p4 nothing.
CORPUS = Corpus.from_passages(
    [Passage(f"p{i}", "", f"text {i}", f"d{i // 2}", i % 2) for i in range(5)]
)
CHAIN = (
    Triple("Ed", "in", "Rome", "p0"),
    Triple("Rome", "near", "Bonn", "p1"),
    Triple("Bonn", "near", "Oslo", "p2"),
)
GRAPH = KnowledgeGraph.build(Extraction(CHAIN, (Mention("Ed", "p3"),)), CORPUS)


def dataset(
    *golds: tuple[str, ...],
    unit: str = "passage",
    candidates: tuple[str, ...] | None = None,
) -> QADataset:
    setting = "distractor" if candidates else "pooled"
    questions = tuple(
        Question(
            f"q{i}",
            "Where was Ed?",
            dict.fromkeys(gold, 1),
            type=f"t{i % 2}",
            candidates=candidates,
        )
        for i, gold in enumerate(golds)
    )
    return QADataset("by hand", CORPUS, questions, setting, unit)  # type: ignore[arg-type]


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    return KnowledgeBase.build(
        CORPUS, GRAPH, embedder=WordEmbedder(), store=Store(tmp_path)
    )


def test_hops_count_triples_from_the_nearest_seed() -> None:
    hops = entity_hops(GRAPH, [GRAPH.entity("Ed")], 2)
    assert dict(zip(GRAPH.names, hops.tolist(), strict=True)) == {
        "Ed": 0,
        "Rome": 1,
        "Bonn": 2,
        "Oslo": -1,
    }
    assert passage_hops(GRAPH, hops).tolist() == [0, 1, 2, 0, -1]
    # Triples of other passages are not walked.
    allowed = np.array([True, False, True, True, True])
    few = entity_hops(GRAPH, [GRAPH.entity("Ed")], 3, allowed)
    assert passage_hops(GRAPH, few, allowed).tolist() == [0, -1, -1, 0, -1]


def test_gold_is_reached_hop_by_hop_beside_its_price(kb: KnowledgeBase) -> None:
    report = kg2rag.graph_report(kb, dataset(("p0", "p2")), hops=2)
    columns = ["type", "questions", "hops", "linked", "gold", "all_gold", "passages"]
    rows = [
        ["t0", 1, 0, 1.0, 0.5, 0.0, 0.4],
        ["t0", 1, 1, 1.0, 0.5, 0.0, 0.6],
        ["t0", 1, 2, 1.0, 1.0, 1.0, 0.8],
    ]
    assert report.reach[columns].values.tolist() == rows
    types = kg2rag.graph_report(
        kb, dataset(("p0", "p1"), ("p0", "p2"), ("p4",)), hops=0
    ).reach
    assert types[["type", "questions", "gold"]].values.tolist() == [
        ["t0", 2, 0.25],
        ["t1", 1, 0.5],
        ["all", 3, 1 / 3],
    ]


def test_documents_candidates_and_questions_that_name_nothing(
    kb: KnowledgeBase,
) -> None:
    nobody = SimpleNamespace(link_batch=lambda queries: [[] for _ in queries])
    documents = kg2rag.graph_report(kb, dataset(("d1", "d0"), unit="document"), hops=0)
    assert documents.reach["gold"].tolist() == [1.0]  # p3 of d1, p0 of d0
    masked = kg2rag.graph_report(kb, dataset(("p2",), candidates=("p0", "p2")), hops=3)
    assert masked.reach["gold"].tolist() == [0, 0, 0, 0]  # the triple of p1 is missing
    assert masked.reach["passages"].tolist() == [0.5, 0.5, 0.5, 0.5]
    nothing = kg2rag.graph_report(kb, dataset(("p0",)), linker=nobody)
    assert nothing.reach[["linked", "gold", "passages"]].max().tolist() == [0, 0, 0]
    other = Corpus.from_passages([Passage("x", "", "text", "x", 0)])
    with pytest.raises(ValueError, match="another corpus"):
        kg2rag.graph_report(
            kb, QADataset("other", other, (Question("q", "Who?", {"x": 1}),))
        )


def test_the_report_shows_itself_as_page_text_and_figure(kb: KnowledgeBase) -> None:
    report = kg2rag.graph_report(kb, dataset(("p0", "p1"), ("p0", "p2")))
    assert report._repr_html_().count("<table") == 5
    assert "neighbour" in repr(report)
    axes = report.figure().axes
    titles = [axis.get_title("left") for axis in axes]
    assert titles == ["t0, 1 questions", "t1, 1 questions", "all, 2 questions"]
    assert axes[0].lines[0].get_ydata().tolist() == [50, 100, 100, 100]


@pytest.mark.realdata
def test_an_llms_graph_joins_the_gold_of_musique_and_its_placebo_does_not(
    shared_data: Path, tmp_path: Path
) -> None:
    folder = shared_data / "musique-100"
    data = kg2rag.load("musique", path=folder)
    source = f"openie({folder}/openie_results_ner_gpt-3.5-turbo-1106.json)"
    settings = {"embedder": WordEmbedder(), "store": Store(tmp_path)}
    kb = KnowledgeBase.build(data.corpus, source, **settings)
    placebo = KnowledgeBase.build(
        data.corpus, kb.graph.perturb(shuffle=True), **settings
    )
    llm, shuffled = (kg2rag.graph_report(base, data) for base in (kb, placebo))
    every = llm.reach["type"] == "all"
    assert llm.reach[every]["gold"].iloc[1] == pytest.approx(0.743, abs=0.02)
    linked, by_chance = (
        one.links.set_index("kind")["gold"]["entity"] for one in (llm, shuffled)
    )
    assert linked > 0.4
    assert shuffled.reach[every]["gold"].iloc[1] < 0.12
    assert by_chance < 0.12


def test_links_between_gold_pairs_by_kind_beside_random_pairs(
    kb: KnowledgeBase,
) -> None:
    # Ed is in p0 and p3, Rome in p0 and p1, Bonn in p1 and p2; p0 p1, and p2 p3, are neighbours.
    table = kg2rag.link_kinds(
        kb, dataset(("p0", "p1", "p3"), ("p2",), ("p2", "p4")), draws=2000
    ).set_index("kind")
    assert table["gold"].to_dict() == {
        "entity": 2 / 4,
        "neighbour": 1 / 4,
        "any": 2 / 4,
    }
    # of 10 pairs: 3, 2, 4
    assert table["random"].round(1).to_dict() == {
        "entity": 0.3,
        "neighbour": 0.2,
        "any": 0.4,
    }
    assert kg2rag.link_kinds(kb, dataset(("p0",))).empty


def test_a_graph_without_a_triple_is_announced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"embedder": WordEmbedder(), "store": Store(tmp_path)}
    KnowledgeBase.build(CORPUS, GRAPH, **settings)
    assert capsys.readouterr().err == ""
    KnowledgeBase.build(CORPUS, KnowledgeGraph.build(Extraction(), CORPUS), **settings)
    assert "no triple" in capsys.readouterr().err
    alone = Corpus.from_passages(
        [Passage("p0", "", "a fox", "d0", 0), Passage("p1", "", "a hound", "d1", 0)]
    )
    kb = KnowledgeBase.build(alone, **settings)
    assert (kb.graph.n_triples, "2 passages" in capsys.readouterr().err) == (0, True)
