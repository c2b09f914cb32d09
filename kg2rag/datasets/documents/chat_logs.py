r"""Chats as text, such as exports of WhatsApp, logs of IRC and chats of Zoom -> their messages.

Each message begins with a time and a name. Left out are times, lines with a time but without a
name, which the program wrote, and its words in messages: they stand in angle brackets or behind a
mark of direction (U+200E). The day stands before its first message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from kg2rag.datasets.documents.blocks import Block, FileDocument, one_line

LEAST_MESSAGES = 3
LEAST_SHARE = 1 / 3
"""Least number of messages in a chat, and their least share of its lines."""
_DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
_HALF_OF_DAY = r"[^\W\d_]{1,2}(?:\.?\s?[^\W\d_]\.)?"
_TIME = rf"(?:{_HALF_OF_DAY}\s?)?\d{{1,2}}[:.]\d\d(?:[:.]\d\d)?(?:\s?{_HALF_OF_DAY})?"
_STAMP = re.compile(
    rf"(?P<bracket>\[)?(?:(?P<day>{_DATE})[,\s]{{1,3}})?{_TIME}(?P<end>\]| -)?\s+"
)
_NICK = re.compile(r"<[@+%&~ ]?(?P<name>[^<>\s]{1,40})>\s")
_FROM = re.compile(r"From\s+(?P<name>[^:\n]{1,60}?)\s+[Tt]o\s+[^:\n]{1,60}:\s*")
_NAME = re.compile(r"(?P<name>[^:<>\n]{1,60}):(?:\s|$)")
_LEVELS = frozenset("CRITICAL DEBUG ERROR FATAL INFO NOTICE TRACE WARN WARNING".split())
_OF_PROGRAM = re.compile(r"\u200e[^\n]*|(?m:^|(?<=\s))<[^<>\n]{3,60}>\s*$")
_DIRECTIONS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


class Message(NamedTuple):
    """A message; `name` is "" for a line that the program wrote, `day` "" for an unknown one.

    `stamp` is the time and what else stands before the text, without the name.
    """

    day: str
    name: str
    text: str
    stamp: str


def chat_document(text: str, remark: str = "") -> FileDocument | None:
    """The document of a chat; None for any other text."""
    messages = list(_messages(text))
    if not _is_chat(messages, text):
        return None
    blocks = list[Block]()
    left_out = list(takewhile(lambda line: _message(line) is None, text.split("\n")))
    day = ""
    for message in messages:
        left_out.append(message.stamp)
        shown = _DIRECTIONS.sub("", _OF_PROGRAM.sub("", message.text)).strip()
        left_out += _OF_PROGRAM.findall(message.text)
        if not message.name or not shown:
            left_out += [message.name, shown]
            continue
        if message.day != day:
            day = message.day
            blocks.append(Block(day))
        blocks.append(Block(f"{message.name}: {one_line(shown)}"))
    return FileDocument(
        blocks, source=text, left_out="\n".join(left_out), remark=remark
    )


def _is_chat(messages: Sequence[Message], text: str) -> bool:
    """Whether enough lines of a text are messages of people, and none has the level of a log."""
    names = [message.name for message in messages if message.name]
    n_lines = sum(bool(line.strip()) for line in text.split("\n"))
    return len(names) >= max(
        LEAST_MESSAGES, LEAST_SHARE * n_lines
    ) and _LEVELS.isdisjoint(names)


def _messages(text: str) -> Iterator[Message]:
    """The messages of a text; lines without a time belong to the message above."""
    message = None
    for line in text.split("\n"):
        following = _message(line)
        if following is None:
            if message is not None:
                message = message._replace(text=f"{message.text}\n{line}")
            continue
        if message is not None:
            yield message
        message = following
    if message is not None:
        yield message


def _message(line: str) -> Message | None:
    """The message that begins in a line; None if none does."""
    line = line.strip("\r")
    stamp = _STAMP.match(line.lstrip("\u200e\u200f\ufeff"))
    if stamp is None:
        return None
    rest = stamp.string[stamp.end() :]
    day = stamp["day"] or ""
    is_closed = stamp["end"] == ("]" if stamp["bracket"] else " -")
    head = _NICK.match(rest) or _FROM.match(rest)
    if head is None and is_closed:
        head = _NAME.match(rest)
    if head is None:
        return Message(day, "", rest, stamp[0])
    name = one_line(_DIRECTIONS.sub("", head["name"])).removeprefix("~ ")
    around_name = rest[: head.start("name")] + rest[head.end("name") : head.end()]
    return Message(day, name, rest[head.end() :], stamp[0] + around_name)
