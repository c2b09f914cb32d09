"""What the graph adds to a vector search: which documents, which of their passages, at what score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from by_hand import knowledge_base, passages

from kg2rag.compute import Store
from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.designs.vector_first import VectorFirst
from kg2rag.retrievers.linking.linkers import ChainLinker, Link, NGramLinker
from kg2rag.types import ParameterError, Query, Ranking, Triple

ASKED = "what runs on the server"
NOBODY = "what runs on it"
COSINES = (0.6, 0.1, 0.5, 0.45, 0.3)
SERVER = Extraction(
    triples=(
        Triple("Server", "HOSTS", "Service", "", strength=8, confidence=0.5),
        Triple("Rack", "HOLDS", "Server", "", strength=4),
    ),
    mentions=(Mention("Server", "p0"), Mention("Service", "p3"), Mention("Rack", "p4")),
    entities=(
        Entity("Server", "Machine"),
        Entity("Service", "Software"),
        Entity("Rack", "Furniture"),
    ),
)


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    """Server (d0) hosts Service (d1, p3) and is in Rack (d2, p4); p2 is d1's other passage."""
    texts = ("one", "two two", "three three three", "four", "five")
    asked = {ASKED: COSINES, NOBODY: COSINES}
    return knowledge_base(
        passages(*texts, documents="aabbc"), SERVER, asked, Store(tmp_path)
    )


def scored(ranking: Ranking) -> dict[str, float]:
    return {hit.passage_id: round(hit.score, 5) for hit in ranking}


def test_passages_of_related_documents_are_boosted_by_strength_and_confidence(
    kb: KnowledgeBase,
) -> None:
    found = VectorFirst(kb, depth=1).retrieve(ASKED)
    assert scored(found) == {
        "p0": 0.6,
        "p2": round(0.5 * (1 + 0.1 * 0.8 * 0.5), 5),
        "p3": round(0.45 * (1 + 0.1 * 0.8 * 0.5), 5),
        "p4": round(0.3 * (1 + 0.1 * 0.4), 5),
    }


@pytest.mark.parametrize(
    ("scoring", "score"), [("plain", 0.5 * 1.1), ("product", 0.5 * 1.1 * 0.8 * 0.5)]
)
def test_the_boost_may_be_plain_or_a_product(
    kb: KnowledgeBase, scoring: str, score: float
) -> None:
    assert scored(VectorFirst(kb, depth=1, scoring=scoring).retrieve(ASKED))[
        "p2"
    ] == round(score, 5)


SPOKE = Extraction(
    (Triple("Hub", "joins", "Spoke", "", strength=10),), (Mention("Spoke", "p2"),)
)


def test_every_hit_carries_its_source_and_graph_hits_their_relationship_path(
    kb: KnowledgeBase,
) -> None:
    found = VectorFirst(kb, depth=1).retrieve(ASKED)
    assert [hit.stage for hit in found] == [
        "vector",
        "graph_augmented",
        "graph_augmented",
        "graph_augmented",
    ]
    assert found.notes.relationship_paths == {
        "p2": "Server -[HOSTS]-> Service",
        "p3": "Server -[HOSTS]-> Service",
        "p4": "Rack -[HOLDS]-> Server",
    }
    assert [str(triple) for triple in found.hit(2).path] == [
        "Server -[HOSTS]-> Service"
    ]
    assert found.hit(2).score_parts == pytest.approx(
        {"similarity": 0.5, "strength": 0.8, "confidence": 0.5}
    )


def test_documents_of_dense_hits_are_not_searched_again(kb: KnowledgeBase) -> None:
    found = VectorFirst(kb, depth=2).retrieve(ASKED)  # p0 of a, p2 of b
    assert found.passage_ids == ["p0", "p2", "p4"]


def test_the_most_similar_augmented_passages_are_kept_and_the_total_is_bounded(
    kb: KnowledgeBase,
) -> None:
    assert VectorFirst(kb, depth=1, max_augmented=2).retrieve(ASKED).passage_ids == [
        "p0",
        "p2",
        "p3",
    ]
    assert VectorFirst(kb, depth=1, max_total=2).retrieve(ASKED).passage_ids == [
        "p0",
        "p2",
    ]


@pytest.mark.parametrize(
    ("text", "settings", "why"),
    [
        (NOBODY, {}, "the query names no entity of the graph"),
        (
            ASKED,
            {"types": ("Software",)},
            "the query names no entity of the types 'Software'",
        ),
        (ASKED, {"use_graph": False}, "use_graph is False"),
    ],
)
def test_vector_only_says_why(
    kb: KnowledgeBase, text: str, settings: dict[str, Any], why: str
) -> None:
    found = VectorFirst(kb, depth=1, **settings).retrieve(text)
    assert (found.passage_ids, found.notes.retrieval_strategy) == (
        ["p0"],
        "vector_only",
    )
    assert found.notes.warning == why


def test_a_type_that_the_graph_lacks_is_refused_with_those_it_has(
    kb: KnowledgeBase,
) -> None:
    with pytest.raises(ParameterError, match=r"'Cloud'.*Machine"):
        VectorFirst(kb, types=("Software", "Cloud")).retrieve(ASKED)


@dataclass(frozen=True)
class Named:
    """A linker that finds an entity in every query, as a language model might."""

    entity: int

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        return [
            [Link(self.entity, (0, len(query.text)), "llm", 0.5)] for query in queries
        ]


def after_names(kb: KnowledgeBase, name: str) -> ChainLinker:
    """The names in a query, then a linker that finds one in every query."""
    return ChainLinker((NGramLinker(kb), Named(kb.graph.entity(name))))


def test_the_next_linker_of_a_chain_links_only_queries_in_which_no_name_is_found(
    kb: KnowledgeBase,
) -> None:
    system = VectorFirst(kb, depth=1, linker=after_names(kb, "Rack"))
    named, unnamed = system.retrieve_batch([Query("a", ASKED), Query("b", NOBODY)], 10)
    assert named.notes.linked[0].name == "Server"
    assert unnamed.notes.linked[0].name == "Rack"


def test_every_linker_of_a_chain_is_held_to_the_schemas_types(
    kb: KnowledgeBase,
) -> None:
    system = VectorFirst(kb, types=("Furniture",), linker=after_names(kb, "Rack"))
    assert [entity.name for entity in system.retrieve(ASKED).notes.linked] == ["Rack"]
    system = VectorFirst(kb, types=("Machine",), linker=after_names(kb, "Rack"))
    assert system.retrieve(NOBODY).notes.retrieval_strategy == "vector_only"


def test_the_confidence_of_a_link_counts(tmp_path: Path) -> None:
    near = knowledge_base(
        passages("one", "two", "three"),
        SPOKE,
        {NOBODY: (0.6, 0.5, 0.4)},
        Store(tmp_path),
    )
    found = VectorFirst(near, depth=1, linker=after_names(near, "Hub")).retrieve(NOBODY)
    assert scored(found)["p2"] == round(0.4 * (1 + 0.1 * 1.0 * 0.5), 5)


def test_a_document_that_two_entities_lead_to_goes_to_the_stronger(
    tmp_path: Path,
) -> None:
    triples = (
        Triple("Server", "HAS", "Fan", "", strength=4),
        Triple("Server", "HOSTS", "Service", "", strength=8),
    )
    extraction = Extraction(triples, (Mention("Fan", "p1"), Mention("Service", "p1")))
    kb = knowledge_base(
        passages("one", "two"), extraction, {ASKED: (0.6, 0.5)}, Store(tmp_path)
    )
    assert VectorFirst(kb, depth=1).retrieve(ASKED).notes.relationship_paths == {
        "p1": "Server -[HOSTS]-> Service"
    }


def test_hits_that_exceed_the_token_limit_are_left_out_and_named(
    kb: KnowledgeBase,
) -> None:
    # one: 1; three three three: 3; four, five: 1 each
    found = VectorFirst(kb, depth=1, max_tokens=3).retrieve(ASKED)
    assert found.passage_ids == ["p0", "p3", "p4"]
    assert found.notes.left_out == ("p2",)
    assert found.notes.tokens == 3


def test_without_the_graph_nothing_of_it_is_read(kb: KnowledgeBase) -> None:
    before = kb.usage["graph reads"]
    VectorFirst(kb, use_graph=False).retrieve(ASKED)
    assert kb.usage["graph reads"] == before


def test_an_empty_schema_is_refused(kb: KnowledgeBase) -> None:
    with pytest.raises(ParameterError, match="types"):
        VectorFirst(kb, types=[])


def test_without_the_graph_only_the_dense_hits_are_left(kb: KnowledgeBase) -> None:
    assert scored(VectorFirst(kb, depth=1, use_graph=False).retrieve(ASKED)) == {
        "p0": 0.6
    }
