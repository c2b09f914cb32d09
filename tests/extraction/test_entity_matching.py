"""Graphs in the shapes that people have."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from kg2rag import KnowledgeBase, Triple, systems
from kg2rag.compute import Store
from kg2rag.extraction import Extraction, Mention
from kg2rag.extraction.entity_matching import graph_of
from kg2rag.types import corpus_of

CORPUS = corpus_of(
    [
        {"id": "a", "title": "Ada Lovelace", "text": "She wrote notes on an engine."},
        {
            "id": "b",
            "title": "Charles Babbage",
            "text": "He built the Analytical Engine with Joseph Clement.",
        },
        {"id": "c", "title": "Rivers", "text": "The Thames flows through London."},
    ]
)
FACTS = [
    ("Ada Lovelace", "worked with", "Charles Babbage"),
    ("Charles Babbage", "hired", "Joseph Clement"),
]
NAMED = nx.DiGraph((head, tail, {"label": relation}) for head, relation, tail in FACTS)
NUMBERED = nx.Graph([(0, 1), (1, 2)])
nx.set_node_attributes(
    NUMBERED,
    dict(enumerate(["Ada Lovelace", "Charles Babbage", "Joseph Clement"])),
    "name",
)
FRAME = pd.DataFrame(FACTS, columns=["subject", "predicate", "object"])


def written(path, kind):
    file = path / f"facts.{kind}"
    if kind == "graphml":
        nx.write_graphml(NAMED, file)
    elif kind == "csv":
        FRAME.to_csv(file, index=False)
    else:
        FRAME.to_json(file, orient="records", lines=True)
    return file


SHAPES = {
    "networkx": NAMED,
    "numbered nodes": NUMBERED,
    "triples": [Triple(*fact, "") for fact in FACTS],
    "tuples": FACTS,
    "dicts": [
        dict(zip(("head", "relation", "tail"), fact, strict=True)) for fact in FACTS
    ],
    "frame": FRAME,
    "graphml": "graphml",
    "csv": "csv",
    "jsonl": "jsonl",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_graph_of_any_shape_is_linked_by_name(shape, tmp_path):
    given = SHAPES[shape]
    given = written(tmp_path, given) if isinstance(given, str) else given
    graph = KnowledgeBase.build(CORPUS, graph=given, store=Store(tmp_path)).graph
    assert (graph.n_entities, graph.n_triples) == (3, 2)
    rows = {
        name: graph.mentions.of(graph.entity(name))[0].tolist() for name in graph.names
    }
    assert rows == {"Ada Lovelace": [0], "Charles Babbage": [1], "Joseph Clement": [1]}
    assert [graph.triple(at).passage_id for at in range(2)] == ["", "b"]
    unnamed = {
        "edges without a relation, called 'related to'": 2,
        "entities named by name": 3,
    }
    assert graph.notes == (unnamed if shape == "numbered nodes" else {}) | {
        "entities linked by name": 3
    }


def test_provenance_is_kept_and_other_entities_alone_are_looked_for():
    found = graph_of(
        [
            Triple("Ada Lovelace", "met", "Nobody", "c"),
            Triple("Joseph Clement", "knew", "Zeno", ""),
        ]
    ).extract(CORPUS)
    assert [(m.entity, m.passage_id) for m in found.mentions] == [
        ("Joseph Clement", "b")
    ]
    assert found.triples[0].passage_id == "c"
    assert found.notes == {
        "entities linked by name": 1,
        "entities that no passage names": 1,
    }


def test_a_triple_gets_the_first_passage_that_names_both_its_ends():
    random, letters = np.random.default_rng(0), "abcdefghij"
    corpus = corpus_of({f"p{row}": "Text." for row in range(30)})
    mentions = [
        Mention(letters[code], f"p{row}")
        for code, row in random.integers((10, 30), size=(60, 2)).tolist()
    ]
    triples = [
        Triple(letters[a].upper(), "r", letters[b], "")
        for a, b in random.integers(10, size=(80, 2)).tolist()
    ]
    named = {
        one: {int(m.passage_id[1:]) for m in mentions if m.entity == one}
        for one in letters
    }
    found = graph_of(
        Extraction((*triples, Triple("a", "r", "b", "p9")), tuple(mentions))
    ).extract(corpus)
    both = [sorted(named[t.head.lower()] & named[t.tail]) for t in triples]
    assert [t.passage_id for t in found.triples] == [
        *(f"p{rows[0]}" if rows else "" for rows in both),
        "p9",
    ]
    assert 10 < sum(map(bool, both)) < 70


def test_a_name_that_the_passages_never_capitalise_is_found_in_lower_case():
    corpus = corpus_of(
        {
            "p1": "Patients with gout received allopurinol, as machine learning advised.",
            "p2": "They ate an apple, and so did those who work for Apple.",
            "p3": "It will help in may, as the us and who say.",
        }
    )
    names = ["Allopurinol", "Machine Learning", "Apple", "Will", "May", "US", "WHO"]
    found = graph_of([("Gout", "treats", name) for name in names]).extract(corpus)
    passages = {name: [] for name in ("Gout", *names)}
    for mention in found.mentions:
        passages[mention.entity].append(mention.passage_id)
    assert passages == {
        "Gout": ["p1"],
        "Allopurinol": ["p1"],
        "Machine Learning": ["p1"],
        "Apple": ["p2"],
        **{name: [] for name in ("Will", "May", "US", "WHO")},
    }
    assert found.notes["entities linked by name in lower case only"] == 3


def test_a_name_with_capitals_in_a_later_block_of_passages_counts_only_with_them(
    monkeypatch,
):
    monkeypatch.setattr("kg2rag.extraction.entity_matching.BLOCK_PASSAGES", 1)
    texts = [
        "A gull may nest on ferries.",
        "They say Gull is an agent and the gull a bird.",
        "All ferries are late.",
    ]
    corpus = corpus_of({str(row): text for row, text in enumerate(texts)})
    found = graph_of([("Gull", "likes", "Ferries")]).extract(corpus)
    assert found.mentions == (
        Mention("Gull", "1"),
        Mention("Ferries", "0"),
        Mention("Ferries", "2"),
    )


def test_a_german_verb_is_no_mention_of_a_town():
    corpus = corpus_of(
        {
            "p1": "Wir essen heute nicht in der Stadt, und das ist auch gut so.",
            "p2": "Die Stadt Dortmund ist alt, und sie war nicht immer so groß.",
        }
    )
    found = graph_of([("Essen", "nahe", "Dortmund")]).extract(corpus)
    assert [mention.entity for mention in found.mentions] == ["Dortmund"]


def test_a_graph_of_which_nothing_is_named_is_refused(tmp_path):
    kb = KnowledgeBase.build(
        CORPUS, graph=[("Zeno", "knew", "Plato")], store=Store(tmp_path)
    )
    with pytest.raises(ValueError, match=r"'Zeno'.*passage_id"):
        kb.graph  # noqa: B018


@pytest.mark.parametrize("graph", [[], [1, 2], [("a", "b")], 7, nx])
def test_what_is_no_graph_is_refused(graph):
    with pytest.raises(TypeError, match="head, relation, tail"):
        KnowledgeBase.build(CORPUS, graph=graph)


GRAPH_SYSTEMS = [
    "graph_augmented",
    "hippo1",
    "hippo2",
    "kg2rag",
    "proprag",
    "practical_graphrag",
    "expansion_queries",
]


@pytest.mark.parametrize(
    "system",
    [*GRAPH_SYSTEMS, "mention_ppr(triple_weight=1)", "mention_chains(triple_weight=1)"],
)
def test_every_graph_strategy_uses_a_graph_of_ones_own(system, tmp_path):
    store = Store(tmp_path)
    with_graph = KnowledgeBase.build(CORPUS, graph=NAMED, store=store)
    hits = systems.build(system, with_graph).retrieve(
        "Who did Ada Lovelace work with?", 3
    )
    assert len(hits)
    assert with_graph.usage["graph reads"] > 0
