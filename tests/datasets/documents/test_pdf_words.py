"""Words and headings that stand in two lines of a PDF."""

from __future__ import annotations

import pytest
from file_makers import pdf_of

from kg2rag.datasets.documents.pdf.columns import Line, line_order
from kg2rag.datasets.documents.pdf.reader import pdf_blocks
from kg2rag.datasets.documents.pdf.right_to_left import reading_order

HYPHEN = b"/Helvetica/Encoding<</Differences[126/uni2010]>>"


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["Die Akten~", "lage in Wien."], "Die Aktenlage in Wien."),
        (["Der Nord~", "Ostsee Kanal."], "Der Nord\u2010Ostsee Kanal."),
        (["Die Brief~", "und Paketpost."], "Die Brief\u2010 und Paketpost."),
        (["WASSER~", "WEGE im Land."], "WASSERWEGE im Land."),
        (["Die Akten~lage."], "Die Akten\u2010lage."),
    ],
)
def test_a_word_in_two_lines_is_joined_unless_its_hyphen_is_part_of_it(
    read, lines, text
):
    pdf = pdf_of(lines).replace(b"/Helvetica", HYPHEN)
    assert read({"a.pdf": pdf}).corpus[0].text == text


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["Das Online-", "Portal der Stadt."], "Das Online-Portal der Stadt."),
        (["In der Haupt-", "und Nebensaison."], "In der Haupt- und Nebensaison."),
        (["Das Unter-", "nehmen in Bern."], "Das Unternehmen in Bern."),
        (["WASSER-", "WEGE im Land."], "WASSERWEGE im Land."),
        (["Der USB-", "Stick fehlt."], "Der USB-Stick fehlt."),
        (["Ida had COVID-", "19 in May."], "Ida had COVID-19 in May."),
        (["The p-", "value is low."], "The p-value is low."),
        (
            ["Random-effects models: a random-", "effects model."],
            "Random-effects models: a random-effects model.",
        ),
        (["It is tak-", "en, and taken."], "It is taken, and taken."),
    ],
)
def test_a_hyphen_at_the_end_of_a_line_stays_in_compounds(read, lines, text):
    data = read({"a.pdf": pdf_of(lines)})
    assert data.corpus[0].text == text
    assert list(data.report["lost"]) == [0]


def test_a_hyphen_is_found_on_a_page_with_letters_beyond_two_bytes(read):
    letters = b"/Helvetica/Encoding<</Differences[126/u1D400]>>"
    pdf = pdf_of(["Das Unter-", "nehmen ~ im Online-", "Portal."])
    text = read({"a.pdf": pdf.replace(b"/Helvetica", letters)}).corpus[0].text
    assert text == "Das Unternehmen \U0001d400 im Online-Portal."


def test_a_hyphen_for_the_rest_of_a_word_stays_at_the_end_of_a_page(read):
    pdf = pdf_of(["In der Haupt-"], ["und Nebensaison."])
    assert read({"a.pdf": pdf}).corpus[0].text == "In der Haupt- und Nebensaison."


def test_a_word_on_two_pages_is_joined(read):
    pdf = pdf_of(["Die Akten~"], ["lage in Wien."]).replace(b"/Helvetica", HYPHEN)
    assert read({"a.pdf": pdf}).corpus[0].text == "Die Aktenlage in Wien."


def test_lines_that_are_one_heading_of_the_outline_are_joined():
    outline = {(0, "clayandgrog"): 1, (0, "firing"): 1}
    lines = ["1 Clay and", "Grog", "It is ground.", "2", "Firing", "It is hot."]
    blocks = pdf_blocks([lines], outline).blocks
    assert [(block.text, block.level) for block in blocks] == [
        ("1 Clay and Grog", 1),
        ("It is ground. 2", 0),
        ("Firing", 1),
        ("It is hot.", 0),
    ]


def test_a_word_that_a_pdf_divides_at_the_end_of_a_line_is_one_word(read):
    documents = read({"a.pdf": pdf_of(["The harbour is ope-", "ned at noon by Ida."])})
    assert "opened at noon" in documents.corpus[0].text


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (r"Die Br) Tj [-111(\310)444(ucke)] TJ (.", "Die Br\u00fccke."),
        (
            r"Caf) Tj [-111(\302)444(e)] TJ ( und Gar) Tj [(c)416(\313)83(on)] TJ (.",
            "Caf\u00e9 und Gar\u00e7on.",
        ),
        # As pdflatex writes capitals: the accent is raised, and comes as a line's end.
        (
            r") Tj 3 Ts [-194(\310)527] TJ 0 Ts (Ubung und Spiel.",
            "\u00dcbung und Spiel.",
        ),
        (r"Der Pfad ist ~/texmf.", "Der Pfad ist ~/texmf."),
    ],
)
def test_an_accent_that_is_drawn_apart_is_part_of_its_letter(read, line, text):
    data = read({"a.pdf": pdf_of([line])})
    assert data.corpus[0].text == text
    assert list(data.report["lost"]) == [0]


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        ("CBA", "\u05d0\u05d1\u05d2"),
        (".CBA bm25 ,BA", "\u05d0\u05d1, bm25 \u05d0\u05d1\u05d2."),
        (".\\(2.5 BA\\) CBA", "\u05d0\u05d1\u05d2 (\u05d0\u05d1 2.5)."),
        ("BA 12-C", "\u05d2-12 \u05d0\u05d1"),
        ("A tie of AB and BA.", "\u05d0 tie of \u05d1\u05d0 and \u05d0\u05d1."),
    ],
)
def test_a_line_from_right_to_left_is_in_reading_order(read, drawn, text):
    letters = b"/Helvetica/Encoding<</Differences[65/afii57664/afii57665/afii57666]>>"
    pdf = pdf_of([drawn]).replace(b"/Helvetica", letters)
    assert read({"a.pdf": pdf}).corpus[0].text == text


def test_letters_of_a_ligature_and_digits_of_arabic_are_in_reading_order():
    # Lam and alef are one letter at 4; the digits 42 start at 0.
    text = "\u0627\u0644\u062a \u0664\u0662\r\n"
    order = reading_order(text, [4, 4, 3, 2, 0, 1, 2, 2].__getitem__)
    assert (
        "".join(text[place] for place in order) == "\u0644\u0627\u062a \u0664\u0662\r\n"
    )


def test_texts_are_read_from_top_to_bottom_by_columns_in_whatever_order_they_are_drawn():
    heads = [Line(6, 50, 50, 730, 500, 742)]
    left = [Line(row, 50, 50, 732 - 12 * row, 260, 744 - 12 * row) for row in (3, 4, 5)]
    right = [
        Line(row, 50, 300, 696 - 12 * row, 500, 708 - 12 * row) for row in (0, 1, 2)
    ]
    foot = [Line(7, 2, 270, 600, 280, 612)]
    lines = [*right, *left, *heads, *foot]
    assert line_order(lines) == [6, 3, 4, 5, 0, 1, 2, 7]
    rows = [Line(row, 50, 50, 60 * row, 500, 60 * row + 12) for row in (1, 3, 2)]
    assert line_order(rows) == [3, 2, 1]


def test_a_number_between_two_columns_stands_below_both():
    left = [Line(row, 50, 50, 672 - 12 * row, 260, 684 - 12 * row) for row in (3, 4, 5)]
    right = [
        Line(row, 50, 300, 636 - 12 * row, 500, 648 - 12 * row) for row in (0, 1, 2)
    ]
    foot = [Line(6, 1, 275, 400, 280, 412)]
    assert line_order([*right, *left, *foot]) == [3, 4, 5, 0, 1, 2, 6]


def test_two_columns_that_stand_below_each_other_beside_a_third_are_read_from_the_top():
    left = Line(0, 60, 0, 30, 60, 39)
    right = Line(1, 60, 120, 90, 180, 99)
    middle = Line(2, 60, 30, 50, 90, 59)
    assert line_order([left, right, middle]) == [1, 2, 0]


def test_the_order_of_drawing_holds_for_columns_and_rows_of_cells():
    cells = [
        Line(
            2 * row + column,
            9,
            100 * column,
            -40 * row,
            100 * column + 60,
            10 - 40 * row,
        )
        for row in range(3)
        for column in range(2)
    ]
    assert line_order(cells) == [0, 1, 2, 3, 4, 5]


def test_a_text_box_that_is_drawn_late_stands_where_the_page_has_it(read):
    late = r"The filter of the house is changed in spring by Ida and Tom.) Tj 0 72 Td ("
    first = "The pump of the house runs on oil of the old mill at Bern."
    text = read({"a.pdf": pdf_of([late + first])}).corpus[0].text
    assert text.index("pump") < text.index("filter")


def test_a_block_that_is_drawn_twice_at_one_place_is_read_once(read):
    first, *middle, last = [f"Line {number} of the sender." for number in "123456"]
    again = f"{last}) Tj 0 120 Td ({first}"
    pdf = pdf_of([first, *middle, again, *middle, last])
    text = read({"a.pdf": pdf}).corpus[0].text
    assert text.split() == " ".join([first, *middle, last]).split()


def test_a_second_layer_of_a_text_a_point_beside_the_first_is_read_once(read):
    first = "The pump of the house runs on oil."
    layers = f"{first}) Tj 0.8 -0.9 Td 3 Tr ({first}) Tj -0.8 0.9 Td 0 Tr ("
    [passage] = read({"a.pdf": pdf_of([layers, "Ida owns it."])}).corpus
    assert passage.text == f"{first} Ida owns it."


def test_equal_lines_at_different_places_are_all_read(read):
    pdf = pdf_of(["Yes, it is.", "No.", "Yes, it is."])
    assert read({"a.pdf": pdf}).corpus[0].text.count("Yes") == 2


def test_a_title_in_two_lines_is_the_bookmark_that_joins_them(read):
    large = ") Tj /F1 24 Tf (Ground water in) Tj T* (the valley) Tj /F1 12 Tf T* ("
    chapter = "Wells"
    text = "The wells of the valley are deep, and the water of the lake is cold."
    pdf = pdf_of([large + chapter, text, "The Valley", text.upper()]).decode()
    outline = (
        "30 0 obj<</First 31 0 R/Last 31 0 R/Count 2>>\nendobj\n"
        "31 0 obj<</Title(Ground water in the valley)/Parent 30 0 R/Dest[4 0 R/Fit]/First 32 0 R/Last 32 0 R/Count 1>>"
        "\nendobj\n32 0 obj<</Title(Wells)/Parent 31 0 R/Dest[4 0 R/Fit]>>\nendobj\n"
    )
    pdf = pdf.replace("/Catalog", "/Catalog/Outlines 30 0 R")
    [passage] = read({"a.pdf": pdf.replace("trailer", outline + "trailer")}).corpus
    assert passage.title == "Ground water in the valley"
    assert passage.metadata["headings"] == ["Wells"]


def test_a_title_of_large_letters_that_is_drawn_last_stands_first_and_the_foot_last():
    foot = Line(0, 12, 50, 20, 200, 30)
    points = [Line(row, 30, 50, 300 - 20 * row, 300, 312 - 20 * row) for row in (1, 2)]
    title = Line(3, 9, 50, 400, 200, 430)
    assert line_order([foot, *points, title]) == [3, 1, 2, 0]


@pytest.mark.parametrize("turn", ["0.7 0.7 -0.7 0.7", "0 1 -1 0"])
def test_letters_across_a_page_are_no_title(read, turn):
    mark = f") Tj ET BT /F1 40 Tf {turn} 200 300 Tm (SECRET) Tj ET BT /F1 12 Tf 72 720 Td ("
    text = "The pump of the house runs on oil."
    [passage] = read({"weir.pdf": pdf_of([mark + text, "Ida owns it."])}).corpus
    assert passage.title == "weir"
    assert text in passage.text


def test_a_page_of_sideways_text_has_the_usual_size_of_letters(read):
    sideways = ") Tj ET BT /F1 10 Tf 0 1 -1 0 300 100 Tm ("
    table = "Oil for the engine of the car, six quarts, and coolant, eighteen quarts"
    text = "The manual lists all fluids of the car."
    pdf = pdf_of([text], [sideways + table], [sideways + table.upper()])
    [passage] = read({"manual.pdf": pdf}).corpus
    assert (passage.title, passage.text.startswith(text)) == ("manual", True)


def test_a_number_and_a_word_of_two_cells_without_a_gap_are_apart(read):
    cells = "87.40) Tj (Stamps and 4Clean"
    [passage] = read({"a.pdf": pdf_of([cells])}).corpus
    assert passage.text == "87.40 Stamps and 4Clean"
