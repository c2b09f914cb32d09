import json
import shutil

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kg2rag.datasets import load

HEADER = "query-id\tcorpus-id\tscore\n"


@pytest.fixture
def folder(write):
    write(
        "nano/corpus.jsonl",
        [
            {"_id": "d1", "title": "One", "text": "first"},
            {"_id": "d2", "title": "", "text": "second"},
        ],
    )
    write(
        "nano/queries.jsonl",
        [
            {"_id": "q1", "text": "what?"},
            {"_id": "q2", "text": "who?"},
            {"_id": "q3", "text": "why?"},
        ],
    )
    write("nano/qrels/test.tsv", HEADER + "q1\td1\t2\nq1\td2\t1\nq2\td1\t0\n")
    return write("nano/qrels/dev.tsv", HEADER + "q3\td2\t1\n").parent.parent


def test_grades_are_kept_and_the_set_is_named_after_its_folder(folder):
    data = load("beir", path=folder)
    assert data.qrels == {"q1": {"d1": 2, "d2": 1}}
    assert data.name == "nano"
    assert data.source["split"] == "test"
    assert data.source["notes"] == {
        "judgements below 1 left out": 1,
        "queries without a relevant document in this split left out": 2,
    }
    assert load("beir", path=folder, split="dev").qrels == {"q3": {"d2": 1}}
    with pytest.raises(ValueError, match=r"nano.*'train'.*dev, test"):
        load("beir", path=folder, split="train")


@pytest.mark.parametrize("judgements", ["qrels", "default", "data"])
def test_a_clone_of_the_hub_has_all_three_tables_in_parts_of_parquet(
    tmp_path, judgements
):
    tables = {
        "corpus": [{"_id": "d1", "title": "", "text": "first"}],
        "queries": [{"_id": "q1", "text": "what?"}, {"_id": "q2", "text": "who?"}],
        judgements: [
            {"query-id": "q1", "corpus-id": "d1", "score": 1},
            {"query-id": "q2", "corpus-id": "d1", "score": 0},
        ],
    }
    for name, rows in tables.items():
        folder = tmp_path / "clone" / name
        folder.mkdir(parents=True)
        file = folder / "test-00000-of-00001.parquet"
        pq.write_table(pa.Table.from_pylist(rows), file)
    data = load("beir", path=tmp_path / "clone")
    assert data.qrels == {"q1": {"d1": 1}}
    assert data.source["split"] == "test"


def test_a_title_alone_serves_as_text_and_is_counted(folder, write):
    write(
        "nano/corpus.jsonl",
        [{"_id": "d1", "title": "One", "text": ""}, {"_id": "d2", "text": "second"}],
    )
    data = load("beir", path=folder)
    assert (data.corpus[0].title, data.corpus[0].text) == ("", "One")
    assert (
        data.source["notes"]["documents without text, their title serves as text"] == 1
    )
    write("nano/corpus.jsonl", [{"_id": "d1", "title": "", "text": " "}])
    with pytest.raises(ValueError, match=r"nano, document 1 \('d1'\)"):
        load("beir", path=folder)


def test_judgements_of_queries_that_the_set_lacks_are_counted(folder, write):
    write("nano/qrels/test.tsv", HEADER + "q1\td1\t1\nq9\td1\t1\n")
    data = load("beir", path=folder)
    assert [question.id for question in data.questions] == ["q1"]
    assert data.source["notes"]["judgements of queries without text left out"] == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("q1\td9\t1", r"test\.tsv, line 2: 'd9'"),
        ("q1\td1\tyes", r"test\.tsv, line 2: field 'score'.*'yes'"),
        ("q1\td1", r"test\.tsv, record 2: .*3 cells"),
        ("q1\td1\t1\nq1\td1\t2", r"test\.tsv, line 3: 'q1' and 'd1' are judged twice"),
    ],
)
def test_a_wrong_judgement_names_its_line(folder, write, row, message):
    write("nano/qrels/test.tsv", HEADER + row + "\n")
    with pytest.raises(ValueError, match=message):
        load("beir", path=folder)
    write("nano/qrels/test.tsv", "q1\td1\t1\n" + row + "\n")
    with pytest.raises(ValueError, match=r"test\.tsv"):
        load("beir", path=folder)


def test_a_document_id_that_stands_twice_names_both_records(folder, write):
    write(
        "nano/corpus.jsonl",
        [
            {"_id": "d1", "text": "a"},
            {"_id": "d2", "text": "b"},
            {"_id": "d1", "text": "c"},
        ],
    )
    with pytest.raises(ValueError, match=r"corpus\.jsonl, line 3 \('d1'\)"):
        load("beir", path=folder)


@pytest.mark.parametrize(
    ("qrels", "name"),
    [
        ("q1\td1\t2\nq1\td2\t0\n", "test.tsv"),
        ("q1\t0\td1\t2\nq1\t0\td2\t-1\n", "test.tsv"),
        ("q1 0 d1 2\nq1 0 d2 0\n", "test.txt"),
        ("corpus-id\tquery-id\tscore\r\nd1\tq1\t2\r\nd2\tq1\t0\r\n", "test.tsv"),
    ],
)
def test_judgements_are_read_with_and_without_a_header_and_as_trec_writes_them(
    folder, write, qrels, name
):
    for file in (folder / "qrels").iterdir():
        file.unlink()
    write(f"nano/qrels/{name}", qrels)
    data = load("beir", path=folder)
    assert data.qrels == {"q1": {"d1": 2}}
    assert data.source["notes"]["judgements below 1 left out"] == 1


ROWS = [
    {"query-id": "q1", "corpus-id": "d1", "score": 2.0},
    {"query-id": "q1", "corpus-id": "d2", "score": 0.0},
]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qrels/test.jsonl", pd.DataFrame(ROWS).to_json(orient="records", lines=True)),
        ("qrels/test.json", pd.DataFrame(ROWS).to_json(orient="records")),
        (
            "qrels/test.csv",
            pd.DataFrame(ROWS).astype({"score": int}).to_csv(index=False),
        ),
        ("qrels/test.json", json.dumps({"q1": {"d1": 2, "d2": 0}})),
        ("qrels.json", json.dumps({"q1": {"d1": 2, "d2": 0}})),
        ("qrels/test.jsonl", '{"qid": "q1", "docid": "d1", "rel": 2}\n'),
    ],
)
def test_judgements_may_be_json_as_of_sets_of_mteb(folder, write, name, text):
    shutil.rmtree(folder / "qrels")
    write(f"nano/{name}", text)
    assert load("beir", path=folder).qrels == {"q1": {"d1": 2}}


def test_pairs_without_grades_are_relevant(folder, write):
    """NanoBEIR has no column of grades; a third column that is none of ours is an error."""
    shutil.rmtree(folder / "qrels")
    write("nano/qrels/test.jsonl", [{"query-id": "q1", "corpus-id": "d1"}])
    assert load("beir", path=folder).qrels == {"q1": {"d1": 1}}
    write("nano/qrels/test.jsonl", [{"query-id": "q1", "corpus-id": "d1", "x": 0}])
    with pytest.raises(ValueError, match=r"test\.jsonl, line 1: field .score"):
        load("beir", path=folder)


def test_corpus_and_queries_may_be_tables_of_other_kinds(folder, write):
    for name in ("corpus", "queries"):
        (folder / f"{name}.jsonl").unlink()
    write("nano/corpus.csv", "docid,text\nd1,first\nd2,second\n")
    write(
        "nano/queries.json",
        [{"qid": "q1", "query": "what?"}, {"qid": "q2", "query": "who?"}],
    )
    assert load("beir", path=folder).qrels == {"q1": {"d1": 2, "d2": 1}}


def test_ids_may_be_numbers_and_titles_may_be_missing_or_null(folder, write):
    write(
        "nano/corpus.jsonl",
        [{"_id": 1, "contents": "first"}, {"_id": 2, "title": None, "text": "second"}],
    )
    write("nano/queries.jsonl", [{"_id": 7, "text": "what?"}])
    write("nano/qrels/test.tsv", HEADER + "7\t1\t2\n")
    data = load("beir", path=folder)
    assert (data.qrels, data.corpus.titles) == ({"7": {"1": 2}}, ["", ""])


def test_a_document_keeps_its_metadata(folder, write):
    fields = {"url": "https://x.org/a", "year": 1843}
    documents = [
        {"_id": "d1", "text": "first", "metadata": fields},
        {"_id": "d2", "text": "b", "metadata": None},
    ]
    write("nano/corpus.jsonl", documents)
    corpus = load("beir", path=folder).corpus
    assert (corpus[0].metadata, corpus[1].metadata) == (fields, {})


def test_an_archive_is_read_as_the_folder_in_it(folder):
    archive = shutil.make_archive(
        str(folder.parent / "packed"), "zip", folder.parent, folder.name
    )
    data = load("beir", path=archive)
    assert (data.name, data.qrels) == ("nano", load("beir", path=folder).qrels)


@pytest.mark.parametrize("place", ["", "T2Retrieval"])
def test_a_set_and_its_repository_of_judgements_may_lie_side_by_side(tmp_path, place):
    tables = {
        "T2Retrieval/data/corpus": {"id": ["0", "1"], "text": ["蛋糕", "护照"]},
        "T2Retrieval/data/queries": {"id": ["7"], "text": ["护照丢了怎么办"]},
        "T2Retrieval-qrels/data/dev": {"qid": ["7"], "pid": ["1"], "score": [1]},
    }
    for name, columns in tables.items():
        path = tmp_path / f"{name}-00000-of-00001-92ed0416056ff7e1.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), path)
    assert load("beir", path=tmp_path / place).qrels == {"7": {"1": 1}}


def test_queries_that_are_documents_are_counted(folder, write):
    write("nano/queries.jsonl", [{"_id": "d1", "text": "first"}])
    write("nano/qrels/test.tsv", HEADER + "d1\td2\t1\n")
    notes = load("beir", path=folder).source["notes"]
    assert [count for note, count in notes.items() if "BEIR drops" in note] == [1]


def test_topics_of_anserini_have_no_header(folder, write):
    (folder / "queries.jsonl").unlink()
    write("nano/queries.tsv", "q1\twhat?\nq2\twho?\n")
    assert [(q.id, q.text) for q in load("beir", path=folder).questions] == [
        ("q1", "what?")
    ]
