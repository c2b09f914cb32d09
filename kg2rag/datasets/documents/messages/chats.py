r"""Chats as text, such as exports of WhatsApp, logs of IRC and chats of Zoom, and messages of Slack.

Each message of a text begins with a time and a name. Left out are times, lines with a time but without a
name, which the program wrote, and its words in messages: they stand in angle brackets or behind a
mark of direction (U+200E). The day stands before its first message. In a transcript, a line with a name
and a time precedes the words.

An export of Slack has a folder for each channel, a file of messages for each day, and the names of
users and channels in files beside these folders. Texts are read as Slack shows them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import PurePath
from typing import Any, NamedTuple

from kg2rag.datasets.documents.blocks import Block, FileDocument, one_line
from kg2rag.text.decoding import decode_text
from kg2rag.text.records import DataError, parse_json

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
_SPEAKER_LINE = re.compile(
    r"(?m)^[*_]{0,2}(?P<name>[^\W\d_][^:\n]{0,58}?)[*_]{0,2}[ \t]+"
    r"[(\[]?(?P<time>(?:\d?\d:)?\d?\d:\d\d)[)\]]?:?[ \t]*\r?$"
)
"""A line of a transcript (Otter, Teams, Rev): `Ida Berg  0:42`, `Speaker 1 (00:42):`."""
_LEVELS = frozenset("CRITICAL DEBUG ERROR FATAL INFO NOTICE TRACE WARN WARNING".split())
_OF_PROGRAM = re.compile(r"\u200e[^\n]*|(?m:^|(?<=\s))<[^<>\n]{3,60}>\s*$")
_DELETED = frozenset(
    (
        *("this message was deleted", "you deleted this message"),
        *("diese nachricht wurde gelöscht", "du hast diese nachricht gelöscht"),
        *("ce message a été supprimé", "vous avez supprimé ce message"),
        *("se eliminó este mensaje", "eliminaste este mensaje"),
        *("esta mensagem foi apagada", "mensagem apagada", "você apagou esta mensagem"),
        *("questo messaggio è stato eliminato", "hai eliminato questo messaggio"),
        *("dit bericht is verwijderd", "ta wiadomość została usunięta"),
        *("данное сообщение удалено", "вы удалили данное сообщение"),
        *("bu mesaj silindi", "bu mesajı sildiniz", "यह मैसेज हटा दिया गया है"),
    )
)
"""What WhatsApp for Android writes, without a mark, in place of a deleted message."""
_DIRECTIONS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
NAME_FILES = ("users.json", "channels.json", "groups.json")
"""Files of an export with the names of ids."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")
_REFERENCE = re.compile(r"<([@#!]?)([^<>|\s]+)(?:\|([^<>\n]*))?>")
_SIGNS = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
_ESCAPE = re.compile("|".join(_SIGNS))


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
    if _has_speakers(text):
        return _transcript(text, remark)
    messages = list(_messages(text))
    if not _is_chat(messages, text):
        return None
    blocks = list[Block]()
    left_out = list(takewhile(lambda line: _message(line) is None, text.split("\n")))
    day = ""
    for message in messages:
        left_out.append(message.stamp)
        shown = _DIRECTIONS.sub("", _OF_PROGRAM.sub("", message.text)).strip()
        if shown.rstrip(".").casefold() in _DELETED:
            left_out.append(shown)
            shown = ""
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


def _has_speakers(text: str) -> bool:
    """Whether a text is a transcript, in which a line with a speaker and a time precedes the words.

    Times rise from the first minutes, and on average each speaker speaks twice, unlike in a programme
    of a day. Each line of a speaker has words below it.
    """
    turns = list(_SPEAKER_LINE.finditer(text))
    if len(turns) < LEAST_MESSAGES:
        return False
    names = {turn["name"] for turn in turns}
    times = [_seconds(turn["time"]) for turn in turns]
    ends = [*(turn.start() for turn in turns[1:]), len(text)]
    has_words = all(
        text[turn.end() : end].strip() for turn, end in zip(turns, ends, strict=True)
    )
    is_rising = times == sorted(times)
    return has_words and is_rising and len(turns) >= 2 * len(names)


def _seconds(time: str) -> int:
    """The seconds of a time such as 0:42 or 1:02:03."""
    seconds = 0
    for part in time.split(":"):
        seconds = 60 * seconds + int(part)
    return seconds


def _transcript(text: str, remark: str) -> FileDocument:
    """The document of a transcript, a paragraph for each turn."""
    first = _SPEAKER_LINE.search(text)
    head = text[: first.start()] if first else ""
    _, *parts = _SPEAKER_LINE.split(text)
    turns = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    left_out = list[str]()
    blocks = [Block(one_line(head))] if head.strip() else []
    for name, time, spoken in turns:
        left_out.append(time)
        blocks.append(Block(f"{name}: {one_line(spoken)}"))
    return FileDocument(
        blocks, source=text, left_out="\n".join(left_out), remark=remark
    )


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
    text = stamp.string[stamp.end() :]
    day = stamp["day"] or ""
    is_closed = stamp["end"] == ("]" if stamp["bracket"] else " -")
    head = _NICK.match(text) or _FROM.match(text)
    if head is None and is_closed:
        head = _NAME.match(text)
    if head is None:
        return Message(day, "", text, stamp[0])
    name = one_line(_DIRECTIONS.sub("", head["name"])).removeprefix("~ ")
    around_name = text[: head.start("name")] + text[head.end("name") : head.end()]
    return Message(day, name, text[head.end() :], stamp[0] + around_name)


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
    if not isinstance(members, list):
        return names
    for member in members:
        if not isinstance(member, Mapping) or not isinstance(member.get("id"), str):
            continue
        fields = member.get("profile")
        if not isinstance(fields, Mapping):
            fields = {}
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
