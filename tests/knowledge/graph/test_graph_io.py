"""Graphs on disk and in networkx."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.importers.networkx_graph import extraction_of_networkx
from kg2rag.extraction.importers.triples import TriplesFile
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages(
    [Passage(id_, "", "Text.", id_, 0) for id_ in ("p0", "p1", "p2")]
)


def fact(
    head: str, relation: str, tail: str, passage_id: str = "", **weights: float
) -> Triple:
    return Triple(head, relation, tail, passage_id, **weights)


names = st.text(min_size=1, max_size=4).filter(str.strip)
extractions = st.builds(
    Extraction,
    triples=st.lists(
        st.builds(
            Triple,
            names,
            names,
            names,
            st.sampled_from(["", "p0", "p1"]),
            st.sampled_from([0.1, 5.0, 10.0]),
            st.sampled_from([0.3, 1.0]),
            st.sampled_from(["", "Said so.", "And so."]),
        ),
        max_size=8,
    ).map(tuple),
    mentions=st.lists(
        st.builds(Mention, names, st.sampled_from(["p0", "p2"])), max_size=5
    ).map(tuple),
    entities=st.lists(
        st.builds(Entity, names, names, names, st.tuples(names)), max_size=4
    ).map(tuple),
)


@settings(deadline=None, max_examples=50)
@given(extractions)
def test_a_saved_graph_comes_back_equal(
    tmp_path_factory: pytest.TempPathFactory, extraction: Extraction
) -> None:
    graph = KnowledgeGraph.build(extraction, CORPUS)
    folder = tmp_path_factory.mktemp("graph")
    graph.save(folder)
    loaded = KnowledgeGraph.load(folder, CORPUS)
    assert loaded == graph
    assert loaded.notes == graph.notes


@settings(deadline=None, max_examples=50)
@given(extractions)
def test_a_graph_with_its_passages_comes_back_from_networkx_equal(
    extraction: Extraction,
) -> None:
    graph = KnowledgeGraph.build(extraction, CORPUS)
    assert (
        KnowledgeGraph.build(
            extraction_of_networkx(graph.to_networkx(passages=True)), CORPUS
        )
        == graph
    )


@pytest.fixture
def small() -> KnowledgeGraph:
    triples = (
        fact("a", "r", "b", "p0", strength=3),
        fact("b", "s", "a", confidence=0.5),
    )
    return KnowledgeGraph.build(
        Extraction(triples, entities=(Entity("a", "T", "An a.", ("aa",)),)), CORPUS
    )


def test_a_damaged_column_is_named(small: KnowledgeGraph, tmp_path: Path) -> None:
    small.save(tmp_path)
    file = tmp_path / "triples.parquet"
    table = pq.read_table(file)
    at = table.column_names.index("description")
    for damaged in (
        table.drop_columns(["description"]),
        table.set_column(at, "description", pa.array([None, "x"])),
    ):
        pq.write_table(damaged, file)
        with pytest.raises(ValueError, match="'description'"):
            KnowledgeGraph.load(tmp_path, CORPUS)


def test_saving_twice_writes_the_same_bytes(
    small: KnowledgeGraph, tmp_path: Path
) -> None:
    for folder in ("one", "two"):
        small.save(tmp_path / folder)
    for file in ("entities.parquet", "triples.parquet", "mentions.parquet"):
        assert (tmp_path / "one" / file).read_bytes() == (
            tmp_path / "two" / file
        ).read_bytes()


def test_saved_triples_read_as_a_table_and_as_a_source_of_triples(
    small: KnowledgeGraph, tmp_path: Path
) -> None:
    small.save(tmp_path)
    frame = pd.read_parquet(tmp_path / "triples.parquet")
    assert frame["head"].tolist() == ["a", "b"]
    assert TriplesFile(tmp_path / "triples.parquet").extract(CORPUS).triples == (
        small.triple(0),
        small.triple(1),
    )


def test_a_missing_file_and_a_passage_that_another_corpus_lacks_are_named(
    small: KnowledgeGraph, tmp_path: Path
) -> None:
    small.save(tmp_path)
    other = Corpus.from_passages([Passage("q", "", "Text.", "q", 0)])
    with pytest.raises(ValueError, match=r"mentions.parquet.*'p0'"):
        KnowledgeGraph.load(tmp_path, other)
    (tmp_path / "mentions.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"mentions\.parquet"):
        KnowledgeGraph.load(tmp_path, CORPUS)


def test_networkx_nodes_and_edges_carry_what_is_known(small: KnowledgeGraph) -> None:
    graph = small.to_networkx()
    known = {
        "kind": "entity",
        "type": "T",
        "description": "An a.",
        "aliases": '["aa"]',
        "mentions": 1,
    }
    assert graph.nodes["a"] == known
    said = {
        "relation": "r",
        "description": "",
        "strength": 3.0,
        "confidence": 1.0,
        "passage_id": "p0",
    }
    assert graph.edges["a", "b", 0] == {"kind": "triple", **said, "order": 0}


def test_a_plain_networkx_graph_becomes_triples_in_its_own_order() -> None:
    graph = nx.Graph()
    graph.add_edge("x", "y", relation="near")
    graph.add_edge("z", "x", relation="far", passage_id="p1", strength=1)
    built = KnowledgeGraph.build(extraction_of_networkx(graph), CORPUS)
    assert [built.triple(i) for i in range(2)] == [
        fact("x", "near", "y"),
        fact("x", "far", "z", "p1", strength=1),
    ]


def test_a_networkx_graph_of_nodes_without_names_is_refused() -> None:
    with pytest.raises(ValueError, match="Node 7"):
        extraction_of_networkx(nx.Graph([(7, 8)]))


def test_an_entity_that_looks_like_a_passage_node_is_an_error() -> None:
    graph = KnowledgeGraph.build(Extraction((fact("passage:p0", "r", "b"),)), CORPUS)
    with pytest.raises(ValueError, match="passage:p0"):
        graph.to_networkx(passages=True)
