"""GraphML files: ours, and other tools'."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kg2rag.extraction import Entity, Extraction, Extractor, Mention
from kg2rag.extraction.importers.graph_files import GraphFile
from kg2rag.extraction.importers.networkx_graph import extraction_of_networkx
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages(
    [Passage(f"p{i}", "", "Text.", f"d{i}", 0) for i in range(3)]
)


def written(folder: Path, graph: nx.Graph) -> Path:
    nx.write_graphml(graph, folder / "graph.graphml")
    return folder / "graph.graphml"


names = st.sampled_from(["Ed Wood", "Tim Burton", "Burbank", "ed wood"])
passage_ids = st.sampled_from(CORPUS.ids)
triples = st.builds(
    Triple,
    names,
    st.sampled_from(["r", "s"]),
    names,
    st.one_of(passage_ids, st.just("")),
)
extractions = st.builds(
    Extraction,
    st.lists(triples, max_size=6).map(tuple),
    st.lists(st.builds(Mention, names, passage_ids), max_size=6).map(tuple),
    st.lists(
        st.builds(
            Entity, names, st.sampled_from(["", "T"]), st.just(""), st.just(("A",))
        ),
        max_size=3,
    ).map(tuple),
)


@settings(
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(extractions)
def test_a_graph_of_ours_comes_back_equal_from_its_file(
    tmp_path: Path, extraction: Extraction
) -> None:
    graph = KnowledgeGraph.build(extraction, CORPUS)
    file = written(tmp_path, graph.to_networkx(passages=True))
    assert KnowledgeGraph.build(GraphFile(file).extract(CORPUS), CORPUS) == graph


def test_an_undirected_graph_with_passages_keeps_its_mentions() -> None:
    graph = nx.Graph()
    graph.add_node("passage:p1", kind="passage", passage_id="p1")
    graph.add_edge("passage:p1", "Ed Wood", kind="mention", count=2)
    assert extraction_of_networkx(graph).mentions == (Mention("Ed Wood", "p1"),) * 2


def foreign() -> nx.DiGraph:
    """As other tools write it: ids that mean nothing, names and relations as labels."""
    graph = nx.DiGraph(
        [
            (
                "n1",
                "n0",
                {
                    "label": "directed",
                    "passage_id": "p1",
                    "strength": 8.0,
                    "confidence": 0.5,
                },
            )
        ]
    )
    nx.set_node_attributes(
        graph,
        {"n0": {"label": "Ed Wood", "type": "film"}, "n1": {"label": "Tim Burton"}},
    )
    return graph


def test_the_attributes_of_other_tools_are_read(tmp_path: Path) -> None:
    graph = foreign()
    graph.add_edge("n0", "n1")
    found = GraphFile(written(tmp_path, graph)).extract(CORPUS)
    made, without = (
        Triple("Tim Burton", "directed", "Ed Wood", "p1", 8.0, 0.5),
        ("Ed Wood", "related to", "Tim Burton"),
    )
    assert found.triples == (made, Triple(*without, ""))
    assert found.entities == (Entity("Tim Burton"), Entity("Ed Wood", "film"))
    assert found.notes == {
        "edges without a relation, called 'related to'": 1,
        "entities named by label": 2,
    }


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"strength": 11.0}, "strength is 11.0"),
        ({"strength": "much"}, "'much'"),
        ({"order": -1}, "order is -1"),
        ({"passage_id": "q7"}, r"1 passages are not in the corpus \(first: 'q7'\)"),
        ({"kind": "mention"}, "ends are no entity and passage"),
    ],
)
def test_what_an_edge_cannot_have_names_the_file(
    tmp_path: Path, data: dict[str, object], message: str
) -> None:
    graph = nx.DiGraph([("a", "b", {"relation": "r", **data})])
    with pytest.raises(ValueError, match=f"graph.graphml: .*{message}"):
        GraphFile(written(tmp_path, graph)).extract(CORPUS)


@pytest.mark.parametrize(
    ("contents", "message"), [("nothing", "no XML"), ("<html></html>", "GraphML")]
)
def test_a_file_that_is_no_graphml_is_named(
    tmp_path: Path, contents: str, message: str
) -> None:
    file = tmp_path / "graph.graphml"
    file.write_text(contents)
    with pytest.raises(ValueError, match=f"graph.graphml: .*{message}"):
        GraphFile(file).extract(CORPUS)


def test_the_fingerprint_follows_the_contents(tmp_path: Path) -> None:
    one = GraphFile(written(tmp_path, foreign()))
    assert isinstance(one, Extractor)
    before = one.fingerprint
    assert GraphFile(written(tmp_path, nx.DiGraph())).fingerprint != before


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('source="a" ', "", r"edge 1 has the end None, which is the id of no node"),
        (
            'target="b"',
            'target="c"',
            r"edge 1 has the end 'c', which is the id of no node",
        ),
        ('<node id="a"/>', "<node/>", r"node 1 needs a unique id; it has None"),
        ('<node id="b"/>', '<node id="a"/>', r"node 2 needs a unique id; it has 'a'"),
        (
            "<graphml",
            "<!DOCTYPE g [<!ENTITY e 'x'>]><graphml",
            r"document type \(<!DOCTYPE>\)",
        ),
    ],
)
def test_xml_that_networkx_would_take_and_is_no_graph_is_refused(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    file = tmp_path / "graph.graphml"
    graph = '<graph edgedefault="directed"><node id="a"/><node id="b"/><edge source="a" target="b"/></graph>'
    text = f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{graph}</graphml>'
    assert before in text
    file.write_text(text.replace(before, after, 1))
    with pytest.raises(DataError, match=f"graph.graphml: .*{message}"):
        GraphFile(file).extract(CORPUS)
