"""Objects of JSON as they are shown: texts in pieces, as chats and editors store them, and persons.

A document of Jira, Confluence (ADF) or Tiptap is a tree: its nodes have a `type`, `content` and
`attrs`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

_LINKS = ("_links", "_expandable")
_FIELDS_OF_ISSUE = ("fields", "renderedFields", "summary", "description")
_TEXTS_OF_ISSUE = ("environment", "customfield_")
"""Beginnings of the names of fields of an issue that may have a text."""
_BREAKS = ("hardBreak", "hard_break")
_ROWS = ("tableRow", "table_row")
_CELLS = ("tableCell", "tableHeader", "table_cell", "table_header")
_SHOWN_ATTRIBUTES = ("text", "label", "shortName", "url")
"""Attributes of a node that it shows: of a mention, a state, an emoji and a card."""
DATE_DIGITS = 14
"""Most digits of milliseconds that are a date: until the year 5138."""


def shown_object(fields: Mapping[str, Any]) -> Any:
    """An object of JSON as it is shown; the objects in it are already.

    A tree, and the body of a page of Confluence or of a message, is its text; a person is a name; an
    issue of Jira has its summary as title. Links of an interface are left out.
    """
    if _is_tree(fields):
        return flat_text(fields["content"])
    shown = {
        name: _shown_person(value)
        for name, value in fields.items()
        if name not in _LINKS
    }
    bodies = list(shown.values())
    if bodies and all(map(_is_body, bodies)):
        return _body_text(bodies[0])
    if fields.keys() == {"contentType", "content"}:
        return fields["content"] or ""

    return _issue_record(shown) or _message_record(shown)


def _is_tree(fields: Mapping[str, Any]) -> bool:
    """Whether an object is a document of an editor."""
    return fields.get("type") == "doc" and isinstance(fields.get("content"), list)


def _is_body(value: Any) -> bool:
    """Whether a value is a body of a page of Confluence in one representation."""
    return (
        isinstance(value, Mapping)
        and "representation" in value
        and isinstance(value.get("value"), str)
    )


def _body_text(body: Mapping[str, Any]) -> str:
    """The text of a body, which may be a tree that is written as a text."""
    with suppress(ValueError):
        tree = json.loads(body["value"])
        if isinstance(tree, Mapping) and _is_tree(tree):
            return flat_text(tree["content"])
    return str(body["value"])


def _issue_record(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The record of an issue of Jira: its key is the id, its summary the title; {} for others.

    The text of an issue without a description is its summary; texts of other fields follow.
    """
    issue = fields.get("fields")
    if "key" not in fields or not isinstance(issue, Mapping) or not _is_issue(issue):
        return {}
    texts = {
        name: value
        for name, value in issue.items()
        if name.startswith(_TEXTS_OF_ISSUE) and _is_phrase(value)
    }
    text = "\n\n".join([issue["description"] or issue["summary"], *texts.values()])
    columns = {
        name: value
        for name, value in {**fields, **issue}.items()
        if name not in (*_FIELDS_OF_ISSUE, *texts)
    }
    return {**columns, "id": fields["key"], "title": issue["summary"], "text": text}


def _is_issue(fields: Mapping[str, Any]) -> bool:
    """Whether fields are those of an issue: a summary, and a description that is a text or null."""
    description = fields.get("description", 0)
    return isinstance(fields.get("summary"), str) and (
        description is None or isinstance(description, str)
    )


def _message_record(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message of Teams or Outlook with its subject as title, without its preview; others as they are."""
    subject = fields.get("subject")
    if not isinstance(subject, str) or not fields.keys() >= {"importance", "body"}:
        return fields
    shown = {
        name: value
        for name, value in fields.items()
        if name not in ("subject", "bodyPreview")
    }
    return {**shown, "title": subject}


def _is_phrase(value: Any) -> bool:
    """Whether a value is a text of at least three words."""
    return isinstance(value, str) and len(value.split()) > 2


def flat_text(value: Any) -> str:
    """The text of a string, of a list of formatted pieces or of an object with `parts`; else "".

    Chats and editors store such values. A piece is a string or an object with a type; a piece that
    contains others is a paragraph.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return _text_of_object(value)
    if not isinstance(value, list) or not all(map(_is_piece, value)):
        return ""
    return "".join(map(piece_text, value))


def _text_of_object(fields: Mapping[str, Any]) -> str:
    """The text of an object with `parts`, or with the places of each word in a text; else ""."""
    parts = fields.get("parts")
    if isinstance(parts, list):
        return "\n\n".join(filter(None, map(piece_text, parts)))
    if not all(map(_is_places, fields.values())):
        return ""
    words_in_places = [(place, word) for word in fields for place in fields[word]]
    return " ".join(word for _, word in sorted(words_in_places))


def _is_places(value: Any) -> bool:
    """Whether a value has the places of a word in a text, as OpenAlex keeps abstracts."""
    is_list = isinstance(value, list) and bool(value)
    return is_list and all(isinstance(place, int) for place in value)


def _is_piece(value: Any) -> bool:
    """Whether a value is a piece of a formatted text."""
    return isinstance(value, str) or (isinstance(value, Mapping) and "type" in value)


def piece_text(piece: Any) -> str:
    """The text of a piece; one that contains others ends with a blank line, a cell with a bar."""
    if isinstance(piece, str):
        return piece
    if not isinstance(piece, Mapping):
        return ""
    kind = piece.get("type")
    contents = piece.get("text") or piece.get("content")
    if kind in _BREAKS:
        return "\n"
    if contents or kind == "media" or not isinstance(piece.get("attrs"), Mapping):
        return _content_text(kind, contents)
    return _attribute_text(piece["attrs"])


def _content_text(kind: Any, contents: Any) -> str:
    """The text of the contents of a piece of this kind."""
    text = flat_text(contents)
    if kind in _CELLS:
        return f"{' '.join(text.split())} | "
    if kind in _ROWS:
        text = text.strip(" |")
    if isinstance(contents, list):
        return f"{text}\n\n"
    return text


def _attribute_text(attributes: Mapping[str, Any]) -> str:
    """The text of a node without content: a mention, an emoji, the address of a card, or a date."""
    shown = (attributes.get(name) for name in _SHOWN_ATTRIBUTES)
    text = next((value for value in shown if isinstance(value, str) and value), "")
    milliseconds = str(attributes.get("timestamp", ""))
    if not text and milliseconds.isdecimal() and len(milliseconds) <= DATE_DIGITS:
        return f"{datetime.fromtimestamp(int(milliseconds) / 1000, UTC):%Y-%m-%d}"
    return text


def _shown_person(value: Any) -> Any:
    """The name of a person; any other value as it is."""
    return _person_name(value) or value


def _person_name(value: Any) -> str:
    """The name of a user of Jira, Confluence or Teams with its ids and pictures; else "".

    An object with another text is no person. The sender of a message of Teams is an object whose
    only value is a user.
    """
    if not isinstance(value, Mapping):
        return ""
    name = value.get("displayName")
    if isinstance(name, str):
        others = [item for item in value.values() if item != name]
        return "" if any(map(_is_phrase, others)) else name
    fields = [item for item in value.values() if item is not None]
    is_sender = fields == [value.get("user")] and isinstance(fields[0], str)
    return fields[0] if is_sender else ""
