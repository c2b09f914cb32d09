"""Graphs as JSON without nodes and edges: what each shape means, worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kg2rag import KnowledgeBase
from kg2rag.compute import Store
from kg2rag.types import corpus_of

CORPUS = corpus_of(
    {
        "p1": {
            "title": "Halina",
            "text": "The Halina is a ferry. Marek Lund steers it.",
        },
        "p2": {
            "title": "Marek Lund",
            "text": "Marek Lund is a captain. Ida Berg employs him.",
        },
    }
)
TRIPLES = {("Marek Lund", "steers", "Halina"), ("Ida Berg", "employs", "Marek Lund")}
NAMES = ("Halina", "Ida Berg", "Marek Lund")
ENTITY = "http://www.wikidata.org/entity/"


def triples(path: Path, store: Path) -> set[tuple[str, str, str]]:
    graph = KnowledgeBase.build(CORPUS, graph=path, store=Store(store)).graph
    facts = [graph.triple(index) for index in range(graph.n_triples)]
    return {(fact.head, fact.relation, fact.tail) for fact in facts}


def term(value: str, kind: str = "literal") -> dict[str, str]:
    return {"type": kind, "value": value}


def sparql(variables: list[str], *rows: dict[str, dict[str, str]]) -> dict[str, object]:
    return {"head": {"vars": variables}, "results": {"bindings": list(rows)}}


def http_row(head: str, relation: str, tail: str) -> dict[str, object]:
    nodes = [
        {"id": name, "labels": ["X"], "properties": {"name": name}}
        for name in (head, tail)
    ]
    edge = {
        "id": "9",
        "type": relation,
        "startNode": head,
        "endNode": tail,
        "properties": {},
    }
    return {
        "row": [{"name": head}, {}, {"name": tail}],
        "meta": [
            {"id": 1, "type": "node"},
            {"id": 9, "type": "relationship", "deleted": False},
        ],
        "graph": {"nodes": nodes, "relationships": [edge]},
    }


LABELLED = [
    {"item": term(ENTITY + "Q1", "uri"), "itemLabel": term(head)}
    | {"prop": term(ENTITY + "P1", "uri"), "propLabel": term(relation)}
    | {"value": term(ENTITY + "Q2", "uri"), "valueLabel": term(tail)}
    for head, relation, tail in TRIPLES
]
FILES: dict[str, object] = {
    "SPARQL, three variables with their labels": sparql(
        ["item", "itemLabel", "prop", "propLabel", "value", "valueLabel"], *LABELLED
    ),
    "SPARQL, ends by their names, the relation as an address": sparql(
        ["o", "p", "s"],
        *(
            {
                "s": term(head),
                "p": term(f"http://x.org/rel#{relation}", "uri"),
                "o": term(tail),
            }
            for head, relation, tail in TRIPLES
        ),
    ),
    "LlamaIndex's SimpleGraphStore": {
        "graph_dict": {head: [[relation, tail]] for head, relation, tail in TRIPLES}
    },
    "Neo4j's HTTP API, with the ids of nodes and relationships beside the rows": {
        "results": [
            {
                "columns": ["n", "r", "m"],
                "data": [http_row(*triple) for triple in TRIPLES],
            }
        ],
        "errors": [],
    },
    "Neo4j's LLM graph builder": {
        "nodes": [
            {"element_id": f"4:{name}", "labels": ["X"], "properties": {"id": name}}
            for name in NAMES
        ],
        "relationships": [
            {"element_id": "5:0", "type": relation}
            | {"start_node_element_id": f"4:{head}", "end_node_element_id": f"4:{tail}"}
            for head, relation, tail in TRIPLES
        ],
    },
    "Kumu's map": {
        "elements": [
            {"_id": f"elem-{NAMES.index(name)}", "label": name, "type": "X"}
            for name in NAMES
        ],
        "connections": [
            {
                "_id": "c",
                "from": f"elem-{NAMES.index(head)}",
                "to": f"elem-{NAMES.index(tail)}",
                "type": relation,
            }
            for head, relation, tail in TRIPLES
        ],
    },
    "VOSviewer's network": {
        "network": {
            "items": [
                {"id": number, "label": name, "weights": {"Links": 1}}
                for number, name in enumerate(NAMES, start=1)
            ],
            "links": [
                {
                    "source_id": NAMES.index(head) + 1,
                    "target_id": NAMES.index(tail) + 1,
                    "strength": 12,
                    "label": relation,
                }
                for head, relation, tail in TRIPLES
            ],
        },
        "config": {"terminology": {"item": "Term"}},
    },
    "lists with names of their own": {
        "persons and ships": [{"id": name} for name in NAMES],
        "ports": [{"id": "Bergen"}],
        "ties": [
            {"from": head, "to": tail, "type": relation}
            for head, relation, tail in TRIPLES
        ],
    },
    "OBO's graphs": {
        "graphs": [
            {
                "nodes": [
                    {
                        "id": f"http://x/{NAMES.index(name)}",
                        "lbl": name,
                        "type": "CLASS",
                    }
                    for name in NAMES
                ],
                "edges": [
                    {
                        "sub": f"http://x/{NAMES.index(head)}",
                        "pred": relation,
                        "obj": f"http://x/{NAMES.index(tail)}",
                    }
                    for head, relation, tail in TRIPLES
                ],
            }
        ]
    },
    "Cognee's pair of nodes and edges": [
        [[name, {"name": name}] for name in NAMES],
        [[head, tail, relation, {"weight": 1}] for head, relation, tail in TRIPLES],
    ],
}


@pytest.mark.parametrize("form", FILES)
def test_a_shape_of_another_tool_has_its_triples(tmp_path: Path, form: str) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(FILES[form]))
    assert triples(path, tmp_path) == TRIPLES


def test_of_two_variables_the_second_names_the_relation(tmp_path: Path) -> None:
    path = tmp_path / "query.json"
    path.write_text(
        json.dumps(
            sparql(
                ["person", "ship"],
                {"person": term("Marek Lund"), "ship": term("Halina")},
            )
        )
    )
    assert triples(path, tmp_path) == {("Marek Lund", "ship", "Halina")}


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (
            sparql(["a", "b"], {"a": term(ENTITY + "Q1", "uri"), "b": term("Halina")}),
            "row 1: .a is",
        ),
        (sparql(["a", "b"], {"a": term("Halina")}), "row 1: .b has no value"),
        (sparql(["a", "b", "c", "d"], {}), "variables a, b, c, d"),
        (
            {"results": [{"columns": ["n"], "data": [{"row": [], "meta": []}]}]},
            "no graph",
        ),
    ],
)
def test_a_query_without_names_for_both_ends_is_refused(
    tmp_path: Path, value: object, fault: str
) -> None:
    path = tmp_path / "query.json"
    path.write_text(json.dumps(value))
    with pytest.raises(ValueError, match=fault):
        triples(path, tmp_path)


def test_a_canvas_has_its_cards_by_text_and_file_and_groups_with_edges_only(
    tmp_path: Path,
) -> None:
    place = {"x": 0, "y": 0, "width": 9, "height": 9}
    cards = [
        {"id": "a", "type": "text", "text": "Marek Lund", **place},
        {"id": "b", "type": "file", "file": "ships/Halina.md", **place},
        {"id": "c", "type": "group", "label": "Ida Berg", **place},
        {"id": "d", "type": "group", "label": "everything", **place},
    ]
    edges = [
        {"id": "e", "fromNode": "a", "toNode": "b", "label": "steers"},
        {"id": "f", "fromNode": "c", "toNode": "a", "label": "employs"},
    ]
    path = tmp_path / "ferry.canvas"
    path.write_text(json.dumps({"nodes": cards, "edges": edges}))
    assert triples(path, tmp_path) == TRIPLES


def wikidata(id_: str, label: str, **claims: str) -> dict[str, object]:
    """An entity of a dump, its claims by property."""
    return {
        "id": id_,
        "labels": {"de": {"value": "?"}, "en": {"value": label}},
        "descriptions": {},
        "claims": {
            property_: [{"mainsnak": {"datavalue": {"value": {"id": target}}}}]
            for property_, target in claims.items()
        },
    }


def test_a_dump_of_wikidata_has_its_labels_as_names(tmp_path: Path) -> None:
    dump = [
        wikidata("Q1", "Marek Lund", P1="Q2"),
        wikidata("Q2", "Halina"),
        wikidata("Q3", "Ida Berg", P2="Q1", P3="Q99"),
        wikidata("P1", "steers"),
        wikidata("P2", "employs"),
    ]
    (tmp_path / "dump.json").write_text(json.dumps(dump))
    graph = KnowledgeBase.build(
        CORPUS, graph=tmp_path / "dump.json", store=Store(tmp_path)
    ).graph
    assert triples(tmp_path / "dump.json", tmp_path) == TRIPLES
    assert graph.notes["edges of blank entities, left out"] == 1  # Q99


def typed(value: object, kind: str = "g:Int64") -> dict[str, object]:
    return {"@type": kind, "@value": value}


def vertex(id_: int, name: str) -> dict[str, object]:
    names = [{"id": typed(0), "value": name}]
    return {"id": typed(id_), "label": "x", "properties": {"name": names}}


def test_graphson_is_read_by_vertex_and_as_a_whole(tmp_path: Path) -> None:
    names = ("Marek Lund", "Halina", "Ida Berg")
    vertices = [vertex(number, name) for number, name in enumerate(names)]
    lines = [dict(vertex) for vertex in vertices]
    lines[0]["outE"] = {"steers": [{"id": typed(7), "inV": typed(1)}]}
    lines[2]["outE"] = {"employs": [{"id": typed(8), "inV": typed(0)}]}
    file = tmp_path / "lines.json"
    file.write_text("\n".join(map(json.dumps, lines)))
    assert triples(file, tmp_path) == TRIPLES
    edges = [
        {"id": typed(7), "label": "steers", "outV": typed(0), "inV": typed(1)},
        {"id": typed(8), "label": "employs", "outV": typed(2), "inV": typed(0)},
    ]
    parts = {
        "vertices": [typed(part, "g:Vertex") for part in vertices],
        "edges": [typed(part, "g:Edge") for part in edges],
    }
    file = tmp_path / "whole.json"
    file.write_text(json.dumps(typed(parts, "tinker:graph")))
    assert triples(file, tmp_path) == TRIPLES


def test_parts_of_a_triple_may_be_spans_of_the_text(tmp_path: Path) -> None:
    facts = [
        {
            "subject": {"text": head, "start": 0, "end": 2},
            "relation": {"text": relation, "start": 2, "end": 3},
            "object": {"text": tail, "start": 3, "end": 4},
        }
        for head, relation, tail in sorted(TRIPLES)
    ]
    file = tmp_path / "openie.jsonl"
    file.write_text("\n".join(map(json.dumps, facts)))
    assert triples(file, tmp_path) == TRIPLES


def test_a_sparql_result_that_is_read_by_the_order_of_its_variables_says_so(
    tmp_path: Path,
) -> None:
    row = {"a": term("Marek Lund"), "b": term("steers"), "c": term("Halina")}
    file = tmp_path / "rows.json"
    file.write_text(json.dumps(sparql(["a", "b", "c"], row)))
    graph = KnowledgeBase.build(CORPUS, graph=file, store=Store(tmp_path)).graph
    assert graph.notes["rows read as ?a -> ?c, by the order of the variables"] == 1


def test_a_folder_of_tables_is_one_graph(tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "people.data.json").write_text(
        '{"_id": "people/1", "name": "Marek Lund"}\n{"_id": "people/2", "name": "Ida Berg"}\n'
    )
    (folder / "ships.csv").write_text("_id,name\nships/1,Halina\n")
    (folder / "relations.jsonl").write_text(
        '{"_from": "people/1", "_to": "ships/1", "type": "steers"}\n'
        '{"_from": "people/2", "_to": "people/1", "type": "employs"}\n'
    )
    (folder / "settings.json").write_text('{"version": 3}')
    graph = KnowledgeBase.build(CORPUS, graph=folder, store=Store(tmp_path)).graph
    assert triples(folder, tmp_path) == TRIPLES
    assert graph.notes["rows of settings.json without ends or an id, left out"] == 1


def test_edges_to_nodes_that_a_file_lacks_are_left_out_and_counted(
    tmp_path: Path,
) -> None:
    nodes = [{"id": 1, "name": "Marek Lund"}, {"id": 2, "name": "Halina"}]
    edges = [
        {"source": 1, "target": 2, "relation": "steers"},
        {"source": 1, "target": 99, "relation": "owns"},
    ]
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({"nodes": nodes, "edges": edges}))
    graph = KnowledgeBase.build(CORPUS, graph=path, store=Store(tmp_path)).graph
    assert triples(path, tmp_path) == {("Marek Lund", "steers", "Halina")}
    assert graph.notes["edges with an end that is no node, left out"] == 1
