"""Queries that the graph writes; the worked example of the design comes first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from by_hand import knowledge_base, passages
from word_embedder import WordEmbedder

import kg2rag
from kg2rag.compute import Store
from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.expansion_queries import ExpansionQueries
from kg2rag.types import Query, Triple

Build = Callable[..., KnowledgeBase]
PAGES = (
    ("FastAPI", "a framework"),
    ("Pydantic", "checks data"),
    ("SQLAlchemy", "talks to databases"),
    ("uvicorn", "a server"),
    ("Sessions", "how FastAPI and SQLAlchemy share them"),
    ("Cats", "handle database connections badly"),
)
FACTS = (
    Triple("FastAPI", "uses", "Pydantic", "p0", strength=5),
    Triple("FastAPI", "uses", "SQLAlchemy", "p0", strength=5),
    Triple("FastAPI", "related_to", "uvicorn", "p0", strength=3.3),
)
QUESTION = "How do I handle FastAPI database connections?"


def written(system: ExpansionQueries, text: str) -> list[tuple[str, float]]:
    return [
        (found.text, round(found.proximity, 3))
        for found in system.expand([Query("q", text)])[0]
    ]


def texts(system: ExpansionQueries, text: str) -> list[str]:
    return [text for text, _ in written(system, text)]


def test_the_worked_example_of_the_design(kb_of: Build) -> None:
    assert written(ExpansionQueries(kb_of(*PAGES, facts=FACTS)), QUESTION) == [
        ("FastAPI Pydantic", 0.5),
        ("FastAPI SQLAlchemy", 0.5),
        ("FastAPI uvicorn", 0.33),
        ("FastAPI", 1.0),  # the seed alone is searched last
    ]


@pytest.mark.parametrize(
    ("settings", "text", "expected"),
    [
        # a pair once, whichever of the two is the seed
        (
            {},
            "Pydantic or FastAPI",
            [
                "Pydantic FastAPI",
                "FastAPI SQLAlchemy",
                "FastAPI uvicorn",
                "Pydantic",
                "FastAPI",
            ],
        ),
        (
            {"min_weight": 4},
            QUESTION,
            ["FastAPI Pydantic", "FastAPI SQLAlchemy", "FastAPI"],
        ),
        ({"max_queries": 1}, QUESTION, ["FastAPI Pydantic", "FastAPI"]),
        # a seed without a neighbour left leaves the rest to the others
        (
            {"max_queries": 3},
            "FastAPI and uvicorn",
            [
                "FastAPI Pydantic",
                "FastAPI SQLAlchemy",
                "uvicorn FastAPI",
                "FastAPI",
                "uvicorn",
            ],
        ),
        (
            {"hops": 2, "min_weight": 4},
            "Pydantic",
            ["Pydantic FastAPI", "Pydantic SQLAlchemy", "Pydantic"],
        ),
    ],
)
def test_which_queries_are_written(
    kb_of: Build, settings: dict[str, Any], text: str, expected: list[str]
) -> None:
    assert (
        texts(ExpansionQueries(kb_of(*PAGES, facts=FACTS), **settings), text)
        == expected
    )


def test_seeds_take_their_expansions_in_turn(kb_of: Build) -> None:
    hub = tuple(
        Triple("FastAPI", "uses", name, "p0", strength=9)
        for name in ("A1", "B1", "C1", "D1")
    )
    kb = kb_of(*PAGES, facts=(*hub, Triple("Cats", "chase", "Mice", "p5", strength=5)))
    assert texts(ExpansionQueries(kb, max_queries=3), "Do FastAPI and Cats meet?") == [
        *("FastAPI A1", "FastAPI B1", "Cats Mice"),
        *("FastAPI", "Cats"),
    ]


def test_the_first_dense_hits_are_joined_by_rank_with_those_of_the_expansions(
    kb_of: Build,
) -> None:
    kb = kb_of(*PAGES, facts=FACTS)
    plain = Dense(kb).retrieve(QUESTION, k=6).passage_ids
    found = ExpansionQueries(
        kb, hits=1, graph_weight=2.0, constant=10, dense_depth=2
    ).retrieve(QUESTION, k=6)
    graph = {"p0": 2 / 11, "p4": 2 / 12}
    dense = {id_: 1 / (11 + at) for at, id_ in enumerate(plain)}
    # Of both lists: the sum.
    first = {id_: dense[id_] + graph.get(id_, 0) for id_ in plain[:2]}
    # below dense_depth: the better of both
    rest = {id_: max(dense[id_], graph.get(id_, 0)) for id_ in plain[2:]}
    assert {hit.passage_id: hit.score for hit in found} == pytest.approx(first | rest)


def test_as_many_hits_are_returned_as_are_asked_for(kb_of: Build) -> None:
    kb = kb_of(*PAGES, facts=FACTS)
    for k in range(1, 7):
        whole, found = (
            ExpansionQueries(kb, hits=1).retrieve(QUESTION),
            ExpansionQueries(kb, hits=1).retrieve(QUESTION, k),
        )
        assert found.passage_ids == whole.passage_ids[:k]
        assert len(found) == k


def test_below_the_joined_hits_dense_hits_and_those_of_the_expansions_take_turns(
    tmp_path: Path,
) -> None:
    falling = tuple(0.4 - 0.05 * row for row in range(8))
    cosines = {"ask Ann": falling, "Ann Bob": falling[::-1], "Ann": falling[::-1]}
    kb = knowledge_base(
        passages(*"abcdefgh"),
        Extraction((Triple("Ann", "met", "Bob", "p7"),)),
        cosines,
        Store(tmp_path),
    )
    found = ExpansionQueries(kb, dense_depth=1, hits=3).retrieve("ask Ann", k=8)
    # expansions: p7, p6, p5; dense: p0 to p7, of which p5 to p7 are nearer by the expansions
    assert found.passage_ids == ["p0", "p7", "p1", "p6", "p2", "p5", "p3", "p4"]
    assert [hit.stage for hit in found] == [
        "dense",
        "graph",
        "dense",
        "graph",
        "dense",
        "graph",
        "dense",
        "dense",
    ]
    assert "dense rank" not in found.hit(2).score_parts


def test_no_hit_deep_in_the_dense_ranking_passes_its_best_because_an_expansion_found_it(
    tmp_path: Path,
) -> None:
    falling = tuple(0.4 - 0.05 * row for row in range(8))
    cosines = {"ask Ann": falling, "Ann Bob": falling[::-1], "Ann": falling[::-1]}
    facts = Extraction((Triple("Ann", "met", "Bob", "p7"),))
    kb = knowledge_base(passages(*"abcdefgh"), facts, cosines, Store(tmp_path))
    assert ExpansionQueries(kb).retrieve("ask Ann", k=4).passage_ids == [
        "p0",
        "p7",
        "p1",
        "p6",
    ]


@pytest.fixture
def hubs(tmp_path: Path) -> KnowledgeBase:
    """Ann is named by six of six passages, Zoe by seven mentions in six, Bob by none; "basal cell" is a rare word."""
    facts = Extraction(
        (
            Triple("Ann", "met", "Bob", ""),
            Triple("Zoe", "met", "Tom", ""),
            Triple("basal cell", "is in", "skin", ""),
        ),
        tuple(
            Mention(name, f"p{row}")
            for name in ("Ann", "Zoe")
            for row in range(6 if name == "Ann" else 7)
        ),
        (Entity("Ann", "person"), Entity("basal cell", "term")),
    )
    return knowledge_base(passages(*"abcdefg"), facts, {}, Store(tmp_path))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a hub is all that is named: in a corpus about Ann she always is one
        ("Who met Ann?", ["Ann Bob", "Ann"]),
        # Of two hubs the one that fewer passages name.
        (
            "Did Ann meet Zoe?",
            ["Ann Bob", "Ann"],
        ),
        # A hub leaves a name that is none its place.
        (
            "Did Ann meet Bob?",
            ["Bob Ann", "Bob"],
        ),
        ("What of a basal cell?", []),
    ],
)
def test_a_hub_is_a_seed_only_if_nothing_else_is_named_and_a_term_never(
    hubs: KnowledgeBase, text: str, expected: list[str]
) -> None:
    assert texts(ExpansionQueries(hubs), text) == expected


def test_what_the_expansions_of_a_hub_find_follows_the_first_dense_hits(
    tmp_path: Path,
) -> None:
    falling = tuple(0.4 - 0.05 * row for row in range(8))
    cosines = {
        "ask Ann": falling,
        "Ann Bob": falling[::-1],
        "Ann": (0.1, 0.9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    }
    mentions = tuple(Mention("Ann", f"p{row}") for row in range(6))
    facts = Extraction((Triple("Ann", "met", "Bob", ""),), mentions)
    kb = knowledge_base(passages(*"abcdefgh"), facts, cosines, Store(tmp_path))
    found = ExpansionQueries(kb, dense_depth=2).retrieve("ask Ann", k=8)
    assert found.notes.expansions == ("Ann Bob", "Ann")
    # expansions: p7, p6, p5; p1, p0, p2
    assert found.passage_ids == ["p0", "p1", "p2", "p7", "p3", "p6", "p4", "p5"]


def test_any_entity_may_be_a_seed_on_request(hubs: KnowledgeBase) -> None:
    every = ExpansionQueries(hubs, hub_share=1.0, no_seeds=())
    assert texts(every, "Did Ann meet Zoe?") == ["Ann Bob", "Zoe Tom", "Ann", "Zoe"]
    assert texts(every, "What of a basal cell?") == ["basal cell skin", "basal cell"]
    warning = (
        ExpansionQueries(hubs, no_seeds=("person", "term"))
        .retrieve("Who met Ann?")
        .notes.warning
    )
    assert "may be a seed" in warning


def test_the_designs_question_is_expanded_on_the_bundled_corpus(tmp_path: Path) -> None:
    kb = KnowledgeBase.build(
        kg2rag.load("bundled"), embedder=WordEmbedder(), store=Store(tmp_path)
    )
    notes = ExpansionQueries(kb).retrieve(QUESTION).notes
    assert "FastAPI" in notes.expansions
    assert len(notes.expansions) > 3
    assert notes.warning == ""


def test_a_text_in_place_of_queries_is_refused(kb_of: Build) -> None:
    with pytest.raises(TypeError, match="queries"):
        ExpansionQueries(kb_of(*PAGES, facts=FACTS)).expand(QUESTION)  # type: ignore[arg-type]


def test_a_graph_hit_has_the_number_of_its_expansion_and_its_rank_there_among_its_parts(
    kb_of: Build,
) -> None:
    ranking = ExpansionQueries(kb_of(*PAGES, facts=FACTS), hits=2).retrieve(
        QUESTION, k=6
    )
    where = {
        hit.passage_id: (
            hit.score_parts.get("expansion"),
            hit.score_parts.get("expansion rank"),
        )
        for hit in ranking
    }
    # "FastAPI Pydantic" finds p0 and p1, "FastAPI SQLAlchemy" p4 and p0 or p2, "FastAPI uvicorn" p3
    assert (where["p0"], where["p1"], where["p4"]) == ((1, 1), (1, 2), (2, 1))
    assert where["p5"] == (None, None)
    named = ranking.notes.expansions
    assert isinstance(named, tuple)
    found = {
        id_: named[int(number) - 1]
        for id_, (number, _) in where.items()
        if number is not None
    }
    assert found == ranking.notes.found_by


@pytest.mark.parametrize(
    ("facts", "text"), [((), QUESTION), (FACTS, "who am I"), (FACTS, "")]
)
def test_without_graph_or_seed_it_is_the_vanilla_ranking_and_says_so(
    kb_of: Build, facts: tuple[Triple, ...], text: str
) -> None:
    kb = kb_of(*PAGES, facts=facts)
    ranking = ExpansionQueries(kb).retrieve(text, k=6)
    assert ranking.passage_ids == Dense(kb).retrieve(text, k=6).passage_ids
    assert ranking.notes.expansions == ()
    assert "no entity" in str(ranking.notes.warning)
