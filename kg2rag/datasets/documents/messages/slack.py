"""Messages of an export of Slack -> the same with the texts of their blocks and attachments.

Slack writes a message as a text, as blocks (rich text, sections, headers), or as both with the same
words. Programs and links to pages add attachments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kg2rag.datasets.documents.messages.chats import is_message
from kg2rag.text.scripts import words


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
        block
        for block in message.get("blocks") or ()
        if isinstance(block, Mapping) and block.get("type") != "actions"
    ]
    text = str(message.get("text") or "")
    parts = [*map(_block_text, blocks)]
    for attachment in message.get("attachments") or ():
        if isinstance(attachment, Mapping):
            parts += _attachment_texts(attachment)
    for part in filter(None, parts):
        if not set(words(part)) <= set(words(text)):
            text = f"{text}\n{part}".strip()
    replies = {
        name: with_whole_texts(item)
        for name, item in message.items()
        if isinstance(item, list) and name not in ("blocks", "attachments")
    }
    shown = {**message, **replies, "text": text}
    return {**shown, "blocks": blocks} if blocks else shown


def _block_text(block: Mapping[str, Any]) -> str:
    """The text of a block of Slack, with ids of users and channels as in texts; parts of a list are lines."""
    kind = str(block.get("type") or "")
    if kind in ("user", "channel"):
        sign = {"user": "@", "channel": "#"}[kind]
        return f"<{sign}{block.get(f'{kind}_id')}>"
    if kind == "link":
        return str(block.get("text") or block.get("url") or "")
    text = block.get("text")
    if isinstance(text, Mapping):
        text = text.get("text")
    children = [*(block.get("elements") or ()), *(block.get("fields") or ())]
    inner = [_block_text(child) for child in children if isinstance(child, Mapping)]
    is_line = kind.endswith(("_section", "_preformatted", "_quote"))
    joined = ("" if is_line else "\n").join(filter(None, inner))
    return "\n".join(filter(None, [text, joined]))


def _attachment_texts(attachment: Mapping[str, Any]) -> Iterator[str]:
    """The texts of an attachment of a message: a card that a program or a link to a page adds."""
    for name in ("pretext", "title", "text"):
        yield str(attachment.get(name) or "")
    for field in attachment.get("fields") or ():
        if isinstance(field, Mapping):
            yield f"{field.get('title') or ''}: {field.get('value') or ''}"
