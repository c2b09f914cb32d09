"""Tables of spreadsheets and of text: names of columns, ids and texts."""

from __future__ import annotations

import io
import json
from datetime import datetime

import openpyxl
import pytest
from file_makers import passages_of

import kg2rag


def test_tables_of_a_spreadsheet_are_read_as_files_of_a_folder(read):
    book = openpyxl.Workbook()
    rows = [["HARBOUR"], [], ["Ship", None, "Task"], ["Halina", None, "Sails at noon"]]
    for row in rows:
        book.active.append(row)
    book.create_sheet("Notes").append(["id", "text"])
    book["Notes"].append([1.0, "NA is no gap."])
    book.create_sheet("Empty")
    data = io.BytesIO()
    book.save(data)
    documents = read({"plan.xlsx": data.getvalue()})
    skipped = documents.report.query("status == 'skipped'")
    assert skipped["document"].tolist() == ["plan.xlsx/Empty.csv"]
    assert passages_of(documents) == {
        "plan.xlsx/Sheet.csv#0": ("", "Ship: Halina\nTask: Sails at noon"),
        "plan.xlsx/Notes.csv#1": ("", "NA is no gap."),
    }


def test_columns_of_one_name_are_numbered(read):
    table = "Key,Comment,Comment\nOPS-1,Halina sails.,At noon.\n"
    documents = read({"jira.csv": table})
    text = "Key: OPS-1\nComment: Halina sails.\nComment 2: At noon."
    assert passages_of(documents) == {"jira.csv#0": ("", text)}
    assert "numbered" in documents.report.loc[0, "remark"]


def test_a_faq_is_read_and_test_questions_beside_it_are_not(read):
    book = openpyxl.Workbook()
    rows = [
        ["Harbour FAQ"],
        ["Topic", "Question", "Answer", "Checked"],
        ["Ships", "When does Halina sail?", "At noon.", datetime(2026, 3, 14)],
        [None, "Who steers Halina?", "Marek Lund.", datetime(2026, 3, 14)],
    ]
    for row in rows:
        book.active.append(row)
    data = io.BytesIO()
    book.save(data)
    test_questions = [{"question": "When?", "answer": "At noon.", "gold": "p1"}]
    documents = read(
        {"faq.xlsx": data.getvalue(), "test.json": json.dumps(test_questions)}
    )
    assert passages_of(documents) == {
        "faq.xlsx/Sheet.csv#0": ("When does Halina sail?", "At noon."),
        "faq.xlsx/Sheet.csv#1": ("Who steers Halina?", "Marek Lund."),
    }
    assert documents.corpus[0].metadata["Checked"] == "2026-03-14"
    report = documents.report.set_index("document")
    assert "Question" in report.loc["faq.xlsx/Sheet.csv", "remark"]
    assert report.loc["test.json", "status"] == "skipped"


def test_a_table_without_names_of_columns_has_its_first_row_as_a_record(read):
    documents = read({"collection.tsv": "0\tHalina sails.\n1\tLund waits.\n"})
    assert passages_of(documents) == {
        "collection.tsv#0": ("", "Halina sails."),
        "collection.tsv#1": ("", "Lund waits."),
    }
    assert "without names" in documents.report.loc[0, "remark"]


def test_the_longest_cell_behind_the_number_is_the_text_and_both_remarks_stay(read):
    lines = "Ferries of the harbour,,\n20250101000001,Lund,sails again\n20250101000002,Mols,waits\n"
    documents = read({"ferries.csv": lines})
    texts = [text for _, text in passages_of(documents).values()]
    remark = documents.report.loc[0, "remark"]
    assert texts == ["sails again", "waits"]
    assert "without names" in remark
    assert "left out: 1" in remark


def test_cells_that_repeat_in_a_first_record_are_no_names_and_names_alone_are_no_text(
    read,
):
    documents = read(
        {"a.csv": "1,1,Ada Byron,Ockham Park\n2,1,Ida Lund,Marstal Pier\n"}
    )
    [first, second] = [text for _, text in passages_of(documents).values()]
    assert first == "id: 1\ncolumn_2: 1\ncolumn_3: Ada Byron\ncolumn_4: Ockham Park"
    assert "Marstal Pier" in second


def test_a_record_whose_text_is_a_page_is_read_as_one(read):
    table = 'Id,Body\n1,"<p>Halina &amp; Lund</p><pre>x &lt; 1</pre>"\n2,a <b> c\n'
    documents = read({"posts.csv": table})
    assert [passage.text for passage in documents.corpus] == [
        "Halina & Lund\n\nx < 1",
        "a <b> c",
    ]


@pytest.mark.parametrize(
    ("table", "ids", "n_remarks"),
    [
        ("pid,text\n4,Start.\n4,Stop.\n", ["0", "1"], 1),
        ("pid,text\n4,Start.\n0,Stop.\n", ["4", "0"], 0),
    ],
)
def test_a_column_of_ids_that_repeats_values_has_no_ids(read, table, ids, n_remarks):
    documents = read({"log.csv": table})
    assert documents.corpus.ids == [f"log.csv#{id_}" for id_ in ids]
    assert documents.report["remark"].str.contains("pid").sum() == n_remarks


def test_the_remark_on_a_table_stays_if_its_file_is_given_by_itself(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("1,Ada Byron,Ockham Park\n2,Ida Lund,Marstal Pier\n")
    remarks = kg2rag.from_folder(file).report["remark"]
    assert len(remarks) == 2
    assert all("without names" in remark for remark in remarks)
    assert all("all its columns" in remark for remark in remarks)
