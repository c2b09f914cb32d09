"""The graph-augmented stage: what it adds, by hand, and that it never takes away."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from pathlib import Path

import numpy as np
import pytest
from by_hand import knowledge_base, passages
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kg2rag
from kg2rag.compute import Store
from kg2rag.extraction import Extraction, Mention
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.designs.graph_augmented import GraphAugment
from kg2rag.retrievers.systems import build
from kg2rag.types import Query, Ranking, Triple

Build = Callable[..., KnowledgeBase]
PAGES = tuple((f"Page {i}", "Nothing to see.") for i in range(8))
FACTS = (
    Triple("FastAPI", "uses", "Pydantic", "p0", strength=5),
    Triple("Pydantic", "written in", "Rust", "p1", strength=8),
    Triple("Rust", "made at", "Mozilla", "p2", strength=10),
)
QUERY = Query("q", "What does FastAPI use?")
ONCE = 0.7 + 0.3 * 1 / 5  # log2(1 + 1) = 1: named once in a passage
PYDANTIC = 0.5 * ONCE  # strength 5, named in p0 and p1
# The weakest triple of its path has strength 5; second hop; p1 and p2.
RUST = 0.5 / 2 * ONCE


def given_ranking(kb: KnowledgeBase, **scores: float) -> Ranking:
    rows = np.array([kb.corpus.row(id_) for id_ in scores], dtype=np.int64)
    return Ranking.from_scores(
        "q",
        rows,
        np.array(list(scores.values()), dtype=float),
        kb.corpus.ids,
        stages=("fused",),
    )


def augmented(
    kb: KnowledgeBase,
    query: Query = QUERY,
    *,
    hits: dict[str, float] | None = None,
    **how: float,
) -> Ranking:
    stage = GraphAugment(kb, **how)  # type: ignore[arg-type]
    return stage.apply(
        [query],
        [given_ranking(kb, **({"p0": 1.0, "p5": 0.4} if hits is None else hits))],
    )[0]


def test_combined_is_seven_tenths_of_the_hybrid_and_three_of_the_graph_score(
    kb_of: Build,
) -> None:
    ranking = augmented(kb_of(*PAGES, facts=FACTS))
    assert {hit.passage_id: hit.score for hit in ranking} == pytest.approx(
        {"p0": 0.7 * 1.0 + 0.3 * PYDANTIC, "p5": 0.7 * 0.4, "p1": 0.3 * PYDANTIC}
    )


def test_each_hit_shows_the_numbers_it_is_made_of_where_it_came_from_and_by_which_path(
    kb_of: Build,
) -> None:
    first, second, third = augmented(kb_of(*PAGES, facts=FACTS))
    named = {"strength": 5, "hop": 1, "mentions": 1}
    assert (first.stage, first.score_parts) == (
        "hybrid",
        pytest.approx({"hybrid": 1.0, "graph": PYDANTIC, **named}),
    )
    assert (second.stage, second.score_parts, second.path) == (
        "hybrid",
        {"hybrid": 0.4, "graph": 0.0},
        (),
    )
    assert (third.stage, third.score_parts) == (
        "graph",
        pytest.approx({"hybrid": 0.0, "graph": PYDANTIC, "graph cosine": 0.0, **named}),
    )
    assert [str(triple) for triple in third.path] == ["FastAPI -[uses]-> Pydantic"]


def test_a_second_hop_counts_half(kb_of: Build) -> None:
    ranking = augmented(kb_of(*PAGES, facts=FACTS), hops=2)
    graph = {hit.passage_id: hit.score_parts["graph"] for hit in ranking}
    assert graph == pytest.approx({"p0": PYDANTIC, "p5": 0, "p1": PYDANTIC, "p2": RUST})


def test_at_most_max_chunks_passages_are_added_the_best_first(kb_of: Build) -> None:
    kb = kb_of(*PAGES, facts=FACTS)
    assert augmented(kb, hops=2, max_chunks=1, hits={"p5": 1.0}).passage_ids == [
        "p5",
        "p0",
    ]
    assert augmented(kb, hops=2, max_chunks=0).passage_ids == ["p0", "p5"]


@pytest.mark.parametrize("text", ["", "who am I"])
def test_a_query_without_entities_keeps_its_order_and_says_so(
    kb_of: Build, text: str
) -> None:
    ranking = augmented(kb_of(*PAGES, facts=FACTS), Query("q", text))
    assert ranking.passage_ids == ["p0", "p5"]
    assert "no entity" in str(ranking.notes.warning)


AUTH = (
    ("Sign in", "How a token is checked."),
    ("Providers", "Sign in elsewhere."),
    ("Sessions", "Where they live."),
)
DEPENDS = (
    Triple("Auth Service", "depends_on", "OAuth Provider", "p1", strength=8),
    Triple("Auth Service", "uses", "Session Store", "p2", strength=4),
)


@pytest.mark.parametrize(
    "text",
    [
        "What if we change the OAuth Provider?",
        "What of the OAuth Provider that the Auth Service depends on?",
    ],
)
def test_a_relation_counts_whether_one_or_both_of_its_ends_are_named(
    kb_of: Build, text: str
) -> None:
    ranking = augmented(kb_of(*AUTH, facts=DEPENDS), Query("q", text), hits={"p1": 0.5})
    assert ranking.hit(1).passage_id == "p1"
    assert ranking.hit(1).score_parts["graph"] == pytest.approx(0.8 * ONCE)


def test_equal_graph_scores_are_ordered_by_cosine_and_then_by_corpus_position(
    tmp_path: Path,
) -> None:
    triples = (Triple("Hub", "joins", "Spoke", "", strength=10),)
    extraction = Extraction(
        triples, tuple(Mention("Spoke", f"p{row}") for row in range(1, 5))
    )
    cosines = {"Hub": (0.9, 0.1, 0.3, 0.2, 0.1)}
    kb = knowledge_base(
        passages("none", "one", "two", "three", "four"),
        extraction,
        cosines,
        Store(tmp_path),
    )
    found = augmented(kb, Query("q", "Hub"), hits={"p0": 1.0}, max_chunks=4)
    assert found.passage_ids == ["p0", "p2", "p3", "p1", "p4"]
    assert [
        round(hit.score_parts["graph cosine"], 6)
        for hit in found
        if hit.stage == "graph"
    ] == [
        0.3,
        0.2,
        0.1,
        0.1,
    ]
    assert augmented(
        kb, Query("q", "Hub"), hits={"p0": 1.0}, max_chunks=2
    ).passage_ids == [
        "p0",
        "p2",
        "p3",
    ]


def test_a_passage_that_two_entities_reach_counts_by_the_better_one(
    tmp_path: Path,
) -> None:
    triples = (
        Triple("Hub", "joins", "Rim", "", strength=4),
        Triple("Hub", "joins", "Spoke", "", strength=10),
    )
    extraction = Extraction(triples, (Mention("Rim", "p1"), Mention("Spoke", "p1")))
    kb = knowledge_base(
        passages("none", "one"), extraction, {"Hub": (0.9, 0.1)}, Store(tmp_path)
    )
    found = augmented(kb, Query("q", "Hub"), hits={"p0": 1.0})
    assert found.hit(2).score_parts["graph"] == pytest.approx(1.0 * ONCE)
    assert found.hit(2).path == (triples[1],)


def test_mentions_are_those_of_the_passage_that_is_scored(tmp_path: Path) -> None:
    triples = (Triple("Hub", "joins", "Spoke", "", strength=10),)
    extraction = Extraction(
        triples, tuple(Mention("Spoke", id_) for id_ in ("p1", "p2", "p2", "p2"))
    )
    kb = knowledge_base(
        passages("none", "one", "two"),
        extraction,
        {"Hub": (0.9, 0.2, 0.1)},
        Store(tmp_path),
    )

    (ranking,) = GraphAugment(kb).apply(
        [Query("q", "Hub")], [given_ranking(kb, p0=1.0)]
    )
    graph = {
        hit.passage_id: hit.score_parts["graph"]
        for hit in ranking
        if hit.stage == "graph"
    }
    once, thrice = (0.7 + 0.3 * log2(count + 1) / 5 for count in (1, 3))
    assert graph == pytest.approx({"p1": once, "p2": thrice})


def test_alpha_and_beta_weigh_text_and_graph_each_for_itself(kb_of: Build) -> None:
    kb = kb_of(*PAGES, facts=FACTS)
    found = {hit.passage_id: hit.score for hit in augmented(kb, alpha=0.5, beta=2.0)}
    assert found == pytest.approx(
        {"p0": 0.5 + 2 * PYDANTIC, "p5": 0.5 * 0.4, "p1": 2 * PYDANTIC}
    )
    with pytest.raises(ValueError, match="alpha and beta"):
        GraphAugment(kb, alpha=0.0, beta=0.0)


def test_without_the_graph_the_system_is_its_hybrid_to_the_last_bit(
    kb_of: Build,
) -> None:
    kb = kb_of(
        ("FastAPI", "red"), ("Pydantic", "red apple"), ("", "green"), facts=FACTS[:1]
    )
    system = build("graph_augmented", kb, use_graph=False)
    queries = [Query("1", "FastAPI red"), Query("2", "apple"), Query("3", "")]
    for plain, found in zip(
        system.retriever.retrieve_batch(queries, 3),
        system.retrieve_batch(queries, 3),
        strict=True,
    ):  # type: ignore[attr-defined]
        assert found.rows.tolist() == plain.rows.tolist()
        assert found.scores.tolist() == plain.scores.tolist()


def test_without_the_graph_a_context_has_no_block_of_it(kb_of: Build) -> None:
    kb = kb_of(*PAGES, facts=FACTS)
    for use_graph in (True, False):
        text = kg2rag.context(
            build("graph_augmented", kb, use_graph=use_graph), "What does FastAPI use?"
        ).text
        assert ("Knowledge Graph Context" in text) == use_graph


def test_the_system_hands_its_parameters_to_the_stage(kb_of: Build) -> None:
    kb = kb_of(*PAGES, facts=FACTS)
    assert build("graph_augmented", kb, alpha=0.4, max_chunks=1).stages[
        0
    ] == GraphAugment(kb, alpha=0.4, max_chunks=1)


ENTITY = st.sampled_from(["Ann", "Bob", "Cat", "Dog"])
FACT = st.builds(
    lambda head, tail, row, strength: Triple(head, "knows", tail, f"p{row}", strength),
    ENTITY,
    ENTITY,
    st.integers(0, 7),
    st.floats(0.5, 10),
)


def is_unscaled(hits: dict[str, float]) -> bool:
    # lower ones are no similarities, and are min-max scaled
    return not hits or max(hits.values()) >= 0.1


@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(FACT, max_size=8),
    st.dictionaries(
        st.sampled_from([f"p{i}" for i in range(8)]), st.floats(0, 1), max_size=8
    ).filter(is_unscaled),
    st.lists(ENTITY, max_size=3),
    st.integers(0, 3),
    st.integers(1, 3),
)
def test_no_hit_is_ever_dropped_and_none_loses_more_than_its_share(
    kb_of: Build,
    facts: list[Triple],
    hits: dict[str, float],
    names: list[str],
    max_chunks: int,
    hops: int,
) -> None:
    ranking = augmented(
        kb_of(*PAGES, facts=tuple(facts)),
        Query("q", " ".join(names)),
        hits=hits,
        max_chunks=max_chunks,
        hops=hops,
    )
    scores = {hit.passage_id: hit.score for hit in ranking}
    assert set(hits) <= set(scores)
    assert len(scores) <= len(hits) + max_chunks
    rounded = ranking.scores.round(6).tolist()  # smaller differences are ties
    assert rounded == sorted(rounded, reverse=True)
    assert all(scores[id_] >= 0.7 * score - 1e-12 for id_, score in hits.items())


SCALED = [
    ({"p0": 4.0, "p2": 2.5, "p5": 2.0}, [1.0, 0.25, 0.0]),  # BM25
    # Reciprocal ranks.
    (
        {"p0": 2 / 61, "p2": 1 / 61 + 1 / 62, "p5": 0.0},
        [1.0, 1 - (1 / 61 - 1 / 62) / (2 / 61), 0.0],
    ),
    ({"p0": 1 + 1e-6, "p5": -0.2}, None),  # cosines
]


@pytest.mark.parametrize(("hits", "scaled"), SCALED)
def test_scores_of_another_scale_are_scaled_and_the_notes_say_so(
    kb_of: Build, hits: dict[str, float], scaled: list[float] | None
) -> None:
    found = augmented(kb_of(*PAGES, facts=FACTS), hits=hits)
    parts = {hit.passage_id: hit.score_parts["hybrid"] for hit in found}
    assert [parts[id_] for id_ in hits] == pytest.approx(scaled or list(hits.values()))
    assert found.notes.scaled == (True if scaled else None)


def test_the_graph_only_adds_to_a_rank_fusion(kb_of: Build) -> None:
    """Reciprocal ranks are at most 1/61 each: beside them the graph would decide everything."""
    kb = kb_of(*PAGES, facts=FACTS)
    for fusion in ("hybrid", "expansion_queries", "practical_graphrag"):
        found = (build(fusion, kb) >> GraphAugment(kb)).retrieve(QUERY, 99)
        text = [hit.score_parts["hybrid"] for hit in found if hit.stage == "hybrid"]
        assert (max(text), found.notes.scaled) == (1, True), fusion


def test_the_graph_only_adds_to_a_walk(kb_of: Build) -> None:
    """A walk's shares sum to 1: the best may be .9 or .1, and neither is a similarity."""
    kb = kb_of(*PAGES, facts=FACTS)
    for walk in ("mention_ppr", "hippo2"):
        found = (build(walk, kb) >> GraphAugment(kb)).retrieve(QUERY, 99)
        text = [hit.score_parts["hybrid"] for hit in found if hit.stage == "hybrid"]
        assert (max(text), found.notes.scaled) == (1, True), walk
