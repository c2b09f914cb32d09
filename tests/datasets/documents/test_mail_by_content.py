"""Mail in files without its ending: news articles, mailboxes and archives of lists."""

from __future__ import annotations

import pytest

ARTICLE = (
    "From: moor@example.org (Ida Moor)\nSubject: WHAT ferry is this!?\n"
    "Nntp-Posting-Host: rac3.example.org\nLines: 2\n\nHalina leaves at noon.\n"
)
ANSWER = (
    "Xref: example rec.ferries:2\nFrom: lund@example.org\nSubject: Re: WHAT ferry is this!?\n"
    "Lines: 2\n\n> Halina leaves at noon.\n\nLund collects the fares.\n"
)


def titles_of(documents):
    return {passage.doc_id: passage.title for passage in documents.corpus}


@pytest.mark.parametrize(
    "name", ["rec.autos/102994", "inbox/1.", "cur/17.M1P2.host:2,S", "letter.txt"]
)
def test_a_file_that_begins_with_headers_of_mail_is_mail(read, name):
    documents = read({name: ARTICLE})
    [passage] = documents.corpus
    assert passage.title == "WHAT ferry is this!?"
    assert "Halina leaves at noon." in passage.text
    assert "Ida Moor" in passage.text
    assert "Lines" not in passage.text
    assert "rac3" not in passage.text


def test_an_answer_in_a_file_with_a_number_for_a_name_is_read(read):
    documents = read({"rec.ferries/1": ARTICLE, "rec.ferries/2": ANSWER})
    assert titles_of(documents) == {
        "rec.ferries/1": "WHAT ferry is this!?",
        "rec.ferries/2": "Re: WHAT ferry is this!?",
    }
    assert documents.report["lost"].sum() == 0


@pytest.mark.parametrize("name", ["Inbox", "2004-June.txt"])
def test_an_archive_of_a_list_has_a_document_for_each_message(read, name):
    line = "From moor at example.org  Fri Jun  4 12:00:00 2004\n"
    documents = read({name: f"{line}{ARTICLE}\n{line}{ANSWER}"})
    assert list(titles_of(documents)) == [f"{name}#0", f"{name}#1"]


@pytest.mark.parametrize(
    "text",
    [
        "From: noon to six\n\nSubject: ferries\n",
        "From the pier\nHalina leaves.\n",
        "To: all\nFrom: Lund\nDate: 4 June\nRe: fares\n\nThey rise.\n",
        "Name: Halina\nDate: 4 June\n\nFrom: Lund\n",
    ],
)
def test_a_text_without_a_header_of_mail_is_text(read, text):
    [passage] = read({"notes.txt": text}).corpus
    assert " ".join(passage.text.split()) == " ".join(text.split())


@pytest.mark.parametrize(
    ("subject", "encoding"),
    [
        ("عيب مصنعي في الطاولة", "windows-1256"),
        ("Ошибка в отчёте", "koi8-r"),
        ("Grüße von Bord", "utf-8"),
    ],
)
def test_letters_of_a_header_are_in_the_encoding_of_the_body(read, subject, encoding):
    header = f'Subject: {subject}\nContent-Type: text/plain; charset="{encoding}"\n\n'
    documents = read({"a.eml": (header + "Noon.\n").encode(encoding)})
    assert list(titles_of(documents).values()) == [subject]


def test_texts_that_come_with_a_message_are_read_and_pictures_are_named(read):
    parts = (
        "From: i@example.org\nSubject: Pier\nMIME-Version: 1.0\n"
        'Content-Type: multipart/mixed; boundary="B"\n\n--B\nContent-Type: text/plain\n\nHalina sails.\n'
        "--B\nContent-Type: text/plain\nContent-Disposition: attachment; filename=fares.txt\n\nNine crowns.\n"
        "--B\nContent-Type: image/png\nContent-Disposition: attachment; filename=map.png\n\nx\n--B--\n"
    )
    documents = read({"a.eml": parts})
    assert "Nine crowns." in documents.corpus[0].text
    assert "map.png" in documents.report.loc[0, "remark"]
