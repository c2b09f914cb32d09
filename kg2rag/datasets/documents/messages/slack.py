"""Messages of an export of Slack -> the same with the texts of their blocks and attachments.

Slack writes a message as a text, as blocks (rich text, sections, headers), or as both with the same
words. Programs and links to pages add attachments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kg2rag.datasets.documents.messages.chats import is_message
from kg2rag.text.scripts import words

_SIGNS = {"user": "@", "channel": "#"}
"""Kind of a mention -> the sign before its id."""


def with_whole_texts(value: Any) -> Any:
    """Messages of Slack in a list, at any depth of lists, with the texts of their blocks and attachments.

    Any other value is returned as it is. Buttons are left out.
    """
    if not isinstance(value, list):
        return value
    return [
        _whole_message(item) if isinstance(item, Mapping) and is_message(item) else item
        for item in value
    ]


def _whole_message(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message whose text has the words of its blocks and attachments, each once."""
    blocks = [
        block for block in _objects(message, "blocks") if block.get("type") != "actions"
    ]
    parts = list(map(_block_text, blocks))
    for attachment in _objects(message, "attachments"):
        parts += _attachment_texts(attachment)
    text = _with_new_parts(str(message.get("text") or ""), parts)
    replies = {
        name: with_whole_texts(item)
        for name, item in message.items()
        if isinstance(item, list) and name not in ("blocks", "attachments")
    }
    shown = {**message, **replies, "text": text}
    if blocks:
        shown["blocks"] = blocks
    return shown


def _with_new_parts(text: str, parts: Iterable[str]) -> str:
    """A text with a further line for each part that has a word that it lacks."""
    for part in parts:
        if not set(words(part)) <= set(words(text)):
            text = f"{text}\n{part}".strip()
    return text


def _objects(value: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The objects in a field that is a list."""
    return [item for item in value.get(name) or () if isinstance(item, Mapping)]


def _block_text(block: Mapping[str, Any]) -> str:
    """The text of a block of Slack, with ids of users and channels as in texts; parts of a list are lines."""
    kind = str(block.get("type") or "")
    if kind in _SIGNS:
        return f"<{_SIGNS[kind]}{block.get(f'{kind}_id')}>"
    if kind == "link":
        return str(block.get("text") or block.get("url") or "")
    text = block.get("text")
    if isinstance(text, Mapping):
        text = text.get("text")
    children = [*_objects(block, "elements"), *_objects(block, "fields")]
    separator = "\n"
    if kind.endswith(("_section", "_preformatted", "_quote")):
        separator = ""
    inner = separator.join(filter(None, map(_block_text, children)))
    return "\n".join(filter(None, [text, inner]))


def _attachment_texts(attachment: Mapping[str, Any]) -> Iterator[str]:
    """The texts of an attachment of a message: a card that a program or a link to a page adds."""
    for name in ("pretext", "title", "text"):
        yield str(attachment.get(name) or "")
    for field in _objects(attachment, "fields"):
        yield f"{field.get('title') or ''}: {field.get('value') or ''}"
