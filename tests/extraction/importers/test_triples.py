"""Tables of triples in every format."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from kg2rag.extraction import Entity, Extractor
from kg2rag.extraction.importers.triples import TriplesFile
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages(
    [Passage(id_, "", "Text.", id_, 0) for id_ in ("p0", "p1")]
)
ROWS = [
    {
        "head": "Ed Wood",
        "relation": "directed by",
        "tail": "Tim Burton",
        "passage_id": "p0",
        "strength": 8.0,
    },
    {
        "head": "Tim Burton",
        "relation": "born in",
        "tail": 'the "Burbank"',
        "passage_id": "p1",
        "strength": 2.5,
    },
]
TRIPLES = (
    Triple("Ed Wood", "directed by", "Tim Burton", "p0", strength=8),
    Triple("Tim Burton", "born in", 'the "Burbank"', "p1", strength=2.5),
)


def written(tmp_path: Path, *records: object, name: str = "triples.jsonl") -> Path:
    file = tmp_path / name
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def found_in(tmp_path: Path, *changes: dict[str, object]) -> tuple[Triple, ...]:
    return (
        TriplesFile(written(tmp_path, *({**ROWS[0], **change} for change in changes)))
        .extract(CORPUS)
        .triples
    )


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "parquet"])
def test_every_format_gives_the_same_triples(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"triples.{suffix}"
    if suffix == "tsv":
        lines = [
            "\t".join(ROWS[0]),
            *("\t".join(map(str, row.values())) for row in ROWS),
        ]
        file.write_text("\n".join(lines) + "\n")
    elif suffix == "jsonl":
        written(tmp_path, *ROWS)
    else:
        frame = pd.DataFrame(ROWS)
        frame.to_csv(file, index=False) if suffix == "csv" else frame.to_parquet(file)
    assert TriplesFile(file).extract(CORPUS).triples == TRIPLES


def test_rows_in_memory_give_the_same_triples() -> None:
    assert TriplesFile(rows=tuple(ROWS)).extract(CORPUS).triples == TRIPLES


def test_columns_go_by_their_other_names(tmp_path: Path) -> None:
    record = {
        "subject": "a",
        "predicate": "r",
        "object": "b",
        "chunk_id": "p0",
        "llm_confidence": 0.8,
    }
    found = TriplesFile(written(tmp_path, record)).extract(CORPUS)
    assert found.triples == (Triple("a", "r", "b", "p0", confidence=0.8),)


def test_types_of_the_ends_become_types_of_entities(tmp_path: Path) -> None:
    record = {
        "subject": "a",
        "relation": "r",
        "object": "b",
        "chunk_id": "p0",
        "subj_type": "film",
        "obj_type": None,
    }
    assert TriplesFile(written(tmp_path, record)).extract(CORPUS).entities == (
        Entity("a", "film"),
        Entity("b"),
    )


def test_null_weights_take_their_defaults_and_an_empty_passage_means_that_none_states_it(
    tmp_path: Path,
) -> None:
    changes: list[dict[str, object]] = [
        {"strength": None, "confidence": float("nan")},
        {"passage_id": ""},
        {"passage_id": None},
    ]
    first, *others = found_in(tmp_path, *changes)
    assert (first.strength, first.confidence) == (5.0, 1.0)
    assert [one.passage_id for one in others] == ["", ""]


def test_blank_parts_and_confidence_zero_are_dropped_and_counted(
    tmp_path: Path,
) -> None:
    records = [
        {**ROWS[0], "tail": " "},
        {**ROWS[0], "relation": None},
        {**ROWS[0], "confidence": 0},
        ROWS[1],
    ]
    found = TriplesFile(written(tmp_path, *records)).extract(CORPUS)
    assert found.triples == TRIPLES[1:]
    assert found.notes == {"triples with a blank part": 2, "triples of confidence 0": 1}


def test_words_of_confidence_are_none_and_counted_beside_a_number_of_it(
    tmp_path: Path,
) -> None:
    records: list[dict[str, object]] = [
        {**ROWS[0], "confidence": "EXTRACTED", "confidence_score": 0.9},
        {**ROWS[1], "confidence": "high"},
    ]
    found = TriplesFile(written(tmp_path, *records)).extract(CORPUS)
    assert [triple.confidence for triple in found.triples] == [0.9, 1.0]
    assert found.notes == {"relations whose confidence is a word, of confidence 1": 1}


def test_weights_of_databases_are_numbers() -> None:
    edges = [
        {**ROWS[0], "strength": None, "weight": Decimal("3.40")},
        {**ROWS[1], "strength": None, "weight": Decimal("0.10")},
    ]
    [strong, weak] = TriplesFile(rows=tuple(edges)).extract(CORPUS).triples
    assert strong.strength == 10.0
    assert weak.strength < 2


def test_triples_of_other_passages_are_counted(tmp_path: Path) -> None:
    found = TriplesFile(
        written(tmp_path, {**ROWS[0], "passage_id": "p9"}, ROWS[1])
    ).extract(CORPUS)
    assert found.triples == TRIPLES[1:]
    assert found.notes == {"triples of passages outside the corpus": 1}
    assert [entity.name for entity in found.entities] == ["Tim Burton", 'the "Burbank"']
    with pytest.raises(ValueError, match="none of its 2 passages is in the corpus"):
        found_in(tmp_path, {"passage_id": "p8"}, {"passage_id": "p9"})


def test_triples_of_the_chunks_of_another_tool_have_no_passage(tmp_path: Path) -> None:
    rows = ({**row, "chunk": number} for number, row in enumerate(ROWS))
    chunks = [
        {name: row[name] for name in ("head", "relation", "tail", "chunk")}
        for row in rows
    ]
    file = written(tmp_path, *chunks)
    extraction = TriplesFile(file, needs_passages=False).extract(CORPUS)
    assert [triple.passage_id for triple in extraction.triples] == ["", ""]
    assert 2 in extraction.notes.values()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"head": [7]}, r"record 1: head is \[7\]; needed: a string"),
        ({"strength": 11}, "record 1: strength is 11; needed: above 0, at most 10"),
        ({"strength": 0}, "record 1: strength is 0; needed: above 0, at most 10"),
        ({"confidence": "0.x"}, "record 1: confidence is '0.x'; needed: a number"),
        (
            {"confidence": 1.5},
            "record 1: confidence is 1.5; needed: above 0, at most 1",
        ),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        found_in(tmp_path, change)


def test_a_missing_column_names_those_that_would_do(tmp_path: Path) -> None:
    file = tmp_path / "triples.csv"
    file.write_text("head,relation,tail,doc\na,r,b,p0\n")
    with pytest.raises(
        ValueError,
        match=r"triples\.csv, record 2: .*head, relation, tail, doc; .*chunk",
    ):
        TriplesFile(file).extract(CORPUS)


@pytest.mark.parametrize(
    ("name", "message"),
    [("triples.csv", "is empty"), ("triples.xlsx", r"'\.xlsx'.*\.parquet")],
)
def test_a_file_without_a_header_or_of_another_format_is_named(
    tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / name).write_text("")
    with pytest.raises(ValueError, match=message):
        TriplesFile(tmp_path / name).extract(CORPUS)


def test_entities_beside_the_file_give_types_descriptions_and_aliases(
    tmp_path: Path,
) -> None:
    described = {
        "name": "Tim Burton",
        "type": "person",
        "description": "Director.",
        "aliases": ["Burton"],
    }
    written(tmp_path, described, {"name": "Nobody else"}, name="entities.jsonl")
    found = TriplesFile(written(tmp_path, ROWS[0])).extract(CORPUS)
    assert found.entities == (
        Entity("Ed Wood"),
        Entity("Tim Burton", "person", "Director.", ("Burton",)),
    )


def test_ends_named_by_id_take_the_name_of_their_entity(tmp_path: Path) -> None:
    aliases = [{"surface": "T. Burton"}, {"surface": "Tim Burton"}]
    entity = {
        "entity_id": "e1",
        "canonical_name": "Tim Burton",
        "type": "PERSON",
        "aliases": aliases,
    }
    written(tmp_path, entity, name="entities.jsonl")
    record = {
        "subject": "T. Burton",
        "subj_id": "e1",
        "relation": "r",
        "object": "b",
        "obj_id": None,
        "chunk_id": "p0",
    }
    found = TriplesFile(written(tmp_path, record)).extract(CORPUS)
    assert found.triples == (Triple("Tim Burton", "r", "b", "p0"),)
    assert found.entities[0] == Entity("Tim Burton", "PERSON", aliases=("T. Burton",))


@pytest.mark.parametrize(
    ("entity", "message"),
    [
        ({"name": " "}, "record 1: name or canonical_name is ' '"),
        ({"type": "x"}, "entities.jsonl, record 1: name"),
        ({"name": "a", "type": 3}, "record 1: type is 3"),
        ({"name": "a", "aliases": "b"}, "record 1: aliases is 'b'"),
        ({"name": "a", "aliases": [3]}, "record 1: aliases is 3"),
    ],
)
def test_a_malformed_entity_is_named(
    tmp_path: Path, entity: dict[str, object], message: str
) -> None:
    written(tmp_path, entity, name="entities.jsonl")
    with pytest.raises(ValueError, match=message):
        TriplesFile(written(tmp_path, ROWS[0])).extract(CORPUS)


def test_the_fingerprint_follows_file_rows_and_entities(tmp_path: Path) -> None:
    alone = TriplesFile(written(tmp_path, *ROWS))
    before = alone.fingerprint
    written(tmp_path, {"name": "Ed Wood"}, name="entities.jsonl")
    others = [
        TriplesFile(alone.path),
        *(TriplesFile(rows=tuple(ROWS[:n])) for n in (1, 2)),
    ]
    assert len({before, *(source.fingerprint for source in others)}) == 4
    assert isinstance(alone, Extractor)


@pytest.mark.realdata
def test_2wiki_kg_500_loads_as_it_is(shared_data: Path) -> None:
    folder = shared_data / "2wiki-kg-500"
    kept = set((folder / "graph_corpus_ids.txt").read_text().split())
    chunks = [
        json.loads(line) for line in (folder / "corpus.jsonl").read_text().splitlines()
    ]
    passages = [
        Passage(c["chunk_id"], c["source_title"], c["text"], c["source_title"], 0)
        for c in chunks
    ]
    corpus = Corpus.from_passages(
        [passage for passage in passages if passage.id in kept]
    )
    found = TriplesFile(folder / "triples_resolved.jsonl").extract(corpus)
    assert (len(corpus), len(found.triples), found.notes) == (
        851,
        6_289,
        {"triples of confidence 0": 7},
    )
    graph = KnowledgeGraph.build(found, corpus)
    assert (graph.n_entities, graph.n_triples) == (5_482, 6_246)
    assert graph.find("John Farrow") == graph.entity("John Villiers Farrow")
    assert graph.types[graph.entity("Alberto De Martino")] == "PERSON"


def test_of_entities_of_one_name_the_first_with_a_type_counts_else_the_last(
    tmp_path: Path,
) -> None:
    a, b = (
        [{"id": f"e{n}", "name": "a", "description": f"a{n}"} for n in (1, 2)],
        {"name": "b", "description": "b"},
    )
    written(
        tmp_path,
        *a,
        {**b, "id": "e3"},
        {**b, "id": "e4", "type": "town"},
        name="entities.jsonl",
    )
    rows = [
        {**ROWS[0], "head_id": head, "tail_id": tail}
        for head, tail in (("e1", "e3"), ("e2", "e4"), ("e1", "e3"))
    ]
    found = TriplesFile(written(tmp_path, *rows)).extract(CORPUS)
    assert found.entities == (Entity("a", description="a1"), Entity("b", "town", "b"))


def test_parallel_edges_of_no_passage_add_up(tmp_path: Path) -> None:
    """Like Gephi: a row without a weight counts 1, so that Ann and Bob have 3, Bob and Cid 1."""
    file = tmp_path / "edges.csv"
    rows = [("Ann", "Bob")] * 3 + [("Bob", "Cid")]
    pd.DataFrame(rows, columns=["Source", "Target"]).to_csv(file, index=False)
    extraction = TriplesFile(file, needs_passages=False).extract(
        Corpus.from_passages([Passage("p", "Ann")])
    )
    # 10 ln(1 + weight) / ln(1 + 3)
    assert [triple.strength for triple in extraction.triples] == [10.0] * 3 + [5.0]
    assert extraction.notes["parallel edges, their weights added up"] == 2


@pytest.mark.parametrize(
    "columns",
    [
        "头实体,关系,尾实体",
        "主語,述語,目的語",
        "주어,관계,목적어",
        "субъект,предикат,объект",
        "суб'єкт,відношення,об'єкт",
        "Subjekt,Prädikat,Objekt",
        "sujet,prédicat,objet",
        "sujeito,relação,objeto",
        "soggetto,relazione,oggetto",
        "özne,ilişki,nesne",
        "الفاعل,العلاقة,المفعول",
        "विषय,संबंध,कर्म",
    ],
)
def test_columns_of_other_languages_are_those_of_triples(
    tmp_path: Path, columns: str
) -> None:
    file = tmp_path / "triples.csv"
    file.write_text(f"{columns}\nEd Wood,directed by,Tim Burton\n", encoding="utf-8")
    [triple] = TriplesFile(file, needs_passages=False).extract(CORPUS).triples
    assert (triple.head, triple.relation, triple.tail) == (
        "Ed Wood",
        "directed by",
        "Tim Burton",
    )
