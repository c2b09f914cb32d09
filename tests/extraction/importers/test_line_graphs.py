"""Graphs as lines of text, and tables of programs that name edges in their own way."""

from __future__ import annotations

from pathlib import Path

import igraph
import networkx as nx
import pytest

from kg2rag import KnowledgeBase
from kg2rag.compute import Store
from kg2rag.extraction.importers.triples import TriplesFile
from kg2rag.types import corpus_of

CORPUS = corpus_of(
    {
        "p1": {"title": "Halina", "text": "The Halina is a ferry. Marek steers it."},
        "p2": {"title": "Marek", "text": "Marek is a captain. Ida Berg employs him."},
    }
)


def triples(path: Path) -> set[tuple[str, str, str]]:
    graph = KnowledgeBase.build(CORPUS, graph=path, store=Store(path.parent)).graph
    facts = [graph.triple(index) for index in range(graph.n_triples)]
    return {(fact.head, fact.relation, fact.tail) for fact in facts}


def test_edge_lists_of_networkx_and_igraph_have_their_attributes(
    tmp_path: Path,
) -> None:
    graph = nx.DiGraph()
    graph.add_edge("Marek", "Halina", relation="steers")
    nx.write_edgelist(graph, tmp_path / "a.edgelist")
    assert triples(tmp_path / "a.edgelist") == {("Marek", "steers", "Halina")}
    tuples = igraph.Graph.TupleList(
        [("Marek", "Halina", 2.0)], directed=True, weights=True
    )
    tuples.write_ncol(str(tmp_path / "a.ncol"), names="name", weights="weight")
    assert triples(tmp_path / "a.ncol") == {("Marek", "related to", "Halina")}


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("a.edgelist", "Marek Halina {}\nIda Berg Marek {}\n", "line 2"),
        ("a.edgelist", "Marek Halina {open(\n", "line 1"),
        ("a.ncol", "Ida Berg Marek\n", "line 1"),
        ("a.adjlist", "Marek Halina\n", "GraphML"),
        ("a.gdf", "nodedef>name\nMarek\n", "GEXF"),
    ],
)
def test_names_that_blanks_divide_are_refused(
    tmp_path: Path, name: str, text: str, fault: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=fault):
        triples(tmp_path / name)


def test_cytoscapes_table_of_edges_has_the_ends_in_the_name(tmp_path: Path) -> None:
    path = tmp_path / "network default edge.csv"
    path.write_text(
        '"SUID","shared name","shared interaction","name","interaction"\n'
        '"7","Marek (steers) Halina","steers","Marek (steers) Halina","steers"\n'
    )
    assert triples(path) == {("Marek", "steers", "Halina")}


def test_the_columns_of_a_query_in_neo4js_browser_are_an_edge(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    path.write_text("n.name,type(r),m.name\nMarek,steers,Halina\n")
    assert triples(path) == {("Marek", "steers", "Halina")}


def test_labels_of_wikidata_come_before_addresses(tmp_path: Path) -> None:
    path = tmp_path / "query.csv"
    path.write_text(
        "item,itemLabel,propLabel,value,valueLabel\n"
        "http://www.wikidata.org/entity/Q1,Marek,steers,http://www.wikidata.org/entity/Q2,Halina\n"
    )
    assert triples(path) == {("Marek", "steers", "Halina")}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # pandas and pandoc enclose a cell that has a mark, and write the mark twice
        (
            'head\trelation\ttail\n"Marek ""M"" Lund"\tsteers\tHalina\n',
            {'Marek "M" Lund', "Halina"},
        ),
        (
            '"head"\t"relation"\t"tail"\n"Marek"\t"steers"\t"Halina"\n',
            {"Marek", "Halina"},
        ),
        # other tools write names as they are
        ('head\trelation\ttail\n"M" Lund\tsteers\tHalina\n', {'"M" Lund', "Halina"}),
        ('head\trelation\ttail\n"Marek"\tsteers\tHalina\n', {'"Marek"', "Halina"}),
        (
            'head\trelation\ttail\n"a ""b"""\tsteers\t7" Halina\n',
            {'"a ""b"""', '7" Halina'},
        ),
    ],
)
def test_marks_in_tsv_enclose_cells_only_where_all_of_them_do(
    tmp_path: Path, text: str, names: set[str]
) -> None:
    path = tmp_path / "triples.tsv"
    path.write_text(text)
    (triple,) = TriplesFile(path, needs_passages=False).extract(CORPUS).triples
    assert {triple.head, triple.tail} == names


def test_pajek_of_igraph_has_labels_of_edges_without_weights(tmp_path: Path) -> None:
    graph = igraph.Graph.TupleList(
        [("Marek", "Halina", "steers")], directed=True, edge_attrs=["label"]
    )
    graph.vs["id"] = graph.vs["name"]
    graph.write_pajek(str(tmp_path / "a.net"))
    assert triples(tmp_path / "a.net") == {("Marek", "steers", "Halina")}
