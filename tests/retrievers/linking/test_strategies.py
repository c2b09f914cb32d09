"""Strategies that link take any linker, by name or as such, and say which one served a query."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kg2rag import systems
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.linking.linkers import FuzzyLinker
from kg2rag.types import Query, Triple

LINKING = (
    "confidence_gated",
    "expansion_queries",
    "graph_augmented",
    "practical_graphrag",
    "vector_first",
)


@pytest.fixture
def services(kb_of: Callable[..., KnowledgeBase]) -> KnowledgeBase:
    facts = (
        Triple("Auth Service", "asks", "OAuth Provider", "p0"),
        Triple("OAuth Provider", "reads", "Token Store", "p1"),
    )
    pages = (
        ("Auth", "The Auth Service asks the OAuth Provider."),
        ("Tokens", "The OAuth Provider reads a Token Store."),
    )
    return kb_of(*pages, ("Else", "Cheese."), facts=facts)


@pytest.mark.parametrize("name", LINKING)
def test_a_misspelt_name_is_linked_where_the_linker_is_fuzzy(
    services: KnowledgeBase, name: str
) -> None:
    query = Query("q", "what if the Auth Servce fails")
    plain = systems.build(name, services, linker="ngram").retrieve(query)
    for linker in ("fuzzy", "ngram+fuzzy", FuzzyLinker(services)):
        fuzzy = systems.build(name, services, linker=linker).retrieve(query)
        if name == "practical_graphrag":  # also links by vector, and lists nothing
            continue
        assert not plain.notes.linked
        assert [(entity.name, entity.linker) for entity in fuzzy.notes.linked] == [
            ("Auth Service", "fuzzy")
        ]


def test_a_phrase_of_the_query_that_names_no_entity_is_in_the_notes() -> None:
    kb = KnowledgeBase.build(
        {"a": "V Praze je muzeum.", "b": "Brno je město."},
        graph=[("Brno", "město v", "Česko"), ("Praha", "město v", "Česko")],
    )
    query = Query("q", "Co bylo v Xanthi a v Brno?")
    notes = systems.build("vector_first", kb).retrieve(query, 1).notes
    assert notes.entities is not None
    assert [entity.name for entity in notes.entities] == ["Brno"]
    assert notes.unlinked == ("Xanthi",)
