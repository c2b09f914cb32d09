"""Books of Project Gutenberg and Aozora Bunko, and pages of RFCs, without what the library adds."""

from __future__ import annotations


def text_of(documents):
    return "\n".join(passage.text for passage in documents.corpus)


def titles_of(documents):
    return {passage.title for passage in documents.corpus}


GUTENBERG = """The Project Gutenberg eBook of The Ferry

This ebook is for the use of anyone anywhere.

Title: The Ferry
        or, a Crossing

Author: Ida Moor

*** START OF THE PROJECT GUTENBERG EBOOK THE FERRY ***

Halina leaves at noon.

*** END OF THE PROJECT GUTENBERG EBOOK THE FERRY ***

START: FULL LICENSE
"""


def test_the_header_and_licence_of_project_gutenberg_are_left_out_and_counted(read):
    documents = read({"book.txt": GUTENBERG})
    assert text_of(documents) == "Halina leaves at noon."
    assert titles_of(documents) == {"The Ferry or, a Crossing"}
    [report] = documents.report.to_dict("records")
    assert report["lost"] == 0
    assert report["left_out"] == report["words"] - 4
    assert "Gutenberg" in report["remark"]


def test_an_old_book_of_project_gutenberg_begins_below_the_small_print(read):
    text = (
        "***The Project Gutenberg Etext of The Ferry, by Ida Moor***\n\nPlease read this.\n"
        "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*\n\n"
        "Halina leaves at noon.\n\nEnd of The Project Gutenberg Etext of The Ferry\n"
    )
    documents = read({"ferry10.txt": text})
    assert text_of(documents) == "Halina leaves at noon."
    assert titles_of(documents) == {"The Ferry"}


def test_two_books_in_one_file_are_two_documents(read):
    other = GUTENBERG.replace("Ferry", "Pier").replace("Halina leaves", "Lund stands")
    documents = read({"books.txt": GUTENBERG + other})
    assert [passage.text for passage in documents.corpus] == [
        "Halina leaves at noon.",
        "Lund stands at noon.",
    ]
    assert titles_of(documents) == {
        "The Ferry or, a Crossing",
        "The Pier or, a Crossing",
    }
    assert documents.report["lost"].sum() == 0


AOZORA = """渡し船
夏目一郎

-------------------------------------------------------
【テキスト中に現れる記号について】

《》：ルビ
（例）吾輩《わがはい》は猫である
-------------------------------------------------------

［＃８字下げ］一［＃「一」は中見出し］

　吾輩《わがはい》は一番｜獰悪《どうあく》な猫である。※［＃「てへん＋劣」、第3水準1-84-77］ぐ。

底本：「全集1」筑摩書房
入力：柴田
"""


def test_readings_and_notes_of_aozora_bunko_do_not_divide_the_text(read):
    documents = read({"neko.txt": AOZORA.encode("cp932")})
    author, story = documents.corpus
    assert author.text == "夏目一郎"
    assert story.text == "一\n吾輩は一番獰悪な猫である。挘ぐ。"
    assert story.metadata["headings"] == ["一"]
    assert titles_of(documents) == {"渡し船"}
    [report] = documents.report.to_dict("records")
    assert report["lost"] == 0
    assert report["left_out"] > 0
    assert "Aozora" in report["remark"]


def test_a_letter_that_aozora_bunko_only_describes_is_said(read):
    text = AOZORA.replace("第3水準1-84-77", "ページ数-行数")
    assert "described: 1" in read({"neko.txt": text}).report["remark"][0]


def test_heads_and_feet_of_pages_are_left_out_of_an_rfc_without_form_feeds(read):
    page = "RFC 1234                 Ferries               May 1991\n\n"
    foot = "\n\nMoor                                          [Page {}]\n\n"
    text = (
        page
        + "   The ferry leaves\n   when the bell"
        + foot.format(1)
        + page
        + "   rings at noon."
        + foot.format(2)
        + page
        + "   Tickets cost nine euros."
        + foot.format(3)
    )
    documents = read({"rfc1234.txt": text})
    assert text_of(documents).split("\n\n") == [
        "The ferry leaves when the bell",
        "rings at noon.",
        "Tickets cost nine euros.",
    ]
    assert documents.report["lost"].sum() == 0


def test_a_page_of_project_gutenberg_is_read_without_its_header_and_licence(read):
    page = (
        "<title>The Ferry | Project Gutenberg</title><body>"
        '<section class="pg-boilerplate pgheader" id="pg-header" lang="en">'
        '<h2 id="pg-header-heading">The Project Gutenberg eBook of The Ferry</h2>'
        "<div>This ebook is for anyone.</div></section>"
        "<h1>THE FERRY</h1><p>Halina leaves at noon, when the bell of the pier rings twice.</p>"
        "<p>Lund collects the fares on board, nine euros for each of the passengers.</p>"
        '<section class="pg-boilerplate" id="pg-footer"><div>START: FULL LICENSE</div></section>'
        "</body>"
    )
    documents = read({"pg1.html": page})
    assert "Halina leaves" in text_of(documents)
    assert "ebook" not in text_of(documents)
    assert "LICENSE" not in text_of(documents)
    assert documents.report["left_out"][0] > 0
