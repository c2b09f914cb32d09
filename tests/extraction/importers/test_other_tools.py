"""Graphs in the files that other tools write: what each of them means, worked out by hand.

The forms are those of Gephi (gephi/gephi#1516, #708), yEd (dondi/GRNsight#321), Neo4j's APOC
(neo4j-contrib/neo4j-apoc-procedures#478, #1449, #4151, pull 1676), networkx (#2328, #2750, #8611),
stellargraph (#1822), and the manuals of Cytoscape (SIF, CX), Neo4j (browser, HTTP API, admin
import), Neptune, KGX, PrimeKG and of the Model Context Protocol's memory server.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kg2rag import KnowledgeBase
from kg2rag.compute import Store
from kg2rag.extraction import Entity
from kg2rag.extraction.entity_matching import graph_of
from kg2rag.extraction.importers.json_graph import read_json_graph
from kg2rag.extraction.importers.networkx_graph import extraction_of_networkx
from kg2rag.extraction.importers.node_tables import read_folder
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
        "p3": {
            "title": "Ida Berg",
            "text": "Ida Berg leads the harbour office, since 1 May.",
        },
    }
)
STEERS, EMPLOYS = "Marek Lund -[steers]-> Halina", "Ida Berg -[employs]-> Marek Lund"
NODES = [
    {"id": 1, "name": "Marek Lund"},
    {"id": 2, "name": "Halina"},
    {"id": 3, "name": "Ida Berg"},
]
APOC_NODES = [
    {
        "type": "node",
        "id": str(node["id"]),
        "labels": ["X"],
        "properties": {"name": node["name"]},
    }
    for node in NODES
]
APOC_EDGES = [
    {
        "type": "relationship",
        "id": "0",
        "label": "steers",
        "start": {"id": "1"},
        "end": {"id": "2"},
    },
    {
        "type": "relationship",
        "id": "1",
        "label": "employs",
        "start": {"id": "3"},
        "end": {"id": "1"},
    },
]
ENDS = [(1, 2, "steers"), (3, 1, "employs")]
GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">{keys}
<graph edgedefault="directed">{body}</graph></graphml>"""
YED = GRAPHML.format(
    keys='<key for="node" id="d6" yfiles.type="nodegraphics"/><key for="edge" id="d10" yfiles.type="edgegraphics"/>',
    body="".join(
        f'<node id="n{node["id"]}"><data key="d6"><y:ShapeNode><y:NodeLabel>{node["name"]}</y:NodeLabel></y:ShapeNode>'
        "</data></node>"
        for node in NODES
    )
    + "".join(
        f'<edge id="e{n}" source="n{head}" target="n{tail}"><data key="d10"><y:PolyLineEdge><y:EdgeLabel>{name}'
        "</y:EdgeLabel></y:PolyLineEdge></data></edge>"
        for n, (head, tail, name) in enumerate(ENDS)
    ),
)
UNDECLARED = GRAPHML.format(
    keys='<key id="name" for="node" attr.name="name"/>',
    body="".join(
        f'<node id="n{node["id"]}"><data key="labels">:Thing</data><data key="name">{node["name"]}</data></node>'
        for node in NODES
    )
    + "".join(
        f'<edge id="e{n}" source="n{head}" target="n{tail}"><data key="label">{name}</data></edge>'
        for n, (head, tail, name) in enumerate(ENDS)
    ),
)
LANGCHAIN_GRAPHML = GRAPHML.format(
    keys="".join(
        f'<key id="{name}" for="all" attr.name="{name}" attr.type="string"/>'
        for name in ("id", "label")
    ),
    body="".join(
        f'<node id="n{node["id"]}"><data key="id">{node["name"]}</data></node>'
        for node in NODES
    )
    + "".join(
        f'<edge source="n{head}" target="n{tail}"><data key="label">{name}</data></edge>'
        for head, tail, name in ENDS
    ),
)
GEXF = """<gexf xmlns="{namespace}" version="1.3"><graph defaultedgetype="directed"><nodes>{nodes}</nodes>
<edges>{edges}</edges></graph></gexf>"""
GEXF_PARTS = {
    "nodes": "".join(
        f'<node id="{node["id"]}" label="{node["name"]}"/>' for node in NODES
    ),
    "edges": "".join(
        f'<edge id="{n}" source="{head}" target="{tail}" label="{name}" weight="2.0"/>'
        for n, (head, tail, name) in enumerate(ENDS)
    ),
}
GML = (
    "graph [ directed 1 "
    + " ".join(f'node [ id {node["id"]} label "{node["name"]}" ]' for node in NODES)
    + " ".join(
        f' edge [ source {head} target {tail} label "{name}" ]'
        for head, tail, name in ENDS
    )
    + " ]"
)
NAMED = {node["id"]: node["name"] for node in NODES}
TRIPLES = [(NAMED[head], name, NAMED[tail]) for head, tail, name in ENDS]
LINKS = [
    {"source": head, "target": tail, "relation": name} for head, tail, name in ENDS
]
BROWSER = {
    node["id"]: {
        "identity": node["id"],
        "labels": ["X"],
        "properties": {"name": node["name"]},
    }
    for node in NODES
}
"""Nodes of Neo4j's browser."""
RELATIONS = [
    (h, t, {"identity": 5, "start": h, "end": t, "type": name, "properties": {}})
    for h, t, name in ENDS
]


def segment(head: int, tail: int, relation: dict[str, object]) -> dict[str, object]:
    return {"start": BROWSER[head], "relationship": relation, "end": BROWSER[tail]}


FILES: dict[str, tuple[str, str]] = {
    "yEd": ("a.graphml", YED),
    "APOC, keys not declared": ("a.graphml", UNDECLARED),
    "LangChain's ids": ("a.graphml", LANGCHAIN_GRAPHML),
    "GEXF 1.2": (
        "a.gexf",
        GEXF.format(namespace="http://www.gexf.net/1.2draft", **GEXF_PARTS),
    ),
    "GEXF 1.3": ("a.gexf", GEXF.format(namespace="http://gexf.net/1.3", **GEXF_PARTS)),
    "GML": ("a.gml", GML),
    "node-link, old": (
        "a.json",
        json.dumps({"directed": True, "nodes": NODES, "links": LINKS}),
    ),
    "node-link, new": (
        "a.json",
        json.dumps({"directed": True, "nodes": NODES, "edges": LINKS}),
    ),
    "D3, by place": (
        "a.json",
        json.dumps({"nodes": [{"name": node["name"]} for node in NODES]})[:-1]
        + ', "links": [{"source": 0, "target": 1, "type": "steers"}, {"source": 2, "target": 0, "type": "employs"}]}',
    ),
    "APOC, JSON lines": ("a.json", "\n".join(map(json.dumps, APOC_NODES + APOC_EDGES))),
    "APOC, JSON Lines": (
        "a.jsonl",
        "\n".join(map(json.dumps, APOC_NODES + APOC_EDGES)),
    ),
    "APOC, a list": ("a.json", json.dumps(APOC_NODES + APOC_EDGES)),
    "APOC, two lists": (
        "a.json",
        json.dumps({"nodes": APOC_NODES, "rels": APOC_EDGES}),
    ),
    "APOC, ids as keys": (
        "a.json",
        json.dumps(
            {
                "nodes": {n["id"]: n for n in APOC_NODES},
                "rels": {e["id"]: e for e in APOC_EDGES},
            }
        ),
    ),
    "APOC, CSV": (
        "a.csv",
        "_id,_labels,name,_start,_end,_type\n"
        + "".join(f"{node['id']},:X,{node['name']},,,\n" for node in NODES)
        + "".join(f",,,{head},{tail},{name}\n" for head, tail, name in ENDS),
    ),
    "Cytoscape": (
        "a.cyjs.json",
        json.dumps(
            {
                "elements": {
                    "nodes": [
                        {"data": {"id": str(node["id"]), "shared_name": node["name"]}}
                        for node in NODES
                    ],
                    "edges": [
                        {
                            "data": {
                                "source": str(head),
                                "target": str(tail),
                                "interaction": name,
                            }
                        }
                        for head, tail, name in ENDS
                    ],
                }
            }
        ),
    ),
    "JSON Graph Format": (
        "a.json",
        json.dumps(
            {
                "graph": {
                    "nodes": {
                        str(node["id"]): {"label": node["name"]} for node in NODES
                    },
                    "edges": [
                        {"source": str(head), "target": str(tail), "relation": name}
                        for head, tail, name in ENDS
                    ],
                }
            }
        ),
    ),
    "LangChain": (
        "a.json",
        json.dumps(
            {
                "nodes": [{"id": node["name"], "type": "Person"} for node in NODES],
                "relationships": [
                    {
                        "source": {"id": head, "type": "Person"},
                        "target": {"id": tail},
                        "type": name,
                    }
                    for head, name, tail in TRIPLES
                ],
            }
        ),
    ),
    "LlamaIndex": (
        "a.json",
        json.dumps(
            {
                "nodes": {
                    name: {"label": "entity", "name": name, "properties": {}}
                    for name in NAMED.values()
                },
                "relations": {
                    str(n): {"label": name, "source_id": head, "target_id": tail}
                    for n, (head, name, tail) in enumerate(TRIPLES)
                },
            }
        ),
    ),
    "GEXF of the manual, with kinds": (
        "a.gexf",
        GEXF.format(namespace="http://www.gexf.net/1.3", **GEXF_PARTS).replace(
            '" label="steers', '" kind="steers'
        ),
    ),
    "APOC, labels of edges as attributes": (
        "a.graphml",
        UNDECLARED.replace(
            '"><data key="label">steers</data></edge>', '" label="steers"/>'
        ),
    ),
    "yEd, a label of two lines": (
        "a.graphml",
        YED.replace("Marek Lund", "Marek\nLund"),
    ),
    "APOC, typed columns": (
        "a.csv",
        "_id:id,_labels:label,name:string,_start:id,_end:id,_type:label\n"
        + "".join(f"{node['id']},:X,{node['name']},,,\n" for node in NODES)
        + "".join(f",,,{head},{tail},{name}\n" for head, tail, name in ENDS),
    ),
    "Neo4j's browser, rows": (
        "a.json",
        json.dumps(
            [{"n": BROWSER[h], "r": r, "m": BROWSER[t]} for h, t, r in RELATIONS]
        ),
    ),
    "Neo4j's browser, paths": (
        "a.json",
        json.dumps(
            [
                {
                    "p": {
                        "start": BROWSER[h],
                        "end": BROWSER[t],
                        "segments": [segment(h, t, r)],
                        "length": 1.0,
                    }
                }
                for h, t, r in RELATIONS
            ]
        ),
    ),
    "Neo4j's HTTP API": (
        "a.json",
        json.dumps(
            {
                "results": [
                    {
                        "data": [
                            {
                                "graph": {
                                    "nodes": list(BROWSER.values()),
                                    "relationships": [
                                        {
                                            "id": "9",
                                            "type": name,
                                            "startNode": head,
                                            "endNode": tail,
                                            "properties": {},
                                        }
                                    ],
                                }
                            }
                            for head, tail, name in ENDS
                        ]
                    }
                ]
            }
        ),
    ),
    "SIF": (
        "a.sif",
        "Marek Lund\tsteers\tHalina\nIda Berg\temploys\tMarek Lund\nHalina\n",
    ),
    "CX": (
        "a.cx",
        json.dumps(
            [
                {"metaData": []},
                {"nodes": [{"@id": node["id"], "n": node["name"]} for node in NODES]},
                {
                    "edges": [
                        {"@id": 7, "s": head, "t": tail, "i": name}
                        for head, tail, name in ENDS
                    ]
                },
                {"nodeAttributes": [{"po": 1, "n": "type", "v": "person"}]},
            ]
        ),
    ),
    "Cytoscape's session": (
        "a.cyjs",
        json.dumps(
            {
                "data": {"id": "net", "name": "net"},
                "elements": {
                    "nodes": [
                        {"data": {"id": str(node["id"]), "name": node["name"]}}
                        for node in NODES
                    ],
                    "edges": [
                        {"data": {"source": str(h), "target": str(t), "interaction": r}}
                        for h, t, r in ENDS
                    ],
                },
            }
        ),
    ),
    "networkx, adjacency": (
        "a.json",
        json.dumps(
            {
                "directed": True,
                "nodes": NODES,
                "adjacency": [
                    [{"relation": "steers", "id": 2}],
                    [],
                    [{"relation": "employs", "id": 1}],
                ],
            }
        ),
    ),
    "MCP's memory": (
        "memory.jsonl",
        "\n".join(
            json.dumps(record)
            for record in (
                *(
                    {
                        "type": "entity",
                        "name": name,
                        "entityType": "T",
                        "observations": ["a"],
                    }
                    for name in NAMED.values()
                ),
                *(
                    {"type": "relation", "from": h, "to": t, "relationType": r}
                    for h, r, t in TRIPLES
                ),
            )
        ),
    ),
    "entities and relationships by id": (
        "a.json",
        json.dumps({"entities": NODES, "relationships": LINKS}),
    ),
    "entities and relations by name": (
        "a.json",
        json.dumps(
            {"entities": NODES, "edges": ["steers", "employs"], "relations": TRIPLES}
        ),
    ),
    "LangChain, a list of documents": (
        "a.json",
        json.dumps(
            [
                {
                    "nodes": [{"id": name, "type": "T"} for name in (head, tail)],
                    "relationships": [
                        {
                            "source": {"id": head},
                            "target": {"id": tail},
                            "type": relation,
                        }
                    ],
                    "source": {"page_content": "Text."},
                }
                for head, relation, tail in TRIPLES
            ]
        ),
    ),
    "triples whose ends are objects": (
        "a.json",
        json.dumps(
            [
                {"subject": {"name": h}, "predicate": r, "object": {"name": t}}
                for h, r, t in TRIPLES
            ]
        ),
    ),
    "triples a document": (
        "a.json",
        json.dumps([{"passage_id": "", "triples": [triple]} for triple in TRIPLES]),
    ),
    "vis.js, titles that are shown under the mouse": (
        "a.json",
        json.dumps(
            {
                "nodes": [
                    {"id": node["id"], "label": node["name"], "title": "<b>a node</b>"}
                    for node in NODES
                ],
                "edges": [
                    {"from": head, "to": tail, "label": name, "arrows": "to"}
                    for head, tail, name in ENDS
                ],
            }
        ),
    ),
    "LangChain's ids beside labels that are types": (
        "a.graphml",
        LANGCHAIN_GRAPHML.replace(
            "</data></node>", '</data><data key="label">Thing</data></node>'
        ),
    ),
    "ids that pandas made floats": (
        "a.json",
        json.dumps(
            {
                "nodes": [
                    {
                        "id": float(node["id"]),
                        "name": node["name"],
                        "size": float("nan"),
                    }
                    for node in NODES
                ],
                "links": [
                    {"source": float(head), "target": float(tail), "label": name}
                    for head, tail, name in ENDS
                ],
            }
        ),
    ),
    "Excel's line of the separator": (
        "a.csv",
        "\ufeffsep=;\r\nsource;relation;target;\r\n"
        + "".join(f"{h};{r};{t};\r\n" for h, r, t in TRIPLES),
    ),
    "sub, rel, obj": (
        "a.json",
        json.dumps([{"sub": h, "rel": r, "obj": t} for h, r, t in TRIPLES]),
    ),
    "CoreNLP's sentences": (
        "a.json",
        json.dumps(
            {
                "docId": "a",
                "sentences": [
                    {
                        "index": n,
                        "tokens": [{"index": 1, "word": "The", "before": ""}],
                        "openie": [
                            {
                                "subject": h,
                                "subjectSpan": [0, 2],
                                "relation": r,
                                "object": t,
                            }
                        ],
                    }
                    for n, (h, r, t) in enumerate(TRIPLES)
                ],
            }
        ),
    ),
    "triples under the names of documents": (
        "a.json",
        json.dumps({f"{n}.md": [t] for n, t in enumerate(TRIPLES)}),
    ),
    "a suffix in capitals": (
        "A.CSV",
        "head,relation,tail\n" + "".join(",".join(triple) + "\n" for triple in TRIPLES),
    ),
    "KGX, names beside ids": (
        "a.tsv",
        "subject\tpredicate\tobject\tsubject_label\tobject_label\tpredicate_label\n"
        + "".join(f"E:1\tP:1\tE:2\t{h}\t{t}\t{r}\n" for h, r, t in TRIPLES),
    ),
    "PrimeKG": (
        "a.csv",
        "relation,display_relation,x_id,x_type,x_name,y_id,y_type,y_name\n"
        + "".join(f"a_b,{r},1,a,{h},2,b,{t}\n" for h, r, t in TRIPLES),
    ),
    "head_name": (
        "a.csv",
        "head_name,relation_name,tail_name\n"
        + "".join(f"{h},{r},{t}\n" for h, r, t in TRIPLES),
    ),
    "weights with decimal commas": (
        "a.csv",
        "\ufeffQuelle;Ziel;Beziehung;weight\n"
        + "".join(f"{h};{t};{r};3,5\n" for h, r, t in TRIPLES),
    ),
    "weights that are missing": (
        "a.csv",
        "u,v,label,weight\n" + "".join(f"{h},{t},{r},NA\n" for h, r, t in TRIPLES),
    ),
    "JSON triples": ("a.json", json.dumps(TRIPLES)),
    "Gephi's edges": (
        "a.csv",
        "Source;Target;Type;Id;Label;Weight\n"
        + "".join(
            f"{head};{tail};Directed;{n};{name};1.0\n"
            for n, (head, name, tail) in enumerate(TRIPLES)
        ),
    ),
    "tabs in a .csv": (
        "a.csv",
        "from\tto\tedge_type\n" + "".join(f"{h}\t{t}\t{r}\n" for h, r, t in TRIPLES),
    ),
    "bars": (
        "a.txt",
        "node1|label|node2\n" + "".join(f"{h}|{r}|{t}\n" for h, r, t in TRIPLES),
    ),
    "Neo4j's import": (
        "a.csv",
        ":START_ID,:TYPE,:END_ID\n" + "".join(f"{h},{r},{t}\n" for h, r, t in TRIPLES),
    ),
    "CX2, abbreviated and in fragments": (
        "a.cx2",
        json.dumps(
            [
                {"CXVersion": "2.0", "hasFragments": True},
                {"metaData": [{"name": "nodes", "elementCount": 3}]},
                {
                    "attributeDeclarations": [
                        {
                            "nodes": {
                                "name": {"d": "string", "a": "n"},
                                "kind": {"d": "string", "v": "x"},
                            },
                            "edges": {"interaction": {"d": "string", "a": "i"}},
                        }
                    ]
                },
                {
                    "nodes": [
                        {"id": node["id"], "x": 1.0, "v": {"n": node["name"]}}
                        for node in NODES
                    ]
                },
                *(
                    {"edges": [{"id": n, "s": h, "t": t, "v": {"i": r}}]}
                    for n, (h, t, r) in enumerate(ENDS)
                ),
                {
                    "visualProperties": [
                        {"default": {"node": {"NODE_SHAPE": "ellipse"}, "edge": {}}}
                    ]
                },
            ]
        ),
    ),
    "LangChain, a document a line": (
        "a.jsonl",
        "\n".join(
            json.dumps(
                {
                    "nodes": [
                        {"id": name, "type": "T", "properties": {}}
                        for name in (head, tail)
                    ],
                    "relationships": [
                        {
                            "source": {"id": head},
                            "target": {"id": tail},
                            "type": relation,
                        }
                    ],
                    "source": {"page_content": "Text."},
                }
            )
            for head, relation, tail in TRIPLES
        ),
    ),
    "Pajek, relations as labels": (
        "a.net",
        "*Vertices 3\n"
        + "".join(f'{number} "{name}"\n' for number, name in NAMED.items())
        + "*Arcs\n"
        + "".join(f'{head} {tail} 1 l "{name}"\n' for head, tail, name in ENDS),
    ),
    "LightRAG's relations, with chunks as sources": (
        "a.csv",
        "src_id,tgt_id,source_id,keywords\n"
        + "".join(f"{h},{t},chunk-1,{r}\n" for h, r, t in TRIPLES),
    ),
    "LightRAG's export_data": (
        "a.csv",
        "src_entity,tgt_entity,source_id,keywords\n"
        + "".join(f"{h},{t},chunk-1,{r}\n" for h, r, t in TRIPLES),
    ),
    "KGTK, labels beside ids": (
        "a.tsv",
        "id\tnode1\tlabel\tnode2\tnode1;label\tlabel;label\tnode2;label\n"
        + "".join(f"e\tQ1\tP1\tQ2\t{h}\t{r}\t{t}\n" for h, r, t in TRIPLES),
    ),
    "Wikidata's SPARQL": (
        "a.csv",
        "s,sLabel,pLabel,o,oLabel\n"
        + "".join(f"Q1,{h},{r},Q2,{t}\n" for h, r, t in TRIPLES),
    ),
}


@pytest.mark.parametrize("form", FILES)
def test_a_file_of_another_tool_has_its_names_and_relations(
    tmp_path: Path, form: str
) -> None:
    name, contents = FILES[form]
    (tmp_path / name).write_text(contents)
    graph = KnowledgeBase.build(
        CORPUS, graph=tmp_path / name, store=Store(tmp_path)
    ).graph
    assert sorted(graph.names) == ["Halina", "Ida Berg", "Marek Lund"]
    assert sorted(str(graph.triple(at)) for at in range(graph.n_triples)) == [
        EMPLOYS,
        STEERS,
    ]
    assert [
        graph.triple(at).passage_id
        for at in range(2)
        if str(graph.triple(at)) == EMPLOYS
    ] == ["p2"]


TABLES: dict[str, tuple[str, str, str, str]] = {
    "Gephi": ("edges.csv", "Source,Target,Type,Id,Label", "nodes.csv", "Id,Label"),
    "Gephi's laboratory": (
        "ferry [Edges].csv",
        "Source,Target,Type,Id,Label",
        "ferry [Nodes].csv",
        "Id,Label",
    ),
    "Neo4j's import": (
        "relationships.csv",
        ":START_ID(X),:END_ID(X),a,b,:TYPE",
        "nodes.csv",
        "key:ID(X),name",
    ),
    "Neptune": ("edges.csv", "~from,~to,a,b,~label", "nodes.csv", "~id,name:String"),
    "KGX": ("x_edges.tsv", "subject,object,a,id,predicate", "x_nodes.tsv", "id,name"),
    "entities": (
        "relationships.csv",
        "source_id,target_id,a,b,type",
        "entities.csv",
        "id,name",
    ),
}


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize("give_folder", [False, True])
def test_the_nodes_of_a_table_beside_the_edges_are_read(
    tmp_path: Path, form: str, *, give_folder: bool
) -> None:
    edges, edge_columns, nodes, node_columns = TABLES[form]
    delimiter = "\t" if edges.endswith(".tsv") else ","
    rows = [
        f"{head},{tail},Directed,{number},{name}"
        for number, (head, tail, name) in enumerate(ENDS)
    ]
    (tmp_path / edges).write_text(
        "\n".join((edge_columns, *rows)).replace(",", delimiter)
    )
    rows = [f"{number},{name}" for number, name in NAMED.items()]
    (tmp_path / nodes).write_text(
        "\n".join((node_columns, *rows)).replace(",", delimiter)
    )
    source = graph_of(tmp_path if give_folder else tmp_path / edges)
    assert sorted(map(str, source.extract(CORPUS).triples)) == [EMPLOYS, STEERS]
    before = source.fingerprint
    (tmp_path / nodes).write_text(
        (tmp_path / nodes).read_text().replace("Halina", "Vega")
    )
    assert graph_of(tmp_path / edges).fingerprint != before


@pytest.mark.parametrize(
    ("edge", "node"),
    [
        # KGX
        (
            {"subject": "{h}", "predicate": "{r}", "object": "{t}"},
            {"id": "{n}", "name": "{name}"},
        ),
        # ArangoDB
        (
            {"_from": "x/{h}", "_to": "x/{t}", "type": "{r}"},
            {"_id": "x/{n}", "name": "{name}"},
        ),
    ],
)
def test_json_lines_of_edges_have_their_nodes_in_a_file_beside_them(
    tmp_path: Path, edge: dict[str, str], node: dict[str, str]
) -> None:
    edges = [
        {key: form.format(h=h, r=r, t=t) for key, form in edge.items()}
        for h, t, r in ENDS
    ]
    nodes = [
        {key: form.format(n=n, name=name) for key, form in node.items()}
        for n, name in NAMED.items()
    ]
    for name, records in (("my_edges.jsonl", edges), ("my_nodes.jsonl", nodes)):
        (tmp_path / name).write_text(
            "".join(json.dumps(record) + "\n" for record in records)
        )
    triples = graph_of(tmp_path / "my_edges.jsonl").extract(CORPUS).triples
    assert sorted(map(str, triples)) == [EMPLOYS, STEERS]


def test_values_that_lightrag_joined_are_told_apart() -> None:
    graph = nx.DiGraph(
        [
            (
                "Marek Lund",
                "Halina",
                {"keywords": "steers<SEP>owns", "description": "one<SEP>two"},
            )
        ]
    )
    (triple,) = extraction_of_networkx(graph).triples
    assert (triple.relation, triple.description) == ("steers, owns", "one; two")


@pytest.mark.parametrize("frame", [pl.DataFrame, pl.LazyFrame, pa.table, pd.DataFrame])
def test_triples_are_in_a_frame_of_any_library(
    frame: Callable[[dict[str, list[str]]], object],
) -> None:
    heads, relations, tails = (list(column) for column in zip(*TRIPLES, strict=True))
    source = graph_of(
        frame({"subject": heads, "predicate": relations, "object": tails})
    )
    assert sorted(map(str, source.extract(CORPUS).triples)) == [EMPLOYS, STEERS]


def test_triples_keep_the_passage_of_the_object_that_holds_them(tmp_path: Path) -> None:
    documents = [{"passage_id": "p3", "title": "Ida Berg", "triplets": TRIPLES[1:]}]
    (tmp_path / "a.json").write_text(json.dumps({"model": "m", "docs": documents}))
    (triple,) = graph_of(tmp_path / "a.json").extract(CORPUS).triples
    assert (str(triple), triple.passage_id) == (EMPLOYS, "p3")


def test_weights_that_only_some_triples_have_are_counted() -> None:
    rows = [
        {"head": "Marek Lund", "tail": tail, "weight": weight}
        for tail, weight in (("Halina", 3.0), ("Ostholm", None))
    ]
    found = graph_of(rows).extract(CORPUS)
    assert [triple.strength for triple in found.triples] == [10.0, 5.0]
    assert found.notes["relations without a weight, of strength 5"] == 1


def test_a_folder_with_two_graphs_is_refused_and_the_nearest_one_is_read(
    tmp_path: Path,
) -> None:
    content = {
        "docs": [
            {
                "passage": CORPUS.contents[0],
                "extracted_entities": [],
                "extracted_triples": [TRIPLES[0]],
            }
        ]
    }
    for run in ("a", "b"):
        (tmp_path / run).mkdir()
        (tmp_path / run / "openie_results_ner_x.json").write_text(json.dumps(content))
    for place in (tmp_path / "a", tmp_path / "a" / "openie_results_ner_x.json"):
        assert [str(triple) for triple in graph_of(place).extract(CORPUS).triples] == [
            STEERS
        ]
    with pytest.raises(ValueError, match=r"/a, .*/b\."):
        graph_of(tmp_path)


def test_an_edge_list_of_pandas_needs_no_relation() -> None:
    frame = pd.DataFrame(
        {"source": ["Marek Lund"], "target": ["Halina"], "weight": [7]}
    )
    found = graph_of(frame).extract(CORPUS)
    assert [str(triple) for triple in found.triples] == [
        "Marek Lund -[related to]-> Halina"
    ]
    assert found.notes["triples without a relation, called 'related to'"] == 1


def test_weights_are_scaled_and_strengths_are_not() -> None:
    graph = nx.DiGraph()
    # A file without types has texts.
    graph.add_edge("a", "b", relation="r", weight="31.0")
    graph.add_edge("b", "c", relation="r", weight=7)
    graph.add_edge("c", "d", relation="r", strength=2.0)
    found = extraction_of_networkx(graph)
    # ln 32 = 5 ln 2 and ln 8 = 3 ln 2: 7 is three fifths of 31.
    assert [triple.strength for triple in found.triples] == [10.0, 6.0, 2.0]
    assert found.notes == {"relations whose weight was scaled, 31 to strength 10": 2}


def test_a_table_whose_weights_exceed_ten_is_read() -> None:
    rows = [
        {"head": "Marek Lund", "relation": "r", "tail": "Halina", "weight": 31},
        {"head": "Ida Berg", "relation": "r", "tail": "Halina", "weight": 7},
    ]
    assert [triple.strength for triple in graph_of(rows).extract(CORPUS).triples] == [
        10.0,
        6.0,
    ]


def test_labels_that_repeat_are_types_and_ids_that_are_names_stay() -> None:
    graph = nx.DiGraph()
    for name, label in (
        ("Marek Lund", "Person"),
        ("Ida Berg", "Person"),
        ("Halina", "Ship"),
    ):
        graph.add_node(name, label=label)
    assert extraction_of_networkx(graph).entities == (
        Entity("Marek Lund", "Person"),
        Entity("Ida Berg", "Person"),
        Entity("Halina", "Ship"),
    )
    numbered = nx.DiGraph()
    for number, label in enumerate(("Person", "Person", "Person", "Ship")):
        numbered.add_node(f"n{number}", label=label)
    assert extraction_of_networkx(numbered).entities[2:] == (
        Entity("n2", "Person"),
        Entity("n3", "Ship"),
    )


def test_words_as_keys_of_a_multigraph_are_relations_and_ids_are_none() -> None:
    graph = nx.MultiDiGraph(
        [("a", "b", "steers"), ("a", "b", "owns"), ("b", "c", "e1")]
    )
    assert [triple.relation for triple in extraction_of_networkx(graph).triples] == [
        "steers",
        "owns",
        "related to",
    ]


def test_gml_has_any_characters_and_parallel_edges(tmp_path: Path) -> None:
    edges = 'edge [ source 1 target 2 label "führt" ] edge [ source 1 target 2 label "besitzt" ]'
    (tmp_path / "a.gml").write_text(
        f'graph [ node [ id 1 label "Łukasz" ] node [ id 2 label "Halina" ] {edges} ]'
    )
    triples = (
        graph_of([("Łukasz", "führt", "Halina"), ("Łukasz", "besitzt", "Halina")])
        .extract(CORPUS)
        .triples
    )
    assert graph_of(tmp_path / "a.gml").extract(CORPUS).triples == triples


def test_parallel_edges_of_one_key_are_all_read(tmp_path: Path) -> None:
    edges = [
        {"source": 1, "target": 2, "key": "", "label": name}
        for name in ("steers", "owns")
    ]
    (tmp_path / "a.json").write_text(json.dumps({"nodes": NODES, "links": edges}))
    triples = graph_of(tmp_path / "a.json").extract(CORPUS).triples
    assert [triple.relation for triple in triples] == ["steers", "owns"]


UNDIRECTED = {
    "a.graphml": UNDECLARED.replace(
        'edgedefault="directed"', 'edgedefault="undirected"'
    ),
    "mixed.graphml": UNDECLARED.replace(
        '<edge id="e0"', '<edge id="e0" directed="false"'
    ),
    "a.gexf": GEXF.format(namespace="http://gexf.net/1.3", **GEXF_PARTS).replace(
        '"directed"', '"undirected"'
    ),
    "mixed.gexf": GEXF.format(namespace="http://gexf.net/1.3", **GEXF_PARTS).replace(
        "<edge ", '<edge type="undirected" '
    ),
    "a.gml": GML.replace("directed 1", "directed 0"),
    "a.json": json.dumps({"directed": False, "nodes": NODES, "links": LINKS}),
}


@pytest.mark.parametrize("name", UNDIRECTED)
def test_edges_of_undirected_graphs_run_as_the_file_has_them(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text(UNDIRECTED[name])
    assert sorted(map(str, graph_of(tmp_path / name).extract(CORPUS).triples)) == [
        EMPLOYS,
        STEERS,
    ]


def test_edges_may_name_nodes_by_their_titles(tmp_path: Path) -> None:
    rows = "".join(f"u{number},{name}\n" for number, name in NAMED.items())
    (tmp_path / "entities.csv").write_text("id,title\n" + rows)
    rows = "".join(f"{head},{tail},{relation}\n" for head, relation, tail in TRIPLES)
    (tmp_path / "relationships.csv").write_text("source,target,type\n" + rows)
    assert sorted(map(str, graph_of(tmp_path).extract(CORPUS).triples)) == [
        EMPLOYS,
        STEERS,
    ]


@pytest.mark.parametrize("direction", ["Orienté", "undirected"])
def test_the_direction_of_an_edge_is_no_relation(direction: str) -> None:
    rows = [{"Source": "Marek Lund", "Target": "Halina", "Type": direction}]
    assert [triple.relation for triple in graph_of(rows).extract(CORPUS).triples] == [
        "related to"
    ]


def test_blank_entities_are_left_out_with_their_edges_and_counted() -> None:
    graph = nx.DiGraph([("n1", "n2"), ("n2", "n3")])
    nx.set_node_attributes(
        graph, {"n1": "Marek Lund", "n2": "Halina", "n3": " "}, "name"
    )
    found = extraction_of_networkx(graph)
    assert [entity.name for entity in found.entities] == ["Marek Lund", "Halina"]
    assert [str(triple) for triple in found.triples] == [
        "Marek Lund -[related to]-> Halina"
    ]
    assert (
        found.notes["blank entities, left out"]
        == found.notes["edges of blank entities, left out"]
        == 1
    )


def test_how_nodes_are_named_is_counted() -> None:
    graph = nx.DiGraph()
    graph.add_node("n1", title="Halina")
    graph.add_node("n2", name="Marek Lund")
    graph.add_node("n3")
    notes = extraction_of_networkx(graph).notes
    assert notes == {
        "entities named by title": 1,
        "entities named by name": 1,
        "entities named by the id of the node": 1,
    }


@pytest.mark.parametrize(
    ("name", "contents", "words"),
    [
        ("a.csv", "source,target,relation\n1,2,steers\n", ["'1', '2'", "nodes.csv"]),
        (
            "a.csv",
            "who,does,whom\nMarek Lund,steers,Halina\n",
            ["a.csv", "who, does, whom", "subject"],
        ),
        (
            "a.tsv",
            "Marek Lund\tsteers\tHalina\nIda Berg\temploys\tAurora\n",
            ["a.tsv", "Marek Lund, steers, Halina", "header"],
        ),
        (
            "a.json",
            '{"nodes": [{"id": 1}], "links": [{"source": 1, "target": "x"}]}',
            ["a.json", "edge 1", "'x'"],
        ),
        ("a.json", '{"facts": 3}', ["a.json", "head"]),
        (
            "a.json",
            '{"nodes": [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}], "links": [[1, "r", 1]]}',
            ["a", "b"],
        ),
        (
            "a.json",
            '{"nodes": [{"id": 1, "label": "a"}, {"id": 1, "label": "b"}], "links": [[1, "r", 1]]}',
            ["a", "b"],
        ),
        ("a.cx2", '[{"CXVersion": "2.0"}, {"nodes": [3]}]', ["a.cx2"]),
        (
            "a.json",
            '[{"type": "relation", "from": "a", "to": "b"}, {"fact": 3}]',
            ["a.json", "record 2", "fact"],
        ),
        ("a.sif", "Marek Lund\tsteers\n", ["a.sif", "line 1"]),
        ("a.sif", "a\tis\tb\n\n\tsteers\tHalina\n", ["a.sif", "line 3", "cell 1"]),
        ("a.sif", "a\tis\t\tb\n", ["a.sif", "line 1", "cell 3"]),
        (
            "a.json",
            '\n{"head": "a", "relation": "is", "tail": "b"}\n\n{"head": }\n',
            ["a.json, line 4"],
        ),
        ("a.dot", "graph {}", ["a.dot", ".dot", ".graphml"]),
        ("a.gexf", "<gexf/>", ["a.gexf", "GEXF"]),
        ("a.gml", "graph [ node [ ] ]", ["a.gml", "GML"]),
    ],
)
def test_what_is_no_graph_is_refused_with_the_file_and_what_it_has(
    tmp_path: Path, name: str, contents: str, words: list[str]
) -> None:
    (tmp_path / name).write_text(contents)
    with pytest.raises(ValueError, match=words[0]) as raised:
        KnowledgeBase.build(CORPUS, graph=tmp_path / name, store=Store(tmp_path)).graph  # noqa: B018
    assert all(word in str(raised.value) for word in words)


def test_chunks_of_llamaindex_are_no_entities(tmp_path: Path) -> None:
    from llama_index.core.graph_stores import SimplePropertyGraphStore
    from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation

    store = SimplePropertyGraphStore()
    chunk = ChunkNode(text="Marek Lund steers Halina.", id_="c1")
    marek = EntityNode(name="Marek Lund", label="PERSON")
    halina = EntityNode(name="Halina", label="SHIP")
    store.upsert_nodes([chunk, marek, halina])
    store.upsert_relations(
        [
            Relation(label="STEERS", source_id=marek.id, target_id=halina.id),
            Relation(label="MENTIONS", source_id=chunk.id, target_id=marek.id),
        ]
    )
    file = tmp_path / "property_graph_store.json"
    store.persist(str(file))
    extraction = extraction_of_networkx(read_json_graph(file))
    assert [entity.name for entity in extraction.entities] == ["Marek Lund", "Halina"]
    assert [triple.relation for triple in extraction.triples] == ["STEERS"]
    assert 1 in extraction.notes.values()


def test_the_folder_of_a_property_graph_of_llamaindex_has_its_entities(
    tmp_path: Path,
) -> None:
    from llama_index.core import StorageContext
    from llama_index.core.graph_stores import SimplePropertyGraphStore
    from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation

    store = SimplePropertyGraphStore()
    chunk = ChunkNode(text="Marek Lund steers Halina.", id_="c1")
    marek, halina = EntityNode(name="Marek Lund"), EntityNode(name="Halina")
    document = EntityNode(name="d1")  # as ImplicitPathExtractor makes it
    store.upsert_nodes([chunk, marek, halina, document])
    store.upsert_relations(
        [
            Relation(label="STEERS", source_id=marek.id, target_id=halina.id),
            Relation(label="SOURCE", source_id=chunk.id, target_id=document.id),
        ]
    )
    context = StorageContext.from_defaults(property_graph_store=store)
    context.persist(str(tmp_path / "storage"))
    graph = KnowledgeBase.build(
        CORPUS, graph=tmp_path / "storage", store=Store(tmp_path)
    ).graph
    assert list(graph.names) == ["Marek Lund", "Halina"]
    assert graph.n_triples == 1


def test_id_spaces_of_neo4j_keep_equal_ids_apart(tmp_path: Path) -> None:
    tables = {
        "persons.csv": "personId:ID(Person),name,:LABEL\n1,Marek Lund,Person;Captain\n",
        "ships.csv": "shipId:ID(Ship),title,:LABEL\n1,Halina,Ship\n",
        "steers.csv": ":START_ID(Person),:END_ID(Ship),:TYPE\n1,1,DIRECTED\n",
    }
    for name, text in tables.items():
        (tmp_path / name).write_text(text)
    [triple] = extraction_of_networkx(read_folder(tmp_path)).triples
    assert (triple.head, triple.relation, triple.tail) == (
        "Marek Lund",
        "DIRECTED",
        "Halina",
    )


def _papers(*edges: tuple[str, str, str]) -> nx.DiGraph:
    graph = nx.DiGraph()
    for name in ("Marek Lund", "Halina"):
        graph.add_node(name, type="Document", content=f"A paper about {name}.")
    graph.add_node("Ida Berg", type="Person")
    graph.add_edges_from(
        (head, tail, {"relation": relation}) for head, relation, tail in edges
    )
    return graph


def test_documents_that_cite_one_another_are_entities() -> None:
    graph = _papers(("Marek Lund", "cites", "Halina"))
    extraction = extraction_of_networkx(graph)
    assert [triple.relation for triple in extraction.triples] == ["cites"]
    assert len(extraction.entities) == 3


def test_documents_that_only_mention_other_nodes_are_no_entities() -> None:
    graph = _papers(("Marek Lund", "mentions", "Ida Berg"))
    extraction = extraction_of_networkx(graph)
    assert [entity.name for entity in extraction.entities] == ["Ida Berg"]
    assert 2 in extraction.notes.values()


def test_texts_of_atlas_are_no_entities(tmp_path: Path) -> None:
    tables = {
        "triple_nodes": "name:ID,type,:LABEL\nMarek Lund,entity,Node\nHalina,entity,Node\n",
        "triple_edges": ":START_ID,:END_ID,relation,:TYPE\nMarek Lund,Halina,steers,Relation\n",
        "text_nodes": "text_id:ID,original_text,:LABEL\nf00d,Marek Lund steers Halina.,Text\n",
        "text_edges": ":START_ID,:END_ID,:TYPE\nMarek Lund,f00d,Source\n",
    }
    for name, rows in tables.items():
        (tmp_path / f"{name}.csv").write_text(rows)
    extraction = extraction_of_networkx(read_folder(tmp_path))
    assert {entity.name for entity in extraction.entities} == {"Marek Lund", "Halina"}
    assert [triple.relation for triple in extraction.triples] == ["steers"]


def _stated(extraction: object) -> set[tuple[str, str, str]]:
    return {(t.head, t.relation, t.tail) for t in extraction.triples}  # type: ignore[attr-defined]


def test_a_set_for_link_prediction_has_no_headers(tmp_path: Path) -> None:
    files = {
        "train.tsv": "/m/1\t/ship/captain\t/m/2\n/m/3\t/ship/captain\t/m/2\n",
        "dev.tsv": "/m/1\t/ship/owner\t/m/3\n",
        "entity2text.txt": "/m/1\tHalina, a ferry\n/m/2\tMarek Lund\n/m/3\tAurora\n",
        "entity2textlong.txt": "/m/1\tHalina is a ferry of 1931, with two masts.\n",
        "relation2text.txt": "/ship/captain\tcaptain\n/ship/owner\towner\n",
        "entities.txt": "/m/1\n/m/2\n/m/3\n",
        "relations.txt": "/ship/captain\n/ship/owner\n",
    }
    for name, lines in files.items():
        (tmp_path / name).write_text(lines)
    extraction = graph_of(tmp_path).source.extract(CORPUS)  # type: ignore[union-attr]
    assert _stated(extraction) == {
        ("Halina, a ferry", "captain", "Marek Lund"),
        ("Aurora", "captain", "Marek Lund"),
        ("Halina, a ferry", "owner", "Aurora"),
    }
    assert "two masts" in extraction.entities[0].description


def test_lists_of_aliases_without_headers_name_the_ids_of_triples(
    tmp_path: Path,
) -> None:
    files = {
        "wikidata_train.txt": "Q1\tP1\tQ2\nQ3\tP1\tQ2\n",
        "wikidata_valid.txt": "Q1\tP2\tQ3\n",
        "wikidata_entity.txt": "Q1\tHalina\tMS Halina\tthe old ferry\nQ2\tMarek Lund\nQ3\tAurora\tMS Aurora\n",
        "wikidata_relation.txt": "P1\tcaptain\tsteered by\nP2\tsister ship\tsister\n",
        "wikidata_text.txt": "Q1\tHalina is a ferry of 1931, with two masts.\n",
    }
    for name, lines in files.items():
        (tmp_path / name).write_text(lines)
    extraction = graph_of(tmp_path).source.extract(CORPUS)  # type: ignore[union-attr]
    assert _stated(extraction) == {
        ("Halina", "captain", "Marek Lund"),
        ("Aurora", "captain", "Marek Lund"),
        ("Halina", "sister ship", "Aurora"),
    }
    [halina] = [entity for entity in extraction.entities if entity.name == "Halina"]
    assert halina.aliases == ("MS Halina", "the old ferry")
    assert "two masts" in halina.description


def test_triples_of_distinct_heads_and_tails_are_no_list_of_aliases(
    tmp_path: Path,
) -> None:
    (tmp_path / "train.txt").write_text(
        "ida\tknows\tbo\nbo\thelps\tcy\ncy\tfinds\tdee\n"
    )
    (tmp_path / "test.txt").write_text("ida\thelps\tdee\nbo\tknows\teve\n")
    extraction = graph_of(tmp_path).source.extract(CORPUS)  # type: ignore[union-attr]
    assert len(extraction.triples) == 5


@pytest.mark.parametrize(
    "labels", [":Person:__Entity__", ["__KGBuilder__", "__Entity__", "Person"]]
)
def test_a_general_type_is_left_out_beside_a_specific_one(labels: object) -> None:
    graph = nx.DiGraph()
    graph.add_node("n0", labels=labels, id="Marek Lund")
    graph.add_node("n1", labels=":Ship", id="Halina")
    graph.add_node("n2", labels=":__Entity__", id="Aurora")
    graph.add_edge("n0", "n1", label="steers")
    entities = extraction_of_networkx(graph).entities
    assert [entity.type for entity in entities] == ["Person", "Ship", "__Entity__"]


def test_a_table_of_triples_without_a_header_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "train.txt"
    file.write_text("Marek Lund\tsteers\tHalina\nIda Berg\tsteers\tAurora\n")
    extraction = graph_of(file).source.extract(CORPUS)  # type: ignore[union-attr]
    assert len(extraction.triples) == 2
    assert any("without a header" in note for note in extraction.notes)


def test_the_export_of_kuzu_keeps_equal_ids_of_two_tables_apart(tmp_path: Path) -> None:
    files = {
        "Person.csv": "a.id,a.name\n0,Marek Lund\n1,Ida Berg\n",
        "Ship.csv": "a.id,a.name\n0,Halina\n",
        "Steers_Person_Ship.csv": "a.id,b.id,r.since\n0,0,1931\n",
        "Employs_Person_Person.csv": "a.id,b.id,r.since\n1,0,1935\n",
    }
    for name, lines in files.items():
        (tmp_path / name).write_text(lines)
    extraction = extraction_of_networkx(read_folder(tmp_path))
    assert _stated(extraction) == {
        ("Marek Lund", "Steers", "Halina"),
        ("Ida Berg", "Employs", "Marek Lund"),
    }
    assert {e.name: e.type for e in extraction.entities}["Halina"] == "Ship"


def test_neptunes_labels_are_types_and_labels_of_all_nodes_are_none(
    tmp_path: Path,
) -> None:
    (tmp_path / "vertices.csv").write_text(
        "~id,~label,name:String(single)\nv1,Thing;Person,Marek Lund\nv2,Thing;Ship,Halina\n"
    )
    (tmp_path / "edges.csv").write_text("~id,~from,~to,~label\ne1,v1,v2,STEERS\n")
    extraction = graph_of(tmp_path).source.extract(CORPUS)  # type: ignore[union-attr]
    assert [entity.type for entity in extraction.entities] == ["Person", "Ship"]
    assert _stated(extraction) == {("Marek Lund", "STEERS", "Halina")}


def test_a_graph_of_igraph_is_read() -> None:
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph([(0, 1)], directed=True)
    graph.vs["name"] = ["Marek Lund", "Halina"]
    graph.es["relation"] = ["steers"]
    kb = KnowledgeBase.build(CORPUS, graph=graph)
    assert kb.graph.triple(0).relation == "steers"


def test_names_as_lists_of_words_are_joined(tmp_path: Path) -> None:
    relation = {
        "head_text": ["Marek", "Lund"],
        "tail_text": ["Halina"],
        "label": "steers",
        "score": 0.9,
    }
    file = tmp_path / "relations.jsonl"
    file.write_text(json.dumps({"doc": 1, "relations": [relation]}) + "\n")
    flat = tmp_path / "flat.json"
    flat.write_text(json.dumps([relation]))
    for path in (file, flat):
        extraction = graph_of(path).source.extract(CORPUS)  # type: ignore[union-attr]
        assert _stated(extraction) == {("Marek Lund", "steers", "Halina")}


def test_a_compressed_file_is_read_as_the_file_in_it(tmp_path: Path) -> None:
    file = tmp_path / "edges.csv.gz"
    with gzip.open(file, "wt") as stream:
        stream.write("source,relation,target\nMarek Lund,steers,Halina\n")
    extraction = graph_of(file).source.extract(CORPUS)  # type: ignore[union-attr]
    assert _stated(extraction) == {("Marek Lund", "steers", "Halina")}
    file.write_bytes(b"no gzip")
    with pytest.raises(ValueError, match=r"edges\.csv\.gz"):
        graph_of(file)


def test_a_text_that_mentions_entities_is_none() -> None:
    graph = nx.DiGraph()
    graph.add_node(
        "episode 1", labels=["Episodic"], content="Marek Lund steers Halina."
    )
    graph.add_edge("episode 1", "Marek Lund", relation="MENTIONS")
    graph.add_edge("Marek Lund", "Halina", relation="steers")
    extraction = extraction_of_networkx(graph)
    assert {entity.name for entity in extraction.entities} == {"Marek Lund", "Halina"}


def test_rows_of_a_query_without_a_relation_are_edges(tmp_path: Path) -> None:
    file = tmp_path / "export.csv"
    file.write_text("p.name,m.title\nMarek Lund,Halina\n")
    extraction = graph_of(file).source.extract(CORPUS)  # type: ignore[union-attr]
    assert len(extraction.triples) == 1


def test_json_with_a_context_is_json_ld(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    knows = {"@id": "#b", "@type": "Person", "name": "Halina"}
    value = {"@context": "https://schema.org", "@id": "#a", "@type": "Person"}
    file = tmp_path / "page.json"
    file.write_text(json.dumps({**value, "name": "Marek Lund", "knows": knows}))
    extraction = graph_of(file).source.extract(CORPUS)  # type: ignore[union-attr]
    assert _stated(extraction) == {("Marek Lund", "knows", "Halina")}


CONCEPTNET = """\
/a/[/r/IsA/,/c/en/ferry/n/,/c/en/ship/]\t/r/IsA\t/c/en/ferry/n\t/c/en/ship\t{"weight": 2.0}
/a/[/r/UsedFor/,/c/en/cargo_ship/,/c/en/trade/]\t/r/UsedFor\t/c/en/cargo_ship\t/c/en/trade\t{"weight": 1.0}
/a/[/r/IsA/,/c/en/cargo_ship/,/c/en/ship/]\t/r/IsA\t/c/en/cargo_ship\t/c/en/ship\t{"sources": [], "weight": 4.0}
/a/[/r/UsedFor/,/c/en/ship/,/c/en/travel/]\t/r/UsedFor\t/c/en/ship\t/c/en/travel\t{"weight": 1.0}
"""


def test_an_edge_of_conceptnet_has_its_terms_and_the_weight_of_its_json(
    tmp_path: Path,
) -> None:
    file = tmp_path / "assertions.csv"
    file.write_text(CONCEPTNET)
    extraction = graph_of(file).source.extract(CORPUS)  # type: ignore[union-attr]
    assert _stated(extraction) == {
        ("ferry", "IsA", "ship"),
        ("cargo ship", "UsedFor", "trade"),
        ("cargo ship", "IsA", "ship"),
        ("ship", "UsedFor", "travel"),
    }
    ferry, trade, ship, travel = (triple.strength for triple in extraction.triples)
    assert trade == travel < ferry < ship == 10


@pytest.mark.parametrize(
    "lines",
    [
        "steers\tIda\tHalina\nowns\tHalina\tboats\nowns\tBo\tIda\n",
        "Ida\tHalina\tsteers\nHalina\tboats\towns\nBo\tIda\towns\n",
    ],
)
def test_the_column_of_a_headless_table_that_shares_no_cell_is_the_relation(
    tmp_path: Path, lines: str
) -> None:
    file = tmp_path / "train.txt"
    file.write_text(lines)
    extraction = graph_of(file).source.extract(CORPUS)  # type: ignore[union-attr]
    assert _stated(extraction) == {
        ("Ida", "steers", "Halina"),
        ("Halina", "owns", "boats"),
        ("Bo", "owns", "Ida"),
    }


def test_triples_of_a_sheet_and_the_sheets_of_nodes_and_edges_are_graphs(
    tmp_path: Path,
) -> None:
    pytest.importorskip("python_calamine")
    triples = pd.DataFrame([("Marek Lund", "steers", "Halina")])
    triples.columns = ["head", "relation", "tail"]
    triples.to_excel(tmp_path / "triples.xlsx", index=False)
    nodes = pd.DataFrame({"Id": [1, 2], "Label": ["Marek Lund", "Halina"]})
    edges = pd.DataFrame({"Source": [1], "Target": [2], "Label": ["steers"]})
    with pd.ExcelWriter(tmp_path / "gephi.xlsx") as writer:
        nodes.to_excel(writer, sheet_name="Nodes", index=False)
        edges.to_excel(writer, sheet_name="Edges", index=False)
    for name in ("triples.xlsx", "gephi.xlsx"):
        extraction = graph_of(tmp_path / name).source.extract(CORPUS)  # type: ignore[union-attr]
        assert _stated(extraction) == {("Marek Lund", "steers", "Halina")}
    pd.DataFrame({"who": ["Ida"]}).to_excel(tmp_path / "crew.xlsx", index=False)
    with pytest.raises(ValueError, match=r"crew\.xlsx.*who"):
        graph_of(tmp_path / "crew.xlsx").source.extract(CORPUS)  # type: ignore[union-attr]


def test_an_export_of_kuzu_without_headers_is_refused_with_the_option(
    tmp_path: Path,
) -> None:
    (tmp_path / "KNOWS_Person_Person.csv").write_text("Marek Lund,Ida Berg\n")
    (tmp_path / "Person.csv").write_text("Marek Lund,1970\nIda Berg,1980\n")
    (tmp_path / "copy.cypher").write_text(
        'COPY `Person` (`name`,`born`) FROM "Person.csv" (parallel=true);\n'
    )
    with pytest.raises(ValueError, match="header=true"):
        graph_of(tmp_path).source.extract(CORPUS)  # type: ignore[union-attr]
