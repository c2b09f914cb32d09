"""Messages of a Slack export have the texts that Slack shows."""

from __future__ import annotations

import json
import zipfile
from io import BytesIO

import pytest

USERS = [
    {"id": "U01", "name": "ann", "profile": {"display_name": "Ann"}},
    {"id": "U02", "name": "bob", "profile": {"display_name": "", "real_name": "Bob Ray"}},
]  # fmt: skip
CHANNELS = [{"id": "C01", "name": "port", "members": ["U01", "U02"]}]
TEXTS = {
    "Hi <@U02>, ask in <#C01> or <#C01|port>.": "Hi @Bob Ray, ask in #port or #port.",
    "<!here> <!subteam^S1|@crew> see <https://x.org/?a=1&amp;b=2|the plan>": "@here @crew see the plan",
    "Fish &amp; chips if 3 &lt; 4: <https://x.org>": "Fish & chips if 3 < 4: https://x.org",
    "<mailto:a@x.org|a@x.org> or <@U09> &amp;lt;": "a@x.org or @U09 &lt;",
}
"""Text of a message -> the text that Slack shows."""


def day(texts):
    """The file of a channel's messages on a day, as Slack exports it."""
    return json.dumps(
        [
            {
                "type": "message",
                "user": "U01",
                "ts": f"157783680{number}.000100",
                "text": text,
                "reactions": [{"name": "wave", "users": ["U02"], "count": 1}],
            }
            for number, text in enumerate(texts)
        ]
    )


def export(with_names: bool = True):
    files = {"port/2020-01-01.json": day(TEXTS)}
    if with_names:
        files |= {"users.json": json.dumps(USERS), "channels.json": json.dumps(CHANNELS)}  # fmt: skip
    return files


def texts_of(documents, name):
    return [
        passage.text for passage in documents.corpus if passage.metadata["file"] == name
    ]


def test_messages_of_a_folder_are_as_slack_shows_them(read):
    documents = read(export())
    assert texts_of(documents, "port/2020-01-01.json") == list(TEXTS.values())
    assert documents.report["lost"].sum() == 0


@pytest.mark.parametrize("folder", ["", "export/"])
def test_messages_of_an_archive_are_as_slack_shows_them(read, folder):
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in export().items():
            archive.writestr(f"{folder}{name}", content)
    documents = read({"slack.zip": data.getvalue()})
    path = f"slack.zip/{folder}port/2020-01-01.json"
    assert texts_of(documents, path) == list(TEXTS.values())


def test_users_keep_their_ids_without_the_file_of_names_until_it_is_there(read):
    path = "port/2020-01-01.json"
    [first, *_] = texts_of(read(export(with_names=False)), path)
    assert first == "Hi @U02, ask in #C01 or #port."
    [first, *_] = texts_of(read(export()), path)
    assert first == "Hi @Bob Ray, ask in #port or #port."


def test_records_that_are_no_messages_of_slack_stay_as_they_are(read):
    text = "Write &amp; for <@U01> in this markup."
    documents = read(
        {
            "users.json": json.dumps(USERS),
            "a/2020-01-01.json": json.dumps([{"id": 1, "text": text}]),
        }
    )
    assert texts_of(documents, "a/2020-01-01.json") == [text]


def rich(*parts):
    """A block of rich text with one section per part."""
    sections = [
        {"type": "rich_text_section", "elements": [{"type": "text", "text": part}]}
        for part in parts
    ]
    return {"type": "rich_text", "elements": sections}


def test_a_message_has_the_words_of_its_blocks_and_attachments_once(read):
    user = {"type": "user", "user_id": "U02"}
    card = {
        "title": "Owl 12",
        "text": "The lamp is out.",
        "fields": [{"title": "Priority", "value": "Very high"}],
    }
    header = {"type": "header", "text": {"type": "plain_text", "text": "Deployed"}}
    button = {"type": "button", "text": {"type": "plain_text", "text": "Approve"}}
    messages = [
        {"text": "High tide at noon.", "blocks": [rich("High tide at noon.")]},
        {"text": "", "blocks": [rich("Mud ", "waits."), rich("Ask"), user]},
        {"text": "", "attachments": [card]},
        {
            "text": "Build",
            "blocks": [header, {"type": "actions", "elements": [button]}],
        },
    ]
    for number, message in enumerate(messages):
        message |= {"type": "message", "ts": f"157783680{number}.000100"}
    files = {
        "port/2020-01-01.json": json.dumps(messages),
        "users.json": json.dumps(USERS),
    }
    assert texts_of(read(files), "port/2020-01-01.json") == [
        "High tide at noon.",
        "Mud \nwaits.\nAsk\n@Bob Ray",
        "Owl 12\nThe lamp is out.\nPriority: Very high",
        "Build\nDeployed",
    ]
