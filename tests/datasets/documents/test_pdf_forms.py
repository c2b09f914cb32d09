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
