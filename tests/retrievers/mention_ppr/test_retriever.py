"""The walk from what a question names to what that names in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.mention_ppr.retriever import MentionPPR
from kg2rag.testing.promises import scores_by_formula
from kg2rag.types import FloatArray, Query, Triple
from kg2rag.types.explanation import stage_label

Build = Callable[..., KnowledgeBase]
FILMS = (
    ("Ed Wood", "The film was directed by Tim Burton."),
    ("Tim Burton", "An artist from Burbank."),
    ("Paris", "The place where the director of the film festival was born."),
    ("Rome", "Where was the city born?"),
    ("Burbank", "A city of California."),
)
QUESTION = "Where was the director of Ed Wood born?"


def test_two_hops_lead_to_a_page_that_shares_no_word_with_the_question(
    kb_of: Build,
) -> None:
    kb = kb_of(*FILMS)
    by_text = Dense(kb).retrieve(QUESTION, k=5)
    assert by_text.hit(by_text.passage_ids.index("p1") + 1).score == 0
    ranking = MentionPPR(kb, dense_seeds=3).retrieve(QUESTION, k=2)
    assert ranking.passage_ids == ["p0", "p1"]
    assert [str(triple) for triple in ranking.hit(2).path] == [
        "Ed Wood -[mentions]-> Tim Burton"
    ]


def test_a_path_may_have_several_steps(kb_of: Build) -> None:
    ranking = MentionPPR(kb_of(*FILMS), dense_seeds=1).retrieve("Ed Wood", k=5)
    paths = {hit.passage_id: [str(triple) for triple in hit.path] for hit in ranking}
    assert paths["p4"] == [
        "Ed Wood -[mentions]-> Tim Burton",
        "Tim Burton -[mentions]-> Burbank",
    ]


def start_of(system: MentionPPR, query: Query) -> FloatArray:
    """The weight of every node."""
    (restart,), _ = system.restarts([query], [Dense(system.kb).retrieve(query)])
    return restart.weights_of(np.arange(system.graph.n_nodes))


def test_the_restart_by_hand(kb_of: Build) -> None:
    kb = kb_of(
        ("Rebecca (film)", "A film."),
        ("Rebecca (novel)", "A novel by Du Maurier."),
        ("", "He read Rebecca and Max Winter."),
        ("", "Max Winter met her."),
    )
    system = MentionPPR(kb, dense_weight=0, title_weight=2.0, query_name_weight=0.5)
    query = Query("q", "rebecca or max winter")
    restart = start_of(system, query)
    title = 2 / (2 * np.log2(2 + 1))  # two pages, one passage names them
    name = 0.5 * np.log(1 + 4 / 2) / np.log(1 + 4)  # two of four passages name him
    assert restart.tolist() == pytest.approx([title, title, 0, 0, name])


def test_dense_hits_share_the_start_by_softmax(kb_of: Build) -> None:
    kb = kb_of(("", "red apple"), ("", "red car"), ("", "blue sky"))
    system = MentionPPR(
        kb, dense_seeds=2, dense_temperature=0.5, dense_weight=0.7, query_name_weight=0
    )
    query = Query("q", "red apple")  # cosines 1 and ½
    restart = start_of(system, query)
    assert restart.tolist() == pytest.approx(
        [0.7 / (1 + np.exp(-1)), 0.7 * np.exp(-1) / (1 + np.exp(-1)), 0, 0]
    )


def test_without_any_mention_the_order_is_that_of_dense(kb_of: Build) -> None:
    kb = kb_of(
        ("I", "red apple"),
        ("II", "red car"),
        ("III", "blue red apple sky"),
        ("IV", "blue sky"),
    )
    for text in ("red apple", "blue sky car", ""):
        dense = Dense(kb).retrieve(text, k=4).passage_ids
        assert MentionPPR(kb, dense_seeds=2).retrieve(text, k=4).passage_ids == dense


def test_passages_that_the_walk_does_not_reach_follow_by_cosine(kb_of: Build) -> None:
    ranking = MentionPPR(kb_of(*FILMS), dense_seeds=1).retrieve("Burbank", k=5)
    # p4 is named and nearest; p1 mentions it, p0 mentions p1; p2 and p3 share nothing with the
    # question
    assert [(hit.passage_id, hit.stage) for hit in ranking] == [
        ("p4", "walk"),
        ("p1", "walk"),
        ("p0", "walk"),
        ("p2", "dense"),
        ("p3", "dense"),
    ]
    assert [hit.score_parts["walk"] for hit in ranking][3:] == [0, 0]


def test_only_candidates_are_ranked_and_the_walk_passes_through_no_others(
    kb_of: Build,
) -> None:
    query = Query("q", "Ed Wood", ("p0", "p4"))
    ranking = MentionPPR(kb_of(*FILMS)).retrieve(query, k=5)
    assert ranking.passage_ids == ["p0", "p4"]
    # the way to Burbank leads through Tim Burton, who is no candidate
    assert ranking.hit(2).path == ()


def test_a_named_page_that_is_no_candidate_is_no_start(kb_of: Build) -> None:
    ranking = MentionPPR(kb_of(*FILMS)).retrieve(
        Query("q", "Ed Wood", ("p1", "p2")), k=5
    )
    assert sorted(ranking.passage_ids) == ["p1", "p2"]


def test_at_most_depth_passages_are_ranked(kb_of: Build) -> None:
    assert len(MentionPPR(kb_of(*FILMS), depth=2).retrieve(QUESTION, k=5)) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"damping": 0.0},
        {"damping": 1.0},
        {"reach": 0},
        {"iterations": 0},
        {"depth": 0},
        {"backward": -0.1},
    ],
)
def test_impossible_settings_are_refused_when_it_is_made(
    kb_of: Build, wrong: dict[str, float]
) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MentionPPR(kb_of(*FILMS), **wrong)  # type: ignore[arg-type]


def test_every_score_can_be_worked_out_from_its_parts(kb_of: Build) -> None:
    ranking = MentionPPR(kb_of(*FILMS), dense_seeds=1).retrieve("Burbank", k=5)
    assert scores_by_formula(ranking).tolist() == ranking.scores.tolist()
    assert ranking.hit(4).score_parts["least walk"] == ranking.hit(3).score
    assert [hit.score_parts.get("place") for hit in ranking] == [None, None, None, 1, 2]


def test_the_explanation_says_where_each_hit_was_looked_for(kb_of: Build) -> None:
    shown = MentionPPR(kb_of(*FILMS), dense_seeds=1).retrieve("Burbank", k=5).explain()
    assert [stage_label(shown.ranking, hit.stage) for hit in shown.hits()] == [
        "walk, from graph"
    ] * 3 + ["dense"] * 2


QUERIES = [
    Query("1", QUESTION),
    Query("2", ""),
    Query("3", "Burbank", ("p1", "p4")),
    Query("4", "Ed Wood", ()),
    Query("5", "Tim Burton"),
]
FACTS = (
    Triple("Tim Burton", "married", "Lena Gieseke", "p1", strength=8.0),
    Triple("Lena Gieseke", "lives in", "Rome", "p3"),
    Triple("Rome", "is", "Rome", "p3"),
)


@pytest.mark.parametrize("settings", [{}, {"triple_weight": 1.0}])
def test_a_batch_walked_in_pieces_has_the_bits_of_one_walked_whole(
    kb_of: Build, settings: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    system = MentionPPR(kb_of(*FILMS, facts=FACTS), **settings)  # type: ignore[arg-type]
    whole = system.retrieve_batch(QUERIES, 5)
    for size in (1, 2):
        monkeypatch.setattr("kg2rag.retrievers.mention_ppr.retriever.BLOCK", size)
        for one, other in zip(whole, system.retrieve_batch(QUERIES, 5), strict=True):
            assert (one.rows.tolist(), one.scores.tolist()) == (
                other.rows.tolist(),
                other.scores.tolist(),
            )
            assert [hit.path for hit in one] == [hit.path for hit in other]


def test_without_a_triple_weight_the_knowledge_graph_makes_no_difference(
    kb_of: Build,
) -> None:
    plain = MentionPPR(kb_of(*FILMS)).retrieve_batch(QUERIES, 5)
    other = MentionPPR(
        kb_of(*FILMS, facts=FACTS), triple_seeds=3, triple_seed_weight=9.0
    ).retrieve_batch(QUERIES, 5)
    assert [ranking.scores.tolist() for ranking in plain] == [
        ranking.scores.tolist() for ranking in other
    ]
    assert other[0].notes.triples is None


def test_triples_lead_where_no_mention_does(kb_of: Build) -> None:
    pages = (
        ("Tim Burton", "An artist."),
        ("", "A town of painters."),
        ("", "A recipe."),
    )
    facts = (
        Triple("Tim Burton", "married", "Lena", "p0"),
        Triple("Lena", "lives in", "the town", "p1"),
    )
    kb = kb_of(*pages, facts=facts)
    settings = {"dense_seeds": 1, "triple_seeds": 0}
    assert MentionPPR(kb, **settings).retrieve("Tim Burton", 3).hit(2).stage == "dense"  # type: ignore[arg-type]
    found = (
        MentionPPR(kb, triple_weight=1.0, **settings).retrieve("Tim Burton", 3).hit(2)
    )  # type: ignore[arg-type]
    assert (found.passage_id, found.stage) == ("p1", "walk")
    assert [str(triple) for triple in found.path] == [
        "Tim Burton -[mentions]-> Lena",
        "p1 -[mentions]-> Lena",
    ]


def test_a_path_along_a_triple_names_it(kb_of: Build) -> None:
    pages = (("Burton", "An artist."), ("", "A town."), ("", "A recipe."))
    background = Triple("Burton", "lives in", "Burbank", "", strength=10.0)
    named = Triple("Burbank", "is", "town", "p1")
    kb = kb_of(
        *pages, facts=(Triple("Burton", "is", "artist", "p0"), background, named)
    )
    ranking = MentionPPR(kb, dense_seeds=1, triple_weight=1.0, triple_seeds=0).retrieve(
        "Burton", 3
    )
    found = ranking.hit(ranking.passage_ids.index("p1") + 1)
    assert found.path[1] == background
    assert [str(triple) for triple in found.path] == [
        "Burton -[mentions]-> Burton",
        "Burton -[lives in]-> Burbank",
        "p1 -[mentions]-> Burbank",
    ]


def test_the_ends_of_the_nearest_triples_share_the_start(kb_of: Build) -> None:
    kb = kb_of(*FILMS, facts=FACTS)
    system = MentionPPR(
        kb,
        triple_weight=1.0,
        triple_seeds=2,
        triple_seed_weight=0.6,
        dense_weight=0.0,
        dense_temperature=0.5,
    )
    query = Query("q", "married Lena Gieseke lives")
    # "tim burton married lena gieseke": 3 / √(4 · 5); "lena gieseke lives in rome": 3 / √(4 · 5):
    # equal shares
    restart, (triples,) = (
        start_of(system, query),
        system.restarts([query], [Dense(kb).retrieve(query)])[1],
    )
    assert triples.tolist() == [0, 1]
    assert dict(
        zip(kb.graph.names, restart[-kb.graph.n_entities :].tolist(), strict=True)
    ) == pytest.approx({"Tim Burton": 0.15, "Lena Gieseke": 0.3, "Rome": 0.15})
    assert restart[: -kb.graph.n_entities].sum() == 0


def test_the_metadata_list_the_triples_that_a_walk_began_at(kb_of: Build) -> None:
    system = MentionPPR(kb_of(*FILMS, facts=FACTS), triple_weight=1.0, triple_seeds=1)
    assert system.retrieve("who married Tim Burton").notes.triples == (
        "Tim Burton -[married]-> Lena Gieseke",
    )


def test_a_triple_of_a_passage_that_is_no_candidate_is_neither_start_nor_way(
    kb_of: Build,
) -> None:
    facts = (
        Triple("Burton", "lives in", "Burbank", "p2"),
        Triple("Burton", "is", "artist", "p0"),
    )
    kb = kb_of(
        ("", "Burton"),
        ("", "Burbank"),
        ("", "A recipe."),
        facts=(*facts, Triple("Burbank", "is", "a", "p1")),
    )
    system = MentionPPR(kb, dense_seeds=1, triple_weight=1.0)
    open_, closed = system.retrieve_batch(
        [Query("1", "Burton"), Query("2", "Burton", ("p0", "p1"))], 3
    )
    assert "Burton -[lives in]-> Burbank" in open_.notes.triples  # type: ignore[operator]
    assert "Burton -[lives in]-> Burbank" not in closed.notes.triples  # type: ignore[operator]
    alone = replace(system, triple_seeds=0).retrieve_batch(
        [Query("2", "Burton", ("p0", "p1"))], 3
    )[0]
    assert [(hit.passage_id, hit.stage) for hit in alone] == [
        ("p0", "walk"),
        ("p1", "dense"),
    ]


@pytest.mark.parametrize(
    "facts", [(), (Triple("Quetzalcoatl", "rivals", "Tula", "p3"),)]
)
def test_a_graph_that_says_nothing_of_the_query_is_walked_all_the_same(
    kb_of: Build, facts: tuple[Triple, ...]
) -> None:
    system = MentionPPR(
        kb_of(*FILMS, facts=facts), triple_weight=1.0, triple_seed_weight=0.0
    )
    ranking = system.retrieve(QUESTION, 2)
    assert ranking.passage_ids == ["p0", "p1"]
    assert len(ranking.notes.triples) == len(facts)  # type: ignore[arg-type]


def test_a_walk_over_a_part_of_a_large_graph_says_so(kb_of: Build) -> None:
    kb = kb_of(*FILMS)
    system = MentionPPR(kb, dense_seeds=1)
    whole, enough, part = (
        replace(system, reach=reach).retrieve("Ed Wood", 5) for reach in (100, 3, 2)
    )
    assert enough.scores.tolist() == pytest.approx(whole.scores.tolist())
    assert enough.notes.reach is None
    assert part.notes.reach == 2
    assert [hit.passage_id for hit in part if hit.stage == "walk"] == ["p0", "p1"]
    assert [str(triple) for triple in part.hit(2).path] == [
        "Ed Wood -[mentions]-> Tim Burton"
    ]
    assert scores_by_formula(part).tolist() == part.scores.tolist()
