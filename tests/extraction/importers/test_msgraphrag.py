"""Microsoft GraphRAG's tables, written here in their schema."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kg2rag.extraction import Entity, Extractor, Mention
from kg2rag.extraction.importers.msgraphrag import MicrosoftGraphRAG
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages(
    [
        Passage("p0", "Ed Wood", "Ed Wood is a film by Tim Burton about a director.", "d", 0),
        Passage("p1", "Burbank", "Tim Burton was born in Burbank, and so was Debbie Reynolds' son.", "d", 1),
    ]
)
Rows = list[dict[str, object]]
ENTITIES: Rows = [
    {
        "id": "e0",
        "human_readable_id": 0,
        "title": "TIM BURTON",
        "type": "PERSON",
        "description": "A director.",
        "text_unit_ids": ["u0", "u1"],
        "frequency": 2,
        "degree": 2,
        "x": 0.0,
        "y": 0.0,
    },
    {"id": "e1", "human_readable_id": 1, "title": "ED WOOD", "type": "", "description": None, "text_unit_ids": ["u0"]},
    {"id": "e2", "human_readable_id": 2, "title": "BURBANK", "type": "GEO", "description": "", "text_unit_ids": None},
]
RELATIONSHIPS: Rows = [
    {
        "id": "r0",
        "human_readable_id": 0,
        "source": "TIM BURTON",
        "target": "ED WOOD",
        "description": "Tim Burton directed Ed Wood",
        "weight": 8.0,
        "combined_degree": 3,
        "text_unit_ids": ["u0"],
    },
    {
        "id": "r1",
        "source": "TIM BURTON",
        "target": "BURBANK",
        "description": "",
        "weight": 2.0,
        "text_unit_ids": ["u1"],
    },
]
UNITS: Rows = [
    {"id": "u0", "text": CORPUS[0].contents, "n_tokens": 14, "document_ids": ["d0"], "entity_ids": ["e0", "e1"]},
    {"id": "u1", "text": CORPUS[1].contents, "n_tokens": 14, "document_ids": ["d1"], "entity_ids": ["e0", "e2"]},
]


def written(folder: Path, prefix: str = "", **tables: Rows) -> Path:
    """An output folder; a table given replaces the one above."""
    folder.mkdir(exist_ok=True)
    all_tables = {"entities": ENTITIES, "relationships": RELATIONSHIPS, "text_units": UNITS} | tables
    for name, rows in all_tables.items():
        columns = dict.fromkeys(column for row in rows for column in row)
        table = pa.table({column: [row.get(column) for row in rows] for column in columns})
        pq.write_table(table, folder / f"{prefix}{name}.parquet")
    return folder


def test_relationships_are_triples_of_the_passages_that_their_text_units_are(tmp_path: Path) -> None:
    assert MicrosoftGraphRAG(written(tmp_path)).extract(CORPUS).triples == (
        # The greatest weight.
        Triple("TIM BURTON", "related to", "ED WOOD", "p0", 10.0, description="Tim Burton directed Ed Wood"),
        Triple("TIM BURTON", "related to", "BURBANK", "p1", 5.0),  # 10 ln(1 + 2) / ln(1 + 8)
    )


def test_a_column_that_names_the_relationships_is_read(tmp_path: Path) -> None:
    named: Rows = [
        row | {"relationship_type": name} for row, name in zip(RELATIONSHIPS, ("DIRECTED", None), strict=True)
    ]
    found = MicrosoftGraphRAG(written(tmp_path, relationships=named)).extract(CORPUS)
    assert [(triple.relation, triple.description) for triple in found.triples] == [
        ("DIRECTED", "Tim Burton directed Ed Wood"),
        ("related to", ""),
    ]


def test_entities_come_with_their_mentions_and_those_without_are_counted(tmp_path: Path) -> None:
    found = MicrosoftGraphRAG(written(tmp_path)).extract(CORPUS)
    assert found.entities == (
        Entity("TIM BURTON", "PERSON", "A director."),
        Entity("ED WOOD"),
        Entity("BURBANK", "GEO"),
    )
    assert found.mentions == (Mention("TIM BURTON", "p0"), Mention("TIM BURTON", "p1"), Mention("ED WOOD", "p0"))
    assert found.notes == {"chunks that are passages": 2, "entities of no known passage": 1}


def test_the_tables_of_earlier_releases_are_read(tmp_path: Path) -> None:
    old: Rows = [
        {"id": "e0", "name": '"TIM BURTON"', "type": '"PERSON"', "description": "A director.", "text_unit_ids": ["u0"]}
    ]
    found = MicrosoftGraphRAG(written(tmp_path, "create_final_", entities=old)).extract(CORPUS)
    assert found.entities == (Entity("TIM BURTON", "PERSON", "A director."),)
    assert len(found.triples) == 2


def test_where_two_releases_left_their_tables_todays_names_count(tmp_path: Path) -> None:
    written(tmp_path, "create_final_", relationships=RELATIONSHIPS[:1])
    assert len(MicrosoftGraphRAG(written(tmp_path)).extract(CORPUS).triples) == 2


def test_a_text_unit_that_holds_several_passages_gives_each_triple_to_the_one_with_its_names(tmp_path: Path) -> None:
    units: Rows = [{"id": id_, "text": f"{CORPUS[0].text}\n{CORPUS[1].text}"} for id_ in ("u0", "u1")]
    found = MicrosoftGraphRAG(written(tmp_path, text_units=units)).extract(CORPUS)
    assert [triple.passage_id for triple in found.triples] == ["p0", "p1"]


def test_text_units_of_another_corpus_are_counted_or_an_error(tmp_path: Path) -> None:
    folder = written(tmp_path, text_units=[*UNITS, {"id": "u2", "text": "Something else altogether."}])
    assert MicrosoftGraphRAG(folder).extract(CORPUS).notes["chunks outside the corpus"] == 1
    with pytest.raises(ValueError, match=r"text_units.parquet: 1 of 3 chunks.*'u2'"):
        MicrosoftGraphRAG(folder, partial=False).extract(CORPUS)


@pytest.mark.parametrize(
    ("table", "rows", "message"),
    [
        (
            "entities",
            [{"id": "e", "text_unit_ids": ["u0"]}],
            "entities.parquet: no column 'title'. It has id, text_unit_ids",
        ),
        (
            "entities",
            [{"title": " ", "text_unit_ids": []}],
            "record 1: title is ' '; needed: a string that is not blank",
        ),
        ("entities", [{"title": 7, "text_unit_ids": []}], "record 1: title is 7; needed: a string"),
        ("entities", [{"title": "A", "text_unit_ids": "u0"}], "record 1: text_unit_ids is 'u0'; needed: a list of ids"),
        (
            "relationships",
            [{"source": "A", "target": None, "text_unit_ids": []}],
            "relationships.parquet, record 1: target is None; needed: a string that is not blank",
        ),
        (
            "relationships",
            [{"source": "A", "target": "B", "weight": "8", "text_unit_ids": []}],
            "record 1: weight is '8'; needed: a number",
        ),
    ],
)
def test_a_malformed_table_is_an_error_that_says_where(tmp_path: Path, table: str, rows: Rows, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MicrosoftGraphRAG(written(tmp_path, **{table: rows})).extract(CORPUS)


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    (written(tmp_path) / "relationships.parquet").write_text("source,target")
    with pytest.raises(ValueError, match=r"relationships.parquet: no Parquet file"):
        MicrosoftGraphRAG(tmp_path).extract(CORPUS)


def test_a_missing_table_is_named_at_once(tmp_path: Path) -> None:
    (written(tmp_path) / "text_units.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"text_units.parquet does not exist. Give GraphRAG's output folder"):
        MicrosoftGraphRAG(tmp_path)


def test_the_fingerprint_follows_the_tables_and_the_options_and_not_the_place(tmp_path: Path) -> None:
    one = MicrosoftGraphRAG(written(tmp_path / "one"))
    assert isinstance(one, Extractor)
    assert MicrosoftGraphRAG(written(tmp_path / "two")).fingerprint == one.fingerprint
    assert MicrosoftGraphRAG(one.path, partial=False).fingerprint != one.fingerprint
    assert MicrosoftGraphRAG(written(tmp_path / "three", entities=ENTITIES[:1])).fingerprint != one.fingerprint
