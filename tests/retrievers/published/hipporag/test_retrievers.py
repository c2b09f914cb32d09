"""HippoRAG and HippoRAG 2 on a few passages whose every number can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.published.hipporag.retrievers import HippoRAG, HippoRAG2
from kg2rag.types import Query, Triple

Build = Callable[..., KnowledgeBase]

# The first

BOOKS = (("Notes", "ada wrote"), ("Charles", "knew her"), ("Tea", "is hot"))
WRITTEN = (
    Triple("Ada", "wrote", "Notes", "p0"),
    Triple("Ada", "wrote", "Notes", "p1"),
    Triple("Tea", "is", "hot", "p2"),
)


def test_a_passage_scores_the_sum_over_its_phrases(kb_of: Build) -> None:
    # Ada and Notes hold each other alone: 2/3 and 1/3 of the mass, at damping 1/2. Both passages
    # have both.
    ranking = HippoRAG(kb_of(*BOOKS, facts=WRITTEN)).retrieve("What did Ada write?")
    assert ranking.passage_ids == ["p0", "p1"]
    assert ranking.scores == pytest.approx([1.0, 1.0])
    assert ranking.notes.names == (("Ada", "ada", 1.0),)


def test_a_name_starts_with_one_over_its_passages(kb_of: Build) -> None:
    # ada is in two passages, tea in one: 1/2 to 1, so a third of the mass for each passage of ada's
    # island.
    ranking = HippoRAG(kb_of(*BOOKS, facts=WRITTEN)).retrieve(
        "Did Ada drink 'x' or \"Tea\"?"
    )
    assert ranking.passage_ids == ["p2", "p0", "p1"]
    assert ranking.scores == pytest.approx([2 / 3, 1 / 3, 1 / 3])


def test_a_name_is_linked_to_the_nearest_phrase_and_lower_case_is_searched_for_names_of_the_graph(
    kb_of: Build,
) -> None:
    facts = (
        Triple("Ada Byron King", "wrote", "Notes", "p0"),
        Triple("King Arthur", "had", "knights", "p1"),
    )
    (name, phrase, cosine), *others = (
        HippoRAG(kb_of(*BOOKS, facts=facts)).retrieve("Ada Byron?").notes.names
    )
    assert (name, phrase, others) == ("Ada Byron", "ada byron king", [])
    assert cosine == pytest.approx(2 / 6**0.5, abs=1e-6)
    spelt = HippoRAG(kb_of(*BOOKS, facts=WRITTEN)).retrieve("who made the notes")
    assert spelt.notes.names == (("notes", "notes", 1.0),)


def test_candidates_restrict_the_phrases_and_the_walk_and_what_that_does_not_reach_is_no_hit(
    kb_of: Build,
) -> None:
    system = HippoRAG(kb_of(*BOOKS, facts=WRITTEN))
    assert system.retrieve(Query("q", "Ada", candidates=("p1", "p2"))).passage_ids == [
        "p1"
    ]
    assert system.retrieve("Tea").passage_ids == ["p2"]


# The second

PAGES = (("Notes", "ada wrote"), ("Charles", "knew her"))
FACTS = (Triple("Ada", "wrote", "Notes", "p0"), Triple("Ada", "knew", "Charles", "p1"))
QUESTION = "ada wrote"
# Cosines: facts 2/√6 and 1/√6, so 1 and 0 once scaled; passages 2/√6 and 0, so 1 and 0.


def test_phrases_weigh_the_mean_score_of_their_facts_over_their_passages(
    kb_of: Build,
) -> None:
    # ada: (1/2 + 0/2) / 2, as two passages have it; notes: 1; charles: 0, which is no start.
    linked = HippoRAG2(kb_of(*PAGES, facts=FACTS)).retrieve(QUESTION).notes
    assert linked.facts == (
        (("ada", "wrote", "notes"), 1.0),
        (("ada", "knew", "charles"), 0.0),
    )
    assert linked.phrases == (("notes", 1.0), ("ada", 0.25))


def test_passages_score_their_pagerank(kb_of: Build) -> None:
    # Nodes ada, charles, notes, p0, p1; a fact weighs 2, a passage edge 1. Reset 0.25, 0, 1, 0.05,
    # 0 over 1.3.
    weights = np.zeros((5, 5))
    for a, b, weight in [
        (0, 2, 2),
        (0, 1, 2),
        (3, 0, 1),
        (3, 2, 1),
        (4, 0, 1),
        (4, 1, 1),
    ]:
        weights[a, b] = weights[b, a] = weight
    reset = np.array([0.25, 0, 1, 0.05, 0]) / 1.3
    expected = np.linalg.solve(
        np.eye(5) - 0.5 * weights / weights.sum(axis=0), 0.5 * reset
    )
    ranking = HippoRAG2(kb_of(*PAGES, facts=FACTS)).retrieve(QUESTION)
    assert ranking.passage_ids == ["p0", "p1"]
    assert ranking.scores == pytest.approx(expected[3:], abs=1e-10)
    assert ranking.hit(1).score_parts["restart"] == pytest.approx(0.05 / 1.3)
    assert ranking.hit(1).score_parts["cosine"] == pytest.approx(2 / 6**0.5, abs=1e-6)


@pytest.mark.parametrize(("system", "text"), [(HippoRAG, "Ada"), (HippoRAG2, QUESTION)])
def test_each_hit_tells_the_triples_that_led_to_it(
    kb_of: Build, system: type[Any], text: str
) -> None:
    ranking = system(kb_of(*PAGES, facts=FACTS)).retrieve(text)
    assert [hit.path for hit in ranking] == [(FACTS[0],), (FACTS[1],)]


def test_equal_phrases_are_kept_in_alphabetical_order(kb_of: Build) -> None:
    # Zoe and Abel weigh the same, and one phrase is kept.
    facts = (Triple("Zoe", "wrote", "Abel", "p0"), FACTS[1])
    linked = (
        HippoRAG2(kb_of(*PAGES, facts=facts), link_top_k=1).retrieve("zoe wrote").notes
    )
    assert linked.phrases == (("abel", 1.0),)


def test_a_single_fact_scores_one(kb_of: Build) -> None:
    linked = HippoRAG2(kb_of(*PAGES, facts=FACTS[1:])).retrieve("nothing alike").notes
    assert linked.facts == ((("ada", "knew", "charles"), 1.0),)


def test_the_filter_decides_which_facts_count_and_without_any_the_ranking_is_the_dense_one(
    kb_of: Build,
) -> None:
    kb, known = (
        kb_of(*PAGES, facts=(*FACTS, Triple("Eve", "ate", "Apples", "p1"))),
        ("ada", "knew", "charles"),
    )

    def kept(query: str, facts: Sequence[tuple[str, str, str]]) -> list[int]:
        assert query == QUESTION
        return [facts.index(known)]

    assert [
        fact
        for fact, _ in HippoRAG2(kb, fact_filter=kept).retrieve(QUESTION).notes.facts
    ] == [known]
    ranking = HippoRAG2(kb, fact_filter=lambda _query, _facts: []).retrieve(QUESTION)
    assert ranking.scores.tolist() == Dense(kb).retrieve(QUESTION).scores.tolist()
    assert ranking.notes.warning == "no fact is linked: dense ranking"
    with pytest.raises(ValueError, match=r"fact_filter .*7 of 3"):
        HippoRAG2(kb, fact_filter=lambda _query, _facts: [7]).retrieve(QUESTION)


def test_candidates_restrict_the_facts_and_the_walk(kb_of: Build) -> None:
    ranking = HippoRAG2(kb_of(*PAGES, facts=FACTS)).retrieve(
        Query("q", QUESTION, candidates=("p1",))
    )
    assert ranking.passage_ids == ["p1"]
    assert [fact for fact, _ in ranking.notes.facts] == [("ada", "knew", "charles")]
    # ada (specificity 1/2), charles (1) and p1 (0.05) are a triangle, and all mass stays in it.
    weights = np.array([[0, 2, 1], [2, 0, 1], [1, 1, 0]])
    reset = np.array([0.5, 1, 0.05]) / 1.55
    expected = np.linalg.solve(
        np.eye(3) - 0.5 * weights / weights.sum(axis=0), 0.5 * reset
    )
    assert ranking.scores[0] == pytest.approx(expected[2], abs=1e-12)
