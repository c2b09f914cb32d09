"""Public sets in every shape that their users have: reordered, of the hub as JSON, CSV, Parquet and saved folders."""

from __future__ import annotations

import csv
import json

import datasets
import pytest

import kg2rag

PARAGRAPHS = [
    {
        "idx": 1,
        "title": "Acme",
        "paragraph_text": "Acme was founded by Ida Berg.",
        "is_supporting": True,
    },
    {
        "idx": 0,
        "title": "Halina",
        "paragraph_text": "Halina was built by Acme.",
        "is_supporting": True,
    },
]
HOPS = [{"paragraph_support_idx": 0}, {"paragraph_support_idx": 1}]
MUSIQUE = {
    "id": "2hop__1",
    "question": "Who founded the builder?",
    "answer": "Ida Berg",
    "paragraphs": PARAGRAPHS,
}
MUSIQUE |= {"question_decomposition": HOPS, "answer_aliases": []}
FACTS = {"title": ["Halina", "Marek Lund"], "sent_id": [0, 0]}
CONTEXT = {"title": ["Halina", "Marek Lund"], "sentences": [["A ferry."], ["A man."]]}
HOTPOT = {
    "id": "h",
    "question": "Who sails?",
    "answer": "Lund",
    "supporting_facts": FACTS,
    "context": CONTEXT,
}
GOLD = {"Halina": 1, "Marek Lund": 1}


def write_json(path, records):
    path.write_text(json.dumps(records))


def write_sorted_json(path, records):
    path.write_text(json.dumps(records, sort_keys=True))


def write_json_lines(path, records):
    path.write_text("\n".join(map(json.dumps, records)))


def write_csv(path, records):
    with path.open("w") as stream:
        writer = csv.DictWriter(stream, records[0])
        writer.writeheader()
        for record in records:
            cells = {
                name: value if isinstance(value, str) else json.dumps(value)
                for name, value in record.items()
            }
            writer.writerow(cells)


def write_printed_csv(path, records):
    """As the library of the hub and pandas write tables with arrays in cells."""
    datasets.Dataset.from_list(records).to_pandas().to_csv(path, index=False)


def write_parquet(path, records):
    datasets.Dataset.from_list(records).to_parquet(path)


def write_folder(path, records):
    datasets.Dataset.from_list(records).save_to_disk(path)


def write_folder_of_splits(path, records):
    split = datasets.Dataset.from_list(records)
    datasets.DatasetDict({"train": split.select([]), "validation": split}).save_to_disk(
        path
    )


SHAPES = [
    (write_json, "set.json"),
    (write_sorted_json, "set.json"),
    (write_json_lines, "set.jsonl"),
    (write_json_lines, "set.json"),
    (write_csv, "set.csv"),
    (write_printed_csv, "set.csv"),
    (write_parquet, "set.parquet"),
    (write_folder, "set"),
    (write_folder_of_splits, "set"),
]


@pytest.mark.parametrize(("write", "name"), SHAPES)
def test_a_set_is_the_same_in_every_shape(tmp_path, write, name):
    path = tmp_path / name
    write(path, [MUSIQUE, MUSIQUE | {"id": "2hop__2"}])
    assert [
        question.chain for question in kg2rag.load("musique", path=path).questions
    ] == [("Halina", "Acme")] * 2


@pytest.mark.parametrize("columns", [(), ("context", "supporting_facts")])
@pytest.mark.parametrize(("write", "name"), SHAPES)
def test_hotpotqa_of_the_hub_is_read(tmp_path, write, name, columns):
    path = tmp_path / name
    record = {
        field: json.dumps(value) if field in columns else value
        for field, value in HOTPOT.items()
    }
    write(path, [record, record | {"id": "i"}])
    assert dict(kg2rag.load("hotpotqa", path=path).questions[0].gold) == GOLD


def test_an_array_that_numpy_shortened_is_refused(tmp_path):
    n_titles = 1_001
    context = {"title": ["Halina"] * n_titles, "sentences": [["A ferry."]] * n_titles}
    write_printed_csv(tmp_path / "set.csv", [HOTPOT | {"context": context}])
    with pytest.raises(ValueError, match=r"context.*shortened"):
        kg2rag.load("hotpotqa", path=tmp_path / "set.csv")


def test_a_clone_of_the_repository_of_the_hub_is_read(tmp_path):
    (tmp_path / "distractor").mkdir()
    for part in ("00000-of-00002", "00001-of-00002"):
        write_parquet(
            tmp_path / "distractor" / f"validation-{part}.parquet",
            [HOTPOT | {"id": part}],
        )
    assert len(kg2rag.load("hotpotqa", path=tmp_path)) == 2


def test_the_folder_of_the_parts_of_a_split_is_read(tmp_path):
    write_parquet(tmp_path / "validation-00000-of-00001.parquet", [HOTPOT])
    write_parquet(
        tmp_path / "train-00000-of-00001.parquet", [HOTPOT, HOTPOT | {"id": "i"}]
    )
    assert len(kg2rag.load("hotpotqa", path=tmp_path)) == 1
    assert len(kg2rag.load("hotpotqa", path=tmp_path, split="train")) == 2


def viewer_answer(record, cut=()):
    row = {"row_idx": 0, "row": record, "truncated_cells": list(cut)}
    return {"features": [], "rows": [row], "num_rows_total": 1, "partial": False}


def test_rows_of_the_viewer_of_the_hub_are_read_unless_a_cell_is_cut(tmp_path):
    path = tmp_path / "rows.json"
    write_json(path, viewer_answer(HOTPOT))
    assert dict(kg2rag.load("hotpotqa", path=path).questions[0].gold) == GOLD
    write_json(path, viewer_answer({"text": "A ferry.", "title": "Halina"}))
    assert [passage.text for passage in kg2rag.from_folder(path).corpus] == ["A ferry."]
    write_json(path, viewer_answer({"text": "A ferry.", "title": "Halina"}, ["text"]))
    with pytest.raises(ValueError, match="cut text"):
        kg2rag.from_folder(path)
    write_json(path, viewer_answer(HOTPOT, ["context"]))
    with pytest.raises(ValueError, match=r"row 0: .* context"):
        kg2rag.load("hotpotqa", path=path)


def test_an_arrow_file_of_the_cache_of_load_dataset_is_read(tmp_path):
    write_folder(tmp_path / "set", [HOTPOT])
    [file] = (tmp_path / "set").glob("*.arrow")
    data = kg2rag.load("hotpotqa", path=file)
    assert dict(data.questions[0].gold) == GOLD
    assert list(data.source["files"]) == [file.name]


def test_a_split_that_a_saved_set_lacks_is_named(tmp_path):
    write_folder_of_splits(tmp_path / "sets", [HOTPOT])
    (tmp_path / "sets" / "dataset_dict.json").write_text('{"splits": ["validation"]}')
    with pytest.raises(ValueError, match=r"'train'.*validation"):
        kg2rag.load("hotpotqa", path=tmp_path / "sets", split="train")
    with pytest.raises(ValueError, match="train"):
        kg2rag.load("hotpotqa", path=tmp_path / "sets" / "validation", split="train")


def test_a_damaged_saved_set_is_an_error_that_names_it(tmp_path):
    write_folder(tmp_path / "set", [HOTPOT])
    [file] = (tmp_path / "set").glob("*.arrow")
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(ValueError, match="set"):
        kg2rag.load("hotpotqa", path=tmp_path / "set")


def test_unanswerable_questions_of_musique_full_have_hops_without_a_paragraph(tmp_path):
    unanswerable = MUSIQUE | {
        "answerable": False,
        "question_decomposition": [{"paragraph_support_idx": None}],
    }
    write_json(
        tmp_path / "musique.json",
        [unanswerable, MUSIQUE | {"answerable": True, "answer_aliases": None}],
    )
    data = kg2rag.load("musique", path=tmp_path / "musique.json")
    assert [question.chain for question in data.questions] == [("Halina", "Acme")]


def test_evidences_of_2wikimultihopqa_are_read_by_their_names(tmp_path):
    records = {
        "evidences": [
            {"entity": "Marek Lund", "fact": "Halina", "relation": "captain"}
        ],
        "context": [
            {"content": ["A ferry."], "title": "Halina"},
            {"content": ["A man."], "title": "Marek Lund"},
        ],
        "supporting_facts": [{"sent_id": 0, "title": "Halina"}],
    }
    write_json(tmp_path / "2wiki.json", [HOTPOT | records])
    [question] = kg2rag.load("2wikimultihopqa", path=tmp_path / "2wiki.json").questions
    assert question.triples == (("Halina", "captain", "Marek Lund"),)
    write_json(
        tmp_path / "2wiki.json",
        [HOTPOT | records | {"evidences": [{"fact": "Halina", "entity": "Lund"}]}],
    )
    with pytest.raises(ValueError, match=r"evidences.*relation"):
        kg2rag.load("2wikimultihopqa", path=tmp_path / "2wiki.json")


@pytest.mark.parametrize(
    "name",
    ["hotpot_dev_fullwiki_v1.json", "renamed.json", "fullwiki/validation-0.json"],
)
def test_the_fullwiki_file_is_refused_by_what_it_is(tmp_path, name):
    record = HOTPOT | {"context": {"title": ["Halina"], "sentences": [["A ferry."]]}}
    (tmp_path / name).parent.mkdir(exist_ok=True)
    write_json(tmp_path / name, [record])
    with pytest.raises(ValueError, match="distractor"):
        kg2rag.load("hotpotqa", path=tmp_path / name)
