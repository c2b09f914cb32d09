"""Records at any depth of JSON, such as exports of chats, papers and notes."""

from __future__ import annotations

import json

import pytest
from file_makers import passages_of

RECORDS = {
    "contexts of a question set": (
        {
            "version": "v2.0",
            "data": [
                {
                    "title": "Ferries",
                    "paragraphs": [
                        {
                            "context": "Halina sails at noon.",
                            "qas": [{"question": "Who sails?"}],
                        },
                        {"context": "Lund waits.", "qas": []},
                    ],
                }
            ],
        },
        {"0": ("Ferries", "Halina sails at noon."), "1": ("Ferries", "Lund waits.")},
    ),
    "a message in pieces, and its plain copy": (
        {
            "name": "Harbour",
            "messages": [
                {
                    "id": 7,
                    "text": ["Halina ", {"type": "bold", "text": "sails"}, " at noon."],
                    "entities": [{"type": "bold", "text": "sails"}],
                },
                {"id": 8, "text": ""},
            ],
        },
        {"7": ("Harbour", "Halina sails at noon.")},
    ),
    "replies within a record": (
        [{"id": 1, "body": "Who sails?", "replies": [{"id": 2, "body": "Lund."}]}],
        {"1": ("", "Who sails?"), "2": ("", "Lund.")},
    ),
    "prose beside records": (
        {
            "title": "Tides",
            "summary": "The tide turns at noon today.",
            "sections": [{"heading": "Low", "text": "Mud."}],
        },
        {"0": ("Tides", "The tide turns at noon today."), "1": ("Tides", "Low\nMud.")},
    ),
    "a record without a field of text beside others": (
        [
            {"id": "a", "title": "Tides", "abstract": "Noon."},
            {"id": "b", "title": "Mud of the north", "publisher": "Pier"},
        ],
        {
            "a": ("Tides", "Noon."),
            "1": ("", "id: b\nMud of the north\npublisher: Pier"),
        },
    ),
    "a paper of CORD-19": (
        {
            "paper_id": "p",
            "metadata": {"title": "Tides"},
            "abstract": [{"text": "Noon."}],
            "body_text": [
                {
                    "text": "Mud is low.",
                    "cite_spans": [{"text": "[1]", "start": 0}],
                    "section": "Low",
                }
            ],
        },
        {"0": ("Tides", "Noon."), "1": ("Tides", "Mud is low.")},
    ),
    "an inverted abstract of OpenAlex": (
        [
            {
                "id": "W1",
                "title": "Tides",
                "abstract_inverted_index": {"high": [2], "Noon": [0], "is": [1]},
            }
        ],
        {"W1": ("Tides", "Noon is high")},
    ),
    "messages of a channel": (
        {
            "channel": {"id": "2", "name": "harbour"},
            "messages": [
                {"id": "10", "content": "Halina sails.", "author": {"name": "ida"}},
                {"id": "11", "content": "Lund waits.", "author": {"name": "lund"}},
            ],
        },
        {"10": ("harbour", "Halina sails."), "11": ("harbour", "Lund waits.")},
    ),
    "blocks of Roam": (
        [
            {
                "title": "Spool",
                "children": [
                    {
                        "string": "It needs a folder.",
                        "uid": "a",
                        "children": [{"string": "Ask Bo.", "uid": "b"}],
                    }
                ],
            },
            {"title": "March", "children": [{"string": "Met the mayor.", "uid": "c"}]},
        ],
        {
            "0": ("Spool", "It needs a folder."),
            "1": ("Spool", "Ask Bo."),
            "2": ("March", "Met the mayor."),
        },
    ),
}


@pytest.mark.parametrize(("value", "passages"), RECORDS.values(), ids=RECORDS)
def test_records_at_any_depth_are_passages(read, value, passages):
    documents = read({"a.json": json.dumps(value)})
    assert passages_of(documents) == {f"a.json#{id_}": p for id_, p in passages.items()}


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


def test_lines_of_json_are_known_without_an_ending(read):
    lines = '{"id": "x", "text": "Halina sails."}\n{"id": "y", "text": "Lund waits."}\n'
    assert list(passages_of(read({"wiki_00": lines}))) == ["wiki_00#x", "wiki_00#y"]


def test_letters_that_facebook_writes_as_bytes_are_read(read):
    export = r'{"messages": [{"content": "Caf\u00c3\u00a9 \u00e0 Lund"}]}'
    assert read({"message_1.json": export}).corpus[0].text == "Café à Lund"


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


def test_an_event_of_a_chat_that_is_only_a_tag_has_no_passage(read):
    messages = [
        {"id": "1", "text": "Halina sails at noon."},
        {"id": "2", "text": "<systemEventMessage/>"},
        {"id": "3", "text": '<attachment id="668e"></attachment>'},
    ]
    assert list(passages_of(read({"a.json": json.dumps(messages)}))) == ["a.json#1"]


def test_the_fields_of_a_card_in_a_chat_are_text(read):
    fields = [
        {"name": "Branch", "value": "the one of Ada", "isInline": True},
        {"name": "Minutes", "value": "7"},
    ]
    card = {"title": "Build", "text": "All tests passed.", "fields": fields}
    numbers = {**card, "text": "Run it again.", "fields": fields[1:]}
    messages = [
        {"id": "1", "content": "Who broke it?", "embeds": []},
        {"id": "2", "content": "", "attachments": [card, numbers]},
    ]
    documents = read({"chat.json": json.dumps({"name": "Owls", "messages": messages})})
    assert [passage.text for passage in documents.corpus] == [
        "Who broke it?",
        "Build\nAll tests passed.\nBranch: the one of Ada\nMinutes: 7",
        "Build\nRun it again.",
    ]


def test_posts_of_discourse_are_read_as_pages(read):
    quote = '<aside class="quote"><blockquote><p>Why?</p></blockquote></aside><p>It is night.</p>'
    posts = [
        {"id": 5, "username": "ada", "cooked": "<p>Why so dark?</p>"},
        {"id": 6, "username": "ben", "cooked": quote},
    ]
    topic = {"post_stream": {"posts": posts}, "id": 7, "title": "Dark owls"}
    assert passages_of(read({"7.json": json.dumps(topic)})) == {
        "7.json#5": ("Dark owls", "Why so dark?"),
        "7.json#6": ("Dark owls", "Why?\n\nIt is night."),
    }


def test_titled_records_without_a_field_of_text_are_documents_with_all_their_fields(
    read,
):
    items = [
        {"url": f"/{n}", "title": n, "short_desc": f"It sees well at night, {n}."}
        for n in ("Owl", "Hawk")
    ]
    documents = read({"items.json": json.dumps(items)})
    texts = {passage.title: passage.text for passage in documents.corpus}
    assert set(texts) == {"Owl", "Hawk"}
    assert "short_desc: It sees well at night, Owl." in texts["Owl"]
    assert "url: /Owl" in texts["Owl"]
    assert "all its columns" in documents.report.loc[0, "remark"]
