"""Word, PowerPoint, OpenDocument, EPUB, notebooks, mail and PDF: every paragraph once, titles and pages known."""

from __future__ import annotations

import io
import json
import unicodedata
import zipfile

import pytest
from file_makers import OFFICE, W, docx_of, notebook_of, paragraph, pdf_of, zip_of

RELATIONS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"


def text_of(documents):
    return "\n".join(passage.text for passage in documents.corpus)


def relation(id_, kind, target):
    return f'<Relationship Id="{id_}" Type="{OFFICE}/{kind}" Target="{target}"/>'


def style(id_, name, based_on=""):
    based = f'<w:basedOn w:val="{based_on}"/>' if based_on else ""
    return f'<w:style w:type="paragraph" w:styleId="{id_}"><w:name w:val="{name}"/>{based}</w:style>'


def test_word_s_title_and_derived_headings(read):
    styles = (
        style("Titel", "Title")
        + style("berschrift1", "heading 1")
        + style("Mine", "Chapter", "berschrift1")
    )
    body = (
        paragraph("Harbour rules", "Titel")
        + paragraph("Scope", "Mine")
        + paragraph("Ships pay.")
    )
    [passage] = read(
        {"a.docx": docx_of(body, styles=f'<w:styles xmlns:w="{W}">{styles}</w:styles>')}
    ).corpus
    assert (passage.title, passage.text) == ("Harbour rules", "Scope\nShips pay.")


def test_word_s_text_boxes_equations_controls_changes_and_tables_once(read):
    box = f"<w:txbxContent>{paragraph('In the box.')}</w:txbxContent>"
    choices = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    repeated = f"<mc:AlternateContent>{choices}</mc:AlternateContent>"
    cells = "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in ("Bern", "90"))
    inner = f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>"
    body = (
        f"<w:p><w:r><w:t>Anchor.</w:t></w:r><w:r>{repeated}</w:r></w:p>"
        "<w:p><w:r><w:t>So </w:t></w:r><m:oMath><m:r><m:t>E=mc</m:t></m:r></m:oMath></w:p>"
        f"<w:sdt><w:sdtContent>{paragraph('In a control.')}</w:sdtContent></w:sdt>"
        "<w:p><w:ins><w:r><w:t>Added</w:t></w:r></w:ins><w:del><w:r><w:delText>Gone</w:delText></w:r></w:del></w:p>"
        f"<w:tbl><w:tr><w:tc>{inner}</w:tc><w:tc>{paragraph('Beside')}</w:tc></w:tr></w:tbl>"
    )
    documents = read({"a.docx": docx_of(body)})
    expected = [
        "Anchor.",
        "In the box.",
        "So E=mc",
        "In a control.",
        "Added",
        "Bern | 90",
        "Beside",
    ]
    assert text_of(documents).split("\n\n") == expected
    assert documents.report.loc[0, "lost"] == 0


@pytest.mark.parametrize(
    ("part", "content"),
    [
        (
            "afchunk.htm",
            "<html><body><h1>Fares</h1><p>Ships pay nine crowns.</p></body></html>",
        ),
        (
            "afchunk.mht",
            "MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b\r\nContent-Type: text/html; "
            'charset="utf-8"\r\n\r\n<h1>Fares</h1><p>Ships pay nine crowns.</p>\r\n--b--\r\n',
        ),
    ],
)
def test_a_page_that_a_word_file_takes_in_is_read(read, part, content):
    document = f'<w:document xmlns:w="{W}" xmlns:r="{OFFICE}"><w:body>{{}}<w:altChunk r:id="a"/></w:body></w:document>'
    files = {}
    for name, target in (("a.docx", part), ("b.docx", "other.rtf")):
        parts = {
            "word/document.xml": document.format(paragraph("The harbour is open.")),
            f"word/{target}": content,
            "word/_rels/document.xml.rels": RELATIONS.format(
                relation("a", "aFChunk", target)
            ),
        }
        files[name] = zip_of(parts)
    documents = read(files)
    texts = [passage.text for passage in documents.corpus if passage.doc_id == "a.docx"]
    assert "Ships pay nine crowns." in " ".join(texts)
    assert "other.rtf" in documents.report.set_index("document").loc["b.docx", "remark"]


def test_slides_have_titles_notes_and_numbers(read):
    def shape(text, kind=""):
        place = (
            f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>'
            if kind
            else ""
        )
        number = '<a:fld type="slidenum"><a:t>7</a:t></a:fld>'
        return f"<p:sp>{place}<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r>{number}</a:p></p:txBody></p:sp>"

    def slide(*shapes):
        return f'<p:sld xmlns:p="{P}" xmlns:a="{A}">{"".join(shapes)}</p:sld>'

    listed = '<p:sldId r:id="r2"/><p:sldId r:id="r1"/>'
    pptx = zip_of(
        {
            "ppt/presentation.xml": f'<p:presentation xmlns:p="{P}" xmlns:r="{OFFICE}">{listed}</p:presentation>',
            "ppt/_rels/presentation.xml.rels": RELATIONS.format(
                relation("r1", "slide", "slides/slide1.xml")
                + relation("r2", "slide", "slides/slide2.xml")
            ),
            "ppt/slides/slide2.xml": slide(
                shape("Ferries", "ctrTitle"), shape("Halina sails.")
            ),
            "ppt/slides/slide1.xml": slide(
                shape("Fares", "title"), shape("Nine crowns.")
            ),
            "ppt/slides/_rels/slide1.xml.rels": RELATIONS.format(
                relation("n", "notesSlide", "../notesSlides/n.xml")
            ),
            "ppt/notesSlides/n.xml": slide(shape("Say it slowly.")),
        }
    )
    first, second = read({"a.pptx": pptx}).corpus
    assert (first.title, first.text, first.metadata["page"]) == (
        "Ferries",
        "Halina sails.",
        1,
    )
    assert (second.text, second.metadata["page"]) == (
        "Fares\nNine crowns.\n\nSay it slowly.",
        2,
    )


def test_feet_dates_and_numbers_of_slides_are_left_out_and_shapes_in_groups_are_read(
    read,
):
    def shape(kind, text):
        place = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>'
        return f"<p:sp>{place}<a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sp>"

    frame = shape("ftr", "Harbour office") + shape("sldNum", "1") + shape("dt", "May")
    group = f"<p:grpSp><p:grpSp>{shape('body', 'Halina.')}</p:grpSp></p:grpSp>"
    pptx = zip_of(
        {
            "ppt/presentation.xml": f'<p:p xmlns:p="{P}" xmlns:r="{OFFICE}"><p:sldId r:id="r"/></p:p>',
            "ppt/_rels/presentation.xml.rels": RELATIONS.format(
                relation("r", "slide", "slides/s.xml")
            ),
            "ppt/slides/s.xml": f'<p:sld xmlns:p="{P}" xmlns:a="{A}">{group}{frame}</p:sld>',
        }
    )
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "presentation", "text", "draw")
    )
    foot = "<presentation:footer-decl>Harbour office</presentation:footer-decl>"
    number = '<draw:frame presentation:class="page-number"><text:p>1 of 9</text:p></draw:frame>'
    odp = zip_of(
        {
            "content.xml": f"<office:body {names}>{foot}<text:p>Halina.</text:p>{number}</office:body>"
        }
    )
    documents = read({"a.pptx": pptx, "b.odp": odp})
    assert [passage.text for passage in documents.corpus] == ["Halina.", "Halina."]
    assert documents.report["left_out"].tolist() == [4, 5]
    assert documents.report["lost"].tolist() == [0, 0]


def test_charts_of_slides_and_word_have_their_title_and_each_name_once(read):
    names = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'

    def cache(*values):
        points = "".join(f"<c:pt><c:v>{value}</c:v></c:pt>" for value in values)
        return f"<c:strRef><c:strCache>{points}</c:strCache></c:strRef>"

    def series(name, values=""):
        return f"<c:ser><c:tx>{cache(name)}</c:tx><c:cat>{cache('Bern', 'Gdynia')}</c:cat>{values}</c:ser>"

    values = (
        '<c:val><c:numCache><c:pt idx="1"><c:v>2.5</c:v></c:pt></c:numCache></c:val>'
    )

    title = f'<c:title xmlns:a="{A}"><a:p><a:r><a:t>Fares</a:t></a:r></a:p></c:title>'
    chart = f"<c:chartSpace {names}>{title}{series('Summer')}{series('Winter')}{series('Fall', values)}</c:chartSpace>"
    relations = RELATIONS.format(relation("c", "chart", "../charts/c.xml"))
    slide = f'<p:sld xmlns:p="{P}" xmlns:a="{A}"><a:p><a:r><a:t>Halina.</a:t></a:r></a:p></p:sld>'
    listed = f'<p:presentation xmlns:p="{P}" xmlns:r="{OFFICE}"><p:sldId r:id="r"/></p:presentation>'
    pptx = zip_of(
        {
            "ppt/presentation.xml": listed,
            "ppt/_rels/presentation.xml.rels": RELATIONS.format(
                relation("r", "slide", "slides/s.xml")
            ),
            "ppt/slides/s.xml": slide,
            "ppt/slides/_rels/s.xml.rels": relations,
            "ppt/charts/c.xml": chart,
        }
    )
    docx = zip_of(
        {
            "word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{paragraph("Halina.")}</w:body></w:document>',
            "word/_rels/document.xml.rels": relations.replace("../", ""),
            "word/charts/c.xml": chart,
        }
    )
    documents = read({"a.pptx": pptx, "b.docx": docx})
    expected = (
        "Halina.\n\nFares\n\nSummer\n\nBern | Gdynia\n\nWinter\n\nFall | Gdynia 2.5"
    )
    assert [passage.text for passage in documents.corpus] == [expected, expected]


def test_notes_of_word_follow_the_paragraph_that_refers_to_them(read):
    body = (
        '<w:p><w:r><w:t>Ships pay</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r>'
        '<w:r><w:t> at noon.</w:t></w:r><w:r><w:endnoteReference w:id="1"/></w:r></w:p>'
        + paragraph("Boats pay at night.")
    )

    def notes(kind, id_, text):
        return f'<w:{kind}s xmlns:w="{W}"><w:{kind} w:id="{id_}">{paragraph(text)}</w:{kind}></w:{kind}s>'

    relations = relation("f", "footnotes", "footnotes.xml") + relation(
        "e", "endnotes", "endnotes.xml"
    )
    word = docx_of(
        body,
        footnotes=notes("footnote", 2, "A law of 1901."),
        endnotes=notes("endnote", 1, "See the map."),
    )
    parts = {
        "word/_rels/document.xml.rels": RELATIONS.format(relations),
    }
    with zipfile.ZipFile(io.BytesIO(word)) as archive:
        parts |= {name: archive.read(name).decode() for name in archive.namelist()}
    documents = read({"a.docx": zip_of(parts)})
    assert text_of(documents).split("\n\n") == [
        "Ships pay at noon.",
        "A law of 1901.",
        "See the map.",
        "Boats pay at night.",
    ]
    assert documents.report.loc[0, "lost"] == 0


def test_paragraphs_with_styles_of_headings_in_an_opendocument_text_are_headings(read):
    names = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = f'xmlns:o="{names}:office:1.0" xmlns:t="{names}:text:1.0" xmlns:s="{names}:style:1.0"'
    styles = [("P1", "Title"), ("P2", "Heading_20_1"), ("P3", "Standard")]
    sheet = "".join(
        f'<s:style s:name="{name}" s:parent-style-name="{parent}"/>'
        for name, parent in styles
    )
    lines = [
        ("P1", "Harbour rules"),
        ("P2", "Scope"),
        ("P3", "Ships pay."),
        ("P2", "End"),
    ]
    body = "".join(f'<t:p t:style-name="{name}">{text}</t:p>' for name, text in lines)
    content = f"<o:document-content {spaces}>{sheet}<o:body><o:text>{body}</o:text></o:body></o:document-content>"
    [passage, *_] = read({"a.odt": zip_of({"content.xml": content})}).corpus
    assert (passage.title, passage.text) == ("Harbour rules", "Scope\nShips pay.")


def test_a_chart_in_an_opendocument_text_is_read(read):
    office = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    office += 'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    content = "<office:document-content {}><office:body><text:p>{}</text:p></office:body></office:document-content>"
    odt = zip_of(
        {
            "content.xml": content.format(office, "Halina."),
            "Object 1/content.xml": content.format(office, "Fares"),
        }
    )
    assert text_of(read({"a.odt": odt})) == "Halina.\n\nFares"


def test_a_mail_of_alternatives_without_a_boundary_is_read(read):
    mail = 'Subject: Fares\nContent-Type: multipart/alternative; boundary="x"\n\nHalina sails.\n'
    assert "Halina sails." in text_of(read({"a.eml": mail.encode()}))


def test_an_opendocument_text_has_its_mixed_paragraphs_notes_and_rows(read):
    names = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    names += 'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    names += 'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
    note = "<text:note><text:note-body><text:p>A note.</text:p></text:note-body></text:note>"
    cells = "".join(
        f"<table:table-cell><text:p>{text}</text:p></table:table-cell>"
        for text in ("Bern", "90")
    )
    body = (
        '<text:p text:style-name="Title">Ferries</text:p><text:h text:outline-level="1">Pier</text:h>'
        f"<text:p>The <text:span>Hal</text:span>ina{note} lands<text:s/>here.</text:p>"
        f"<table:table><table:table-row>{cells}</table:table-row></table:table>"
    )
    content = f"<office:document-content {names}><office:body><office:text>{body}</office:text></office:body>"
    [passage] = read(
        {"a.odt": zip_of({"content.xml": f"{content}</office:document-content>"})}
    ).corpus
    assert (passage.title, passage.metadata["headings"]) == ("Ferries", ["Pier"])
    assert passage.text == "Pier\nThe Halina lands here.\n\nA note.\n\nBern | 90"


def test_word_s_table_of_contents_and_lists_of_figures_are_left_out_and_counted(read):
    gallery = (
        '<w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj>'
    )
    control = (
        f"<w:sdt><w:sdtPr>{gallery}</w:sdtPr><w:sdtContent>{{}}</w:sdtContent></w:sdt>"
    )
    link = '<w:hyperlink w:anchor="_Toc7"><w:r><w:t>Fares</w:t></w:r></w:hyperlink>'
    styles = style("Verzeichnis1", "toc 1") + style("Abb", "table of figures")
    body = (
        control.format(paragraph("Inhalt") + paragraph("Scope 2"))
        + paragraph("Scope 2", "Verzeichnis1")
        + paragraph("Figure 1 3", "Abb")
        + f"<w:p>{link}</w:p>"
        + f"<w:p><w:r><w:t>See </w:t></w:r>{link}<w:r><w:t> first.</w:t></w:r></w:p>"
    )
    documents = read(
        {"a.docx": docx_of(body, styles=f'<w:styles xmlns:w="{W}">{styles}</w:styles>')}
    )
    assert text_of(documents) == "See Fares first."
    row = documents.report.loc[0]
    assert (row["left_out"], row["lost"]) == (9, 0)


def test_the_indexes_of_an_opendocument_text_are_left_out_and_counted(read):
    names = (
        'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    )
    indexes = "".join(
        f"<text:{kind}><text:index-body><text:p>Pier 3</text:p></text:index-body></text:{kind}>"
        for kind in ("table-of-content", "illustration-index")
    )
    content = (
        f"<office:document-content {names}><office:body><office:text>{indexes}"
        "<text:p>The Halina sails.</text:p></office:text></office:body></office:document-content>"
    )
    documents = read({"a.odt": zip_of({"content.xml": content})})
    assert text_of(documents) == "The Halina sails."
    row = documents.report.loc[0]
    assert (row["left_out"], row["lost"]) == (4, 0)


def test_an_e_book_is_read_in_the_order_of_its_spine(read):
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata><title>Ferries</title></metadata><manifest>'
        '<item id="b" href="b.xhtml"/><item id="a" href="a%20x.xhtml"/></manifest>'
        '<spine><itemref idref="b"/><itemref idref="a"/></spine></package>'
    )
    epub = zip_of(
        {
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="o/p.opf"/></rootfiles></container>',
            "o/p.opf": package,
            "o/a x.xhtml": "<html><body><h1>Pier</h1><p>Halina lands.</p></body></html>",
            "o/b.xhtml": "<html><body><h1>Sea</h1><p>Halina sails.</p></body></html>",
        }
    )
    sea, pier = read({"a.epub": epub}).corpus
    assert (sea.title, sea.text, pier.text) == (
        "Ferries",
        "Sea\nHalina sails.",
        "Pier\nHalina lands.",
    )


def test_title_pages_and_copyright_pages_of_an_e_book_are_left_out(read):
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata/><manifest>'
        '<item id="t" href="t.xhtml"/><item id="c" href="c.xhtml"/><item id="a" href="a.xhtml"/></manifest>'
        '<spine><itemref idref="t"/><itemref idref="c"/><itemref idref="a"/></spine>'
        '<guide><reference type="copyright-page" href="c.xhtml#top"/></guide></package>'
    )
    title = '<section epub:type="titlepage"><h1>Ferries</h1><p>Ida Berg</p></section>'
    chapter = '<section epub:type="chapter"><h1>Sea</h1><p>Halina sails.</p></section>'
    epub = zip_of(
        {
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>',
            "p.opf": package,
            "t.xhtml": f'<html><body epub:type="frontmatter">{title}</body></html>',
            "c.xhtml": "<html><body><p>Harbour Press</p></body></html>",
            "a.xhtml": f'<html><body epub:type="bodymatter">{chapter}</body></html>',
        }
    )
    documents = read({"a.epub": epub})
    assert text_of(documents) == "Halina sails."
    assert documents.report["left_out"].sum() == 5


def test_notebooks_of_every_version_have_text_code_and_outputs(read):
    new = notebook_of(
        {"cell_type": "markdown", "source": ["# Fares\n", "\n", "Marek Lund pays."]},
        {
            "cell_type": "code",
            "source": "Total = 9",
            "outputs": [{"output_type": "stream", "text": ["Nine\n"]}],
        },
    )
    cells = [
        {"cell_type": "heading", "level": 1, "source": "Pier"},
        {"cell_type": "code", "input": ["Lund = 1"]},
    ]
    old = json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]})
    documents = read({"a.ipynb": new, "b.ipynb": old})
    assert [(passage.title, passage.text) for passage in documents.corpus] == [
        ("Fares", "Marek Lund pays.\n\nTotal = 9\n\nNine"),
        ("Pier", "Lund = 1"),
    ]
    assert documents.corpus.sentences(0) == ["Marek Lund pays."]


OBJECT = "<IPython.core.display.HTML object>"


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (
            {"data": {"text/markdown": ["**Nine** crowns"], "text/plain": [OBJECT]}},
            "Nine crowns",
        ),
        ({"data": {"text/html": "<p>Nine <b>crowns</b></p>"}}, "Nine crowns"),
        (
            {"data": {"text/html": "<p>Ten</p>", "text/plain": "Nine crowns"}},
            "Nine crowns",
        ),
        ({"data": {"text/latex": "$9$ crowns", "text/plain": OBJECT}}, "$9$ crowns"),
        (
            {"output_type": "error", "ename": "ValueError", "evalue": "nine"},
            "ValueError: nine",
        ),
    ],
)
def test_an_output_of_a_notebook_is_read_in_the_form_that_has_its_text(
    read, output, text
):
    cell = {"cell_type": "code", "source": "fare()", "outputs": [output]}
    documents = read({"a.ipynb": notebook_of(cell)})
    assert text_of(documents) == f"fare()\n\n{text}"
    assert documents.report.loc[0, "lost"] == 0


def test_what_python_prints_of_a_figure_is_left_out_beside_the_picture(read):
    data = {
        "image/png": "iVBORw0KGgo=",
        "text/plain": "<Figure size 640x480 with 1 Axes>",
    }
    cell = {"cell_type": "code", "source": "plot()", "outputs": [{"data": data}]}
    documents = read({"a.ipynb": notebook_of(cell)})
    assert text_of(documents) == "plot()"
    assert documents.report.loc[0, "lost"] == 0


PARTS = "Subject: Fares\nMIME-Version: 1.0\nContent-Type: multipart/{}; boundary=B\n\n{}--B--\n"


def part(text, kind="text/plain"):
    return f"--B\nContent-Type: {kind}\n\n{text}\n"


@pytest.mark.parametrize(
    ("kind", "parts", "text"),
    [
        ("mixed", [part("Nine."), part("Ten."), part("<p>Eleven.</p>", "text/html")], "Nine.\n\nTen.\n\nEleven."),
        ("alternative", [part("Nine crowns."), part("<p>Nine crowns.</p>", "text/html")], "Nine crowns."),
        ("alternative", [part("See page."), part("<p>All of nine crowns.</p>", "text/html")], "All of nine crowns."),
        ("mixed", [part("Look."), part("Subject: Pier\n\nHalina.", "message/rfc822")], "Look.\n\nPier\nHalina."),
    ],
)  # fmt: skip
def test_every_text_of_a_message_is_read_once(read, kind, parts, text):
    documents = read({"a.eml": PARTS.format(kind, "".join(parts))})
    assert "\n\n".join(passage.text for passage in documents.corpus) == text
    assert documents.report.loc[0, "lost"] == 0


MAIL = "From: Ida Berg <ida@example.org>\nSubject: Fares\nContent-Type: text/html; charset=cp1252\n\n"
MAIL += "<p>F\xe4hre: nine.</p>"


def test_mail_and_mailboxes_have_a_document_for_each_message(read):
    date = "Thu Jan  1 00:00:00 2026"
    box = (
        f"From ida {date}\n{MAIL}\n\nFrom bob {date}\nSubject: Pier\n\nHalina lands.\n"
    )
    documents = read({"a.eml": MAIL.encode("cp1252"), "b.mbox": box.encode("cp1252")})
    texts = {
        passage.doc_id: (passage.title, passage.text) for passage in documents.corpus
    }
    assert texts["a.eml"] == (
        "Fares",
        "From: Ida Berg <ida@example.org>\n\nFähre: nine.",
    )
    assert texts["b.mbox#0"] == texts["a.eml"]
    assert texts["b.mbox#1"] == ("Pier", "Halina lands.")


def test_passages_of_a_pdf_know_their_pages(read):
    pages = [
        ["Halina leaves at noon."],
        ["Marek Lund waits and", "waits and"],
        ["goes home."],
    ]
    passages = read({"a.pdf": pdf_of(*pages)}).corpus
    assert [(p.metadata["page"], p.metadata.get("last_page")) for p in passages] == [
        (1, 3)
    ]


@pytest.mark.parametrize(
    "pages",
    [
        [["Report", "Total 12.5"], ["Report two", "Total 99.9"]],
        [
            ["Bread", "Total 12.5"],
            ["Milk", "Total 99.9"],
            ["Eggs", "Total 3.2"],
            ["Salt", "Total 0.5"],
        ],
        [["Invoice 0 is paid."], ["Invoice 1 is paid."], ["Invoice 2 is paid."]],
        [
            ["Invoice 0 is paid.", "Ada."],
            ["Invoice 1 is paid.", "Bob."],
            ["Invoice 2 is paid.", "Cyd."],
        ],
    ],
)
def test_first_and_last_lines_with_numbers_of_their_own_stay(read, pages):
    text = text_of(read({"a.pdf": pdf_of(*pages)}))
    assert all(line in text for lines in pages for line in lines)


def test_running_heads_are_left_out_and_counted(read):
    pages = [
        ["Ferry handbook", f"Halina has {word} decks.", f"Page {number}"]
        for number, word in enumerate("abcd")
    ]
    documents = read({"a.pdf": pdf_of(*pages)})
    assert "handbook" not in text_of(documents)
    assert documents.report.loc[0, ["left_out", "lost"]].tolist() == [16, 0]


@pytest.mark.parametrize("n_pages", [2, 4])
def test_heads_of_two_lines_leave_and_a_word_across_the_page_is_whole(read, n_pages):
    pages = [
        [
            "Ferry handbook, Vol. 7",
            str(12 + page),
            f"tions of ice hold at pier {ship},",
            f"and {ship} waits for lower tides and wet condi-",
        ]
        for page, ship in enumerate(["Halina", "Lund", "Ida", "Mols"][:n_pages])
    ]
    documents = read({"a.pdf": pdf_of(*pages)})
    text = text_of(documents)
    assert text.count("and wet conditions of ice hold") == n_pages - 1
    assert "Vol" not in text
    assert "13" not in text
    # of each page, four words of the head and one number; nothing of the body is lost
    assert documents.report.loc[0, ["left_out", "lost"]].tolist() == [5 * n_pages, 0]


def test_cells_at_the_edge_of_pages_that_do_not_count_with_them_stay(read):
    pages = [[f"{ship} has", "decks", "4", "7"] for ship in ("Halina", "Lund", "Ida")]
    text = text_of(read({"a.pdf": pdf_of(*pages)}))
    assert text.count("decks 4 7") == 3


def test_pages_without_text_are_said(read):
    assert (
        "page 2"
        in read({"a.pdf": pdf_of(["Halina sails."], [], ["Lund waits."])}).report.loc[
            0, "remark"
        ]
    )


@pytest.mark.parametrize(
    "letters",
    [
        "\u0631\u0641\u0633\u0644\u0627",
        "\ufeae\ufed4\ufeb4\ufedf\ufe8d",
        "\u05dd\u05d5\u05dc\u05e9\u05d0",
    ],
)
def test_letters_that_a_pdf_writes_from_right_to_left_are_read_in_their_order(
    read, letters
):
    pairs = "\n".join(
        f"<{code:02x}> <{ord(letter):04x}>"
        for code, letter in zip(b"abcde", letters, strict=True)
    )
    codes = f"begincmap 1 begincodespacerange <00> <ff> endcodespacerange 5 beginbfchar\n{pairs}\nendbfchar endcmap"
    pdf = pdf_of([") Tj [(e) 1112 (d) 1000 (c) 1000 (b) 1000 (a)] TJ ("])
    pdf = pdf.replace(b"/BaseFont/Helvetica", b"/BaseFont/Helvetica/ToUnicode 9 0 R")
    font = f"9 0 obj<</Length {len(codes)}>>stream\n{codes}\nendstream\nendobj\ntrailer".encode()
    text = text_of(read({"a.pdf": pdf.replace(b"trailer", font)}))
    assert unicodedata.normalize("NFKC", text) == unicodedata.normalize(
        "NFKC", letters[::-1]
    )


def test_letters_without_a_code_are_said(read):
    unreadable = pdf_of(["\\031\\032"])
    report = read(
        {"a.pdf": pdf_of(["Halina sails."]), "b.pdf": unreadable}
    ).report.set_index("document")
    assert report.loc["a.pdf", "remark"] == ""
    assert report.loc["b.pdf", "status"] == "skipped"


def test_word_s_fractions_and_powers_have_signs_and_prompts_are_left_out(read):
    def part(name, text):
        return f"<m:{name}><m:r><m:t>{text}</m:t></m:r></m:{name}>"

    formula = (
        f"<m:f>{part('num', 'a+b')}{part('den', 'c')}</m:f><m:r><m:t> − </m:t></m:r>"
        f"<m:sSup>{part('e', 'x')}{part('sup', '2')}</m:sSup>"
    )
    prompt = "<w:sdtPr><w:showingPlcHdr/></w:sdtPr>"
    body = (
        f"<w:p><w:r><w:t>So </w:t></w:r><m:oMath>{formula}</m:oMath></w:p>"
        f"<w:sdt>{prompt}<w:sdtContent>{paragraph('Click here.')}</w:sdtContent></w:sdt>"
        f"<w:p><w:sdt>{prompt}<w:sdtContent><w:r><w:t>Choose.</w:t></w:r></w:sdtContent></w:sdt></w:p>"
    )
    documents = read({"a.docx": docx_of(body)})
    assert text_of(documents) == "So (a+b)/c − x^2"
    assert documents.report.loc[0, "lost"] == 0


def test_a_slide_without_a_title_has_its_first_short_text_as_one(read):
    def slide(*texts, title=""):
        shapes = [
            f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr>{run(title)}</p:sp>'
        ] * bool(title)
        shapes += [f"<p:sp>{run(text)}</p:sp>" for text in texts]
        return f'<p:sld xmlns:p="{P}" xmlns:a="{A}">{"".join(shapes)}</p:sld>'

    def run(text):
        return f"<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody>"

    slides = [
        slide("Halina sails.", title="Ferries"),
        slide("Lund waits.", title="Pier"),
        slide("Fares", "Nine crowns."),
        slide("The Halina lands here.", "Berne"),
    ]
    ids = "".join(f'<p:sldId r:id="s{number}"/>' for number in range(len(slides)))
    parts = {f"ppt/slides/s{number}.xml": text for number, text in enumerate(slides)}
    relations = "".join(
        relation(f"s{number}", "slide", f"slides/s{number}.xml")
        for number in range(len(slides))
    )
    presentation = (
        f'<p:presentation xmlns:p="{P}" xmlns:r="{OFFICE}">{ids}</p:presentation>'
    )
    data = zip_of(
        {
            "ppt/presentation.xml": presentation,
            "ppt/_rels/presentation.xml.rels": RELATIONS.format(relations),
            **parts,
        }
    )
    headings = [
        (passage.metadata.get("headings"), passage.metadata["page"])
        for passage in read({"a.pptx": data}).corpus
    ]
    assert headings == [(None, 1), (["Pier"], 2), (["Fares"], 3)]


@pytest.mark.parametrize("name", ["a.docx", "a.doc", "a.msg", "a.xlsx"])
def test_a_file_with_a_password_or_of_an_old_format_says_what_to_do(read, name):
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    documents = read({name: data, "b.txt": "Ships pay."})
    assert "password" in documents.report.set_index("document").loc[name, "reason"]


def test_fields_of_a_form_of_word_have_their_values(read):
    def field(data):
        begin = (
            f'<w:fldChar w:fldCharType="begin"><w:ffData>{data}</w:ffData></w:fldChar>'
        )
        return f'<w:r>{begin}</w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'

    entries = "".join(f'<w:listEntry w:val="{name}"/>' for name in ("Car", "Van"))
    body = (
        "<w:p><w:r><w:t>Insured? Yes </w:t></w:r>"
        + field('<w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>')
        + "<w:r><w:t> No </w:t></w:r>"
        + field('<w:checkBox><w:default w:val="0"/></w:checkBox>')
        + "<w:r><w:t> Kind: </w:t></w:r>"
        + field(f'<w:ddList><w:result w:val="1"/>{entries}</w:ddList>')
        + "</w:p>"
    )
    documents = read({"a.docx": docx_of(body)})
    assert text_of(documents) == "Insured? Yes ☒ No ☐ Kind: Van"


def test_the_title_of_the_first_slide_of_opendocument_is_that_of_the_document(read):
    names = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = " ".join(
        f'xmlns:{prefix}="{names}:{name}:1.0"'
        for prefix, name in [
            ("o", "office"),
            ("t", "text"),
            ("d", "drawing"),
            ("p", "presentation"),
        ]
    )
    slides = "".join(
        f'<d:page><d:frame p:class="title"><d:text-box><t:p>{title}</t:p></d:text-box></d:frame>'
        f"<d:frame><d:text-box><t:p>{text}</t:p></d:text-box></d:frame></d:page>"
        for title, text in [("Fees", "Ships pay."), ("Boats", "Boats pay a half.")]
    )
    body = f"<o:body><o:presentation>{slides}</o:presentation></o:body>"
    content = f"<o:document-content {spaces}>{body}</o:document-content>"
    corpus = read({"deck.odp": zip_of({"content.xml": content})}).corpus
    assert {passage.title for passage in corpus} == {"Fees"}
    assert [passage.text for passage in corpus][-1] == "Boats\nBoats pay a half."


def shape_of_powerpoint(text, kind="", corner=None):
    """A shape of 100 by 10 units; without a corner, its layout has its place."""
    place = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>' * bool(kind)
    if corner:
        x, y = corner
        place += f'<p:spPr><a:xfrm><a:off x="{x}" y="{y}"/><a:ext cx="100" cy="10"/></a:xfrm></p:spPr>'
    return f"<p:sp>{place}<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"


def shape_of_opendocument(text, kind="", corner=None):
    """A frame of 10 by 1 cm."""
    place = f' p:class="{kind}"' * bool(kind)
    if corner:
        x, y = (length / 10 for length in corner)
        place += f' s:x="{x}cm" s:y="{y}cm" s:width="10cm" s:height="1cm"'
    return f"<d:frame{place}><d:text-box><t:p>{text}</t:p></d:text-box></d:frame>"


def powerpoint_of(*slides):
    numbers = range(len(slides))
    ids = "".join(f'<p:sldId r:id="s{number}"/>' for number in numbers)
    relations = [relation(f"s{n}", "slide", f"slides/s{n}.xml") for n in numbers]
    names = f'xmlns:p="{P}" xmlns:a="{A}" xmlns:r="{OFFICE}"'
    return zip_of(
        {
            "ppt/presentation.xml": f"<p:presentation {names}>{ids}</p:presentation>",
            "ppt/_rels/presentation.xml.rels": RELATIONS.format("".join(relations)),
        }
        | {
            f"ppt/slides/s{number}.xml": f"<p:sld {names}><p:cSld><p:spTree><p:grpSpPr/>"
            f"{''.join(shapes)}</p:spTree></p:cSld></p:sld>"
            for number, shapes in enumerate(slides)
        }
    )


def opendocument_slides_of(*slides):
    spaces = " ".join(
        f'xmlns:{name[0]}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in "office text drawing presentation svg-compatible".split()
    )
    foot = "<p:footer-decl>Harbour office</p:footer-decl>"
    pages = "".join(f"<d:page>{''.join(shapes)}</d:page>" for shapes in slides)
    body = f"<o:body><o:presentation>{foot}{pages}</o:presentation></o:body>"
    content = f"<o:document-content {spaces}>{body}</o:document-content>"
    return zip_of({"content.xml": content})


@pytest.mark.parametrize(
    ("name", "make", "shape"),
    [
        ("a.pptx", powerpoint_of, shape_of_powerpoint),
        ("a.odp", opendocument_slides_of, shape_of_opendocument),
    ],
)
@pytest.mark.parametrize(
    ("corners", "texts"),
    [
        ([None, None, None], "Dues Crews Berths"),
        ([(0, 50), (0, 10), (20, 30)], "Crews Berths Dues"),
        ([(0, 50), None, (0, 30)], "Dues Crews Berths"),
        ([(0, 50), (0, 10), (120, 30)], "Dues Crews Berths"),
        ([(0, 50), (0, 10), (0, 15)], "Dues Crews Berths"),
    ],
    ids=["unplaced", "column", "one unplaced", "beside", "overlapping"],
)
def test_a_slide_is_read_from_its_title_and_a_column_from_the_top(
    read, name, make, shape, corners, texts
):
    bodies = map(shape, ("Dues", "Crews", "Berths"), [""] * 3, corners)
    second = [*bodies, shape("Harbour", "title")]
    slides = [[shape("Ships pay."), shape("Fees", "title")], second]
    passages = read({name: make(*slides)}).corpus
    assert {passage.title for passage in passages} == {"Fees"}
    assert passages[0].text == "Ships pay."
    assert passages[1].text.split() == ["Harbour", *texts.split()]
