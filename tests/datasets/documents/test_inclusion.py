"""Files that others include are read there, once, and are no documents."""

from __future__ import annotations

import io
import tarfile

import pytest

THESIS = {
    "main.tex": (
        "\\documentclass{report}\n\\newcommand{\\boat}{\\textsc{Halina}}\n\\title{Ferries}\n\\begin{document}\n"
        "\\maketitle\n\\input{macros}\n\\include{parts/harbour}\n% \\input{parts/old}\n\\subfile{parts/low}\n"
        "\\end{document}\n"
    ),
    "macros.tex": "\\newcommand{\\pier}{Lund}\n",
    "parts/harbour.tex": "\\chapter{Harbour}\nThe \\boat{} sails to \\pier{}.\n\\input{parts/tides.tex}\n",
    "parts/tides.tex": "Noon is high.\n",
    "parts/old.tex": "Steam is gone.\n",
    "parts/low.tex": (
        "\\documentclass[../main]{subfiles}\n\\begin{document}\n\\chapter{Low}\nMud lies there.\n\\end{document}\n"
    ),
}


def texts_of(documents):
    return [passage.text for passage in documents.corpus]


def status_of(documents):
    return dict(
        zip(documents.report["document"], documents.report["status"], strict=True)
    )


def test_chapters_of_latex_are_read_in_the_main_file_with_its_commands(read):
    documents = read(THESIS)
    assert texts_of(documents) == [
        "Harbour\nThe Halina sails to Lund. Noon is high.",
        "Low\nMud lies there.",
        "Steam is gone.",
    ]
    assert {p.title for p in documents.corpus if p.doc_id == "main.tex"} == {"Ferries"}
    assert [
        name for name, status in status_of(documents).items() if status == "read"
    ] == [
        "main.tex",
        "parts/old.tex",
    ]


def test_chapters_of_latex_in_an_archive_are_read_in_the_main_file(read):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name, text in THESIS.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    documents = read({"2401.00001.tar.gz": data.getvalue()})
    assert "Harbour\nThe Halina sails to Lund. Noon is high." in texts_of(documents)
    assert len(documents.corpus) == 3


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("docs/a.md", '# Tides\n\n!!! tip "Mind"\n\n    --8<-- "parts/noon.md"\n'),
        ("docs/a.md", "# Tides\n\nMind\n\n```{include} ../parts/noon.md\n```\n"),
        ("src/a.md", "# Tides\n\nMind\n\n{{#include ../parts/noon.md}}\n"),
        ("a.md", "# Tides\n\nMind\n\n<<< @/parts/noon.md{1}\n"),
        ("a.qmd", "# Tides\n\nMind\n\n{{< include parts/noon.md >}}\n"),
        ("docs/a.md", '# Tides\n\nMind\n\n{% include-markdown "../parts/noon.md" %}\n'),
        ("a.rst", "Tides\n=====\n\nMind\n\n.. include:: parts/noon.md\n"),
        ("a.adoc", "= Tides\n\nMind\n\ninclude::parts/noon.md[leveloffset=+1]\n"),
        ("a.org", '* Tides\n\nMind\n\n#+INCLUDE: "parts/noon.md"\n'),
        ("a.typ", '= Tides\n\nMind\n\n#include "parts/noon.md"\n'),
    ],
)  # fmt: skip
def test_an_included_page_is_read_where_it_is_included(read, name, page):
    documents = read({name: page, "parts/noon.md": "Noon is high.\n"})
    assert texts_of(documents) == ["Mind\n\nNoon is high."]
    assert documents.corpus[0].title == "Tides"
    assert status_of(documents)["parts/noon.md"] == "skipped"
    assert documents.report["lost"].sum() == 0


def test_a_file_of_which_some_lines_are_included_is_a_document(read):
    documents = read(
        {"a.md": '# Tides\n\nMind.\n\n--8<-- "b.md:2:3"\n', "b.md": "Noon.\n"}
    )
    assert texts_of(documents) == ["Mind.", "Noon."]
    assert documents.report.loc[0, "remark"]


def test_files_that_include_each_other_or_lie_outside_are_read_by_themselves(
    read, tmp_path
):
    (tmp_path / "secret.tex").write_text("Nobody knows.\n")
    files = {
        "a.tex": "Halina sails.\n\\input{b}\n",
        "b.tex": "Lund waits.\n\\input{a}\n",
        "c.tex": "Noon is high.\n\\input{../secret}\n",
        "d.tex": "Mud.\n\\input{d}\n",
    }
    assert texts_of(read(files)) == [
        "Halina sails.",
        "Lund waits.",
        "Noon is high.",
        "Mud.",
    ]


def test_what_latex_writes_beside_a_text_is_no_document(read):
    files = {
        "a.tex": "Halina sails.\n",
        "a.aux": "\\relax\n",
        "a.toc": "\\contentsline {chapter}{Harbour}{1}\n",
        "ferry.log": "Noon: she sails.\n",
    }
    assert [
        name for name, status in status_of(read(files)).items() if status == "read"
    ] == [
        "a.tex",
        "ferry.log",
    ]


REFERENCES = """\\begin{thebibliography}{1}
\\bibitem[Lund(1997)]{l97}
I.~Lund. \\newblock Tides of the north.
\\end{thebibliography}
"""


def test_references_that_bibtex_wrote_are_read_unless_their_list_is_there(read):
    assert "I. Lund. Tides of the north." in texts_of(read({"a.bbl": REFERENCES}))[0]
    documents = read({"a.tex": "Noon.\n", "a.bib": "@book{l, title={Tides}}\n"})
    assert status_of(documents) == {
        "a.bbl": "skipped",
        "a.bib": "read",
        "a.tex": "read",
    }


def test_styles_and_pictures_of_a_latex_project_are_no_documents(read):
    files = {
        "paper.tex": "\\begin{document}The ferry Halina leaves at noon.\\end{document}",
        "acl.sty": "\\ProvidesPackage{acl}\\RequirePackage{natbib}",
        "style/acl.bst": "FUNCTION {output.check} { duplicate$ empty$ }",
        "00README.json": '{"sources": [{"filename": "paper.tex"}]}',
        "map.eps": "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 100 100\n",
    }
    report = read(files).report.set_index("document")
    assert list(report.index[report["status"] == "read"]) == ["paper.tex"]
    assert all(report.drop(index="paper.tex")["reason"])


def test_a_class_of_another_program_is_read(read):
    report = read({"Ferry.cls": "public class Ferry { Integer seats = 40; }"}).report
    assert list(report["status"]) == ["read"]
    assert report["remark"][0] == "plain text"


def test_chapters_of_asciidoc_are_sections_of_the_document_that_includes_them(read):
    documents = read(
        {
            "book.adoc": "= Ferries\n\nNine sail.\n\ninclude::lund.adoc[leveloffset=+1]\n\ninclude::low.adoc[]\n",
            "lund.adoc": "= Lund\n\nHalina waits.\n\n== Pier\n\nMud lies there.\n",
            "low.adoc": "= Low water\n\nNoon.\n",
        }
    )
    assert texts_of(documents) == [
        "Nine sail.",
        "Lund\nHalina waits.",
        "Lund > Pier\nMud lies there.",
        "Low water\nNoon.",
    ]
    assert {passage.title for passage in documents.corpus} == {"Ferries"}
