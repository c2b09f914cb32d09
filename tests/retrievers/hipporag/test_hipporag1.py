"""The first HippoRAG on passages whose every number can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.hipporag.retrievers import HippoRAG
from kg2rag.types import Query, Triple

Build = Callable[..., KnowledgeBase]
PAGES = (("Notes", "ada wrote"), ("Charles", "knew her"), ("Tea", "is hot"))
FACTS = (
    Triple("Ada", "wrote", "Notes", "p0"),
    Triple("Ada", "wrote", "Notes", "p1"),
    Triple("Tea", "is", "hot", "p2"),
)


def test_a_passage_scores_the_sum_over_its_phrases(kb_of: Build) -> None:
    # Ada and Notes hold each other alone: 2/3 and 1/3 of the mass, at damping 1/2. Both passages have both.
    ranking = HippoRAG(kb_of(*PAGES, facts=FACTS)).retrieve("What did Ada write?")
    assert ranking.passage_ids == ["p0", "p1"]
    assert ranking.scores == pytest.approx([1.0, 1.0])
    assert ranking.notes.names == (("Ada", "ada", 1.0),)


def test_a_name_starts_with_one_over_its_passages(kb_of: Build) -> None:
    # ada is in two passages, tea in one: 1/2 to 1, so a third of the mass for each passage of ada's island.
    ranking = HippoRAG(kb_of(*PAGES, facts=FACTS)).retrieve("Did Ada drink 'x' or \"Tea\"?")
    assert ranking.passage_ids == ["p2", "p0", "p1"]
    assert ranking.scores == pytest.approx([2 / 3, 1 / 3, 1 / 3])


def test_a_passage_that_the_walk_does_not_reach_is_no_hit(kb_of: Build) -> None:
    assert HippoRAG(kb_of(*PAGES, facts=FACTS)).retrieve("Tea").passage_ids == ["p2"]


def test_a_name_is_linked_to_the_nearest_phrase(kb_of: Build) -> None:
    facts = (Triple("Ada Byron King", "wrote", "Notes", "p0"), Triple("King Arthur", "had", "knights", "p1"))
    (name, phrase, cosine), *others = HippoRAG(kb_of(*PAGES, facts=facts)).retrieve("Ada Byron?").notes.names
    assert (name, phrase, others) == ("Ada Byron", "ada byron king", [])
    assert cosine == pytest.approx(2 / 6**0.5, abs=1e-6)


def test_a_question_in_lower_case_is_searched_for_names_of_the_graph(kb_of: Build) -> None:
    ranking = HippoRAG(kb_of(*PAGES, facts=FACTS)).retrieve("who made the notes")
    assert ranking.notes.names == (("notes", "notes", 1.0),)


@pytest.mark.parametrize(
    ("facts", "text", "note"),
    [
        ((), "Ada", "the graph has no fact: dense ranking"),
        (FACTS, "", "empty query: dense ranking"),
        (FACTS, "why", "the query names nothing: dense ranking"),
    ],
)
def test_without_a_start_the_dense_ranking_comes_and_says_why(
    kb_of: Build, facts: tuple[Triple, ...], text: str, note: str
) -> None:
    ranking = HippoRAG(kb_of(*PAGES, facts=facts)).retrieve(text)
    assert ranking.notes.warning == note
    assert len(ranking) == 3


def test_candidates_restrict_the_phrases_and_the_walk(kb_of: Build) -> None:
    ranking = HippoRAG(kb_of(*PAGES, facts=FACTS)).retrieve(Query("q", "Ada", candidates=("p1", "p2")))
    assert ranking.passage_ids == ["p1"]


def test_each_hit_tells_the_triples_that_led_to_it(kb_of: Build) -> None:
    ranking = HippoRAG(kb_of(*PAGES, facts=FACTS)).retrieve("Ada")
    assert [hit.path for hit in ranking] == [(FACTS[0],), (FACTS[1],)]
