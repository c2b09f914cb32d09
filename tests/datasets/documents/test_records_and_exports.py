"""Records at any depth of JSON, tables of spreadsheets, and exports of chats, mail and notes."""

from __future__ import annotations

import io
import json
import tarfile
from datetime import datetime
from email.message import EmailMessage

import openpyxl
import pytest
from file_makers import pdf_of


def passages_of(documents):
    return {passage.id: (passage.title, passage.text) for passage in documents.corpus}


def test_contexts_of_a_question_set_are_its_documents(read):
    paragraphs = [
        {"context": "Halina sails at noon.", "qas": [{"question": "Who sails?"}]},
        {"context": "Lund waits.", "qas": []},
    ]
    squad = {
        "version": "v2.0",
        "data": [{"title": "Ferries", "paragraphs": paragraphs}],
    }
    documents = read({"train.json": json.dumps(squad)})
    assert passages_of(documents) == {
        "train.json#0": ("Ferries", "Halina sails at noon."),
        "train.json#1": ("Ferries", "Lund waits."),
    }
    assert documents.report.loc[0, "lost"] == 0


def test_a_message_in_pieces_is_one_text_and_its_plain_copy_is_not_read_again(read):
    pieces = ["Halina ", {"type": "bold", "text": "sails"}, " at noon."]
    message = {"id": 7, "text": pieces, "entities": [{"type": "bold", "text": "sails"}]}
    chat = {"name": "Harbour", "messages": [message, {"id": 8, "text": ""}]}
    documents = read({"result.json": json.dumps(chat)})
    assert passages_of(documents) == {
        "result.json#7": ("Harbour", "Halina sails at noon.")
    }


def test_replies_within_a_record_are_records_and_prose_beside_records_is_one(read):
    thread = {"id": 1, "body": "Who sails?", "replies": [{"id": 2, "body": "Lund."}]}
    report = {
        "title": "Tides",
        "summary": "The tide turns at noon today.",
        "sections": [{"heading": "Low", "text": "Mud."}],
    }
    documents = read({"a.json": json.dumps([thread]), "b.json": json.dumps(report)})
    assert passages_of(documents) == {
        "a.json#1": ("", "Who sails?"),
        "a.json#2": ("", "Lund."),
        "b.json#0": ("Tides", "The tide turns at noon today."),
        "b.json#1": ("Tides", "Low\nMud."),
    }


def test_lines_with_actions_of_elasticsearch_and_with_deep_texts_are_records(read):
    bulk = '{"index": {"_id": "e1"}}\n{"title": "Tides", "text": "Noon."}\n'
    deep = '{"id": 7, "document": {"title": "Mud", "body": {"text": "Low."}}}\n'
    documents = read({"bulk.ndjson": bulk, "deep.jsonl": deep})
    assert passages_of(documents) == {
        "bulk.ndjson#e1": ("Tides", "Noon."),
        "deep.jsonl#7": ("Mud", "Low."),
    }


def test_words_of_records_outside_passages_are_counted(read):
    value = {"docs": [{"text": "Halina sails.", "port": "Lund"}], "by": {"who": "Ida"}}
    report = read({"a.json": json.dumps(value)}).report
    # Lund is a column of the passage; Ida stands in no record
    assert report.loc[0, ["words", "left_out", "lost"]].tolist() == [4, 1, 1]


def test_tables_of_a_spreadsheet_are_read_as_files_of_a_folder(read):
    book = openpyxl.Workbook()
    rows = [["HARBOUR"], [], ["Ship", None, "Task"], ["Halina", None, "Sails at noon"]]
    for row in rows:
        book.active.append(row)
    book.create_sheet("Notes").append(["id", "text"])
    book["Notes"].append([1.0, "NA is no gap."])
    book.create_sheet("Empty")
    data = io.BytesIO()
    book.save(data)
    documents = read({"plan.xlsx": data.getvalue()})
    skipped = documents.report.query("status == 'skipped'")
    assert skipped["document"].tolist() == ["plan.xlsx/Empty.csv"]
    assert passages_of(documents) == {
        "plan.xlsx/Sheet.csv#0": ("", "Ship: Halina\nTask: Sails at noon"),
        "plan.xlsx/Notes.csv#1": ("", "NA is no gap."),
    }


def test_columns_of_one_name_are_numbered(read):
    table = "Key,Comment,Comment\nOPS-1,Halina sails.,At noon.\n"
    documents = read({"jira.csv": table})
    text = "Key: OPS-1\nComment: Halina sails.\nComment 2: At noon."
    assert passages_of(documents) == {"jira.csv#0": ("", text)}
    assert "numbered" in documents.report.loc[0, "remark"]


def test_a_faq_is_read_and_test_questions_beside_it_are_not(read):
    book = openpyxl.Workbook()
    rows = [
        ["Harbour FAQ"],
        ["Topic", "Question", "Answer", "Checked"],
        ["Ships", "When does Halina sail?", "At noon.", datetime(2026, 3, 14)],
        [None, "Who steers Halina?", "Marek Lund.", datetime(2026, 3, 14)],
    ]
    for row in rows:
        book.active.append(row)
    data = io.BytesIO()
    book.save(data)
    test_questions = [{"question": "When?", "answer": "At noon.", "gold": "p1"}]
    documents = read(
        {"faq.xlsx": data.getvalue(), "test.json": json.dumps(test_questions)}
    )
    assert passages_of(documents) == {
        "faq.xlsx/Sheet.csv#0": ("When does Halina sail?", "At noon."),
        "faq.xlsx/Sheet.csv#1": ("Who steers Halina?", "Marek Lund."),
    }
    assert documents.corpus[0].metadata["Checked"] == "2026-03-14"
    report = documents.report.set_index("document")
    assert "Question" in report.loc["faq.xlsx/Sheet.csv", "remark"]
    assert report.loc["test.json", "status"] == "skipped"


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


def test_notes_of_joplin_have_their_first_line_as_title_and_notebooks_are_no_documents(
    read,
):
    fields = "id: {}\nparent_id: \nis_todo: 0\ntype_: {}"
    note = "Tides\n\nNoon is high.\n\n" + fields.format("0" * 32, 1)
    notebook = "Harbour\n\n" + fields.format("1" * 32, 2)
    documents = read({"a.md": note, "b.md": notebook})
    assert passages_of(documents) == {"a.md": ("Tides", "Noon is high.")}


def test_captions_that_repeat_the_line_before_are_read_once(read):
    captions = (
        "WEBVTT\n\nNOTE by machine\n\n00:00.000 --> 00:02.000\n \nhalina<00:01.000><c> sails</c>\n\n"
        "00:02.000 --> 00:02.010\nhalina sails\n \n\n"
        "00:02.010 --> 00:04.000\nhalina sails\nat<00:03.000><c> noon</c>\n\n"
        "00:04.000 --> 00:04.010\nat noon\n \n\n"
    )
    documents = read({"a.vtt": captions})
    assert documents.corpus[0].text == "halina sails at noon"
    assert documents.report.loc[0, "lost"] == 0


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


def test_words_of_a_rich_text_are_counted_by_a_second_reading(read):
    text = r"{\rtf1\ansi{\fonttbl{\f0 Times;}}Caf\'e9 \b opens\b0 .\par}"
    report = read({"a.rtf": text}).report
    assert report.loc[0, ["words", "lost"]].tolist() == [2, 0]


def test_a_text_with_form_feeds_has_pages_and_no_running_heads(read):
    pages = [f"Harbour rules\n\nHalina has {word} decks.\n" for word in "abc"]
    documents = read({"a.txt": "\f".join(pages)})
    assert documents.corpus[0].text.split("\n\n") == [
        "Halina has a decks.",
        "Halina has b decks.",
        "Halina has c decks.",
    ]
    assert documents.corpus[0].metadata["last_page"] == 3
    assert documents.report.loc[0, ["left_out", "lost"]].tolist() == [6, 0]


def test_a_word_that_a_pdf_divides_at_the_end_of_a_line_is_one_word(read):
    documents = read({"a.pdf": pdf_of(["The harbour is ope-", "ned at noon by Ida."])})
    assert "opened at noon" in documents.corpus[0].text


def test_values_of_instructions_that_are_phrases_are_text(read):
    page = '{% include note.html content="Mind the gap" class="a b c" %}\n\nHalina sails.\n'
    documents = read({"a.md": page})
    assert documents.corpus[0].text == "Mind the gap\n\nHalina sails."


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


def test_lines_of_json_are_known_without_an_ending(read):
    lines = '{"id": "x", "text": "Halina sails."}\n{"id": "y", "text": "Lund waits."}\n'
    assert list(passages_of(read({"wiki_00": lines}))) == ["wiki_00#x", "wiki_00#y"]


def test_a_table_without_names_of_columns_has_its_first_row_as_a_record(read):
    documents = read({"collection.tsv": "0\tHalina sails.\n1\tLund waits.\n"})
    assert passages_of(documents) == {
        "collection.tsv#0": ("", "Halina sails."),
        "collection.tsv#1": ("", "Lund waits."),
    }
    assert "without names" in documents.report.loc[0, "remark"]


def test_the_longest_cell_behind_the_number_is_the_text_and_both_remarks_stay(read):
    lines = "Ferries of the harbour,,\n20250101000001,Lund,sails\n20250101000002,Mols,waits\n"
    documents = read({"ferries.csv": lines})
    texts = [text for _, text in passages_of(documents).values()]
    remark = documents.report.loc[0, "remark"]
    assert texts == ["sails", "waits"]
    assert "without names" in remark
    assert "left out: 1" in remark


def test_a_record_whose_text_is_a_page_is_read_as_one(read):
    table = 'Id,Body\n1,"<p>Halina &amp; Lund</p><pre>x &lt; 1</pre>"\n2,a <b> c\n'
    documents = read({"posts.csv": table})
    assert [passage.text for passage in documents.corpus] == [
        "Halina & Lund\n\nx < 1",
        "a <b> c",
    ]


def test_records_without_a_field_of_text_beside_others_are_read_by_their_fields(read):
    library = [
        {"id": "a", "title": "Tides", "abstract": "Noon."},
        {"id": "b", "title": "Mud of the north", "publisher": "Pier"},
    ]
    assert passages_of(read({"a.json": json.dumps(library)})) == {
        "a.json#a": ("Tides", "Noon."),
        "a.json#1": ("", "id: b\nMud of the north\npublisher: Pier"),
    }


def test_letters_that_facebook_writes_as_bytes_are_read(read):
    export = r'{"messages": [{"content": "Caf\u00c3\u00a9 \u00e0 Lund"}]}'
    assert read({"message_1.json": export}).corpus[0].text == "Café à Lund"


def test_a_calendar_has_a_document_for_each_event_of_what_a_reader_is_shown(read):
    calendar = """BEGIN:VCALENDAR
PRODID:-//Example//EN
BEGIN:VTIMEZONE
TZID:Warsaw
END:VTIMEZONE
BEGIN:VEVENT
UID:040000008200E
DTSTART;TZID="Warsaw":20261012T140000
ORGANIZER;CN=Halina:mailto:halina@example.org
SUMMARY;LANGUAGE=en:Halina sai
 ls
LOCATION:Pier 4\\, Gdynia
DESCRIPTION:Bring a coat.\\n\\nWe leave at noon.
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20261013
SUMMARY:Rest
DESCRIPTION:<b>No</b> work<br>at all.
END:VEVENT
END:VCALENDAR
"""
    documents = read({"a.ics": calendar.replace("\n", "\r\n")})
    assert [(p.id, p.title, p.text) for p in documents.corpus] == [
        (
            "a.ics#0",
            "Halina sails",
            "Start: 2026-10-12 14:00\nOrganizer: Halina\nLocation: Pier 4, Gdynia\n\n"
            "Bring a coat.\n\nWe leave at noon.",
        ),
        ("a.ics#1", "Rest", "Start: 2026-10-13\n\nNo work\n\nat all."),
    ]
    assert documents.report["lost"].sum() == 0


def test_contacts_are_documents_and_their_letters_may_be_bytes(read):
    contacts = """BEGIN:VCARD
VERSION:2.1
FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=BCrgen=
=20Maier
item1.TEL;TYPE=WORK:+49 30 123
ORG:Werft Nord;Einkauf
NOTE;ENCODING=QUOTED-PRINTABLE:Zust=C3=A4ndig f=C3=BCr=0D=0A=
Schrauben.
END:VCARD
"""
    [contact] = read({"a.vcf": contacts}).corpus
    assert contact.title == "Jürgen Maier"
    assert (
        contact.text
        == "Tel: +49 30 123\nOrg: Werft Nord, Einkauf\n\nZuständig für\nSchrauben."
    )


@pytest.mark.parametrize("text", ["Bring a coat.", ""])
def test_a_message_with_an_invitation_has_its_text_once_and_the_times(read, text):
    event = """BEGIN:VCALENDAR
BEGIN:VEVENT
UID:7F
SUMMARY:Halina sails
DTSTART:20261012T140000Z
DESCRIPTION:Bring a coat.
END:VEVENT
END:VCALENDAR
"""
    message = EmailMessage()
    message["Subject"] = "Halina sails"
    message.set_content(text)
    message.add_alternative(event, subtype="calendar")
    [passage] = read({"a.eml": message.as_bytes()}).corpus
    assert passage.text.count("Bring a coat.") == 1
    assert "Start: 2026-10-12 14:00" in passage.text
    assert "UID" not in passage.text


def test_settings_of_logseq_are_no_text_and_its_title_and_names_are_of_the_page(read):
    page = (
        "title:: Harbour/Rules\nalias:: Pier law\n\n- # Tides\n  collapsed:: true\n"
        "\t- Noon is high.\n\t  id:: 65a1b2c3-1111-2222-3333-444455556666\n"
        "\t- ((65a1b2c3-1111-2222-3333-444455556666))\n\t- {{query (todo)}}\n"
    )
    link = "See [[Pier law]].\n"
    documents = read({"pages/a.md": page, "b.md": link})
    passages = {passage.doc_id: passage for passage in documents.corpus}
    assert passages["pages/a.md"].title == "Harbour/Rules"
    assert passages["pages/a.md"].text == "Tides\nPier law\n\nNoon is high."
    assert passages["b.md"].metadata["links"] == [["Pier law", "pages/a.md"]]


def test_an_index_of_a_site_is_no_document_beside_its_pages(read):
    index = json.dumps({"docs": [{"text": "Halina sails."}]})
    files = {"a.html": "<p>Halina sails.</p>", "search/search_index.json": index}
    assert read(files).report["status"].tolist() == ["read", "skipped"]


def test_a_paper_of_cord_19_has_its_title_and_no_marks_of_citations(read):
    mark = {"text": "[1]", "start": 0}
    paper = {
        "paper_id": "p",
        "metadata": {"title": "Tides"},
        "abstract": [{"text": "Noon."}],
        "body_text": [{"text": "Mud is low.", "cite_spans": [mark], "section": "Low"}],
    }
    assert passages_of(read({"p.json": json.dumps(paper)})) == {
        "p.json#0": ("Tides", "Noon."),
        "p.json#1": ("Tides", "Mud is low."),
    }


def test_an_inverted_abstract_of_openalex_is_a_text(read):
    work = {
        "id": "W1",
        "title": "Tides",
        "abstract_inverted_index": {"high": [2], "Noon": [0], "is": [1]},
    }
    documents = read({"works.jsonl": json.dumps(work)})
    assert passages_of(documents) == {"works.jsonl#W1": ("Tides", "Noon is high")}


def test_parts_of_a_saved_page_are_no_documents(read):
    files = {
        "Pier.html": "<p>Lund waits.</p>",
        "Pier_files/frame.html": "<p>Buy soap.</p>",
        "Pier_files/a.txt": "var x\n",
    }
    assert read(files).report["status"].tolist() == ["read", "skipped", "skipped"]


def test_lengths_and_escapes_of_a_manual_are_no_words(read):
    page = (
        '.TH FERRY 1 "May 2024" "v2" "User Commands"\n.SH NAME\nferry \\- sails\n.SH OPTIONS\n'
        ".TP 2m\n\\fB\\-n\\fR\nNine\\s-2crowns\\s+2 for all.\n.RS 4\nAt noon.\n.RE\n"
    )
    documents = read({"ferry.1": page})
    assert documents.report.loc[0, "lost"] == 0
    assert "At noon." in documents.corpus[-1].text


def conversation_of_chatgpt(title, *parts):
    """A conversation as ChatGPT exports it, its nodes in the reverse order of the tree."""
    nodes = {}
    for number, part in enumerate(parts):
        message = {
            "id": f"m{number}",
            "author": {"role": ("user", "assistant")[number % 2]},
            "content": {"content_type": "text", "parts": part},
            "status": "finished_successfully",
        }
        nodes[f"n{number}"] = {
            "id": f"n{number}",
            "message": message,
            "parent": f"n{number - 1}" if number else "root",
            "children": [f"n{number + 1}"] if number + 1 < len(parts) else [],
        }
    root = {"id": "root", "message": None, "parent": None, "children": ["n0"]}
    mapping = {**dict(reversed(nodes.items())), "root": root}
    return {"title": title, "mapping": mapping, "current_node": f"n{len(parts) - 1}"}


def test_a_conversation_of_chatgpt_is_a_document_of_its_messages_in_order(read):
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file://x"}
    cited = "Halina sails at noon. \ue200cite\ue202turn0search1\ue201"
    export = [
        conversation_of_chatgpt("Ferries", [picture, "Who sails?"], [cited]),
        conversation_of_chatgpt("Pier", ["Who waits?"], ["Lund waits."]),
    ]
    documents = read({"conversations.json": json.dumps(export)})
    passages = [
        (passage.title, passage.doc_id, passage.text.strip())
        for passage in documents.corpus
    ]
    assert passages == [
        ("Ferries", "conversations.json#0", "Who sails?"),
        ("Ferries", "conversations.json#0", "Halina sails at noon."),
        ("Pier", "conversations.json#2", "Who waits?"),
        ("Pier", "conversations.json#2", "Lund waits."),
    ]
    assert documents.corpus[1].metadata["author"] == {"role": "assistant"}
    assert "file://x" in str(documents.corpus[0].metadata)


def test_an_attached_text_of_claude_is_read_and_pieces_that_repeat_a_message_are_not(
    read,
):
    attached = {"file_name": "m.txt", "extracted_content": "Mud is low."}
    question = {
        "uuid": "m1",
        "sender": "human",
        "text": "Who sails?",
        "content": [{"type": "text", "text": "Who sails?"}],
        "attachments": [attached],
    }
    chat = {"uuid": "c1", "name": "Ferries", "chat_messages": [question]}
    documents = read({"conversations.json": json.dumps([chat])})
    assert passages_of(documents) == {
        "conversations.json#0": ("Ferries", "Who sails?"),
        "conversations.json#1": ("Ferries", "Mud is low."),
    }
    assert {passage.doc_id for passage in documents.corpus} == {"conversations.json#0"}


def test_messages_of_a_channel_have_its_name_as_title(read):
    messages = [
        {"id": "10", "content": "Halina sails.", "author": {"name": "ida"}},
        {"id": "11", "content": "Lund waits.", "author": {"name": "lund"}},
    ]
    export = {"channel": {"id": "2", "name": "harbour"}, "messages": messages}
    assert passages_of(read({"a.json": json.dumps(export)})) == {
        "a.json#10": ("harbour", "Halina sails."),
        "a.json#11": ("harbour", "Lund waits."),
    }


def test_messages_of_a_line_are_a_document_and_lines_are_numbered_together(read):
    lines = [
        {"messages": [{"role": "user", "content": q}, {"role": "model", "content": a}]}
        for q, a in [("Who?", "Halina."), ("Where?", "Lund."), ("When?", "Noon.")]
    ]
    documents = read({"a.jsonl": "\n".join(map(json.dumps, lines))})
    assert [(passage.doc_id, passage.text) for passage in documents.corpus] == [
        ("a.jsonl#0", "Who?"),
        ("a.jsonl#0", "Halina."),
        ("a.jsonl#2", "Where?"),
        ("a.jsonl#2", "Lund."),
        ("a.jsonl#4", "When?"),
        ("a.jsonl#4", "Noon."),
    ]


PAGE_OF_CONFLUENCE = """<html><head><title>Harbour : {title}</title></head><body><div id="page">
<div id="main"><div id="main-header"><div id="breadcrumb-section"><ol id="breadcrumbs">
<li class="first"><span><a href="index.html">Harbour</a></span></li></ol></div>
<h1 id="title-heading"><span id="title-text">Harbour : {title}</span></h1></div>
<div id="content"><div class="page-metadata">Created by <span>Ida</span> on May 3</div>
<div id="main-content"><div class="toc-macro"><ul><li><a href="#t">Tides</a></li></ul></div>
<p>{text}</p></div><div class="pageSection group"><div class="pageSectionHeader">
<h2 id="attachments">Attachments:</h2></div><a href="a.png">map.png</a></div></div></div>
<div id="footer" role="contentinfo"><p>Document generated by Confluence</p></div></div></body></html>"""


def test_pages_of_confluence_have_their_titles_and_no_words_of_its_navigation(read):
    pages = {
        "a_1.html": PAGE_OF_CONFLUENCE.format(title="Fees", text="Nine crowns a day."),
        "b_2.html": PAGE_OF_CONFLUENCE.format(title="Piers", text="Lund waits there."),
    }
    documents = read(pages)
    assert passages_of(documents) == {
        "a_1.html": ("Fees", "Nine crowns a day."),
        "b_2.html": ("Piers", "Lund waits there."),
    }
    assert documents.report["lost"].tolist() == [0, 0]
    # Harbour twice, six words of metadata, Tides, Attachments, map, png, four words of the footer
    assert documents.report["left_out"].tolist() == [16, 16]


def test_navigation_is_known_by_its_class_and_a_page_with_navigation_is_read(read):
    page = (
        '<body class="with-breadcrumbs"><ol class="breadcrumb"><li><a href="/">Port</a></li></ol>'
        '<div class="dw__toc"><h3>Contents</h3></div><h1>Port - Fees</h1>'
        '<div class="toc-content"><p>Nine crowns a day.</p></div></body>'
    )
    assert passages_of(read({"a.html": page})) == {
        "a.html": ("Fees", "Nine crowns a day.")
    }


def test_a_title_that_only_begins_like_the_first_breadcrumb_stays(read):
    page = (
        '<ul class="breadcrumbs"><li><a href="/">Port</a></li></ul><h1>Port: a history</h1>'
        "<p>Lund waits there.</p>"
    )
    assert passages_of(read({"a.html": page})) == {
        "a.html": ("Port: a history", "Lund waits there.")
    }


def test_the_blocks_of_roam_have_the_titles_of_their_pages(read):
    pages = (
        '[{"title": "Spool", "children": [{"string": "It needs a folder.", "uid": "a", '
        '"children": [{"string": "Ask Bo.", "uid": "b"}]}]}, '
        '{"title": "March", "children": [{"string": "Met the mayor.", "uid": "c"}]}]'
    )
    documents = read({"roam.json": pages})
    assert [(p.title, p.text) for p in documents.corpus] == [
        ("Spool", "It needs a folder."),
        ("Spool", "Ask Bo."),
        ("March", "Met the mayor."),
    ]


STORAGE = """<ac:structured-macro ac:name="toc" ac:macro-id="7f01"><ac:parameter ac:name="maxLevel">2
</ac:parameter></ac:structured-macro><h2>Ferries</h2><ac:structured-macro ac:name="info"><ac:parameter
ac:name="title">Mind</ac:parameter><ac:rich-text-body><p>Halina sails.</p></ac:rich-text-body>
</ac:structured-macro><ac:structured-macro ac:name="code"><ac:parameter ac:name="language">bash</ac:parameter>
<ac:plain-text-body><![CDATA[sail --to <port> && wait]]></ac:plain-text-body></ac:structured-macro>
<ac:task-list><ac:task><ac:task-id>3</ac:task-id><ac:task-status>complete</ac:task-status><ac:task-body>
Paint the hull</ac:task-body></ac:task></ac:task-list><p>See <ac:link><ri:page ri:content-title="Fares" />
</ac:link> and <ac:link><ri:page ri:content-title="Ports" /><ac:plain-text-link-body><![CDATA[the ports]]>
</ac:plain-text-link-body></ac:link>.</p><ac:image><ri:attachment ri:filename="a.png" /></ac:image>"""


@pytest.mark.parametrize("name", ["a.json", "a.html"])
def test_a_page_of_confluence_in_its_storage_format_is_read_as_it_is_shown(read, name):
    body = {"storage": {"value": STORAGE, "representation": "storage"}}
    page = {"id": "7", "title": "Harbour", "body": body}
    documents = read({name: json.dumps([page]) if name == "a.json" else STORAGE})
    text = "\n".join(f"{p.title}\n{p.text}" for p in documents.corpus)
    shown = ("Mind", "Halina sails.", "sail --to <port> && wait", "Paint the hull")
    assert all(text.count(words) == 1 for words in (*shown, "See Fares and the ports"))
    assert not {"bash", "complete", "2", "3", "7f01"} & set(text.split())
    assert documents.report["lost"].sum() == 0


def test_an_event_of_a_chat_that_is_only_a_tag_has_no_passage(read):
    messages = [
        {"id": "1", "text": "Halina sails at noon."},
        {"id": "2", "text": "<systemEventMessage/>"},
        {"id": "3", "text": '<attachment id="668e"></attachment>'},
    ]
    assert list(passages_of(read({"a.json": json.dumps(messages)}))) == ["a.json#1"]


@pytest.mark.parametrize(
    ("table", "ids", "n_remarks"),
    [
        ("pid,text\n4,Start.\n4,Stop.\n", ["0", "1"], 1),
        ("pid,text\n4,Start.\n0,Stop.\n", ["4", "0"], 0),
    ],
)
def test_a_column_of_ids_that_repeats_values_has_no_ids(read, table, ids, n_remarks):
    documents = read({"log.csv": table})
    assert documents.corpus.ids == [f"log.csv#{id_}" for id_ in ids]
    assert documents.report["remark"].str.contains("pid").sum() == n_remarks
