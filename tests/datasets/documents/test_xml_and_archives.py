"""XML of every kind, files packed in others, and names that files have without an ending."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Mapping
from io import BytesIO
from zipfile import ZipFile

import pytest
from file_makers import passages_of


def text_of(documents):
    return "\n".join(passage.text for passage in documents.corpus)


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    stream = BytesIO()
    with ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


JATS = """<?xml version="1.0"?><!DOCTYPE article PUBLIC "-//NLM//DTD JATS v1.2//EN" "a.dtd">
<article><front><article-meta><title-group><article-title>Moss on <italic>granite</italic> roofs
</article-title></title-group><abstract><p>Moss grows slowly.</p></abstract></article-meta></front>
<body><sec><title>Roofs</title><p>Roofs hold water &amp; spores.</p></sec></body></article>"""
DOCBOOK = """<article xmlns="http://docbook.org/ns/docbook"><title>Moss on granite roofs</title>
<section><title>Roofs</title><para>Roofs hold <emphasis>water</emphasis> &amp; spores.</para>
</section></article>"""
TEI = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><title>Moss on granite roofs</title></teiHeader>
<text><body><div><head>Roofs</head><p>Roofs hold wa<lb break="no"/>ter<lb/>&amp; <hi>sp</hi>ores.</p></div>
</body></text></TEI>"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.xml", JATS),
        ("a.nxml", JATS),
        ("a.xml", DOCBOOK),
        ("a.dbk", DOCBOOK),
        ("a.xml", TEI),
    ],
)
def test_xml_is_read_by_its_root_element(read, name, text):
    documents = read({name: text})
    assert {passage.title for passage in documents.corpus} == {"Moss on granite roofs"}
    assert documents.corpus[-1].text == "Roofs\nRoofs hold water & spores."
    assert documents.report["lost"].sum() == 0


WIKI = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/"><page><title>Bowline</title>
<revision><text>An old text.</text></revision><revision><text>The '''bowline''' is a [[loop knot|loop]].

== Tying ==
* Make an eye</text></revision></page>
<page><title>King of knots</title><redirect title="Bowline"/><revision><text>#REDIRECT [[Bowline]]</text>
</revision></page><page><title>Sheet bend</title><revision><text>It joins two ropes.</text></revision></page>
</mediawiki>"""


def test_an_export_of_a_wiki_has_a_document_for_each_page_by_its_last_version(read):
    corpus = read({"wiki.xml": WIKI}).corpus
    assert [(passage.title, passage.text) for passage in corpus] == [
        ("Bowline", "The bowline is a loop."),
        ("Bowline", "Tying\nMake an eye"),
        ("Sheet bend", "It joins two ropes."),
    ]


def test_an_export_of_a_wiki_has_its_articles_without_categories_in_its_language(read):
    names = {0: "", 1: "Discussion", 6: "Fichier", 10: "Modèle", 14: "Catégorie"}
    namespaces = "".join(
        f'<namespace key="{key}">{name}</namespace>'
        for key, name in {**names, 100: "Portail"}.items()
    )
    text = (
        "Le phare est haut.\n\n[[Fichier:P.jpg|vignette|Vu du port.]]\n\n"
        "Voir [[:Catégorie:Phare]].\n\n[[Catégorie:Phare|P]]\n[[en:Lighthouse]]"
    )
    pages = "".join(
        f"<page><title>{title}</title><ns>{ns}</ns><revision><text>{text}</text></revision></page>"
        for title, ns, text in [
            ("Discussion:Phare", 1, "Un avis."),
            ("Phare", 0, text),
            ("Modèle:Phare", 10, "Un modèle."),
            ("Portail:Mer", 100, "Tout sur la mer."),
        ]
    )
    wiki = f"<mediawiki><siteinfo><namespaces>{namespaces}</namespaces></siteinfo>{pages}</mediawiki>"
    documents = read({"wiki.xml": wiki})
    phare, mer = documents.corpus
    assert (phare.title, mer.title) == ("Phare", "Portail:Mer")
    assert phare.text.startswith("Le phare est haut.")
    assert phare.text.split("\n\n")[1] == "Vu du port."
    assert phare.text.endswith("Catégorie:Phare.")
    row = documents.report.loc[0]
    assert "1 of Discussion, 1 of Modèle" in row["remark"]
    assert row["lost"] == 0


def test_a_feed_and_a_notebook_of_notes_show_the_pages_in_their_text(read):
    feed = (
        "<rss><channel><title>Baking</title><item><title>Rye</title><encoded><![CDATA[<!-- wp:p -->"
        "<p>Feed the <b>rye</b> starter twice.</p>]]></encoded></item></channel></rss>"
    )
    note = (
        "<en-export><note><title>Stove</title><content><![CDATA[<en-note><div>Order a grate.</div>"
        '</en-note>]]></content><data encoding="base64">iVBORw0KGgo=</data></note></en-export>'
    )
    documents = read({"feed.xml": feed, "notes.enex": note})
    assert [(passage.title, passage.text) for passage in documents.corpus] == [
        ("Rye", "Feed the rye starter twice."),
        ("Stove", "Order a grate."),
    ]
    assert documents.report["lost"].tolist() == [0, 0]


def test_flat_opendocument_is_read_as_the_packed_file_is(read):
    office = "urn:oasis:names:tc:opendocument:xmlns"
    text = (
        f'<office:document xmlns:office="{office}:office:1.0" xmlns:text="{office}:text:1.0"><office:body>'
        '<office:text><text:h text:outline-level="1">Ferry</text:h><text:p>Halina<text:s/>sails.</text:p>'
        "</office:text></office:body></office:document>"
    )
    [passage] = read({"a.fodt": text}).corpus
    assert (passage.title, passage.text) == ("Ferry", "Halina sails.")


def test_settings_and_damaged_xml_are_refused_by_name(read):
    files = {
        "a.md": "Halina sails.\n",
        "pom.xml": "<project><name>ferry</name><version>1.2</version></project>",
        "torn.xml": "<a><b>Halina sails at noon today.</b>",
    }
    report = read(files).report.set_index("document")
    assert report["status"].to_dict() == {
        "a.md": "read",
        "pom.xml": "skipped",
        "torn.xml": "skipped",
    }
    assert "settings" in report.loc["pom.xml", "reason"]
    assert "valid XML" in report.loc["torn.xml", "reason"]


def test_an_archive_is_read_as_a_folder_is(read):
    inner = zipped({"deep.txt": "Ida Berg waits."})
    files = {
        "Team/ferry.md": "# Ferry\n\nHalina sails. See [fares](fares.md).\n",
        "Team/fares.md": "# Fares\n\nNine crowns.\n",
        "Team/.hidden.md": "Password.\n",
        "__MACOSX/Team/._ferry.md": b"\0\1",
        "part.zip": inner,
    }
    documents = read({"wiki.zip": zipped(files)})
    assert {passage.id: passage.text for passage in documents.corpus} == {
        "wiki.zip/Team/fares.md": "Nine crowns.",
        "wiki.zip/Team/ferry.md": "Halina sails. See fares.",
        "wiki.zip/part.zip/deep.txt": "Ida Berg waits.",
    }
    [links] = [p.metadata["links"] for p in documents.corpus if p.title == "Ferry"]
    assert "wiki.zip/Team/fares.md" in str(links)


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("cp932", "設備/点検手順.txt"),
        ("cp932", "部品表.txt"),  # a byte of 表 is that of "\\"
        ("cp866", "Документы/Отчёт за март.txt"),
        ("gbk", "报告/季度总结.txt"),
        ("cp852", "Zażółć gęślą.txt"),
        ("cp850", "Größe.txt"),
        ("utf-8", "Größe.txt"),
    ],
)
def test_names_in_an_archive_are_read_in_the_encoding_of_the_system_that_packed_it(
    read, encoding, name
):
    data = name.encode(encoding)
    placeholder = "x" * len(data)
    packed = zipped({placeholder: "Halina sails."})
    packed = packed.replace(placeholder.encode(), data)
    [passage] = read({"a.zip": packed}).corpus
    assert passage.id == f"a.zip/{name}"


def test_a_damaged_or_empty_archive_and_a_part_of_another_kind_are_skipped_with_a_reason(
    read,
):
    files = {
        "a.md": "Halina sails.\n",
        "torn.zip": b"PK\3\4torn",
        "empty.zip": zipped({}),
        "parts.zip": zipped({"a.png": b"\x89PNG", "b.csv": "id,text\n1,Lund waits.\n"}),
    }
    report = read(files).report.set_index("document")
    skipped = report.index[report["status"] == "skipped"].tolist()
    assert skipped == ["empty.zip", "parts.zip/a.png", "torn.zip"]
    assert all(report.loc[skipped, "reason"])


def test_a_compressed_file_is_read_by_the_ending_before_it(read):
    page = '.\\" a comment\n.TH FERRY 1\n.SH NAME\nferry \\- sails\n.SH OPTIONS\n\\fBNine\\fP crowns.\n'
    files = {
        "ferry.1.gz": gzip.compress(page.encode()),
        "b.csv.bz2": bz2.compress(b"id,text\n1,Lund waits.\n"),
        "c.txt.xz": lzma.compress(b"Noon."),
        "torn.txt.gz": gzip.compress(b"Ida Berg waits." * 20)[:20],
    }
    documents = read(files)
    assert [passage.text for passage in documents.corpus] == [
        "Lund waits.",
        "Noon.",
        "NAME\nferry - sails",
        "OPTIONS\nNine crowns.",
    ]
    assert (
        documents.report.set_index("document").loc["torn.txt.gz", "status"] == "skipped"
    )


def test_what_is_text_is_read_whatever_its_ending_and_other_bytes_are_refused(read):
    documents = read(
        {
            "README": "Halina sails.",
            "harbour.sql": "-- Ships that wait at noon.\nSELECT name FROM ships;\n",
            "page.html?id=3": "<p>Lund waits.</p>",
            "program.bin": b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x03\x00>\x00",
            "saved": "<!DOCTYPE html><title>Saved</title><p>The bell rings.</p>",
            "syslog.1": "Nov 27 kernel: up\n",
            "task.dita": "<?xml version='1.0'?><task><title>Moor</title><cmd>Tie the rope well.</cmd></task>",
        }
    )
    assert text_of(documents).split("\n") == [
        "Halina sails.",
        "-- Ships that wait at noon.",
        "SELECT name FROM ships;",
        "Lund waits.",
        "The bell rings.",
        "Nov 27 kernel: up",
        "Tie the rope well.",
    ]
    report = documents.report.set_index("document")
    assert report.loc["harbour.sql", "remark"] == "plain text"
    assert "no text" in report.loc["program.bin", "reason"]


def test_programs_and_styles_of_pages_are_no_documents(read):
    files = {"a.html": "<p>Lund waits.</p>", "a.js": "alert('now')\n"}
    assert read(files).report["status"].tolist() == ["read", "skipped"]


def test_programs_and_styles_of_pages_in_an_archive_are_no_documents(read):
    pages = {"PLAT/a.html": "<p>Lund waits.</p>", "styles/site.css": "p {color: red}\n"}
    files = {"site.zip": zipped(pages), "b.zip": zipped({"b.css": "p {margin: 0}\n"})}
    status = read(files).report.set_index("document")["status"]
    assert status.to_dict() == {
        "b.zip/b.css": "read",
        "site.zip/PLAT/a.html": "read",
        "site.zip/styles/site.css": "skipped",
    }


def test_articles_and_rows_of_an_export_are_documents_with_titles_and_texts_of_attributes(
    read,
):
    pubmed = (
        "<Set><Article><ArticleTitle>Honey on burns.</ArticleTitle><Text>Honey was used in Egypt.</Text></Article>"
        "<Article><ArticleTitle>Wax in lamps.</ArticleTitle><Text>Wax burns clean.</Text></Article></Set>"
    )
    rows = (
        '<posts><row Id="1" Title="How is a scythe sharpened?" Body="&lt;p&gt;Mine is dull, after one day.&lt;/p&gt;"/>'
        '<row Id="2" Title="Why is tar sticky?" Body="&lt;p&gt;Mine sticks to ropes.&lt;/p&gt;"/></posts>'
    )
    documents = read({"a.xml": pubmed, "b.xml": rows})
    assert [(passage.title, passage.text) for passage in documents.corpus] == [
        ("Honey on burns.", "Honey was used in Egypt."),
        ("Wax in lamps.", "Wax burns clean."),
        ("How is a scythe sharpened?", "Mine is dull, after one day."),
        ("Why is tar sticky?", "Mine sticks to ropes."),
    ]
    assert documents.report["lost"].tolist() == [0, 0]


def test_dates_ids_and_states_of_records_with_html_are_metadata(read):
    posts = """<rss><channel><title>Baking</title>
<item><title>Rye</title><pubDate>Sat, 01 Mar 2025 10:00:00 +0000</pubDate><status>publish</status>
<encoded><![CDATA[<p>Feed the [b] starter.</p>[caption id="3"]A jar[/caption]]]></encoded>
<comment><author>Bo</author><content>How long does the starter live?</content></comment></item>
<item><title>Wheat</title><status>draft</status><encoded>Short.</encoded></item>
<item><title>jar.jpg</title><status>inherit</status><encoded></encoded></item></channel></rss>"""
    note = (
        "<en-export><note><title>Boiler</title><created>20250301</created><content>"
        '<![CDATA[<?xml version="1.0"?><en-note><div>Close the valve.</div></en-note>]]></content>'
        '<resource><recognition><![CDATA[<?xml version="1.0"?><t>SERVICE</t>]]></recognition></resource>'
        "</note></en-export>"
    )
    documents = read({"a.xml": posts, "b.enex": note})
    assert [(p.title, p.text) for p in documents.corpus] == [
        ("Rye", "Feed the [b] starter.\n\nA jar\n\nHow long does the starter live?"),
        ("Wheat", "Short."),
        ("Boiler", "Close the valve."),
    ]
    assert documents.corpus[0].metadata["status"] == "publish"
    assert "records without a text, left out: 1" in documents.report.loc[0, "remark"]
    assert list(documents.report["lost"]) == [0, 0]


def test_of_a_header_the_abstract_is_read_and_captions_and_references_are_no_sections(
    read,
):
    tei = (
        "<TEI><teiHeader><titleStmt><title>Heat Pumps</title></titleStmt><appInfo>A machine wrote this</appInfo>"
        "<abstract><p>Old houses lose heat.</p></abstract></teiHeader><text><body><div><head>Results</head>"
        "<p>The pumps run at fifty degrees in every one of the sixty old houses of Bergen.</p></div>"
        "<figure><head>Table 1</head><table><row><cell>Before 1900</cell><cell>twenty</cell></row></table></figure>"
        "</body><back><div><div><head>Thanks</head><p>We thank the owners.</p></div></div><analytic><title>Stock"
        "</title><name><first>Ola</first><last>Lie</last></name></analytic></back></text></TEI>"
    )
    documents = read({"a.tei.xml": tei})
    assert {passage.title for passage in documents.corpus} == {"Heat Pumps"}
    assert [passage.text for passage in documents.corpus] == [
        "Old houses lose heat.",
        "Results\nThe pumps run at fifty degrees in every one of the sixty old houses of Bergen.\n\nTable 1\n\n"
        "Before 1900 | twenty",
        "Thanks\nWe thank the owners.\n\nStock\n\nOla Lie",
    ]
    report = documents.report.loc[0]
    assert report["lost"] == 0
    assert report["left_out"] >= len("A machine wrote this".split())


def test_an_article_of_a_law_has_its_number_and_a_topic_of_dita_its_own_title(read):
    law = (
        "<act><preface><docTitle>On hot springs</docTitle></preface><body><chapter><num>I</num><heading>Fees"
        "</heading><article><num>Art. 2</num><heading>Rent</heading><p>The owner pays three thousand each year.</p>"
        "</article></chapter></body></act>"
    )
    dita = (
        "<?xml version='1.0'?><reference><title>Errors</title><refbody><section><title>Codes</title><simpletable>"
        "<strow><stentry>E7</stentry><stentry>The pump of the kettle runs dry.</stentry></strow></simpletable>"
        "</section></refbody>"
        "</reference>"
    )
    documents = read({"a.xml": law, "b.dita": dita, "b.xml": dita})
    assert [(passage.title, passage.text) for passage in documents.corpus] == [
        (
            "On hot springs",
            "I Fees > Art. 2 Rent\nOn hot springs\n\nThe owner pays three thousand each year.",
        ),
        ("Errors", "Codes\nE7 | The pump of the kettle runs dry."),
    ]


def test_a_licence_that_all_rows_of_a_dump_repeat_is_left_out_and_counted(read):
    rows = "".join(
        f'<row Body="&lt;p&gt;Chisel number {number} is blunt.&lt;/p&gt;" License="CC BY-SA 4.0" />'
        for number in range(4)
    )
    documents = read({"Posts.xml": f"<posts>{rows}</posts>"})
    assert [passage.text for passage in documents.corpus] == [
        f"Chisel number {number} is blunt." for number in range(4)
    ]
    assert documents.report.loc[0, "left_out"] == 4 * len("CC BY SA 4 0".split())


@pytest.mark.parametrize("name", ["notes.tar", "notes.tar.gz", "notes.tgz"])
def test_a_tar_archive_is_read_as_a_folder_is(read, name):
    data = io.BytesIO()
    mode = "w" if name.endswith(".tar") else "w:gz"
    with tarfile.open(fileobj=data, mode=mode) as tar:
        for file, text in (("b.md", b"Lund waits."), ("a.txt", b"Halina sails.")):
            entry = tarfile.TarInfo(f"notes/{file}")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text))
    files = {name: data.getvalue(), "torn.tar": b"torn"}
    documents = read(files)
    assert [passage.text for passage in documents.corpus] == [
        "Halina sails.",
        "Lund waits.",
    ]
    report = documents.report.set_index("document")
    assert "tar archive" in report.loc["torn.tar", "reason"]


def test_entries_of_a_feed_are_documents_and_what_stands_around_them_is_one(read):
    feed = (
        "<rss><channel><title>Harbour</title><description>All that happens at the pier.</description>"
        "<item><title>Tides</title><description>Noon.</description></item>"
        "<item><title>Mud</title><description>Low.</description></item></channel></rss>"
    )
    assert passages_of(read({"a.xml": feed})) == {
        "a.xml": ("Harbour", "All that happens at the pier."),
        "a.xml#0": ("Tides", "Noon."),
        "a.xml#1": ("Mud", "Low."),
    }
