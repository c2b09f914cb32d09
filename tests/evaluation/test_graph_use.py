"""How often the graph added something, counted by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kg2rag
from kg2rag import (
    ConfidenceGated,
    Dense,
    ExpansionQueries,
    KnowledgeBase,
    MentionChains,
    MentionPPR,
)
from kg2rag.evaluation.graph_use import graph_use, reads_graph
from kg2rag.retrievers.fusion import fuse_rankings
from kg2rag.types import Notes, Ranking

IDS = [f"p{i}" for i in range(30)]


def ranking(*codes: int, note: str = "") -> Ranking:
    """Hits of stage 0, "text", and 1, "graph", in this order."""
    rows, notes = (
        np.arange(len(codes)),
        Notes("x", {"text": "dense", "graph": "graph"}, warning=note),
    )
    stages = {"stages": ("text", "graph"), "stage_codes": np.array(codes)}
    return Ranking.from_scores(
        "q", rows, len(codes) - rows.astype(float), IDS, **stages, notes=notes
    )


def test_shares_of_questions_with_a_new_passage_among_the_first_ten_hits_and_of_warnings():
    late, early = ranking(*[0] * 10, 1), ranking(*[0] * 9, 1)
    assert graph_use({"a": [late, early, early, early]})["a"]["brought"] == 0.75
    rankings = [
        ranking(0, note="rare"),
        ranking(0, note="often"),
        ranking(0, note="often"),
        ranking(0, 1),
    ]
    assert graph_use({"a": rankings}) == {
        "a": {"brought": 0.25, "warnings": {"often": 0.5, "rare": 0.25}}
    }
    # used, whatever else is noted
    used = [ranking(0, 1, note="not all of it"), ranking(0, note="not all of it")]
    assert graph_use({"a": used}) == {
        "a": {"brought": 0.5, "warnings": {"not all of it": 1.0}}
    }


def test_a_system_with_hits_of_the_graph_only_has_its_warnings_counted() -> None:
    def of(stage: str, source: str, warning: str = "") -> Ranking:
        notes = Notes("x", source, warning=warning)
        return Ranking.from_scores(
            "q", [0, 1], [2.0, 1.0], IDS, stages=(stage,), notes=notes
        )

    walked = of("pagerank", "graph")
    fallen_back = of("dense", "dense", "no entity: dense ranking")
    runs = {"hippo": [walked, fallen_back], "quiet": [walked], "text": [fallen_back]}
    assert graph_use(runs) == {"hippo": {"warnings": {"no entity: dense ranking": 0.5}}}


@pytest.mark.parametrize("method", ["rrf", "sum"])
def test_a_hit_that_text_found_too_is_not_new_whichever_gave_more(method: str) -> None:
    def of(stage: str, rows: list[int]) -> Ranking:
        scores = np.arange(len(rows), 0, -1.0)
        return Ranking.from_scores(
            "q", np.array(rows), scores, IDS, stages=(stage,), notes=Notes("x", stage)
        )

    known = fuse_rankings(
        [of("dense", [0, 1, 2]), of("graph", [2, 1])], (1.0, 1.0), 10, method
    )
    fresh = fuse_rankings(
        [of("dense", [0, 1, 2]), of("graph", [5])], (1.0, 1.0), 10, method
    )
    assert graph_use({"a": [known]})["a"]["brought"] == 0
    assert graph_use({"a": [known, fresh]})["a"]["brought"] == 0.5


def test_where_a_walk_begins_is_nothing_that_the_graph_brought() -> None:
    walked = replace(
        ranking(1, 1, 0), score_parts={"restart": np.array([0.4, 0.2, 0.0])}
    )
    further = replace(walked, score_parts={"restart": np.array([0.4, 0.0, 0.0])})
    assert graph_use({"a": [walked, further]})["a"]["brought"] == 0.5


def test_of_the_candidates_of_a_walk_only_those_count_that_words_and_vectors_lack():
    data = kg2rag.load("bundled", limit=12)
    kb = KnowledgeBase.build(data.corpus)
    every, few = (
        MentionChains(kb, dense_depth=500, bm25_depth=500),
        MentionChains(kb, dense_depth=1, bm25_depth=1),
    )
    runs = {
        name: one.retrieve_batch(data.queries, 20)
        for name, one in {"every": every, "few": few}.items()
    }
    runs["ppr"] = MentionPPR(kb, dense_seeds=500).retrieve_batch(data.queries, 20)
    used = graph_use(runs)
    assert (used["every"]["brought"], used["ppr"]["brought"]) == (0, 0)
    assert used["few"]["brought"] > 0.5
    assert all(map(reads_graph, runs.values()))


def test_a_comparison_says_how_often_each_system_used_the_graph_and_why_not() -> None:
    data = kg2rag.load("bundled", limit=12)
    kb = KnowledgeBase.build(data.corpus)
    systems = {
        "dense": Dense(kb),
        "gated": ConfidenceGated(kb),
        "shut": ConfidenceGated(kb, min_confidence=1.0),
        "expanded": ExpansionQueries(kb),
    }
    result = kg2rag.compare(systems, data, metrics=["recall@5"])
    use = result.config["graph_use"]
    assert set(use) == {"gated", "shut", "expanded"}
    named = 1 - use["gated"]["warnings"].get(
        "the query names no entity of the graph", 0
    )
    assert use["shut"]["brought"] == 0
    assert use["shut"]["warnings"]["confidence below 1"] == pytest.approx(
        named, abs=1e-6
    )
    share = f"{100 * use['expanded']['brought']:.1f}\N{NO-BREAK SPACE}%"
    assert (
        f"expanded: the graph added a passage to the first 10 for {share}"
        in result.to_html()
    )
