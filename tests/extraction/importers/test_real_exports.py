"""What LightRAG, nano-graphrag and Microsoft GraphRAG really wrote, in many releases."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kg2rag.extraction.importers.lightrag import LightRAG
from kg2rag.extraction.importers.msgraphrag import MicrosoftGraphRAG
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.types import Corpus, Passage


def corpus_of(folder: Path) -> Corpus:
    """The chunks of an export as passages."""
    chunks = folder / "kv_store_text_chunks.json"
    if chunks.is_file():
        texts = {id_: record["content"] for id_, record in json.loads(chunks.read_text(encoding="utf-8")).items()}
    else:
        rows = pq.read_table(next(folder.glob("*text_units.parquet")), columns=["id", "text"]).to_pylist()
        texts = {row["id"]: row["text"] for row in rows}
    return Corpus.from_passages([Passage(id_, "", text, id_, 0) for id_, text in texts.items()])


# Passages, entities, triples as the graph has them, relations, and distinct descriptions of triples. Every triple of
# these exports is described; only LightRAG names its relations.
COUNTS = {
    "lightrag-1.2.1-stavidphan": (52, 959, 650, 102, 588),
    "lightrag-2025-03-adamaslan": (4, 5, 3, 3, 3),
    "msgraphrag-2.x-christmas-joelandres": (42, 159, 309, 1, 213),
    "msgraphrag-v0.3.6": (12, 217, 139, 1, 69),
    "msgraphrag-v1.0.0": (50, 89, 716, 1, 373),
    "msgraphrag-v1.2.0": (38, 373, 1084, 1, 791),
    "msgraphrag-v2.7.0": (5, 18, 71, 1, 54),
    "msgraphrag-v3.1.2": (5, 41, 119, 1, 107),
    "nano-graphrag-2024-10-ihyah": (29, 433, 275, 1, 261),
    "nano-graphrag-2025-06-qq": (5, 10, 6, 1, 6),
}


@pytest.mark.realdata
@pytest.mark.parametrize("name", COUNTS)
def test_an_export_loads_whole_with_names_and_descriptions_apart(shared_exports: Path, name: str) -> None:
    folder = shared_exports / name
    corpus = corpus_of(folder)
    importer = MicrosoftGraphRAG(folder) if name.startswith("msgraphrag") else LightRAG(folder)
    found = importer.extract(corpus)
    graph = KnowledgeGraph.build(found, corpus)
    described = len(graph.triple_descriptions) - 1
    assert (len(corpus), graph.n_entities, graph.n_triples, graph.n_relations, described) == COUNTS[name]
    assert found.notes["chunks that are passages"] == len(corpus)
    assert all(triple.description and triple.passage_id for triple in found.triples)
    assert max(len(triple.relation) for triple in found.triples) < 40
    # A passage that states one fact twice would lose a description in the graph; none here does.
    facts = {(t.head, t.relation, t.tail, t.passage_id) for t in found.triples}
    assert len({(t.head, t.relation, t.tail, t.passage_id, t.description) for t in found.triples}) == len(facts)


@pytest.mark.realdata
def test_every_export_beside_the_checkout_is_counted(shared_exports: Path) -> None:
    assert {folder.name for folder in shared_exports.iterdir() if folder.is_dir()} == set(COUNTS)
