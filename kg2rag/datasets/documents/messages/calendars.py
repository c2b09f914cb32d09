"""Calendars (iCalendar) and contacts (vCard) -> a document for each event, task or person.

Only the fields that a calendar or address book shows are read: no ids, time zones and alarms.
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from kg2rag.datasets.documents.blocks import (
    Block,
    FileDocument,
    joined_documents,
    one_line,
    plain_document,
)
from kg2rag.datasets.documents.web.html import page_document

_START = re.compile(r"\s*BEGIN:(?:VCALENDAR|VCARD)\b")
_COMPONENT = re.compile(
    r"(?ms)^BEGIN:(VEVENT|VTODO|VJOURNAL|VCARD)[ \t]*$(.*?)^END:\1[ \t]*$"
)
_ALARM = re.compile(r"(?ms)^BEGIN:VALARM[ \t]*$.*?^END:VALARM[ \t]*\n?")
_FOLD = re.compile(r"\n[ \t]")
# A line; one in quoted-printable, as vCard 2.1 has it, goes on behind "=".
_LINE = re.compile(r"[^\n:]*QUOTED-PRINTABLE[^\n]*(?:(?<==)\n[^\n]*)*|[^\n]+")
# A group such as "item1.", the name of a field, its parameters and its value.
_FIELD = re.compile(r'(?s)(?:[\w-]+\.)?([A-Za-z-]+)((?:;(?:"[^"]*"|[^":\n])*)?):(.*)')
_NAME_OF_PERSON = re.compile(r';CN=(?:"([^"]*)"|([^;:"]*))', re.IGNORECASE)
_CHARSET = re.compile(r"CHARSET=([\w-]+)", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d).*)?")
_ESCAPE = re.compile(r"\\([nN,;:\\])")
_TAG = re.compile(r"(?i)</\w+>|<br */?>")
_TITLES = ("SUMMARY", "FN")
_PROSE = ("DESCRIPTION", "COMMENT", "NOTE")
_DATES = {"DTSTART": "Start", "DTEND": "End", "DUE": "Due", "BDAY": "Birthday"}
_PERSONS = ("ORGANIZER", "ATTENDEE")
_LISTS = ("ORG", "ADR")
"""Fields with parts that are separated by semicolons."""
_LINES = tuple(
    "LOCATION CATEGORIES CONTACT RESOURCES TITLE ROLE NICKNAME EMAIL TEL".split()
)

_SHOWN = frozenset((*_TITLES, *_PROSE, *_DATES, *_PERSONS, *_LISTS, *_LINES))


class _Field(NamedTuple):
    """A field of an event or contact: its name in upper case, its parameters and its value."""

    name: str
    parameters: str
    value: str


def is_calendar(text: str) -> bool:
    """Whether a text is a calendar or a list of contacts."""
    return bool(_START.match(text))


def calendar_documents(text: str, remark: str = "") -> list[FileDocument]:
    """A document for each event, task, note or contact; its title is the summary or name."""
    documents = map(_component_document, _components(text))
    return [
        replace(document, key=str(number), remark=remark)
        for number, document in enumerate(documents)
    ]


def invitation(text: str) -> FileDocument:
    """The times, places and persons of a calendar in a message that has its other texts."""
    texts = (*_TITLES, *_PROSE)
    return joined_documents(
        [
            _component_document([field for field in fields if field.name not in texts])
            for fields in _components(text)
        ]
    )


def _components(text: str) -> Iterator[list[_Field]]:
    """The fields of each event, task, note or contact."""
    for match in _COMPONENT.finditer(_FOLD.sub("", _ALARM.sub("", text))):
        fields = map(_FIELD.match, _LINE.findall(match[2]))
        yield [
            _Field(field[1].upper(), field[2], _decoded(field[2], field[3].strip()))
            for field in fields
            if field
        ]


def _decoded(parameters: str, value: str) -> str:
    """A value in letters, if it is in quoted-printable."""
    if "QUOTED-PRINTABLE" not in parameters.upper():
        return value
    charset = _CHARSET.search(parameters)
    try:
        text = quopri.decodestring(value).decode(charset[1] if charset else "utf-8")
    except (LookupError, ValueError):
        return value
    return text.replace("\r\n", "\n")


def _component_document(fields: list[_Field]) -> FileDocument:
    """The document of the fields of an event, task, note or contact."""
    titles = [_text(field.value) for field in fields if field.name in _TITLES]
    lines = list(dict.fromkeys(filter(None, map(_line, fields))))
    prose = [_prose(_text(field.value)) for field in fields if field.name in _PROSE]
    headings = [Block(one_line(title), 1) for title in titles[:1]]
    blocks = [*headings, Block("\n".join(lines))]
    values = [field.value for field in fields if field.name not in _SHOWN]
    left_out = "\n".join(values)
    header = FileDocument(
        blocks, source="\n".join([*titles, *lines, left_out]), left_out=left_out
    )
    return joined_documents([header, *prose])


def _line(field: _Field) -> str:
    """A field behind its name; a person by name, a date in ISO 8601. "" for other fields."""
    label = field.name.capitalize()
    value = one_line(_text(field.value))
    if field.name in _PERSONS:
        names = _NAME_OF_PERSON.findall(field.parameters)
        value = "".join(chain.from_iterable(names[:1]))
    elif field.name in _DATES:
        label = _DATES[field.name]
        value = _date(value)
    elif field.name in _LISTS:
        parts = re.split(r"(?<!\\);", field.value)
        value = ", ".join(filter(None, map(one_line, map(_text, parts))))
    elif field.name not in _LINES:
        return ""
    if not value:
        return ""
    return f"{label}: {value}"


def _date(value: str) -> str:
    """A date, with its time if there is one, such as 2026-10-12 14:00."""
    match = _DATE.fullmatch(value)
    if match is None:
        return value
    date = f"{match[1]}-{match[2]}-{match[3]}"
    if match[4]:
        return f"{date} {match[4]}:{match[5]}"
    return date


def _text(value: str) -> str:
    """A value without its escapes."""
    return _ESCAPE.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)


def _prose(text: str) -> FileDocument:
    """The document of a description, which may be HTML."""
    if _TAG.search(text):
        return page_document(text)
    return plain_document(text)
