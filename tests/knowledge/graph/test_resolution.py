"""Entities that are one thing under several names: found, merged, and taken apart again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.knowledge.graph import resolution
from kg2rag.knowledge.graph.resolution import resolve
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages(
    [Passage(f"p{i}", "", "text", f"d{i}", 0) for i in range(4)]
)


def graph_of(
    *mentions: tuple[str, str],
    entities: Sequence[Entity] = (),
    triples: Sequence[Triple] = (),
):
    """A graph of (name, passages' numbers) pairs, such as ("Ed Wood", "012")."""
    named = tuple(Mention(name, f"p{row}") for name, rows in mentions for row in rows)
    return KnowledgeGraph.build(
        Extraction(tuple(triples), named, tuple(entities)), CORPUS
    )


def merges(graph: KnowledgeGraph) -> list[tuple[str, str]]:
    return list(resolve(graph).table[["from", "to"]].itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("method", "one", "other"),
    [
        ("normalised", "The Beatles", "Beatles"),
        ("normalised", "U.S. Navy", "US Navy"),
        ("normalised", "St. Louis", "Saint Louis"),
        ("normalised", "Simon & Garfunkel", "Simon and Garfunkel"),
        ("normalised", "Spider Man Two", "Spiderman Two"),
        ("normalised", "European Union (EU)", "European Union"),
        ("normalised", "part of the Union", "part of Union"),
        ("fuzzy", "Nanking Massacre", "Nanjing Massacre"),
        ("fuzzy", "Gamal Abdel Nasser", "Gamal Abdul Nasser"),
    ],
)
def test_spellings_of_one_name_are_one(method: str, one: str, other: str) -> None:
    found = resolve(graph_of((one, "01"), (other, "2")))
    assert found.table[["from", "to", "method"]].values.tolist() == [
        [other, one, method]
    ]


def test_the_name_that_is_mentioned_most_stays_then_the_first() -> None:
    graph = graph_of(("The Who", "0"), ("Who", "123"), ("the song", "0"), ("song", "1"))
    assert merges(graph) == [("The Who", "Who"), ("song", "the song")]


@pytest.mark.parametrize(
    ("alias", "owners", "merged"),
    [
        ("Timothy Burton", ["Tim Burton"], [("Timothy Burton", "Tim Burton")]),
        ("Burton", ["Tim Burton", "Richard Burton"], []),  # two claim it
        ("Rebecca", ["Rebecca (1940 film)"], []),  # it is the name without its brackets
    ],
)
def test_an_alias_that_one_entity_claims_is_the_entity_of_that_name(
    alias: str, owners: list[str], merged: list[tuple[str, str]]
) -> None:
    graph = graph_of(
        (alias, "0"),
        *((name, "12") for name in owners),
        entities=[Entity(n, "", "", (alias,)) for n in owners],
    )
    assert merges(graph) == merged


def test_an_acronym_is_the_long_form_that_stands_beside_it() -> None:
    graph = graph_of(
        ("BBC", "01"),
        ("British Broadcasting Corporation", "1"),
        ("Bath Boat Club", "2"),
    )
    found = resolve(graph)
    assert found.table[["from", "to", "score"]].values.tolist() == [
        ["British Broadcasting Corporation", "BBC", 0.5]
    ]


@pytest.mark.parametrize(
    "mentions",
    [
        (
            ("BBC", "01"),
            ("British Broadcasting Corporation", "1"),
            ("Bath Boat Club", "0"),
        ),
        (("DVD", "0"), ("Dick Van Dyke", "1")),
    ],
)
def test_an_acronym_with_two_long_forms_beside_it_or_none_is_neither(
    mentions: Sequence[tuple[str, str]],
) -> None:
    assert merges(graph_of(*mentions)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.5", "15"),
        ("a part", "apart"),
        ("5th St", "5th Saint"),
        ("Louis XIV of France", "Louis XVI of France"),
        ("January 14, 1963", "January 14, 1964"),
        ("South Korea", "South Korean"),
        ("steam locomotive", "steam locomotives"),
        ("Henry County", "McHenry County"),
        ("Cumbria region", "Umbria region"),
        ("northern hemisphere", "southern hemisphere"),
        ("presidents", "residents"),
    ],
)
def test_names_that_a_number_a_beginning_or_an_ending_tells_apart_are_two(
    one: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolution, "MIN_AGREEMENT", 0.8)
    assert merges(graph_of((one, "0"), (other, "1"))) == []


def test_different_types_are_never_merged_and_that_is_counted() -> None:
    entities = [Entity("The Wall", "album"), Entity("Wall", "person")]
    found = resolve(graph_of(("The Wall", "01"), entities=entities))
    assert (len(found), found.notes) == (0, {"merges held back: different types": 1})
    assert found.graph is found.original


def test_an_entity_without_a_type_joins_one_and_then_no_other() -> None:
    entities = [Entity("The Wall", "album"), Entity("Wall"), Entity("A Wall", "person")]
    graph = graph_of(
        ("The Wall", "012"), ("Wall", "01"), ("A Wall", "0"), entities=entities
    )
    assert merges(graph) == [("Wall", "The Wall")]


def test_triples_mentions_and_names_of_merged_entities_are_joined() -> None:
    triples = [
        Triple("The Who", "from", "London", "p0", strength=2),
        Triple("Who", "from", "London", "p0", strength=7),
        Triple("Who", "also called", "The Who", "p1"),
    ]
    graph = graph_of(("Who", "3"), triples=triples).resolve().graph
    assert graph.names == ("London", "Who")
    assert graph.aliases == ((), ("The Who",))
    assert list(map(str, map(graph.triple, range(2)))) == [
        "Who -[from]-> London",
        "Who -[also called]-> Who",
    ]
    assert graph.triple(0).strength == 7
    rows, counts = graph.mentions.of(graph.entity("the who"))
    assert (rows.tolist(), counts.tolist()) == ([0, 1, 3], [2, 2, 1])
    assert graph.notes == {
        "duplicate triples merged with their entities": 1,
        "triples between merged entities, now loops": 1,
    }


NAMES = ("The Who", "Who", "a who", "BBC", "British Broadcasting Corporation", "Nanking Massacre", "Nanjing Massacre",
         "the Nanjing Massacre", "US Navy", "U.S. Navy", "The U.S. Navy", "London", "Big Ben")  # fmt: skip
FACTS = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from("rs"),
        st.sampled_from(NAMES),
        st.integers(-1, 3),
    ),
    max_size=25,
)
TYPES = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["", "band", "event"]))


def random_graph(
    facts: list[tuple[str, str, str, int]], types: dict[str, str]
) -> KnowledgeGraph:
    triples = tuple(
        Triple(h, r, t, f"p{row}" if row >= 0 else "") for h, r, t, row in facts
    )
    return KnowledgeGraph.build(
        Extraction(triples, (), tuple(Entity(n, t) for n, t in types.items())), CORPUS
    )


@settings(deadline=None)
@given(FACTS, TYPES)
def test_each_entity_goes_where_its_merges_lead(facts: list, types: dict) -> None:
    found = resolve(random_graph(facts, types))
    together = dict(zip(found.table["from"], found.table["to"], strict=True))
    for name in found.original.names:
        last = name
        while last in together:
            last = together[last]
        assert found.graph.names[found.graph.entity(name)] == last
    assert found.graph.n_entities == found.original.n_entities - len(found)


@settings(deadline=None)
@given(FACTS, TYPES)
def test_merging_loses_no_mention_and_no_fact_and_once_is_enough(
    facts: list, types: dict
) -> None:
    graph = random_graph(facts, types)
    after = resolve(graph).graph
    assert after.mentions.counts.sum() == graph.mentions.counts.sum()
    new, old = (
        {
            (after.entity(t.head), t.relation, after.entity(t.tail), t.passage_id)
            for t in map(one.triple, range(one.n_triples))
        }
        for one in (after, graph)
    )
    assert new == old
    assert "normalised" not in set(resolve(after).table["method"])


def test_the_table_shows_each_merge_and_the_page_says_how_many() -> None:
    found = resolve(graph_of(("The Who", "01"), ("Who", "1")))
    assert found.table.to_dict("records") == [
        {
            "from": "Who",
            "to": "The Who",
            "method": "normalised",
            "score": 1.0,
            "mentions_from": 1,
            "mentions_to": 2,
        }
    ]
    assert "1 merges of 2 entities; normalised: 1" in found._repr_html_()
