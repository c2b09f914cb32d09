"""The walk from what a question names to what that names in turn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kg2rag.knowledge_base import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.mention_ppr import MentionPPR
from kg2rag.types import Query

Build = Callable[..., KnowledgeBase]
FILMS = (
    ("Ed Wood", "The film was directed by Tim Burton."),
    ("Tim Burton", "An artist from Burbank."),
    ("Paris", "The place where the director of the film festival was born."),
    ("Rome", "Where was the city born?"),
    ("Burbank", "A city of California."),
)
QUESTION = "Where was the director of Ed Wood born?"


def test_two_hops_lead_to_a_page_that_shares_no_word_with_the_question(kb_of: Build) -> None:
    kb = kb_of(*FILMS)
    by_text = Dense(kb).retrieve(QUESTION, k=5)
    assert by_text.hit(by_text.passage_ids.index("p1") + 1).score == 0
    ranking = MentionPPR(kb, dense_seeds=3).retrieve(QUESTION, k=2)
    assert ranking.passage_ids == ["p0", "p1"]
    assert [str(triple) for triple in ranking.hit(2).path] == ["Ed Wood -[mentions]-> Tim Burton"]


def test_a_path_may_have_several_steps(kb_of: Build) -> None:
    ranking = MentionPPR(kb_of(*FILMS), dense_seeds=1).retrieve("Ed Wood", k=5)
    paths = {hit.passage_id: [str(triple) for triple in hit.path] for hit in ranking}
    assert paths["p4"] == ["Ed Wood -[mentions]-> Tim Burton", "Tim Burton -[mentions]-> Burbank"]


def test_the_restart_by_hand(kb_of: Build) -> None:
    kb = kb_of(
        ("Rebecca (film)", "A film."),
        ("Rebecca (novel)", "A novel by Du Maurier."),
        ("", "He read Rebecca and Max Winter."),
        ("", "Max Winter met her."),
    )
    system = MentionPPR(kb, dense_weight=0, title_weight=2.0, query_name_weight=0.5)
    query = Query("q", "rebecca or max winter")
    restart = system._restart(query, Dense(kb).retrieve(query), system._graph())
    title = 2 / (2 * np.log2(2 + 1))  # two pages, one passage names them
    name = 0.5 * np.log(1 + 4 / 2) / np.log(1 + 4)  # two of four passages name him
    assert restart.tolist() == pytest.approx([title, title, 0, 0, name])


def test_dense_hits_share_the_start_by_softmax(kb_of: Build) -> None:
    kb = kb_of(("", "red apple"), ("", "red car"), ("", "blue sky"))
    system = MentionPPR(kb, dense_seeds=2, dense_temperature=0.5, dense_weight=0.7)
    query = Query("q", "red apple")  # cosines 1 and ½
    restart = system._restart(query, Dense(kb).retrieve(query), system._graph())
    assert restart.tolist() == pytest.approx([0.7 / (1 + np.exp(-1)), 0.7 * np.exp(-1) / (1 + np.exp(-1)), 0])


def test_without_any_mention_the_order_is_that_of_dense(kb_of: Build) -> None:
    kb = kb_of(("", "red apple"), ("", "red car"), ("", "blue red apple sky"), ("", "blue sky"))
    for text in ("red apple", "blue sky car", ""):
        dense = Dense(kb).retrieve(text, k=4).passage_ids
        assert MentionPPR(kb, dense_seeds=2).retrieve(text, k=4).passage_ids == dense


def test_passages_that_the_walk_does_not_reach_follow_by_cosine(kb_of: Build) -> None:
    ranking = MentionPPR(kb_of(*FILMS), dense_seeds=1).retrieve("Burbank", k=5)
    # p4 is named and nearest; p1 mentions it, p0 mentions p1; p2 and p3 share nothing with the question
    assert [(hit.passage_id, hit.stage) for hit in ranking] == [
        ("p4", "walk"),
        ("p1", "walk"),
        ("p0", "walk"),
        ("p2", "dense"),
        ("p3", "dense"),
    ]
    assert [hit.parts["walk"] for hit in ranking][3:] == [0, 0]


def test_only_candidates_are_ranked_and_the_walk_passes_through_no_others(kb_of: Build) -> None:
    query = Query("q", "Ed Wood", ("p0", "p4"))
    ranking = MentionPPR(kb_of(*FILMS)).retrieve(query, k=5)
    assert ranking.passage_ids == ["p0", "p4"]
    assert ranking.hit(2).path == ()  # the way to Burbank leads through Tim Burton, who is no candidate


def test_a_named_page_that_is_no_candidate_is_no_start(kb_of: Build) -> None:
    ranking = MentionPPR(kb_of(*FILMS)).retrieve(Query("q", "Ed Wood", ("p1", "p2")), k=5)
    assert sorted(ranking.passage_ids) == ["p1", "p2"]


def test_at_most_depth_passages_are_ranked(kb_of: Build) -> None:
    assert len(MentionPPR(kb_of(*FILMS), depth=2).retrieve(QUESTION, k=5)) == 2


@pytest.mark.parametrize(
    "wrong",
    [{"damping": 0.0}, {"damping": 1.0}, {"temperature": 0.0}, {"iterations": 0}, {"depth": 0}, {"backward": -0.1}],
)
def test_impossible_settings_are_refused_when_it_is_made(kb_of: Build, wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must .*{next(iter(wrong.values()))}"):
        MentionPPR(kb_of(*FILMS), **wrong)  # type: ignore[arg-type]
