"""The values of forms in PDF files."""

from __future__ import annotations

from file_makers import pdf_of


def test_the_values_of_a_form_in_a_pdf_stand_behind_the_names_of_their_fields(read):
    widget = "{} 0 obj<</Type/Annot/Subtype/Widget/FT/Tx/T({})/V({})/Rect[72 600 300 620]/P 4 0 R>>\nendobj\n"
    pdf = pdf_of(["Claims are filed within six weeks."]).decode("latin-1")
    pdf = pdf.replace("/Catalog", "/Catalog/AcroForm<</Fields[20 0 R 21 0 R 22 0 R]>>")
    pdf = pdf.replace("/Parent 2 0 R", "/Parent 2 0 R/Annots[20 0 R 21 0 R 22 0 R]")
    fields = [("page[0].Purpose[0]", "A talk in Oslo"), ("Sum", ""), ("Name", "Ada")]
    widgets = [widget.format(20 + i, *field) for i, field in enumerate(fields)]
    pdf = pdf.replace("trailer", "".join(widgets) + "trailer")
    documents = read({"a.pdf": pdf.encode("latin-1")})
    assert documents.corpus[0].text.split("\n\n") == [
        "Claims are filed within six weeks.",
        "Purpose: A talk in Oslo",
        "Name: Ada",
    ]
    assert "form" in documents.report.loc[0, "remark"]


def test_labels_of_a_form_on_every_page_are_no_running_heads(read):
    labels = ["Tax form", "Name of the employee", "Wages and tips", "Tax withheld"]
    labels += ["Social security wages", "State"]
    values = [["Ada", "512.40", "MN"], ["Tom", "77.05", "WI"], ["Ida", "390.12", "IA"]]
    documents = read({"a.pdf": pdf_of(*([*labels, *row] for row in values))})
    text = " ".join(passage.text for passage in documents.corpus)
    assert text.count("Wages and tips Tax withheld") == 3
    assert all(" ".join(row) in text for row in values)
    assert documents.report.loc[0, ["left_out", "lost"]].tolist() == [0, 0]


def test_letters_whose_characters_a_pdf_does_not_tell_are_told(read):
    plain = pdf_of(["Boats pay a half of that fee."])
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    symbols = (
        b"<</Type/Font/Subtype/Type0/BaseFont/Own/Encoding/Identity-H/DescendantFonts[<</Type/Font"
        b"/Subtype/CIDFontType2/BaseFont/Own/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>>>]>>"
    )
    documents = read({"a.pdf": plain, "b.pdf": plain.replace(font, symbols)})
    remarks = documents.report.set_index("document")["remark"]
    assert remarks["a.pdf"] == ""
    assert "OCR" in remarks["b.pdf"]


def test_texts_written_on_a_page_are_read_and_comments_are_left_out(read):
    note = (
        "{} 0 obj<</Type/Annot/Subtype/{}/Contents({})/Rect[72 600 300 620]>>\nendobj\n"
    )
    pdf = pdf_of(["Claims are filed within six weeks."]).decode("latin-1")
    pdf = pdf.replace("/Parent 2 0 R", "/Parent 2 0 R/Annots[20 0 R 21 0 R]")
    notes = note.format(20, "FreeText", "Name: Ada Byron")
    notes += note.format(21, "Text", "Ask the lawyer")
    documents = read({"a.pdf": pdf.replace("trailer", notes + "trailer").encode()})
    assert documents.corpus[0].text.split("\n\n") == [
        "Claims are filed within six weeks.",
        "Name: Ada Byron",
    ]
    assert documents.report.loc[0, ["left_out", "lost"]].tolist() == [3, 0]
