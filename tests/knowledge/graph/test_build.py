"""What becomes an entity, a triple and a mention."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import numpy as np
import pytest

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages(
    [Passage(id_, id_.upper(), f"About {id_}.", id_, 0) for id_ in ("p0", "p1", "p2")]
)


def fact(
    head: str, relation: str, tail: str, passage_id: str = "", **weights: float
) -> Triple:
    return Triple(head, relation, tail, passage_id, **weights)


FILMS = Extraction(
    triples=(
        fact("Ed Wood", "directed by", "Tim Burton", "p0", strength=8, confidence=0.9),
        fact("Tim Burton", "born in", "Burbank", "p1"),
        fact("ED WOOD", "stars", "Johnny Depp", "p0", strength=2),
    ),
    mentions=(
        Mention("Johnny Depp", "p1"),
        Mention("Johnny  Depp", "p1", 3),
        Mention("Martin Landau", "p0"),
    ),
    entities=(
        Entity(
            "Tim Burton", "person", "American director.", ("Timothy Burton", "Burton")
        ),
    ),
    notes={"dropped": 4},
)


@pytest.fixture
def films() -> KnowledgeGraph:
    return KnowledgeGraph.build(FILMS, CORPUS)


def build(*triples: Triple, **parts: tuple[object, ...]) -> KnowledgeGraph:
    return KnowledgeGraph.build(Extraction(triples=triples, **parts), CORPUS)  # type: ignore[arg-type]


def test_entities_come_by_first_appearance_in_records_then_triples_then_mentions(
    films: KnowledgeGraph,
) -> None:
    assert films.names == (
        "Tim Burton",
        "Ed Wood",
        "Burbank",
        "Johnny Depp",
        "Martin Landau",
    )


@pytest.mark.parametrize(
    ("triples", "names"),
    [
        (
            (fact("Saint-Étienne", "in", "Loire"), fact("SAINT ETIENNE", "in", "FR")),
            ("Saint-Étienne", "Loire", "FR"),
        ),
        (
            (fact("++", "is", "operator"), fact(" ++ ", "is not", "--")),
            ("++", "operator", "--"),
        ),
    ],
)
def test_spellings_of_one_key_are_one_entity_under_the_first(
    triples: Sequence[Triple], names: Sequence[str]
) -> None:
    assert build(*triples).names == names


def test_of_equal_triples_of_a_passage_the_first_description_is_kept() -> None:
    said = ("", " He made it. ", "It was made by him.", "")
    graph = build(
        *(Triple("a", "made", "b", "p0", description=text) for text in said),
        fact("b", "in", "c", "p0"),
    )
    assert [graph.triple(index).description for index in range(2)] == [
        "He made it.",
        "",
    ]
    assert graph.triple_descriptions == ("", "He made it.")


def test_of_several_records_of_one_entity_the_first_words_stand_and_aliases_add_up():
    records = (
        Entity("Ed", "film", aliases=("E",)),
        Entity("ed", "person", "A man.", ("E", "Eddie")),
    )
    graph = build(entities=records)
    assert (graph.types, graph.descriptions, graph.aliases) == (
        ("film",),
        ("A man.",),
        (("E", "Eddie"),),
    )
    assert graph.notes == {"entity records merged in the graph": 1}


def test_exact_duplicates_become_one_triple_with_the_greatest_weights() -> None:
    graph = build(
        fact("a", "r", "b", "p0", strength=2, confidence=0.9),
        fact("A", "r", "b", "p0", strength=7, confidence=0.5),
        fact("a", "r", "b", "p1"),
    )
    assert [str(graph.triple(i)) for i in range(graph.n_triples)] == ["a -[r]-> b"] * 2
    assert (graph.triple(0).strength, graph.triple(0).confidence) == (7.0, 0.9)
    assert graph.notes == {"exact duplicate triples merged in the graph": 1}


def test_a_triple_comes_back_as_it_was_given_but_for_its_spelling(
    films: KnowledgeGraph,
) -> None:
    assert films.triple(0) == FILMS.triples[0]
    assert films.triple(2) == fact("Ed Wood", "stars", "Johnny Depp", "p0", strength=2)


def test_a_triple_without_a_passage_has_row_minus_one_and_mentions_nothing() -> None:
    graph = build(fact("a", "r", "b"))
    assert graph.triples.passages.tolist() == [-1]
    assert graph.triple(0).passage_id == ""
    assert graph.n_mentions == 0


def test_mentions_and_triple_ends_count_one_each(films: KnowledgeGraph) -> None:
    rows, counts = films.mentions.of(films.entity("Johnny Depp"))
    assert (rows.tolist(), counts.tolist()) == ([0, 1], [1, 2])
    rows, counts = films.mentions.of(films.entity("Ed Wood"))
    assert (rows.tolist(), counts.tolist()) == ([0], [2])
    # Tim Burton: ends of two triples. Ed Wood: two. Burbank: one. Johnny Depp: one end, two
    # mentions. Landau: one.
    assert films.mention_counts.tolist() == [2, 2, 1, 3, 1]


def test_a_passage_knows_its_entities(films: KnowledgeGraph) -> None:
    entities, counts = films.mentioned.of(1)
    assert [films.names[code] for code in entities] == [
        "Tim Burton",
        "Burbank",
        "Johnny Depp",
    ]
    assert counts.tolist() == [1, 1, 2]
    assert films.mentioned.of(2)[0].tolist() == []


def test_triples_of_an_entity_come_whichever_end_it_is_and_a_loop_once(
    films: KnowledgeGraph,
) -> None:
    assert films.degrees[films.entity("Tim Burton")] == 2
    graph = build(fact("a", "r", "A", "p0"))
    assert (graph.adjacency.triples.tolist(), graph.degrees.tolist()) == ([0], [1])


def test_adjacency_says_which_way_a_triple_is_walked(films: KnowledgeGraph) -> None:
    burton, links = films.entity("Tim Burton"), films.adjacency
    slots = slice(links.indptr[burton], links.indptr[burton + 1])
    assert [films.names[code] for code in links.neighbours[slots]] == [
        "Ed Wood",
        "Burbank",
    ]
    assert links.along[slots].tolist() == [False, True]


@pytest.mark.parametrize(
    ("extraction", "named"),
    [
        (Extraction((fact("a", "r", "b", "p9"),)), "p9"),
        (Extraction(mentions=(Mention("Ed", ""),)), "'Ed'"),
        (Extraction((fact("  ", "r", "b", "p0"),)), "'  '"),
    ],
)
def test_an_unknown_passage_and_an_entity_without_a_name_are_refused(
    extraction: Extraction, named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        KnowledgeGraph.build(extraction, CORPUS)


def test_a_name_is_found_before_an_alias_and_an_unknown_one_comes_with_the_nearest(
    films: KnowledgeGraph,
) -> None:
    assert films.find("BURTON") == films.entity("Tim Burton")
    assert films.find("Orson Welles") is None
    with pytest.raises(KeyError, match="'Johnny Depp'"):
        films.entity("Jonny Dep")
    assert (
        build(
            entities=(Entity("Robert Burton", aliases=("Burton",)), Entity("Burton"))
        ).find("burton")
        == 1
    )


def test_an_empty_graph_answers_everything() -> None:
    graph = KnowledgeGraph.build(Extraction(), CORPUS)
    assert (graph.n_entities, graph.n_triples, graph.n_mentions, graph.n_passages) == (
        0,
        0,
        0,
        3,
    )
    assert graph.neighbours([], hops=3, limit=2) == []
    assert graph.find("x") is None
    assert graph.mentioned.of(2)[0].tolist() == []
    assert graph.subgraph([]) == graph
    assert graph.describe().loc["components", "value"] == 0
    with pytest.raises(KeyError, match="empty"):
        graph.entity("x")


def test_arrays_cannot_be_written(films: KnowledgeGraph) -> None:
    for array in (
        films.triples.heads,
        films.triples.strengths,
        films.mentions.counts,
        films.adjacency.neighbours,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_pickled_graph_is_equal(films: KnowledgeGraph) -> None:
    films.neighbours([0])
    assert pickle.loads(pickle.dumps(films)) == films


@pytest.mark.parametrize(
    "changed",
    [
        {"triples": FILMS.triples[::-1]},
        {"mentions": FILMS.mentions[1:]},
        {"entities": (Entity("Tim Burton", "director"),)},
        {
            "triples": (
                *FILMS.triples[1:],
                Triple("Ed Wood", "directed by", "Tim Burton", "p0", 8, 0.9, "Said."),
            )
        },
    ],
)
def test_graphs_of_different_contents_differ(
    films: KnowledgeGraph, changed: dict[str, tuple[object, ...]]
) -> None:
    parts = {
        "triples": FILMS.triples,
        "mentions": FILMS.mentions,
        "entities": FILMS.entities,
        **changed,
    }
    assert KnowledgeGraph.build(Extraction(**parts), CORPUS) != films  # type: ignore[arg-type]


def test_a_subgraph_keeps_the_triples_between_its_entities_and_their_mentions(
    films: KnowledgeGraph,
) -> None:
    part = films.subgraph([films.entity("Johnny Depp"), films.entity("Ed Wood")])
    assert part.names == ("Ed Wood", "Johnny Depp")
    assert part.relations == ("stars",)
    assert [part.triple(i) for i in range(part.n_triples)] == [films.triple(2)]
    np.testing.assert_array_equal(part.mention_counts, [2, 3])


def test_a_subgraph_of_everything_is_the_graph_and_of_an_unknown_entity_an_error(
    films: KnowledgeGraph,
) -> None:
    assert films.subgraph(range(films.n_entities)) == films
    with pytest.raises(IndexError, match="5 entities"):
        films.subgraph([5])


def test_an_ego_graph_holds_the_neighbourhood(films: KnowledgeGraph) -> None:
    assert films.ego(films.entity("Burbank"), hops=2).names == (
        "Tim Burton",
        "Ed Wood",
        "Burbank",
    )


def test_statistics_are_those_counted_by_hand(films: KnowledgeGraph) -> None:
    values = films.describe(hubs=2)["value"].to_dict()
    assert values == {
        "entities": 5,
        "relations": 3,
        "triples": 3,
        "mentions": 7,
        "orphans": 1,
        "components": 2,
        "largest component": 4,
        "passages": 3,
        "passages with a triple": 2,
        "isolated passages": 1,
        "share of passages covered": 0.6667,
        "mean degree": 1.2,
        "greatest degree": 2,
        "hubs": "Tim Burton (2), Ed Wood (2)",
    }
