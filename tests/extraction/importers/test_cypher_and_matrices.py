"""Patterns of Cypher and adjacency matrices as graphs."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from kg2rag.compute import Store
from kg2rag.extraction.importers.graph_files import is_graph_file, read_graph
from kg2rag.extraction.importers.networkx_graph import extraction_of_networkx
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.text.records import DataError

SHELL = """n, r, m
(:Person {born: 1961, name: "Marek Lund"}), [:STEERS {since: 1994}], (:Ship {name: "Halina"})
(:Person:Captain {name: "Ida Berg"}), [:KNOWS], (:Person {born: 1961, name: "Marek Lund"})
"""
BROWSER = """n,r,m
"(:Person {born: 1961,name: Marek Lund})",[:STEERS {since: 1994}],"(:Ship {name: Halina})"
"(:Person:Captain {name: Ida Berg})",[:KNOWS],"(:Person {born: 1961,name: Marek Lund})"
"""
PATHS = """p
"(:Ship {name: ""Halina""})<-[:STEERS]-(:Person {name: ""Marek Lund""})<-[:KNOWS]-(:Captain {name: ""Ida Berg""})"
"""
STATEMENTS = """CREATE (marek:Person {name:'Marek Lund', born:1961}), (halina:Ship {title:'Halina', ports:['Oslo']})
CREATE (marek)-[:STEERS {since:1994}]->(halina),
  (:Captain {name:"Ida Berg"})
    -[:KNOWS]->(marek);
MATCH (a)-[:STEERS]->(b) RETURN a, count(b)
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("shell.csv", SHELL),
        ("browser.csv", BROWSER),
        ("paths.csv", PATHS),
        ("ships.cypher", STATEMENTS),
    ],
)
def test_patterns_of_cypher_are_nodes_and_relationships(
    tmp_path: Path, name: str, text: str
) -> None:
    file = tmp_path / name
    file.write_text(text)
    assert is_graph_file(file)
    extraction = extraction_of_networkx(read_graph(file))
    assert {(t.head, t.relation, t.tail) for t in extraction.triples} == {
        ("Marek Lund", "STEERS", "Halina"),
        ("Ida Berg", "KNOWS", "Marek Lund"),
    }
    assert len(extraction.entities) == 3


def test_a_table_with_one_pattern_in_a_cell_is_still_one_of_triples(
    tmp_path: Path,
) -> None:
    file = tmp_path / "triples.csv"
    file.write_text("head,relation,tail\nMarek Lund (born 1961),steers,Halina [sic]\n")
    assert not is_graph_file(file)


def _graph_of(file: Path) -> KnowledgeGraph:
    texts = ["Marek Lund steers Halina.", "Ida Berg knows Marek Lund.", "Oslo is far."]
    return KnowledgeBase.build(texts, graph=file, store=Store(file.parent)).graph


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_matrix_of_names_has_an_edge_for_each_number(
    tmp_path: Path, separator: str
) -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from(
        [("Marek Lund", "Halina", 3), ("Ida Berg", "Marek Lund", 1)]
    )
    graph.add_node("Oslo")
    file = tmp_path / "matrix.csv"
    nx.to_pandas_adjacency(graph).to_csv(file, sep=separator)
    result = _graph_of(file)
    assert set(result.names) == {"Marek Lund", "Halina", "Ida Berg", "Oslo"}
    triples = [result.triple(row) for row in range(result.n_triples)]
    assert {(t.head, t.tail): t.strength for t in triples} == {
        ("Marek Lund", "Halina"): 10.0,
        ("Marek Lund", "Ida Berg"): 5.0,  # 10 ln(1 + 1) / ln(1 + 3)
    }


def test_a_matrix_of_directions_keeps_them(tmp_path: Path) -> None:
    file = tmp_path / "matrix.csv"
    file.write_text(",Ida Berg,Marek Lund\nIda Berg,0,2\nMarek Lund,1,\n")
    result = _graph_of(file)
    triples = [result.triple(row) for row in range(result.n_triples)]
    assert [(t.head, t.tail) for t in triples] == [
        ("Ida Berg", "Marek Lund"),
        ("Marek Lund", "Ida Berg"),
    ]


def test_a_cell_of_a_matrix_that_is_no_number_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "matrix.csv"
    file.write_text(",Ida Berg,Marek Lund\nIda Berg,0,often\nMarek Lund,1,0\n")
    with pytest.raises(DataError, match=r"record 2.*Marek Lund.*often"):
        _graph_of(file)
