"""What a workbook has besides the values of its cells, and tables with names in two rows."""

from __future__ import annotations

import io

import openpyxl
import pytest
from openpyxl.comments import Comment


def workbook_of(rows, note=""):
    book = openpyxl.Workbook()
    book.active.title = "Budget"
    for row in rows:
        book.active.append(row)
    if note:
        book.active["A2"].comment = Comment(note, "Eva")
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def passages_of(documents):
    return {passage.id: passage.text for passage in documents.corpus}


def test_notes_of_cells_are_read_and_formulas_without_values_are_named(read):
    rows = [["Lab", "Cost"], ["Optics", 12], ["Total", "=SUM(B2:B2)"]]
    documents = read({"a.xlsx": workbook_of(rows, "The board agreed in June.")})
    texts = passages_of(documents)
    assert texts["a.xlsx/notes of cells.txt"] == "A2: The board agreed in June."
    report = documents.report.set_index("document")
    assert "formulas without values: 1." in report.loc["a.xlsx/formulas", "reason"]


def test_a_workbook_with_values_only_has_no_further_parts(read):
    documents = read({"a.xlsx": workbook_of([["Lab", "Cost"], ["Optics", 12]])})
    assert list(documents.report["document"]) == ["a.xlsx/Budget.csv"]


def test_a_workbook_whose_notes_are_too_large_to_read_says_so(read, monkeypatch):
    monkeypatch.setattr("kg2rag.datasets.documents.archives.MAX_PART_BYTES", 500)
    rows = [["Lab", "Cost"], *(["Optics", number] for number in range(20))]
    report = read({"a.xlsx": workbook_of(rows, "The board agreed.")}).report
    status = report.set_index("document")["status"].to_dict()
    assert status == {
        "a.xlsx/Budget.csv": "read",
        "a.xlsx/notes of cells.txt": "skipped",
    }
    assert report["reason"].str.contains("not read.*bytes unpacked").sum() == 1


def test_names_of_columns_in_two_rows_are_joined(read):
    rows = [
        ["Unit", None, "Costs", None],
        ["Name", "Lead", "Planned", "Actual"],
        ["Optics", "Lena Voss", 12, 11.5],
        ["Acoustics", "Tom Reyes", 8, None],
    ]
    texts = passages_of(read({"a.xlsx": workbook_of(rows)}))
    assert list(texts.values()) == [
        "Unit Name: Optics\nUnit Lead: Lena Voss\nCosts Planned: 12\nCosts Actual: 11.5",
        "Unit Name: Acoustics\nUnit Lead: Tom Reyes\nCosts Planned: 8",
    ]


def test_percentages_are_read_as_they_are_shown(read):
    book = openpyxl.Workbook()
    for row in ([], ["Lab", "Share", "Rate"], ["Optics", 0.125, 0.07], ["Sound", 1, 2]):
        book.active.append(row)
    for cell, shape in (("B3", "0%"), ("B4", "0.00%"), ("C3", "+0.0 %")):
        book.active[cell].number_format = shape
    stream = io.BytesIO()
    book.save(stream)
    assert list(passages_of(read({"a.xlsx": stream.getvalue()})).values()) == [
        "Lab: Optics\nShare: 12.5%\nRate: 7%",
        "Lab: Sound\nShare: 100%\nRate: 2",
    ]


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        (["Study", "Place", None, "Size"], [None, "Country", "School", "Sample"]),
        ([None, "Place", None, "Size"], ["Study", "Country", "School", "Sample"]),
    ],
)
def test_a_name_merged_over_two_rows_stands_alone(read, groups, names):
    rows = [groups, names, ["Haddad", "Jordan", "primary", 96]]
    texts = passages_of(read({"a.xlsx": workbook_of(rows)}))
    assert list(texts.values()) == [
        "Study: Haddad\nPlace Country: Jordan\nPlace School: primary\nSize Sample: 96",
    ]


def test_names_in_two_rows_need_no_numbers_below_a_merged_name(read):
    csv = "Study,Setting,\n,Country,School\nHaddad,Jordan,primary\n"
    assert passages_of(read({"a.csv": csv})) == {
        "a.csv#0": "Study: Haddad\nSetting Country: Jordan\nSetting School: primary"
    }


@pytest.mark.parametrize(
    "csv",
    [
        ",species,note\nS1,Parus major,Sings\nS2,Corvus,Nests\n",
        "name,,place\nAda,Brenner,Ulm\nIda,Moor,Bonn\n",
        "lab,,cost\nOptics,x,12\nSound,y,14\n",
        "lab,,cost\n,x,12\nSound,y,14\n",
    ],
)
def test_a_row_below_nameless_columns_is_a_record(read, csv):
    assert len(read({"a.csv": csv}).corpus) == 2


def test_a_cell_without_a_value_in_a_dump_of_a_database_is_empty(read):
    documents = read({"a.tsv": "id\tname\tremark\n1\tNorth\t\\N\n2\tSouth\tOpen\n"})
    assert documents.corpus[0].text == "id: 1\nname: North"
    assert documents.report.loc[0, "lost"] == 0


def test_rows_below_the_name_of_a_group_have_that_name(read):
    rows = [["Article", "Unit", "Price"], ["Screws"], ["M4", "box", 3]]
    rows += [["M6", "box", 4], ["Nails"], ["40 mm", "kg", 5], ["List of May"]]
    documents = read({"a.xlsx": workbook_of(rows)})
    assert list(passages_of(documents).values()) == [
        "Screws\nArticle: M4\nUnit: box\nPrice: 3",
        "Screws\nArticle: M6\nUnit: box\nPrice: 4",
        "Nails\nArticle: 40 mm\nUnit: kg\nPrice: 5",
        "Nails\nArticle: List of May",
    ]
    assert documents.report.loc[0, "lost"] == 0


def test_rows_of_one_cell_within_a_table_are_records(read):
    rows = [["Name", "Street", "Town"], ["Ada", "Mill Lane", "Bern"], ["Tom"]]
    rows += [["Ida", "Quay", "Ulm"], ["Eva"]]
    texts = passages_of(read({"a.xlsx": workbook_of(rows)})).values()
    assert list(texts)[1:3] == ["Name: Tom", "Name: Ida\nStreet: Quay\nTown: Ulm"]


def test_grouped_rows_have_the_name_of_the_row_above_their_group(read):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Sales"
    sheet.sheet_properties.outlinePr.summaryBelow = False
    rows = [
        ["Hour", "Guests"],
        ["Harbour", 15],
        ["10:00", 7],
        ["11:00", 8],
        ["Mall", 9],
    ]
    for level, row in zip((0, 0, 1, 1, 0), rows, strict=True):
        sheet.append(row)
        sheet.row_dimensions[sheet.max_row].outlineLevel = level
    stream = io.BytesIO()
    book.save(stream)
    texts = passages_of(read({"a.xlsx": stream.getvalue()})).values()
    assert list(texts) == [
        "Hour: Harbour\nGuests: 15",
        "Hour: 10:00\nGuests: 7\nHarbour",
        "Hour: 11:00\nGuests: 8\nHarbour",
        "Hour: Mall\nGuests: 9",
    ]


def test_the_levels_of_the_columns_of_a_pivot_table_of_pandas_are_names(read):
    rows = [
        ["", "", "Days", "", "", "Pay"],
        ["", "Year", 2013, 2014, "All", 2013],
        ["", "Month", "May", "June", "", "May"],
        ["Job", "Name", "", "", "", ""],
        ["Clerk", "Ada", 3, 5, 8, 70],
        ["Pilot", "Tom", 1, "", 1, 90],
    ]
    documents = read({"a.xlsx": workbook_of(rows)})
    assert list(passages_of(documents).values()) == [
        "Job: Clerk\nName: Ada\nDays 2013 May: 3\nDays 2014 June: 5\nDays All: 8\nPay 2013 May: 70",
        "Job: Pilot\nName: Tom\nDays 2013 May: 1\nDays All: 1\nPay 2013 May: 90",
    ]
    assert "4 rows" in documents.report.loc[0, "remark"]
