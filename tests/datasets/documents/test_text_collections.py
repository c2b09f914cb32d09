"""Collections in one text file, of SMART, NPL and TREC: a document for each record."""

from __future__ import annotations

from file_makers import passages_of

SMART = """.I 1
.T
the ferry
at noon .
.A
moor,i.
.B
j. ferries 25, 1958, 324.
.W
the ferry
at noon .
  halina leaves when the bell rings .
.X
1	5	2
.I 12
.W
lund collects the fares .
"""


def test_a_record_of_smart_is_a_document_with_its_title_once(read):
    documents = read({"cran.all.1400": SMART})
    first, second = documents.corpus
    assert first.doc_id == "cran.all.1400#1"
    assert first.title == "the ferry at noon ."
    assert first.text.count("the ferry") + first.title.count("the ferry") <= 2
    assert first.text.endswith("halina leaves when the bell rings .")
    assert second.doc_id == "cran.all.1400#12"
    assert second.text == "lund collects the fares ."
    [report] = documents.report.to_dict("records")
    # The title above the text, and three numbers.
    assert (report["left_out"], report["lost"]) == (7, 0)


def test_a_record_of_npl_is_a_document(read):
    text = "1\nhalina leaves\nat noon\n   /\n2\nlund collects fares\n   /\n"
    documents = read({"doc-text": text})
    assert [(p.doc_id, p.text) for p in documents.corpus] == [
        ("doc-text#1", "halina leaves\nat noon"),
        ("doc-text#2", "lund collects fares"),
    ]


def test_queries_beside_a_collection_are_no_documents(read):
    files = {
        "cran.all.1400": SMART,
        "cran.qry": ".I 001\n.W\nwhen does halina leave .\n",
        "cranqrel": "1 1 2\n",
        "other/trip.rel": "The ferry.",
    }
    report = read(files).report.set_index("document")
    assert list(report.index[report["status"] == "read"]) == [
        "cran.all.1400",
        "other/trip.rel",
    ]
    assert all(report.loc[["cran.qry", "cranqrel"], "reason"])


def test_documents_of_a_collection_of_trec_have_their_numbers(read):
    trec = (
        "<DOC>\n<DOCNO> FT-1 </DOCNO>\n<HEADLINE>Tides</HEADLINE>\n<TEXT>\nNoon & night.\n</TEXT>\n</DOC>\n"
        "<DOC>\n<DOCNO>FT-2</DOCNO>\n<TEXT>\n<P>\nMud.\n</TEXT>\n</DOC>\n"
    )
    wiki = '<doc id="12" url="u" title="Pier">\nPier\n\nLund waits.\n</doc>\n'
    assert passages_of(read({"a.txt": trec, "wiki_00": wiki})) == {
        "a.txt#FT-1": ("Tides", "Noon & night."),
        "a.txt#FT-2": ("a", "Mud."),
        "wiki_00#12": ("Pier", "Lund waits."),
    }
