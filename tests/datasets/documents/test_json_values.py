"""Values in JSON and tables: lines in a file `.json`, Markdown, HTML, vectors and files in base64."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from file_makers import passages_of

LONG = "QUJD" * 60


def test_lines_of_objects_in_a_file_of_json_are_records(read):
    lines = [
        {"_id": {"$oid": "65a1"}, "title": "Kiln", "content": "It cracked."},
        {"_id": {"$oid": "65a2"}, "title": "Glaze", "content": "Ash runs."},
    ]
    documents = read({"posts.json": "\n".join(map(json.dumps, lines))})
    assert passages_of(documents) == {
        "posts.json#65a1": ("Kiln", "It cracked."),
        "posts.json#65a2": ("Glaze", "Ash runs."),
    }


def test_markdown_in_a_record_is_read_as_such_and_its_unshown_words_are_left_out(read):
    text = "# Tides\n\nAt [Ribe](https://x.example/a) at noon.\n\n<!-- ad slot -->\n"
    pages = [
        {"markdown": text, "metadata": {"title": "Tides | Coast"}},
        {"markdown": "# not a heading\nBoots: # 7", "metadata": {"title": "Boots"}},
    ]
    documents = read({"crawl.jsonl": "\n".join(map(json.dumps, pages))})
    assert passages_of(documents) == {
        "crawl.jsonl#0": ("Tides | Coast", "Tides\nAt Ribe at noon."),
        "crawl.jsonl#1": ("Boots", "# not a heading\nBoots: # 7"),
    }
    assert documents.report.loc[0, "lost"] == 0


def test_html_vectors_and_files_in_base64_among_values_are_no_words(read):
    entry = {
        "text_of_note": "<div><p>Sprained <b>ankle</b> on the left side.</p></div>",
        "scan": LONG,
        "scores": [1, 2],
    }
    documents = read({"bundle.json": json.dumps({"entry": entry})})
    [passage] = documents.corpus
    assert "entry text_of_note: Sprained ankle on the left side." in passage.text
    assert "QUJD" not in passage.text
    assert "scores: 2" in passage.text
    assert documents.report.loc[0, "lost"] == 0


def test_a_column_of_vectors_is_named_in_the_remark(read, tmp_path):
    frame = pd.DataFrame({"advice": ["Oil the hinge."], "emb": [[0.5] * 64]})
    frame.to_parquet(tmp_path / "a.parquet")
    documents = read({"a.parquet": (tmp_path / "a.parquet").read_bytes()})
    [passage] = documents.corpus
    assert passage.text == "advice: Oil the hinge."
    assert "emb" in documents.report.loc[0, "remark"]


def test_the_places_of_a_word_are_all_read(read):
    abstract = {"the": [0, 3], "sea": [1], "feeds": [2], "marsh": [4]}
    work = {"title": "Tidal flats", "abstract_inverted_index": abstract}
    documents = read({"works.json": json.dumps([work, {"title": "Dunes"}])})
    assert "the sea feeds the marsh" in documents.corpus[0].text


def test_lists_with_a_gap_are_no_places_of_words(read):
    notes = {"text": {"shares": [1, None]}, "note": "Two halves of a harbour."}
    documents = read({"notes.json": json.dumps([notes])})
    assert "Two halves of a harbour." in documents.corpus[0].text


def paragraph(*nodes):
    return {"type": "paragraph", "content": list(nodes)}


def text_node(text):
    return {"type": "text", "text": text, "marks": [{"type": "strong"}]}


def cell(text):
    return {"type": "tableCell", "content": [paragraph(text_node(text))]}


MENTION = {"type": "mention", "attrs": {"id": "712020:aa", "text": "@Ida Berg"}}
TREE = {
    "type": "doc",
    "content": [
        paragraph(MENTION, text_node(" sails on "), {"type": "hardBreak"}),
        paragraph({"type": "date", "attrs": {"timestamp": "1790812800000"}}),
        paragraph({"type": "inlineCard", "attrs": {"url": "https://example.org/7"}}),
        {"type": "tableRow", "content": [cell("Ferry"), cell("Nine crowns")]},
        {
            "type": "mediaSingle",
            "content": [{"type": "media", "attrs": {"id": "9c1d"}}],
        },
    ],
}
"""1,790,812,800 seconds after 1970 begins 1 October 2026."""


def test_a_document_of_an_editor_is_read_as_it_is_shown(read):
    [passage] = read({"a.json": json.dumps(TREE)}).corpus
    assert passage.text == (
        "@Ida Berg sails on\n\n2026-10-01\n\nhttps://example.org/7\n\nFerry | Nine crowns"
    )


@pytest.mark.parametrize("description", [TREE, "@Ida Berg sails on", None])
def test_an_issue_of_jira_has_its_summary_as_title_and_its_key_as_id(read, description):
    person = {"accountId": "712020:aa", "displayName": "Ida Berg", "timeZone": "Oslo"}
    comment = {"id": "1", "author": person, "body": "The ferry waits for us."}
    fields = {
        "summary": "Ferry is late",
        "description": description,
        "customfield_10050": "Nobody waits an hour.",
        "creator": person,
        "comment": {"comments": [comment]},
    }
    answer = {"issues": [{"id": "20812", "key": "SHOP-8", "fields": fields}]}
    documents = read({"a.json": json.dumps(answer)})
    issue, reply = documents.corpus
    assert issue.id == "a.json#SHOP-8"
    assert issue.title == reply.title == "Ferry is late"
    first_line = "@Ida Berg sails on" if description else "Ferry is late"
    assert issue.text.startswith(first_line)
    assert issue.text.endswith("Nobody waits an hour.")
    assert issue.metadata["creator"] == reply.metadata["author"] == "Ida Berg"
    assert reply.text == "The ferry waits for us."


def test_links_of_an_interface_are_no_records_and_a_sender_is_a_name(read):
    sender = {"application": None, "user": {"id": "8ea0", "displayName": "Ida Berg"}}
    page = {
        "id": "7",
        "title": "Ferries",
        "body": {
            "storage": {
                "value": "<p>Halina sails.</p>",
                "representation": "storage",
                "_expandable": {"content": "/rest/api/content/7"},
            }
        },
        "_links": {"webui": "/display/OPS", "content": "/rest/api/content"},
    }
    body = {"contentType": "html", "content": "<p>Ida waits at noon.</p>"}
    message = {"id": "8", "importance": "normal", "from": sender, "body": body}
    message["subject"] = "Ferries"
    pages = read(
        {
            "a.json": json.dumps({"results": [page]}),
            "b.json": json.dumps({"value": [message]}),
        }
    )
    assert [(p.id, p.title, p.text) for p in pages.corpus] == [
        ("a.json#7", "Ferries", "Halina sails."),
        ("b.json#8", "Ferries", "Ida waits at noon."),
    ]
    assert pages.corpus[1].metadata["from"] == "Ida Berg"


def test_an_object_with_a_body_and_other_fields_keeps_these(read):
    crawled = {"title": "Ferries", "contentType": "text/plain", "content": "Ida waits."}
    body = {"value": "Halina sails.", "representation": "plain"}
    space = {"title": "Harbour", "text": "Lund has a port.", "description": body}
    documents = read({"a.json": json.dumps([crawled]), "b.json": json.dumps([space])})
    pump = {"displayName": "Pump", "text": "It drains the hull."}
    documents = read({"c.json": json.dumps([{"id": "1", "part": pump}])})
    titles = {passage.text: passage.title for passage in documents.corpus}
    assert "It drains the hull." in titles
    assert titles["Ida waits."] == "Ferries"
    assert titles["Lund has a port."] == "Harbour"


@pytest.mark.parametrize("description", [{"raw": "Nobody waits."}, ["Nobody waits."]])
def test_a_description_that_is_no_text_makes_no_issue(read, description):
    fields = {"summary": "Ferry is late", "description": description}
    note = {"key": "A-1", "fields": fields, "text": "The harbour is closed today."}
    documents = read({"a.json": json.dumps([note, note | {"key": "A-2"}])})
    assert not documents.report["reason"].str.contains("Error").any()
    assert "The harbour is closed today." in documents.corpus[0].text


@pytest.mark.parametrize("milliseconds", ["1790985600000", "9" * 30])
def test_a_date_of_a_tree_that_no_calendar_has_is_no_text(read, milliseconds):
    date = {"type": "date", "attrs": {"timestamp": milliseconds}}
    words = {"type": "text", "text": "The harbour is closed until "}
    paragraph = {"type": "paragraph", "content": [words, date]}
    text = {"type": "doc", "content": [paragraph]}
    documents = read({"a.json": json.dumps([{"title": "One", "text": text}])})
    has_date = "2026-10-03" in documents.corpus[0].text
    assert has_date == (len(milliseconds) < 14)
