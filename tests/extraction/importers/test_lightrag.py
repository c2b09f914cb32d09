"""LightRAG's working directory, written here in its schema."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest

from kg2rag.extraction import Entity, Extractor, Mention
from kg2rag.extraction.importers.lightrag import LightRAG
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages(
    [
        Passage("p0", "Ed Wood", "Ed Wood is a film by Tim Burton about a director.", "d", 0),
        Passage("p1", "Burbank", "Tim Burton was born in Burbank, and so was Debbie Reynolds' son.", "d", 1),
    ]
)
CHUNKS = {
    "chunk-a": {"tokens": 14, "content": CORPUS[0].contents, "full_doc_id": "doc-1", "chunk_order_index": 0},
    "chunk-b": {"tokens": 14, "content": CORPUS[1].contents, "full_doc_id": "doc-2", "chunk_order_index": 0},
}


def node(graph: nx.Graph, name: str, kind: str, description: str, source: str) -> None:
    graph.add_node(name, entity_id=name, entity_type=kind, description=description, source_id=source, file_path="x.txt")


def written(folder: Path, chunks: object = CHUNKS, **more: object) -> Path:
    """A working directory; `more` are further key-value files by the name of their store."""
    graph = nx.Graph()
    node(graph, "Tim Burton", "person", "A director.<SEP>Born in Burbank.<SEP>A director.", "chunk-a<SEP>chunk-b")
    node(graph, "Ed Wood", "film", "A film.", "chunk-a")
    node(graph, "Burbank", "geo", "A city.", "chunk-b")
    graph.add_edge(
        "Tim Burton", "Ed Wood", weight=3.0, keywords="direction,film", description="He made it.", source_id="chunk-a"
    )
    graph.add_edge("Tim Burton", "Burbank", weight=1.0, description="He was born there.", source_id="chunk-b")
    folder.mkdir(exist_ok=True)
    nx.write_graphml(graph, folder / "graph_chunk_entity_relation.graphml")
    for name, contents in {"text_chunks": chunks, **more}.items():
        (folder / f"kv_store_{name}.json").write_text(json.dumps(contents))
    return folder


def test_edges_are_triples_of_the_passages_that_their_chunks_are(tmp_path: Path) -> None:
    assert LightRAG(written(tmp_path)).extract(CORPUS).triples == (
        # The greatest weight; and 10 ln(1 + 1) / ln(1 + 3).
        Triple("Tim Burton", "direction,film", "Ed Wood", "p0", 10.0, description="He made it."),
        Triple("Tim Burton", "related to", "Burbank", "p1", 5.0, description="He was born there."),
    )


def test_nodes_are_entities_with_their_mentions(tmp_path: Path) -> None:
    found = LightRAG(written(tmp_path)).extract(CORPUS)
    assert found.entities[0] == Entity("Tim Burton", "person", "A director. Born in Burbank.")
    assert found.mentions == (
        Mention("Tim Burton", "p0"),
        Mention("Tim Burton", "p1"),
        Mention("Ed Wood", "p0"),
        Mention("Burbank", "p1"),
    )
    assert found.notes == {"chunks that are passages": 2}


def test_a_chunk_of_two_passages_gives_each_triple_to_the_one_that_has_its_names(tmp_path: Path) -> None:
    together = {"content": f"{CORPUS[0].contents}\n{CORPUS[1].contents}"}
    found = LightRAG(written(tmp_path, {"chunk-a": together, "chunk-b": together})).extract(CORPUS)
    assert [triple.passage_id for triple in found.triples] == ["p0", "p1"]
    assert found.notes == {"chunks that hold passages": 2}


def test_the_graph_file_itself_may_be_named(tmp_path: Path) -> None:
    folder = written(tmp_path)
    assert LightRAG(folder / "graph_chunk_entity_relation.graphml") == LightRAG(folder)


def test_all_chunks_are_read_where_the_graph_keeps_but_some(tmp_path: Path) -> None:
    more = {
        "entity_chunks": {"Ed Wood": {"chunk_ids": ["chunk-a", "chunk-b"], "count": 2}},
        "relation_chunks": {"Ed Wood<SEP>Tim Burton": {"chunk_ids": ["chunk-a", "chunk-b"], "count": 2}},
    }
    found = LightRAG(written(tmp_path, **more)).extract(CORPUS)
    assert [t.passage_id for t in found.triples if t.tail == "Ed Wood"] == ["p0", "p1"]
    assert [m.passage_id for m in found.mentions if m.entity == "Ed Wood"] == ["p0", "p1"]


def test_quotation_marks_of_early_releases_are_taken_off(tmp_path: Path) -> None:
    graph = nx.Graph()
    for name in ('"TIM BURTON"', '"ED WOOD"'):
        graph.add_node(name, entity_type='"PERSON"', description='"Somebody."', source_id="chunk-a")
    graph.add_edge('"TIM BURTON"', '"ED WOOD"', keywords='"direction"', weight=1.0, source_id="chunk-a")
    folder = written(tmp_path)
    nx.write_graphml(graph, folder / "graph_chunk_entity_relation.graphml")
    found = LightRAG(folder).extract(CORPUS)
    assert found.triples == (Triple("TIM BURTON", "direction", "ED WOOD", "p0", 10.0),)
    assert found.entities[0] == Entity("TIM BURTON", "PERSON", "Somebody.")


def test_relations_without_words_weight_or_passage_are_kept_and_counted(tmp_path: Path) -> None:
    folder = written(tmp_path)
    graph = nx.Graph()
    graph.add_edge("a", "b", source_id="manual_creation")
    graph.add_edge("a", "c", source_id="chunk-a", weight=0.0)
    nx.write_graphml(graph, folder / "graph_chunk_entity_relation.graphml")
    found = LightRAG(folder).extract(CORPUS)
    assert found.triples == (Triple("a", "related to", "b", "", 5.0), Triple("a", "related to", "c", "p0", 0.1))
    assert found.notes == {
        "chunks that are passages": 2,
        "entities of no known passage": 3,
        "relations of chunks whose text the export lacks": 1,
        "relations of no known passage, kept without one": 1,
        "relations without a weight, of strength 5": 1,
        "relations of weight 0 or below, of strength 0.1": 1,
    }


def test_chunks_of_another_corpus_are_an_error(tmp_path: Path) -> None:
    chunks = {"chunk-a": {"content": "Something else altogether."}}
    with pytest.raises(ValueError, match="1 of 1 chunks are no passage of the corpus"):
        LightRAG(written(tmp_path, chunks)).extract(CORPUS)


def test_a_chunk_that_the_corpus_lacks_is_counted_or_an_error(tmp_path: Path) -> None:
    folder = written(tmp_path, CHUNKS | {"chunk-c": {"content": "Something else altogether."}})
    assert LightRAG(folder).extract(CORPUS).notes["chunks outside the corpus"] == 1
    with pytest.raises(ValueError, match=r"1 of 3 chunks.*'chunk-c'"):
        LightRAG(folder, partial=False).extract(CORPUS)


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([], "a list at the top; LightRAG writes an object"),
        ({"chunk-a": "text"}, r"kv_store_text_chunks.json, record 1: record is 'text'; needed: an object"),
        ({"chunk-a": {"tokens": 1}}, "record 1: field 'content' is missing. It has tokens"),
        ({"chunk-a": {"content": 1}}, "record 1: content is 1; needed: a string"),
    ],
)
def test_malformed_chunks_are_named(tmp_path: Path, chunks: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LightRAG(written(tmp_path, chunks)).extract(CORPUS)


def test_malformed_chunk_lists_and_weights_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"kv_store_entity_chunks.json, record 1: chunk_ids is 'chunk-a'; needed: a list"
    ):
        LightRAG(written(tmp_path, entity_chunks={"Ed Wood": {"chunk_ids": "chunk-a"}})).extract(CORPUS)
    folder = written(tmp_path / "weights")
    graph = nx.Graph()
    graph.add_edge("a", "b", weight="much", source_id="chunk-a")
    nx.write_graphml(graph, folder / "graph_chunk_entity_relation.graphml")
    with pytest.raises(ValueError, match="edge 'a' - 'b': weight is 'much'; needed: a number"):
        LightRAG(folder).extract(CORPUS)


def test_a_directory_without_its_files_says_which(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"graph_chunk_entity_relation.graphml does not exist"):
        LightRAG(tmp_path)
    (written(tmp_path) / "kv_store_text_chunks.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"kv_store_text_chunks.json does not exist"):
        LightRAG(tmp_path)


def test_the_fingerprint_follows_the_files_and_the_options_and_not_the_place(tmp_path: Path) -> None:
    one = LightRAG(written(tmp_path / "one"))
    assert isinstance(one, Extractor)
    assert LightRAG(written(tmp_path / "two")).fingerprint == one.fingerprint
    assert LightRAG(one.path, partial=False).fingerprint != one.fingerprint
    more = {"relation_chunks": {"a<SEP>b": {"chunk_ids": []}}}
    assert LightRAG(written(tmp_path / "three", **more)).fingerprint != one.fingerprint
