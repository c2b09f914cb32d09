"""RDF files: resources by their labels, statements between them as triples, and what is left out."""

from pathlib import Path

import pytest

from kg2rag import KnowledgeBase, Store

pytest.importorskip("rdflib")

CORPUS = {
    "p1": "Marek Lund steers the ferry Halina.",
    "p2": "Halina lies in Ostholm.",
}
TURTLE = """
@prefix ex: <http://ex.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:p7 a ex:Person ; rdfs:label "Marek Lund"@en , "Марек Лунд"@ru ; ex:steers ex:s1 ; ex:born 1971 .
ex:s1 rdfs:label "Halina" ; rdfs:comment "A ferry." ; ex:lies_in ex:Ostholm ; ex:owner [ ex:share 2 ] .
"""


def graph_of(folder: Path, name: str, text: str):
    (folder / name).write_text(text, encoding="utf-8")
    return KnowledgeBase.build(
        CORPUS, graph=folder / name, store=Store(folder / "s")
    ).graph


def facts(graph) -> list[tuple[str, str, str]]:
    triples = (graph.triple(index) for index in range(graph.n_triples))
    return [(triple.head, triple.relation, triple.tail) for triple in triples]


def test_resources_have_their_labels_as_names_and_literals_are_counted(tmp_path):
    graph = graph_of(tmp_path, "g.ttl", TURTLE)
    assert facts(graph) == [
        ("Halina", "lies in", "Ostholm"),
        ("Marek Lund", "steers", "Halina"),
    ]
    assert graph.types[graph.entity("Marek Lund")] == "Person"
    notes = graph.notes
    assert notes["statements with a literal value, left out"] == 2
    assert notes["edges of blank entities, left out"] == 1


def test_resources_without_labels_have_the_last_part_of_their_address(tmp_path):
    line = (
        "<http://ex.org/Marek_Lund> <http://ex.org/r#steers> <http://ex.org/Halina> .\n"
    )
    assert facts(graph_of(tmp_path, "g.nt", line)) == [
        ("Marek Lund", "steers", "Halina")
    ]


def test_json_ld_is_read_without_asking_an_address(tmp_path):
    local = """{"@context": {"steers": {"@id": "http://ex.org/steers", "@type": "@id"}},
        "@id": "http://ex.org/Marek_Lund", "steers": "http://ex.org/Halina"}"""
    assert facts(graph_of(tmp_path, "g.jsonld", local)) == [
        ("Marek Lund", "steers", "Halina")
    ]
    remote = """{"@context": "https://schema.org", "@graph": [
        {"@id": "#1", "@type": "Article", "headline": "On Ferries", "author": {"@id": "#2"}},
        {"@id": "#2", "@type": "Person", "name": "Marek Lund"}]}"""
    graph = graph_of(tmp_path, "remote.jsonld", remote)
    assert facts(graph) == [("On Ferries", "author", "Marek Lund")]
    assert any("not read" in note for note in graph.notes)


@pytest.mark.parametrize("text", ["", "<a> <b>"])
def test_a_file_without_statements_is_refused_by_name(tmp_path, text):
    with pytest.raises(ValueError, match=r"g\.ttl"):
        graph_of(tmp_path, "g.ttl", text)
