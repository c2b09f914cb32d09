"""Patterns of Cypher, cells of objects and adjacency matrices as graphs."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pandas as pd
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


BROWSER_JSON = """n,r,m
"{""identity"":0,""labels"":[""Person""],""properties"":{""name"":""Marek Lund""}}","{""start"":0,""end"":1,\
""identity"":5,""type"":""STEERS"",""properties"":{}}","{""identity"":1,""labels"":[""Ship""],""properties"":{""name"":""Halina""}}"
"""
AGE = """n,r,m
"{""id"": 8, ""label"": ""Person"", ""properties"": {""name"": ""Marek Lund""}}::vertex",\
"{""id"": 11, ""label"": ""STEERS"", ""end_id"": 9, ""start_id"": 8, ""properties"": {}}::edge",\
"{""id"": 9, ""label"": ""Ship"", ""properties"": {""name"": ""Halina""}}::vertex"
"""


@pytest.mark.parametrize("text", [BROWSER_JSON, AGE])
def test_cells_of_objects_are_nodes_and_relationships(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "records.csv"
    file.write_text(text.replace("\\\n", ""))
    assert is_graph_file(file)
    extraction = extraction_of_networkx(read_graph(file))
    assert [(t.head, t.relation, t.tail) for t in extraction.triples] == [
        ("Marek Lund", "STEERS", "Halina")
    ]
    assert [(e.name, e.type) for e in extraction.entities] == [
        ("Marek Lund", "Person"),
        ("Halina", "Ship"),
    ]


LIGHTRAG = """# ENTITIES
entity_name,source_id,graph_data
Halina,chunk-1,"{'entity_id': 'Halina', 'entity_type': 'ship', 'description': ""Lund's ferry""}"
Marek Lund,chunk-1,"{'entity_id': 'Marek Lund', 'entity_type': 'person', 'description': 'captain'}"


# RELATIONS
src_entity,tgt_entity,source_id,graph_data
Marek Lund,Halina,chunk-1,"{'weight': 2.0, 'description': 'He steers her.', 'keywords': 'steers'}"


# RELATIONSHIPS
relationship_id,data
rel-1,"{'src_id': 'Marek Lund', 'tgt_id': 'Halina'}"
"""


def test_the_sections_of_an_export_of_lightrag_are_tables(tmp_path: Path) -> None:
    file = tmp_path / "export.csv"
    file.write_text(LIGHTRAG)
    result = _graph_of(file)
    assert dict(zip(result.names, result.types, strict=True)) == {
        "Halina": "ship",
        "Marek Lund": "person",
    }
    [triple] = [result.triple(row) for row in range(result.n_triples)]
    assert (triple.head, triple.relation, triple.tail) == (
        "Marek Lund",
        "steers",
        "Halina",
    )
    assert triple.description == "He steers her."


def test_a_folder_of_lightrag_without_its_graph_is_named(tmp_path: Path) -> None:
    (tmp_path / "kv_store_text_chunks.json").write_text("{}")
    (tmp_path / "vdb_entities.json").write_text('{"data": []}')
    with pytest.raises(
        FileNotFoundError, match=r"graph_chunk_entity_relation\.graphml"
    ):
        _graph_of(tmp_path)


def test_the_predicate_of_kgx_precedes_its_relation(tmp_path: Path) -> None:
    file = tmp_path / "edges.tsv"
    file.write_text(
        "subject\tpredicate\tobject\trelation\n"
        "Marek Lund\tbiolink:steers\tHalina\tRO:0002\n"
    )
    assert _graph_of(file).triple(0).relation == "biolink:steers"


@pytest.mark.parametrize(
    "text",
    [
        "(Marek Lund, steers, Halina)\n(Ida Berg, knows, Marek Lund)\n",
        "('Marek Lund', 'steers', 'Halina')\n('Ida Berg', 'knows', 'Marek Lund')\n",
    ],
)
def test_brackets_around_triples_in_text_are_no_part_of_names(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "triples.txt"
    file.write_text(text)
    assert list(_graph_of(file).names) == ["Marek Lund", "Halina", "Ida Berg"]


def test_the_value_of_a_link_of_d3_is_its_weight(tmp_path: Path) -> None:
    file = tmp_path / "graph.json"
    names = ["Marek Lund", "Halina", "Ida Berg"]
    links = [
        {"source": "Marek Lund", "target": "Halina", "value": 1},
        {"source": "Ida Berg", "target": "Marek Lund", "value": 3},
    ]
    nodes = [{"id": name, "group": 1} for name in names]
    file.write_text(json.dumps({"nodes": nodes, "links": links}))
    result = _graph_of(file)
    assert [result.triple(row).strength for row in range(2)] == [5.0, 10.0]


@pytest.mark.parametrize("name", ["graph.gpickle", "graph.pkl", "neo4j.dump"])
def test_a_format_that_is_not_read_has_an_alternative(
    tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    file.write_bytes(b"\x80\x04N.")
    with pytest.raises(DataError, match=rf"{name}.*(GraphML|apoc)"):
        _graph_of(file)


def test_a_table_of_chunks_beside_edges_holds_no_nodes(tmp_path: Path) -> None:
    (tmp_path / "graph.csv").write_text(
        "node_1|node_2|edge|chunk_id\nmarek lund|halina|steers|c1\n"
    )
    (tmp_path / "chunks.csv").write_text(
        "text|source|chunk_id\nMarek Lund steers Halina.|a.txt|c1\n"
    )
    result = _graph_of(tmp_path)
    assert list(result.names) == ["marek lund", "halina"]
    assert result.triple(0).relation == "steers"


def test_headers_of_neo4j_in_files_of_their_own_are_those_of_the_tables(
    tmp_path: Path,
) -> None:
    for name, text in {
        "persons-header.csv": "personId:ID,name,:LABEL\n",
        "persons.csv": "1,Marek Lund,Person\n2,Ida Berg,Person\n",
        "knows-header.csv": ":START_ID,:END_ID,:TYPE\n",
        "knows.csv": "2,1,KNOWS\n",
    }.items():
        (tmp_path / name).write_text(text)
    triple = _graph_of(tmp_path).triple(0)
    assert (triple.head, triple.relation, triple.tail) == (
        "Ida Berg",
        "KNOWS",
        "Marek Lund",
    )


def test_two_items_of_wikidata_are_joined_by_the_property_of_the_second(
    tmp_path: Path,
) -> None:
    file = tmp_path / "query.csv"
    file.write_text(
        "person,personLabel,ship,shipLabel\n"
        "http://www.wikidata.org/entity/Q1,Marek Lund,http://www.wikidata.org/entity/Q2,Halina\n"
        "http://www.wikidata.org/entity/Q3,Ida Berg,,\n"
    )
    result = _graph_of(file)
    assert result.n_triples == 1
    triple = result.triple(0)
    assert (triple.head, triple.relation, triple.tail) == (
        "Marek Lund",
        "ship",
        "Halina",
    )


def test_a_line_of_json_may_be_a_list_of_triples(tmp_path: Path) -> None:
    file = tmp_path / "triples.jsonl"
    lines = [
        [["Marek Lund", "steers", "Halina"]],
        [["Ida Berg", "knows", "Marek Lund"]],
    ]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert _graph_of(file).n_triples == 2


def test_nodes_in_parquet_beside_edges_name_them(tmp_path: Path) -> None:
    names = ["Marek Lund", "Halina"]
    pd.DataFrame({"id": [1, 2], "name": names}).to_parquet(tmp_path / "nodes.parquet")
    edges = pd.DataFrame({"source": [1], "target": [2], "relation": ["steers"]})
    edges.to_parquet(tmp_path / "edges.parquet")
    assert list(_graph_of(tmp_path / "edges.parquet").names) == names


def test_a_title_above_the_table_of_a_sheet_is_no_header(tmp_path: Path) -> None:
    rows = [
        ["Export of 2025", None, None],
        ["Source", "Relation", "Target"],
        ["Marek Lund", "steers", "Halina"],
    ]
    pd.DataFrame(rows).to_excel(tmp_path / "kg.xlsx", index=False, header=False)
    assert _graph_of(tmp_path / "kg.xlsx").triple(0).relation == "steers"


def test_labels_name_nodes_whose_names_are_their_numbers(tmp_path: Path) -> None:
    graph = nx.DiGraph()
    graph.add_node(0, label="Marek Lund")
    graph.add_node(1, label="Halina")
    graph.add_edge(0, 1, relation="steers")
    file = tmp_path / "graph.cyjs"
    file.write_text(json.dumps(nx.cytoscape_data(graph)))
    extraction = extraction_of_networkx(read_graph(file))
    assert [entity.name for entity in extraction.entities] == ["Marek Lund", "Halina"]


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
