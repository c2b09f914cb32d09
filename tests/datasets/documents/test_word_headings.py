"""Headings of Word files without styles of headings, and tables of contents that were typed."""

from __future__ import annotations

import io
import zipfile

import pytest
from file_makers import W, docx_of, paragraph


def line(text, *, size=0, bold=False, centred=False):
    """A paragraph with its format; the size is in half points."""
    marks = f'<w:sz w:val="{size}"/>' if size else ""
    marks += "<w:b/>" if bold else ""
    place = '<w:pPr><w:jc w:val="center"/></w:pPr>' if centred else ""
    return f"<w:p>{place}<w:r><w:rPr>{marks}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


def passages_of(documents):
    return [(one.title, one.text) for one in documents.corpus]


RULES = [
    paragraph("Ships pay a fee in every harbour."),
    paragraph("Boats pay a half of that fee."),
]


@pytest.mark.parametrize(
    "chapter",
    [
        {"bold": True},
        {"size": 28},
        {"size": 28, "bold": True, "centred": True},
    ],
)
def test_short_paragraphs_of_one_format_are_headings_and_a_larger_one_is_the_title(
    read, chapter
):
    body = (
        line("Harbour rules", size=44, bold=True, centred=True)
        + line("Adopted in May", centred=True)
        + line("1 Ships", **chapter)
        + RULES[0]
        + line("2 Boats", **chapter)
        + RULES[1]
    )
    documents = read({"a.docx": docx_of(body)})
    assert passages_of(documents) == [
        ("Harbour rules", "Adopted in May"),
        ("Harbour rules", "1 Ships\nShips pay a fee in every harbour."),
        ("Harbour rules", "2 Boats\nBoats pay a half of that fee."),
    ]
    assert "headings: 2" in documents.report.loc[0, "remark"]


def test_a_style_without_a_level_gives_a_format(read):
    style = (
        '<w:style w:type="paragraph" w:styleId="K"><w:name w:val="Kapitel"/>'
        "<w:rPr><w:b/></w:rPr></w:style>"
    )
    body = paragraph("Ships", "K") + RULES[0] + paragraph("Boats", "K") + RULES[1]
    styles = f'<w:styles xmlns:w="{W}">{style}</w:styles>'
    corpus = read({"a.docx": docx_of(body, styles=styles)}).corpus
    assert [one.metadata["headings"] for one in corpus] == [["Ships"], ["Boats"]]


TABLE = "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Fee</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"


@pytest.mark.parametrize(
    "body",
    [
        RULES[0] + line("Ships", bold=True) + RULES[1],
        RULES[0] + RULES[1] + line("Ada", bold=True) + line("Ida", bold=True),
        line("Ships:", bold=True) + RULES[0] + line("Boats:", bold=True) + RULES[1],
        (line("Fees", bold=True) + TABLE + RULES[0]) * 2,
        paragraph("Ships", "Heading2")
        + (line("Large", bold=True) + RULES[0] + line("Small", bold=True) + RULES[1]),
    ],
    ids="single signatures labels captions styles".split(),
)
def test_other_bold_paragraphs_are_text(read, body):
    documents = read({"a.docx": docx_of(body)})
    assert len(documents.corpus) == 1
    assert documents.report.loc[0, "remark"] == ""


def test_a_typed_table_of_contents_is_left_out(read):
    body = (
        line("目　　录", centred=True)
        + paragraph("第一章　船舶 1")
        + paragraph("第二章　小艇 2")
        + line("第一章　船舶", bold=True)
        + RULES[0]
        + line("第二章　小艇", bold=True)
        + RULES[1]
    )
    documents = read({"a.docx": docx_of(body)})
    assert [text for _, text in passages_of(documents)] == [
        "第一章 船舶\nShips pay a fee in every harbour.",
        "第二章 小艇\nBoats pay a half of that fee.",
    ]
    assert documents.report.loc[0, "lost"] == 0


def style_of(id_, name, *, outline="", size=0):
    level = f'<w:pPr><w:outlineLvl w:val="{outline}"/></w:pPr>' if outline else ""
    letters = f'<w:rPr><w:sz w:val="{size}"/></w:rPr>' if size else ""
    return f'<w:style w:type="paragraph" w:styleId="{id_}"><w:name w:val="{name}"/>{level}{letters}</w:style>'


# As converters write a German file: the name of the title's style is no English one.
STYLES = (
    style_of("Titel", "Titel", size=52)
    + style_of("T", "Title")
    + style_of("K1", "Überschrift 1", outline="0", size=28)
    + style_of("K2", "Überschrift 2", outline="1", size=26)
)
CHAPTERS = (
    paragraph("Schiffe", "K1")
    + RULES[0]
    + paragraph("Boote", "K1")
    + paragraph("Ruderboote", "K2")
    + RULES[1]
)


def declared(title):
    """The properties of a file with its title, and the relation to them."""
    names = "http://schemas.openxmlformats.org/package/2006"
    return {
        "docProps/core.xml": f'<p xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></p>',
        "_rels/.rels": f'<Relationships xmlns="{names}/relationships"><Relationship Id="a" Target="docProps/core.xml" '
        f'Type="{names}/relationships/metadata/core-properties"/></Relationships>',
    }


def with_parts(data, parts):
    """A Word file with further parts."""
    sink = io.BytesIO(data)
    with zipfile.ZipFile(sink, "a") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("first", "title_in_properties", "title", "text"),
    [
        (paragraph("Hafenordnung", "Titel"), "", "Hafenordnung", ""),
        (
            paragraph("Der Hafen") + paragraph("Ordnung", "T"),
            "",
            "Ordnung",
            "Der Hafen",
        ),
        (paragraph("Der Hafen"), "Schiffe im Hafen", "Schiffe im Hafen", "Der Hafen"),
        (paragraph("Der Hafen"), "Rechnung", "a", "Der Hafen"),
    ],
    ids=["by format", "below a letterhead", "in properties", "of another file"],
)
def test_the_title_above_headings_by_styles(
    read, first, title_in_properties, title, text
):
    sheet = f'<w:styles xmlns:w="{W}">{STYLES}</w:styles>'
    body = first + CHAPTERS + (paragraph("Schluss im Hafen.") if text else "")
    data = with_parts(docx_of(body, styles=sheet), declared(title_in_properties))
    corpus = read({"a.docx": data}).corpus
    assert {passage.title for passage in corpus} == {title}
    headings = [passage.metadata.get("headings") for passage in corpus]
    assert headings[-2:] == [["Schiffe"], ["Boote", "Ruderboote"]]
    assert [passage.text for passage in corpus][:-2] == [text] * bool(text)


def test_several_chapters_without_a_title_are_under_the_name_of_the_file(read):
    sheet = f'<w:styles xmlns:w="{W}">{STYLES}</w:styles>'
    documents = read({"harbour_rules.docx": docx_of(CHAPTERS, styles=sheet)})
    assert passages_of(documents) == [
        ("harbour rules", "Schiffe\nShips pay a fee in every harbour."),
        ("harbour rules", "Boote > Ruderboote\nBoats pay a half of that fee."),
    ]


def test_text_that_was_moved_is_read_once_and_not_lost(read):
    moved = "<w:r><w:t>Ships pay at noon.</w:t></w:r>"
    body = (
        f"<w:p><w:moveFrom>{moved}</w:moveFrom></w:p>"
        + paragraph("Boats pay at night.")
        + f"<w:p><w:moveTo>{moved}</w:moveTo></w:p>"
    )
    documents = read({"a.docx": docx_of(body)})
    [(_, text)] = passages_of(documents)
    assert text == "Boats pay at night.\n\nShips pay at noon."
    assert documents.report.loc[0, "lost"] == 0
