"""The text of a reply -> the JSON in it, repaired, also of a reply that was cut off.

Small models wrap JSON in fences and prose, and write trailing commas, which json-repair reads.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import BaseModel


def json_in(text: str) -> Any:
    """The last JSON object or list in a text, repaired; ValueError: it is cut off.

    >>> json_in("Sure! {'answer': 'Paris', 'sure': True,} Anything else?")
    {'answer': 'Paris', 'sure': True}
    """
    try:
        try:
            return json.loads(text)
        except ValueError:
            unclosed = text.count("{") - text.count("}")
            within = unclosed == 1 and text.rstrip("` \n,")[-1:] not in (
                '"',
                "'",
                "]",
                "}",
            )
            if text.count("[") > text.count("]") or unclosed > 1 or within:
                raise ValueError("its JSON is cut off") from None
            import json_repair

            value = json_repair.loads(text)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    if not isinstance(value, dict | list):
        raise ValueError("it holds no JSON object")
    return value


def whole_items(text: str, schema: type[BaseModel]) -> Any:
    """The JSON of a cut answer up to its last complete item; missing lists are empty.

    ValueError if it has no whole item.
    """
    begun, closing = _whole_part(text)
    value = json_in(begun + closing) if begun else None
    if isinstance(value, dict):
        properties = schema.model_json_schema()["properties"]
        lists = {
            name: value.get(name, [])
            for name, part in properties.items()
            if part.get("type") == "array"
        }
        value = value | lists if any(lists.values()) else None
    if not value:
        raise ValueError(
            "it was cut off at its limit of tokens before its first whole item"
        )
    return value


_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*(?:"|$)|[][{}]', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_ITEM_LEVELS = ("]", "]}")
"""The closing brackets after an item of a list, or of a list that is a field of an object."""


def _whole_part(text: str) -> tuple[str, str]:
    """A text from its first bracket to its last complete item, and the closing brackets.

    An item is a string, a list or an object.
    """
    start = end = min(
        (text.index(bracket) for bracket in _CLOSING if bracket in text),
        default=len(text),
    )
    closing = closing_at_end = ""
    for part in _STRING_OR_BRACKET.finditer(text, start):
        symbol = part[0]
        if symbol in _CLOSING:
            if not closing:
                start = part.start()
            closing = _CLOSING[symbol] + closing
            continue
        if symbol == closing[:1]:
            closing = closing[1:]
        if closing in _ITEM_LEVELS and symbol[-1] in '"]}':
            end, closing_at_end = part.end(), closing
    return text[start:end], closing_at_end


def without_reasoning(text: str) -> str:
    """A text without a leading `<think>` block, whose opening tag may be missing."""
    thought, end, answer = text.partition("</think>")
    if not end or "<think>" in thought.lstrip().removeprefix("<think>"):
        return text
    return answer.lstrip()


def quoted(text: str) -> str:
    """A text as a JSON string for a prompt, with escaped quotes and line breaks."""
    # Lone surrogates cannot be sent.
    sendable = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return json.dumps(sendable, ensure_ascii=False)
