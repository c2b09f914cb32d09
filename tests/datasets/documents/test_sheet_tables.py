"""Tables of one sheet, which blank rows separate."""

from __future__ import annotations

import io

import openpyxl
import pytest

from kg2rag.datasets.documents.office.sheet_tables import tables_of

BOATS = [["Boat", "Cost", "Port"], ["Halina", 12, "Hel"], ["Marek", 9, "Gdynia"]]
FEES = [["Port", "Fee"], ["Hel", "nine crowns"], ["Gdynia", "four crowns"]]


def texts_of(read, rows):
    book = openpyxl.Workbook()
    book.active.title = "Plan"
    for row in rows:
        book.active.append(row)
    stream = io.BytesIO()
    book.save(stream)
    corpus = read({"a.xlsx": stream.getvalue()}).corpus
    return {passage.id: passage.text for passage in corpus}


@pytest.mark.parametrize("title", [[], [["Fees of 2026"]]], ids=["", "title"])
def test_a_table_below_another_has_its_own_names(read, title):
    texts = texts_of(read, [*BOATS, [], *title, *FEES])
    assert texts == {
        "a.xlsx/Plan.csv#0": "Boat: Halina\nCost: 12\nPort: Hel",
        "a.xlsx/Plan.csv#1": "Boat: Marek\nCost: 9\nPort: Gdynia",
        "a.xlsx/Plan, table 2.csv#0": "Port: Hel\nFee: nine crowns",
        "a.xlsx/Plan, table 2.csv#1": "Port: Gdynia\nFee: four crowns",
    }


@pytest.mark.parametrize(
    "below",
    [
        [["Lund", 7, "Berne"], ["Ada", 8, "Hel"]],
        [["Lund", None, "Berne"], ["Ada", None, "Hel"]],
        [["Total", 21]],
    ],
    ids=["numbers", "empty cells", "one row"],
)
def test_rows_behind_a_blank_row_go_on_with_the_table(read, below):
    texts = texts_of(read, [*BOATS, [], *below])
    assert {name.split("#")[0] for name in texts} == {"a.xlsx/Plan.csv"}
    assert len(texts) == 2 + len(below)
    assert f"Boat: {below[0][0]}" in list(texts.values())[2]


def test_a_title_above_a_blank_row_is_no_table(read):
    texts = texts_of(read, [["Fees of 2026"], [], [], *FEES])
    assert list(texts) == ["a.xlsx/Plan.csv#0", "a.xlsx/Plan.csv#1"]


def test_blank_columns_separate_tables_of_different_lengths():
    rows = [
        ["Ship", "Captain", "", "", "Port", "Pilot"],
        ["Halina", "Nowak", "", "", "Ystad", "Ek"],
        ["Lund", "Berg", "", "", "", ""],
    ]
    left, right = tables_of(rows)
    assert [list(row) for row in left] == [[*row[:4]] for row in rows]
    assert [list(row) for row in right] == [row[4:] for row in rows]
    assert list(tables_of(rows[:2])) == [rows[:2]]
