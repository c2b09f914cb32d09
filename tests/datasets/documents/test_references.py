"""Lists of references: BibTeX, and formats with a tag on each line."""

from __future__ import annotations

import pytest


def passages_of(documents):
    return [(passage.title, passage.text) for passage in documents.corpus]


def test_titles_keep_their_capitals_and_notes_are_read(read):
    bibtex = (
        "@article{ a1,\n  title = {Cores of the North Sea: A Survey},\n  langid = {english},\n"
        "  annotation = {Read it again.}\n}\n@comment{jabref-meta: x;}\n"
    )
    documents = read({"a.bib": bibtex})
    assert passages_of(documents) == [
        ("Cores of the North Sea: A Survey", "Read it again.")
    ]


RIS = """TY  - BOOK\r
T1  - Pruning by hand\r
A1  - Lemos, Eva\r
N2  - How to prune an old tree.\r
SN  - 1471-2334\r
ER  - \r
"""
PUBMED = """
PMID- 38
OWN - NLM
TI  - Pruning by
      hand
FAU - Lemos, Eva
AU  - Lemos E
AB  - How to prune
      an old tree.
"""
WEB_OF_SCIENCE = """FN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Lemos, E
AF Lemos, Eva
TI Pruning by
   hand
AB How to prune
   an old tree.
TC 3
ER

EF
"""
ENDNOTE = """%0 Book
%T Pruning by hand
%A Lemos, Eva
%X How to prune an old tree.
%@ 1471-2334
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ris", RIS),
        ("a.nbib", PUBMED),
        ("savedrecs.txt", WEB_OF_SCIENCE),
        ("a.enw", ENDNOTE),
    ],
)
def test_a_reference_has_its_title_author_and_abstract_and_no_tags(read, name, text):
    documents = read({name: text})
    assert passages_of(documents) == [
        ("Pruning by hand", "Eva Lemos\n\nHow to prune an old tree.")
    ]
    report = documents.report.loc[0]
    assert report["left_out"] > 0
    assert report["lost"] == 0


def test_each_reference_of_a_list_is_a_document(read):
    documents = read({"a.ris": RIS + "\r\n" + RIS.replace("Pruning", "Sawing")})
    assert [passage.title for passage in documents.corpus] == [
        "Pruning by hand",
        "Sawing by hand",
    ]


def test_a_list_without_tags_is_not_read_and_says_why(read):
    report = read({"a.ris": "no tag at all\n", "b.md": "Noon."}).report
    assert report.loc[0, "status"] == "skipped"
    assert "tag" in report.loc[0, "reason"]
