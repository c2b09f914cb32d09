"""Messages of a Slack export -> their texts as Slack shows them.

An export has a folder for each channel, a file of messages for each day, and the names of users and
channels in files beside these folders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.text.records import DataError, parse_json

NAME_FILES = ("users.json", "channels.json", "groups.json")
"""Files of an export with the names of ids."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")
_REFERENCE = re.compile(r"<([@#!]?)([^<>|\s]+)(?:\|([^<>\n]*))?>")
_SIGNS = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
_ESCAPE = re.compile("|".join(_SIGNS))


def is_day_of_channel(path: PurePath) -> bool:
    """Whether a file may have the messages of a channel on a day."""
    return _DAY.fullmatch(path.name) is not None


def names_of_export(read: Callable[[str], bytes]) -> dict[str, str]:
    """The names of the users and channels of an export, by id; {} for a folder that is none.

    read : the bytes of one of `NAME_FILES`; OSError or KeyError if there is none.
    """
    names = dict[str, str]()
    for file in NAME_FILES:
        try:
            members = parse_json(decode_text(read(file)).text, file)
        except (OSError, KeyError, DataError):
            continue
        names |= _names_of_members(members)
    return names


def _names_of_members(members: Any) -> dict[str, str]:
    """The names of the users or channels in a list, by id."""
    names = dict[str, str]()
    for member in members if isinstance(members, list) else ():
        if not isinstance(member, Mapping) or not isinstance(member.get("id"), str):
            continue
        profile = member.get("profile")
        fields = profile if isinstance(profile, Mapping) else {}
        candidates = (fields.get("display_name"), fields.get("real_name"))
        name = next(filter(None, (*candidates, member.get("name"))), "")
        if name:
            names[member["id"]] = str(name)
    return names


def is_message(record: Mapping[str, Any]) -> bool:
    """Whether a record is a message of Slack, which has its time as an id."""
    return record.get("type") == "message" and isinstance(record.get("ts"), str)


def with_shown_texts(
    records: Iterable[Mapping[str, Any]], names: Mapping[str, str]
) -> Sequence[Mapping[str, Any]]:
    """Records whose texts are as Slack shows them."""
    return [
        {**record, "text": shown_text(record["text"], names)}
        if isinstance(record.get("text"), str)
        else record
        for record in records
    ]


def shown_text(text: str, names: Mapping[str, str]) -> str:
    """A text of Slack with names in place of ids, labels in place of links, and without escapes.

    >>> shown_text("<@U1> wrote <https://x.org|the plan> &amp; told <#C1|port>, <!here>", {"U1": "Ann"})
    '@Ann wrote the plan & told #port, @here'
    """

    def reference(match: re.Match[str]) -> str:
        kind, target, label = match.groups()
        if kind in ("@", "#"):
            return f"{kind}{label or names.get(target, target)}"
        if kind == "!":
            return label or f"@{target.partition('^')[0]}"
        return label or target.removeprefix("mailto:")

    text = _REFERENCE.sub(reference, text)
    return _ESCAPE.sub(lambda match: _SIGNS[match[0]], text)
