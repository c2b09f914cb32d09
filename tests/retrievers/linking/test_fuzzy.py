"""Names that a query misspells, or writes together."""

from __future__ import annotations

from pathlib import Path

import pytest
from word_embedder import WordEmbedder

from kg2rag.compute import Store
from kg2rag.extraction import Entity, Extraction
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.retrievers.linking.linkers import FuzzyLinker
from kg2rag.types import Corpus, Passage, Query

NAMES = ("Auth Service", "OAuth Provider", "Redis", "Kubernetes Cluster", "Services")
TEXTS = (
    "The auth service asks the OAuth provider.",
    "Services run in a Kubernetes cluster.",
    "The server is Redis.",
)


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    corpus = Corpus.from_passages(
        [Passage(f"p{i}", "", text, f"p{i}", 0) for i, text in enumerate(TEXTS)]
    )
    entities = (*map(Entity, NAMES), Entity("Login", aliases=("Authentication",)))
    graph = KnowledgeGraph.build(Extraction(entities=entities), corpus)
    return KnowledgeBase.build(
        corpus, graph, embedder=WordEmbedder(), store=Store(tmp_path)
    )


def linked(
    kb: KnowledgeBase, text: str, **settings: float
) -> list[tuple[str, str, float]]:
    """(entity, what named it, how surely) of one query."""
    [links] = FuzzyLinker(kb, **settings).link_batch([Query("q", text)])  # type: ignore[arg-type]
    return [
        (kb.graph.names[one.entity], text[slice(*one.span)], round(one.confidence, 3))
        for one in links
    ]


@pytest.mark.parametrize(
    ("text", "entity", "span", "confidence"),
    [
        # one letter of eleven
        ("what uses the Auth Servce?", "Auth Service", "Auth Servce", 0.909),
        ("AuthService", "Auth Service", "AuthService", 1.0),
        ("auth_service dependencies", "Auth Service", "auth_service", 1.0),
        # a swap is one edit of thirteen
        ("OAuth Provdier", "OAuth Provider", "OAuth Provdier", 0.923),
        # One of seventeen.
        (
            "kubernets cluster",
            "Kubernetes Cluster",
            "kubernets cluster",
            0.941,
        ),
        ("authentikation", "Login", "authentikation", 0.929),  # an alias
    ],
)
def test_a_misspelt_name_links_to_its_entity(
    kb: KnowledgeBase, text: str, entity: str, span: str, confidence: float
) -> None:
    assert linked(kb, text) == [(entity, span, confidence)]


@pytest.mark.parametrize(
    "text", ["the service", "server", "Rediz", "", "?!", "of the", "nothing like it"]
)
def test_known_words_short_names_and_prose_link_to_nothing(
    kb: KnowledgeBase, text: str
) -> None:
    assert linked(kb, text) == []


def test_links_do_not_overlap_and_the_surest_comes_first(kb: KnowledgeBase) -> None:
    assert [name for name, *_ in linked(kb, "Auth Servce of the OAuthProvider")] == [
        "OAuth Provider",
        "Auth Service",
    ]
