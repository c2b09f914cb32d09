"""Diagnosis: what became of each gold passage, ceilings, differences; on a corpus whose answers are known by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import by_hand
import numpy as np
import pytest

import kg2rag
from kg2rag.compute import Store
from kg2rag.evaluation import Comparison, compare
from kg2rag.evaluation.oracle_ladder import oracle_ladder
from kg2rag.evaluation.waterfall import Waterfall, waterfall
from kg2rag.extraction import Extraction
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.published.kg2rag.paper import Expand
from kg2rag.types import (
    LOST_AT,
    QADataset,
    Query,
    Question,
    Ranking,
    Trace,
    Triple,
    step,
)

EVIL = "<script>alert('x')</script> & <b>bold</b>"


@dataclass(frozen=True)
class Told(Retriever):
    """Ranks the rows it is told, and tells the steps it is told."""

    ids: Sequence[str] = field(repr=False)
    rows: tuple[int, ...] = (0, 2, 4)
    expanded: tuple[int, ...] = (0, 2, 4, 6)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        scores = 1 / np.arange(1, len(self.rows) + 1)
        return [
            Ranking.from_scores(query.id, np.array(self.rows), scores, self.ids).top(k)
            for query in queries
        ]

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        steps = (
            step("expanded", "not expanded", "too far", self.expanded),
            step("kept", "pruned", "cut", self.rows),
        )
        return [Trace(ranking, steps) for ranking in self.retrieve_batch(queries, k)]


@pytest.fixture
def told(data: QADataset) -> Told:
    return Told(data.corpus.ids)


def by_gold(found: Waterfall) -> dict[str, str]:
    rows = found.frame[["query_id", "gold", "lost_at"]].to_numpy()
    return {f"{query} {gold}": lost_at for query, gold, lost_at in rows}


def test_each_gold_passage_has_the_loss_of_the_first_step_that_it_did_not_pass(
    data: QADataset, told: Told
) -> None:
    # Ranked p0, p2, p4; p6 was expanded and cut. Gold: q1 p0 p1; q2 p2; q3 p4 p6 p8.
    found = waterfall("told", told, data, k=2)
    assert by_gold(found) == {
        "q1 p0": "found",
        "q1 p1": "not expanded",
        "q2 p2": "found",
        "q3 p4": "ranked below k",
        "q3 p6": "pruned",
        "q3 p8": "not expanded",
    }
    assert found.frame["rank"].tolist()[:1] == [1]
    assert found.frame["rank"].isna().sum() == 3


def test_totals_count_every_gold_passage_once_by_type_and_in_all(
    data: QADataset, told: Told
) -> None:
    totals = waterfall("told", told, data, k=2).totals()
    assert list(totals.index) == ["bridge", "comparison", "all"]
    assert list(totals.columns) == [*LOST_AT, "gold"]
    assert totals.loc[
        "all", ["not expanded", "pruned", "ranked below k", "found", "gold"]
    ].tolist() == [2, 1, 1, 2, 6]
    assert totals.loc["bridge", ["not expanded", "found", "gold"]].tolist() == [1, 2, 3]
    assert (totals[list(LOST_AT)].sum(axis=1) == totals["gold"]).all()
    result = compare({"told": told}, data, metrics=["hits@2"], k=10)
    assert (
        result.waterfall("told", k=2).totals().loc["all", "found"]
        == result.per_query["hits@2"].sum()
        == 2
    )


def test_gold_outside_the_candidates_is_no_candidate(
    data: QADataset, told: Told
) -> None:
    questions = tuple(
        replace(question, candidates=("p0", "p2", "p4")) for question in data.questions
    )
    masked = QADataset("masked", data.corpus, questions, setting="distractor")
    fates = by_gold(waterfall("told", told, masked, k=3))
    assert [fates[name] for name in ("q1 p1", "q3 p6", "q3 p8", "q3 p4")] == [
        "not a candidate"
    ] * 3 + ["found"]


def test_a_gold_document_fares_as_the_passage_of_it_that_came_farthest(
    data: QADataset, told: Told
) -> None:
    # Documents d0 = p0 p1, d3 = p6 p7, d5 = p10 p11.
    questions = (Question("q", "Which?", {"d0": 1, "d3": 1, "d5": 1}),)
    found = waterfall(
        "told",
        told,
        QADataset("documents", data.corpus, questions, unit="document"),
        k=2,
    )
    assert by_gold(found) == {"q d0": "found", "q d3": "pruned", "q d5": "not expanded"}


def test_what_has_no_waterfall_says_why(
    data: QADataset, told: Told, tmp_path: Path
) -> None:
    compare({"told": told}, data, metrics=["recall@2"], k=10).save(tmp_path)
    with pytest.raises(ValueError, match=r"kg2rag\.waterfall"):
        Comparison.load(tmp_path).waterfall("told")
    run = replace(told, rows=(2, 0, 4)).retrieve_batch(data.queries, 10)
    with pytest.raises(ValueError, match="'told', query 'q1'"):
        waterfall("told", told, data, k=2, run=run)
    with pytest.raises(TypeError, match=r"'mute'.*trace_batch"):
        waterfall("mute", object(), data)  # type: ignore[arg-type]


def test_page_and_figure_show_every_loss_that_happened_and_its_count(
    data: QADataset, told: Told
) -> None:
    found = waterfall("told", told, data, k=2)
    page, axes = found.to_html(), found.figure().axes[0]
    assert page.count('class="case"') == 6
    assert "<details><summary><b>2</b> not expanded</summary>" in page
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["all gold", "not expanded", "pruned", "ranked below k", "found"]
    assert {text.get_text() for text in axes.texts} >= {
        "6",
        "2  (33.3 %)",
        "1  (16.7 %)",
    }


# Facts p0 Ada-Bob, p1 Bob-Cyd; p2 and p3 state nothing. Dense alone ranks p0, p2, p3, p1.
@pytest.fixture
def chain(tmp_path: Path) -> KnowledgeBase:
    facts = (Triple("Ada", "knows", "Bob", "p0"), Triple("Bob", "knows", "Cyd", "p1"))
    texts = ("Ada and Bob", "Bob and Cyd", "noise", "more noise")
    return by_hand.knowledge_base(
        by_hand.passages(*texts),
        Extraction(facts),
        {"Who?": (0.8, 0.1, 0.5, 0.3)},
        Store(tmp_path),
    )


def asked(
    kb: KnowledgeBase, *gold: str, triples: tuple[tuple[str, str, str], ...] = ()
) -> QADataset:
    return QADataset(
        "chain",
        kb.corpus,
        (Question("q", "Who?", dict.fromkeys(gold, 1), triples=triples),),
    )


def test_gold_seeds_seek_each_gold_passage_from_the_others(
    chain: KnowledgeBase,
) -> None:
    # One seed: p1 leads to p0, cosine 0.8, and p0 to p1, 0.1; p2, dense's second, is reached from
    # neither.
    ladder = oracle_ladder(
        chain,
        asked(chain, "p0", "p1"),
        Dense(chain) >> Expand(chain, seeds=1),
        metrics=["recall@2"],
    )
    assert ladder.frame["recall@2"].tolist()[1] == 1.0


def test_the_ladder_measures_what_it_can_and_says_why_it_cannot(
    chain: KnowledgeBase,
) -> None:
    ladder = oracle_ladder(
        chain, asked(chain, "p0", "p1"), Dense(chain), metrics=["recall@2"]
    )
    assert ladder.frame["rung"].tolist() == [
        "as it is",
        "gold seeds",
        "gold entities",
        "gold rerank",
    ]
    assert ladder.frame["recall@2"].tolist()[::3] == [0.5, 1.0]
    assert ladder.frame["recall@2"].isna().tolist() == [False, True, True, False]
    assert ladder.frame["note"].tolist()[1:3] == [
        "this system does not expand from seed passages",
        "1 of 1 questions have no gold triples",
    ]


def test_a_comparison_gives_the_ladder_of_its_system(chain: KnowledgeBase) -> None:
    systems = {"expand": Dense(chain) >> Expand(chain, seeds=1)}
    result = kg2rag.compare(
        systems, asked(chain, "p0", "p2"), metrics=["recall@2"], k=10
    )
    ladder = result.oracle_ladder("expand", metrics=["recall@2"])
    assert ladder.system == "expand"
    assert ladder.frame["recall@2"].tolist()[0] == 0.5
    assert "expand: scores with perfect stages" in ladder.to_html()
