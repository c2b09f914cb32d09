"""LightRAG's working directory and Microsoft GraphRAG's tables, written here in their schema and as really exported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kg2rag.extraction import Entity, Extractor, Mention
from kg2rag.extraction.entity_matching import graph_of
from kg2rag.extraction.importers.graphrag import GRAPH, LightRAG, MicrosoftGraphRAG
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages(
    [
        Passage(
            "p0", "Ed Wood", "Ed Wood is a film by Tim Burton about a director.", "d", 0
        ),
        Passage(
            "p1",
            "Burbank",
            "Tim Burton was born in Burbank, and so was Debbie Reynolds' son.",
            "d",
            1,
        ),
    ]
)
CHUNKS: dict[str, object] = {
    f"chunk-{name}": {"content": CORPUS[row].contents} for row, name in enumerate("ab")
}
STRANGE = "Something else altogether."
Rows = list[dict[str, object]]


def lightrag(
    folder: Path, chunks: object = CHUNKS, graph: nx.Graph | None = None, **more: object
) -> Path:
    """A working directory; `more` are further key-value files by the name of their store."""
    if graph is None:
        graph = nx.Graph()
        for name, kind, about, source in (
            (
                "Tim Burton",
                "person",
                "A director.<SEP>Born in Burbank.<SEP>A director.",
                "chunk-a<SEP>chunk-b",
            ),
            ("Ed Wood", "film", "A film.", "chunk-a"),
            ("Burbank", "geo", "A city.", "chunk-b"),
        ):
            graph.add_node(
                name,
                entity_id=name,
                entity_type=kind,
                description=about,
                source_id=source,
            )
        made = {
            "keywords": "direction,film",
            "description": "He made it.",
            "source_id": "chunk-a",
        }
        graph.add_edge("Tim Burton", "Ed Wood", weight=3.0, **made)
        graph.add_edge(
            "Tim Burton",
            "Burbank",
            weight=1.0,
            description="He was born there.",
            source_id="chunk-b",
        )
    folder.mkdir(exist_ok=True)
    nx.write_graphml(graph, folder / GRAPH)
    for name, contents in {"text_chunks": chunks, **more}.items():
        (folder / f"kv_store_{name}.json").write_text(json.dumps(contents))
    return folder


MADE: dict[str, object] = {
    "source": "TIM BURTON",
    "target": "ED WOOD",
    "description": "He made it.",
    "weight": 8,
}
BORN: dict[str, object] = {
    "source": "TIM BURTON",
    "target": "BURBANK",
    "description": "",
    "weight": 2,
}
TABLES: dict[str, Rows] = {
    "entities": [
        {
            "title": "TIM BURTON",
            "type": "PERSON",
            "description": "A director.",
            "text_unit_ids": list("ab"),
        },
        {"title": "ED WOOD", "type": "", "description": None, "text_unit_ids": ["a"]},
        {"title": "BURBANK", "type": "GEO", "description": "", "text_unit_ids": None},
    ],
    "relationships": [MADE | {"text_unit_ids": ["a"]}, BORN | {"text_unit_ids": ["b"]}],
    "text_units": [
        {"id": name, "text": CORPUS[row].contents, "n_tokens": 14}
        for row, name in enumerate("ab")
    ],
}


def graphrag(folder: Path, prefix: str = "", **tables: Rows) -> Path:
    """An output folder; a table given replaces the one above."""
    folder.mkdir(exist_ok=True)
    for name, rows in (TABLES | tables).items():
        columns = dict.fromkeys(column for row in rows for column in row)
        table = pa.table(
            {column: [row.get(column) for row in rows] for column in columns}
        )
        pq.write_table(table, folder / f"{prefix}{name}.parquet")
    return folder


def test_edges_are_triples_of_the_passages_that_their_chunks_are(
    tmp_path: Path,
) -> None:
    found = LightRAG(lightrag(tmp_path)).extract(CORPUS)
    assert found.triples == (
        # The greatest weight; and 10 ln(1 + 1) / ln(1 + 3).
        Triple(
            "Tim Burton",
            "direction,film",
            "Ed Wood",
            "p0",
            10.0,
            description="He made it.",
        ),
        Triple(
            "Tim Burton",
            "related to",
            "Burbank",
            "p1",
            5.0,
            description="He was born there.",
        ),
    )
    assert found.entities[0] == Entity(
        "Tim Burton", "person", "A director. Born in Burbank."
    )
    named = [
        ("Tim Burton", "p0"),
        ("Tim Burton", "p1"),
        ("Ed Wood", "p0"),
        ("Burbank", "p1"),
    ]
    assert found.mentions == tuple(Mention(*pair) for pair in named)
    assert found.notes == {
        "chunks that are passages": 2,
        "relations whose weight was scaled, 3 to strength 10": 2,
    }
    assert (
        LightRAG(tmp_path / GRAPH) == LightRAG(tmp_path) == graph_of(tmp_path / GRAPH)
    )


def test_relationships_are_triples_of_the_passages_that_their_text_units_are(
    tmp_path: Path,
) -> None:
    found = MicrosoftGraphRAG(graphrag(tmp_path)).extract(CORPUS)
    assert found.triples == (
        Triple(
            "TIM BURTON", "related to", "ED WOOD", "p0", 10.0, description="He made it."
        ),
        # 10 ln(1 + 2) / ln(1 + 8).
        Triple("TIM BURTON", "related to", "BURBANK", "p1", 5.0),
    )
    people = Entity("TIM BURTON", "PERSON", "A director.")
    assert found.entities == (people, Entity("ED WOOD"), Entity("BURBANK", "GEO"))
    assert found.mentions == (
        Mention("TIM BURTON", "p0"),
        Mention("TIM BURTON", "p1"),
        Mention("ED WOOD", "p0"),
    )
    scaled = {"relations whose weight was scaled, 8 to strength 10": 2}
    assert (
        found.notes
        == {"chunks that are passages": 2, "entities of no known passage": 1} | scaled
    )


def test_all_chunks_are_read_where_lightrags_graph_keeps_but_some(
    tmp_path: Path,
) -> None:
    without = LightRAG(lightrag(tmp_path)).fingerprint
    every = {"chunk_ids": ["chunk-a", "chunk-b"], "count": 2}
    more = {
        "entity_chunks": {"Ed Wood": every},
        "relation_chunks": {"Ed Wood<SEP>Tim Burton": every},
    }
    assert LightRAG(lightrag(tmp_path, **more)).fingerprint != without
    found = LightRAG(tmp_path).extract(CORPUS)
    assert [t.passage_id for t in found.triples if t.tail == "Ed Wood"] == ["p0", "p1"]
    assert [m.passage_id for m in found.mentions if m.entity == "Ed Wood"] == [
        "p0",
        "p1",
    ]


def test_quotation_marks_of_early_releases_are_taken_off(tmp_path: Path) -> None:
    graph = nx.Graph()
    for name in ('"TIM BURTON"', '"ED WOOD"'):
        graph.add_node(
            name, entity_type='"PERSON"', description='"Somebody."', source_id="chunk-a"
        )
    graph.add_edge(
        '"TIM BURTON"',
        '"ED WOOD"',
        keywords='"direction"',
        weight=1.0,
        source_id="chunk-a",
    )
    found = LightRAG(lightrag(tmp_path, graph=graph)).extract(CORPUS)
    assert found.triples == (Triple("TIM BURTON", "direction", "ED WOOD", "p0", 10.0),)
    assert found.entities[0] == Entity("TIM BURTON", "PERSON", "Somebody.")


def test_relations_without_words_weight_or_passage_are_kept_and_counted(
    tmp_path: Path,
) -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", source_id="manual_creation")
    graph.add_edge("a", "c", source_id="chunk-a", weight=0.0)
    found = LightRAG(lightrag(tmp_path, graph=graph)).extract(CORPUS)
    assert found.triples == (
        Triple("a", "related to", "b", "", 5.0),
        Triple("a", "related to", "c", "p0", 0.1),
    )
    assert found.notes == {
        "chunks that are passages": 2,
        "entities of no known passage": 3,
        "relations of chunks whose text the export lacks": 1,
        "relations of no known passage, kept without one": 1,
        "relations without a weight, of strength 5": 1,
        "relations of weight 0 or below, of strength 0.1": 1,
    }


def test_a_column_that_names_the_relationships_and_the_tables_of_earlier_releases_are_read(
    tmp_path: Path,
) -> None:
    rows = zip(TABLES["relationships"], ("DIRECTED", None), strict=True)
    named: Rows = [row | {"relationship_type": name} for row, name in rows]
    old: Rows = [{"name": '"TIM BURTON"', "type": '"PERSON"', "text_unit_ids": ["a"]}]
    graphrag(tmp_path, "create_final_", entities=old, relationships=named)
    found = MicrosoftGraphRAG(tmp_path).extract(CORPUS)
    assert [triple.relation for triple in found.triples] == ["DIRECTED", "related to"]
    assert found.entities == (Entity("TIM BURTON", "PERSON"),)
    # of today, where there are some
    assert len(MicrosoftGraphRAG(graphrag(tmp_path)).extract(CORPUS).entities) == 3


def whole(folder: Path, *texts: str) -> LightRAG:
    chunks = {
        f"chunk-{name}": {"content": text}
        for name, text in zip("abc", texts, strict=False)
    }
    return LightRAG(lightrag(folder, chunks))


def units(folder: Path, *texts: str) -> MicrosoftGraphRAG:
    rows: Rows = [
        {"id": name, "text": text} for name, text in zip("abc", texts, strict=False)
    ]
    return MicrosoftGraphRAG(graphrag(folder, text_units=rows))


Written = Callable[..., LightRAG | MicrosoftGraphRAG]


@pytest.mark.parametrize("written", [whole, units])
def test_a_chunk_of_two_passages_gives_each_triple_to_the_one_that_has_its_names(
    tmp_path: Path, written: Written
) -> None:
    found = written(
        tmp_path, *[f"{CORPUS[0].contents}\n{CORPUS[1].contents}"] * 2
    ).extract(CORPUS)
    assert [triple.passage_id for triple in found.triples] == ["p0", "p1"]
    assert (
        found.notes["chunks laid on passages by the words that they share in order"]
        == 2
    )


@pytest.mark.parametrize("written", [whole, units])
def test_a_chunk_that_the_corpus_lacks_is_counted_and_an_error_where_all_are(
    tmp_path: Path, written: Written
) -> None:
    known, one = (
        written(tmp_path / "known", *CORPUS.contents, STRANGE),
        written(tmp_path / "one", STRANGE),
    )
    assert known.extract(CORPUS).notes["chunks outside the corpus"] == 1
    with pytest.raises(ValueError, match=" 1 "):
        one.extract(CORPUS)
    assert isinstance(one, Extractor)
    assert (
        written(tmp_path / "two", STRANGE).fingerprint
        == one.fingerprint
        != known.fingerprint
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"chunks": []}, "kv_store_text_chunks.json: a list at the top"),
        (
            {"chunks": {"chunk-a": "text"}},
            r"kv_store_text_chunks.json, record 1: record is 'text'",
        ),
        (
            {"chunks": {"chunk-a": {"tokens": 1}}},
            "record 1: field 'content' is missing. It has tokens",
        ),
        ({"chunks": {"chunk-a": {"content": 1}}}, "record 1: content is 1"),
        (
            {"entity_chunks": {"Ed Wood": {"chunk_ids": "a"}}},
            "kv_store_entity_chunks.json, record 1: chunk_ids is 'a'",
        ),
        (
            {"graph": nx.Graph([("a", "b", {"weight": "much"})])},
            f"{GRAPH}, edge 'a' - 'b'.*: weight is 'much'",
        ),
    ],
)
def test_a_malformed_lightrag_file_is_an_error_that_says_where(
    tmp_path: Path, more: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        LightRAG(lightrag(tmp_path, **more)).extract(CORPUS)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["text_units", "create_final_text_units"])
def test_a_folder_of_graphrag_without_entities_names_their_table(
    tmp_path: Path, name: str
) -> None:
    units = pa.table({"id": ["u"], "text": ["Noon."]})
    pq.write_table(units, tmp_path / f"{name}.parquet")
    with pytest.raises(FileNotFoundError, match="entities"):
        graph_of(tmp_path)


@pytest.mark.parametrize(
    ("table", "row", "message"),
    [
        (
            "entities",
            {"id": "e", "text_unit_ids": ["a"]},
            "entities.parquet: no column 'title'",
        ),
        ("entities", {"title": 7, "text_unit_ids": []}, "record 1: title is 7"),
        (
            "entities",
            {"title": "A", "text_unit_ids": "a"},
            "record 1: text_unit_ids is 'a'",
        ),
        (
            "relationships",
            {"source": "A", "target": "B", "weight": "x", "text_unit_ids": []},
            "1: weight is 'x'",
        ),
    ],
)
def test_a_malformed_table_is_an_error_that_says_where(
    tmp_path: Path, table: str, row: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        MicrosoftGraphRAG(graphrag(tmp_path, **{table: [row]})).extract(CORPUS)


@pytest.mark.parametrize(
    "missing", [GRAPH, "kv_store_text_chunks.json", "text_units.parquet"]
)
def test_a_missing_file_is_named_at_once(tmp_path: Path, missing: str) -> None:
    source, write = (
        (MicrosoftGraphRAG, graphrag)
        if missing.endswith("parquet")
        else (LightRAG, lightrag)
    )
    (write(tmp_path) / missing).unlink()
    with pytest.raises(FileNotFoundError, match=rf"{missing} does not exist"):
        source(tmp_path)


def corpus_of(folder: Path) -> Corpus:
    """The chunks of an export as passages."""
    chunks = folder / "kv_store_text_chunks.json"
    if chunks.is_file():
        texts = {
            id_: record["content"]
            for id_, record in json.loads(chunks.read_text(encoding="utf-8")).items()
        }
    else:
        rows = pq.read_table(
            next(folder.glob("*text_units.parquet")), columns=["id", "text"]
        ).to_pylist()
        texts = {row["id"]: row["text"] for row in rows}
    return Corpus.from_passages(
        [Passage(id_, "", text, id_, 0) for id_, text in texts.items()]
    )


# Passages, entities, triples as the graph has them, relations, and distinct descriptions of
# triples. Every triple of
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
    "nano-graphrag-2024-10-ihyah": (
        29,
        432,
        275,
        1,
        261,
    ),  # a name with and without a blank is one
    "nano-graphrag-2025-06-qq": (5, 10, 6, 1, 6),
}


@pytest.mark.realdata
@pytest.mark.parametrize("name", COUNTS)
def test_an_export_loads_whole_with_names_and_descriptions_apart(
    shared_exports: Path, name: str
) -> None:
    assert {
        folder.name for folder in shared_exports.iterdir() if folder.is_dir()
    } == set(COUNTS)
    folder = shared_exports / name
    corpus = corpus_of(folder)
    importer = (
        MicrosoftGraphRAG(folder) if name.startswith("msgraphrag") else LightRAG(folder)
    )
    found = importer.extract(corpus)
    graph = KnowledgeGraph.build(found, corpus)
    described = len(graph.triple_descriptions) - 1
    assert (
        len(corpus),
        graph.n_entities,
        graph.n_triples,
        graph.n_relations,
        described,
    ) == COUNTS[name]
    assert found.notes["chunks that are passages"] == len(corpus)
    assert all(triple.description and triple.passage_id for triple in found.triples)
    assert max(len(triple.relation) for triple in found.triples) < 40
    # A passage that states one fact twice would lose a description in the graph; none here does.
    facts = {(t.head, t.relation, t.tail, t.passage_id) for t in found.triples}
    assert len(
        {
            (t.head, t.relation, t.tail, t.passage_id, t.description)
            for t in found.triples
        }
    ) == len(facts)
