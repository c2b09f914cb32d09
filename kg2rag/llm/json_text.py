"""The text of a reply, perhaps cut off -> the JSON in it.

Small models wrap JSON in fences and prose, and write trailing commas; json-repair reads these.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import BaseModel


def json_in(text: str) -> Any:
    """The JSON value of a text, else the last JSON object or list in it, repaired.

    ValueError: it is cut off or nested too deeply, or there is none.

    >>> json_in("Sure! {'answer': 'Paris', 'sure': True,} Anything else?")
    {'answer': 'Paris', 'sure': True}
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    except ValueError:
        return _repaired_json(text)


def _repaired_json(text: str) -> Any:
    """The last object or list in a text that is no JSON; ValueError as `json_in`."""
    import json_repair

    if _is_cut_off(text):
        raise ValueError("its JSON is cut off")
    try:
        value = json_repair.loads(text)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    if not isinstance(value, dict | list):
        raise ValueError("it holds no JSON object")
    return value


def _is_cut_off(text: str) -> bool:
    """Whether a text ends before its JSON; a single missing brace after a whole value is repaired."""
    n_unclosed = text.count("{") - text.count("}")
    ends_after_value = text.rstrip("` \n,").endswith(('"', "'", "]", "}"))
    return (
        text.count("[") > text.count("]")
        or n_unclosed > 1
        or (n_unclosed == 1 and not ends_after_value)
    )


def whole_items(text: str, schema: type[BaseModel]) -> Any:
    """The JSON of a cut answer up to its last whole item; a missing list of the schema is empty.

    ValueError: it has no whole item.
    """
    beginning, closing = _whole_part(text)
    value = json_in(beginning + closing) if beginning else None
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
    """The part of a text from its first bracket to its last whole item, and the brackets that close it.

    An item is a string, a list or an object in a list.
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
    reasoning, end_tag, answer = text.partition("</think>")
    # A later opening tag belongs to the answer.
    if not end_tag or "<think>" in reasoning.lstrip().removeprefix("<think>"):
        return text
    return answer.lstrip()


def quoted(text: str) -> str:
    """A text as a JSON string for a prompt, with escaped quotes and line breaks."""
    # Lone surrogates cannot be sent.
    sendable = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return json.dumps(sendable, ensure_ascii=False)
