"""A word of a file is lost as often as the passages lack it, and no oftener."""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO

import openpyxl
import pytest
from pypandoc import get_pandoc_path

from kg2rag.datasets.documents.blocks import lost_words

FERRY = "The ferry sails at noon."


@pytest.mark.parametrize(
    ("source", "texts", "lost"),
    [
        ("the ferry sails the ferry", ["the ferry sails"], ["the", "ferry"]),
        ("the ferry sails", ["the ferry sails", "the ferry"], []),
        # one copy of "co operation" is a word of the text, the other is not
        ("co operation co operation", ["cooperation"], []),
        ("noon to day to day", ["noon today"], []),
    ],
)
def test_a_word_is_lost_as_often_as_the_texts_lack_it(
    source: str, texts: list[str], lost: list[str]
) -> None:
    assert lost_words(source.split(), texts) == lost


def test_a_paragraph_is_lost_although_its_words_are_elsewhere(read):
    # pandoc drops what is meant for another format
    page = f"{FERRY}\n\n.. raw:: latex\n\n   {FERRY}\n\n.. note:: {FERRY}\n"
    report = read({"a.rst": page}).report
    assert report.loc[0, "lost"] == len(FERRY.split())
    assert "noon" in report.loc[0, "remark"] or "ferry" in report.loc[0, "remark"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", f"<nav>{FERRY}</nav><h1>Port</h1><p>{FERRY}</p><p>{FERRY} {FERRY}</p>"),
        (
            "a.html",
            '<p>Let <math alttext="x^2"><mi>x</mi><annotation>x^2</annotation></math> be x.</p>',
        ),
        ("a.rst", f"{FERRY}\n\nSee `sails <https://x.org/ferry/\nnoon>`_ and `the port`__.\n\n__ https://x.org/port\n"),
        ("a.md", f"{FERRY}\n\nSee {{doc}}`ferry <ferry>` at [noon](noon.md).\n\n% noon\n"),
    ],
)  # fmt: skip
def test_what_is_left_out_or_is_no_text_is_not_lost(read, name, text):
    assert read({name: text}).report.loc[0, "lost"] == 0


def test_accents_of_latex_are_letters(read):
    text = (
        "\\begin{document}\n"
        r"Kurt G\"odel, Paul Erd\H{o}s, Ren\'e, Gau{\ss}, Weierstra\ss{}, \O rsted, Ha\v{c}ek, na\"{\i}ve Gar\c con, "
        "Schr{\\\"o}dinger and \\L\\'od\\'z.\n\\end{document}\n"
    )
    documents = read({"a.tex": text})
    assert documents.corpus[0].text == (
        "Kurt Gödel, Paul Erdős, René, Gauß, Weierstraß, Ørsted, Haček, naïve Garçon, Schrödinger and Łódź."
    )
    assert documents.report.loc[0, "lost"] == 0


def test_marks_of_notes_are_no_parts_of_words(read, tmp_path):
    markdown = "# Sea\n\nThe ferry[^1] sails 10 m^2^.\n\n[^1]: It is old.\n"
    book = tmp_path / "book.epub"
    subprocess.run(
        [get_pandoc_path(), "-f", "markdown", "-o", str(book)],
        input=markdown.encode(),
        check=True,
    )
    # as Sigil and calibre, Kindle, and LibreOffice write the marks
    marks = (
        '<a epub:type="noteref" href="#n1">1</a>',
        '<sup><a href="notes.xhtml#n2">2</a></sup>',
        '<a class="sdfootnoteanc" href="#sdfootnote3sym"><sup>3</sup></a>',
    )
    pages = {
        f"{i}.html": f"<p>The ferry{mark} sails 10 m<sup>2</sup>.</p>"
        for i, mark in enumerate(marks)
    }
    documents = read({"book.epub": book.read_bytes(), **pages})
    texts = [passage.text for passage in documents.corpus]
    assert texts[:3] == ["The ferry sails 10 m2."] * 3
    assert "The ferry sails 10 m2.\n\nIt is old." in texts[3]
    assert documents.report["lost"].sum() == 0


def test_a_spreadsheet_without_its_library_is_named_and_the_other_files_are_read(
    read, monkeypatch
):
    workbook = openpyxl.Workbook()
    workbook.active.append(["id", "text"])
    workbook.active.append([1, FERRY])
    data = BytesIO()
    workbook.save(data)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    documents = read({"a.xlsx": data.getvalue(), "b.txt": FERRY})
    report = documents.report.set_index("document")
    assert report.loc["a.xlsx", "status"] == "skipped"
    assert "pip install python-calamine" in report.loc["a.xlsx", "reason"]
    assert [passage.text for passage in documents.corpus] == [FERRY]


def test_the_text_of_a_directive_is_read_behind_an_option_of_several_lines(read):
    page = (
        ".. autoclass:: Ferry(name)\n    :members: sail,\n        land,\n        turn\n    :undoc-members:\n\n"
        "    .. attribute:: speed\n\n        Knots of the ferry.\n\nThe end.\n"
    )
    documents = read({"a.rst": page})
    assert "Knots of the ferry." in documents.corpus[0].text
    assert documents.report.loc[0, "lost"] == 0


def test_unknown_characters_and_encoded_data_are_told(read):
    key = "pQ7" * 30
    documents = read({"a.md": f"# Caf\ufffd\n\nThe key:\n\n{key}\n", "b.md": "Noon."})
    remarks = documents.report.set_index("document").remark
    assert "unknown characters in the text: 1" in remarks["a.md"]
    assert "encoded data in the text: 1" in remarks["a.md"]
    assert not remarks["b.md"]
