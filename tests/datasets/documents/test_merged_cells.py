"""A value that is merged over rows is in each of them, in sheets, tables of Office files and pages."""

from __future__ import annotations

import io

import openpyxl
import pytest
from file_makers import docx_of, paragraph, zip_of


def passages_of(documents):
    return {passage.id: passage.text for passage in documents.corpus}


def workbook_of(book):
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


OASIS = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("table", "office", "text")
)


def test_a_value_merged_over_rows_is_in_each_row_that_has_another_cell(read):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Duties"
    for row in (
        ["Duties of the office"],
        ["Unit", "Name", "Task"],
        ["Sales", "Ann", "Contracts"],
        [None, "Ben, of another firm"],
        [None],
        ["Post", "Cid", "Letters"],
    ):
        sheet.append(row)
    for cells in ("A1:C1", "A3:A5", "B4:C4"):
        sheet.merge_cells(cells)
    assert list(passages_of(read({"a.xlsx": workbook_of(book)})).values()) == [
        "Unit: Sales\nName: Ann\nTask: Contracts",
        "Unit: Sales\nName: Ben, of another firm",
        "Unit: Post\nName: Cid\nTask: Letters",
    ]


def test_names_of_columns_that_are_merged_over_two_rows_are_not_repeated(read):
    book = openpyxl.Workbook()
    for row in (
        ["Unit", "Costs", None],
        [None, "Planned", "Actual"],
        ["Optics", 12, 11.5],
    ):
        book.active.append(row)
    for cells in ("A1:A2", "B1:C1"):
        book.active.merge_cells(cells)
    [text] = passages_of(read({"a.xlsx": workbook_of(book)})).values()
    assert text == "Unit: Optics\nCosts Planned: 12\nCosts Actual: 11.5"


def test_merged_cells_of_opendocument(read):
    def row(*cells):
        return f"<table:table-row>{''.join(cells)}</table:table-row>"

    def cell(value, spans=""):
        return f'<table:table-cell office:value-type="string" {spans}><text:p>{value}</text:p></table:table-cell>'

    rows = [
        row(cell("Unit"), cell("Name")),
        row(cell("Sales", 'table:number-rows-spanned="2"'), cell("Ann")),
        row("<table:covered-table-cell/>", cell("Ben")),
    ]
    content = (
        f"<office:document-content {OASIS}><office:body>"
        f'<office:spreadsheet><table:table table:name="Duties">{"".join(rows)}'
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    mimetype = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    data = zip_of(
        {
            "mimetype": mimetype,
            "META-INF/manifest.xml": manifest,
            "content.xml": content,
        }
    )
    assert list(passages_of(read({"a.ods": data})).values()) == [
        "Unit: Sales\nName: Ann",
        "Unit: Sales\nName: Ben",
    ]


A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def word_table(*rows):
    """A table of Word; a cell "^" goes on with the one above, "=" belongs to the one before."""

    def cell(text, following):
        merge = '<w:vMerge w:val="restart"/>' if text.isupper() else ""
        merge = "<w:vMerge/>" if text == "^" else merge
        span = '<w:gridSpan w:val="2"/>' if following == "=" else ""
        shown = "" if text == "^" else text
        return f"<w:tc><w:tcPr>{span}{merge}</w:tcPr>{paragraph(shown)}</w:tc>"

    body = "".join(
        "<w:tr>"
        + "".join(
            cell(*pair)
            for pair in zip(row, [*row[1:], ""], strict=True)
            if pair[0] != "="
        )
        + "</w:tr>"
        for row in rows
    )
    return docx_of(f"<w:tbl>{body}</w:tbl>")


def test_a_table_of_word(read):
    data = word_table(
        ["Ann and Ben", "=", "SALES"],
        ["Cid", "Letters", "^"],
        ["Dora", "Orders", "^"],
        ["Emil", "Mail", "Post"],
    )
    [text] = passages_of(read({"a.docx": data})).values()
    assert text.split("\n\n") == [
        "Ann and Ben | SALES",
        "Cid | Letters | SALES",
        "Dora | Orders | SALES",
        "Emil | Mail | Post",
    ]


@pytest.mark.parametrize(("n_letters", "n_times"), [(100, 2), (101, 1)])
def test_a_long_text_is_read_once(read, n_letters, n_times):
    text = "X" * n_letters
    page = f"<table><tr><td rowspan=2>{text}</td><td>Ann</td></tr><tr><td>Ben</td></tr></table>"
    documents = read(
        {"a.docx": word_table([text, "Ann"], ["^", "Ben"]), "b.html": page}
    )
    assert [passage.text.count(text) for passage in documents.corpus] == [n_times] * 2


def test_a_table_of_a_slide(read):
    def cell(text, spans=""):
        return f"<a:tc {spans}><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"

    rows = [
        cell("Sales", 'rowSpan="2" gridSpan="2"')
        + cell("", 'hMerge="1"')
        + cell("Ann"),
        cell("", 'vMerge="1"') + cell("", 'hMerge="1" vMerge="1"') + cell("Ben"),
    ]
    table = "".join(f"<a:tr>{row}</a:tr>" for row in rows)
    slide = f'<p:sld xmlns:p="{P}" xmlns:a="{A}"><a:tbl>{table}</a:tbl></p:sld>'
    presentation = f'<p:presentation xmlns:p="{P}" xmlns:r="{OFFICE}"><p:sldId r:id="s"/></p:presentation>'
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="s" Type="{OFFICE}/slide" Target="slides/s.xml"/></Relationships>'
    )
    data = zip_of(
        {
            "ppt/presentation.xml": presentation,
            "ppt/_rels/presentation.xml.rels": relations,
            "ppt/slides/s.xml": slide,
        }
    )
    [text] = passages_of(read({"a.pptx": data})).values()
    assert [line.replace("|  |", "|") for line in text.split("\n\n")] == [
        "Sales | Ann",
        "Sales | Ben",
    ]


def test_a_table_of_opendocument_whose_cell_has_two_rows_and_columns(read):
    def cell(value, spans=""):
        return f"<table:table-cell {spans}><text:p>{value}</text:p></table:table-cell>"

    spans = 'table:number-rows-spanned="2" table:number-columns-spanned="2"'
    covered = "<table:covered-table-cell/>"
    rows = [
        cell("Sales", spans) + covered + cell("Ann"),
        covered + covered + cell("Ben"),
        cell("Post") + cell("Berne") + cell("Cid"),
    ]
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    content = (
        f"<office:document-content {OASIS}><office:body><office:text><table:table>{body}"
        "</table:table></office:text></office:body></office:document-content>"
    )
    [text] = passages_of(read({"a.odt": zip_of({"content.xml": content})})).values()
    assert [line.replace("|  |", "|") for line in text.split("\n\n")] == [
        "Sales | Ann",
        "Sales | Ben",
        "Post | Berne | Cid",
    ]


def test_a_table_of_a_page(read):
    rows = [
        "<th>Unit</th><th>Name</th><th>Task</th>",
        "<td rowspan=2>Sales</td><td>Ann</td><td rowspan=3>Mail</td>",
        "<td>Ben</td>",
        "<td colspan=2>Cid and Dora</td>",
        "<td>Post</td><td>Emil</td><td>Orders</td>",
    ]
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    [text] = passages_of(read({"a.html": f"<table>{table}</table>"})).values()
    assert text.split("\n\n") == [
        "Unit | Name | Task",
        "Sales | Ann | Mail",
        "Sales | Ben | Mail",
        "Cid and Dora | Mail",
        "Post | Emil | Orders",
    ]
