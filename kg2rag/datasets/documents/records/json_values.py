"""The values of JSON and YAML: how they are read, and which of them are text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from kg2rag.datasets.documents.blocks import Block, one_line
from kg2rag.datasets.documents.records.rich_texts import shown_object
from kg2rag.datasets.documents.web.html import is_page, visible_text
from kg2rag.text.records import DataError, parse_json

PHRASE_WORDS = 3
"""Least number of words of a phrase; names and codes have fewer."""
SENTENCE_WORDS = 5
"""Least number of words of a sentence; a file of settings has no sentence."""
VECTOR_NUMBERS = 16
"""Least length of a list of numbers that is a vector, which has no words."""
# An object on the first line and another on the second: JSON Lines in a file `.json`.
_JSON_LINES = re.compile(r"\s*\{[^\n]*\}[ \t]*\n\s*\{")
# A file within a value: a picture, a font, a signature.
_BASE64 = re.compile(r"(?:data:[^,\s]{0,100},)?[\w+/=-]{200,}")
_TYPE_OF_MONGODB = re.compile(r"\$(?:oid|date|uuid|number\w+)")
_UTF8_AS_ESCAPES = re.compile(r"(?:\\u00[89a-f][0-9a-f]){2,}")
# Marks between characters for private use, by which ChatGPT cites the results of a search.
_CITATION = re.compile(r"(?:\ue200|\\ue200)[^\s\"]{1,300}?(?:\ue201|\\ue201)")
_NAMES_OF_PAIR = ("name", "title", "label", "key")
Line = tuple[tuple[str, ...], str]
"""The names of the fields that lead to a value, and the value."""


def load_value(text: str, name: str) -> Any:
    """The value of a file in JSON or YAML, or the list of the objects of JSON Lines.

    DataError: it is not valid, or YAML with aliases.
    """
    if name.lower().endswith((".yaml", ".yml")):
        return _load_yaml(text)
    text = _CITATION.sub("", _UTF8_AS_ESCAPES.sub(_letter_of_escapes, text))
    name = name or "the file"
    if not _JSON_LINES.match(text):
        value = parse_json(text, name, pairs=unique_fields)
        return {"text": value} if isinstance(value, str) else value
    return load_lines(text, name)


def load_lines(text: str, name: str) -> list[Any]:
    """The values in JSON Lines; DataError: a line is not valid."""
    return [
        parse_json(line, f"{name}, line {number}", pairs=unique_fields)
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]


def _letter_of_escapes(match: re.Match[str]) -> str:
    """The characters of escapes that are bytes of UTF-8, as exports of Facebook have them.

    Other escapes are returned as they are.
    """
    data = bytes.fromhex(match[0].replace("\\u00", ""))
    try:
        return data.decode()
    except UnicodeDecodeError:
        return match[0]


def _load_yaml(text: str) -> Any:
    """The value of YAML; DataError: it is not valid, or has aliases, which can expand without bound."""
    import yaml

    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise DataError("it has aliases, which are not followed.")
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise DataError(f"it is no valid YAML: {one_line(str(error))}.") from None


def unique_fields(pairs: list[tuple[str, Any]]) -> Any:
    """The fields of a JSON object as they are shown; DataError: two fields have one name.

    An object such as {"$oid": "65a1"} is the value of a type that JSON lacks, as MongoDB writes it.
    """
    if len(pairs) == 1 and _TYPE_OF_MONGODB.fullmatch(pairs[0][0]):
        return pairs[0][1]
    counts = Counter(name for name, _ in pairs)
    for name, count in counts.items():
        if count > 1:
            raise DataError(
                f"a record has {count} fields named {name!r}. Names must be unique."
            )
    return shown_object(dict(pairs))


def fields_text(record: Any) -> str:
    """All values of a record, one per line, behind the names of their fields."""
    return "\n".join(line_block(line).text for line in value_lines(record))


def pairs_text(value: Any) -> str:
    """A list of {name: …, value: …}, such as the fields of a card in a chat, as lines `name: value`.

    It is "" for any other value, and if no value in the list is a phrase.
    """
    if not isinstance(value, list) or not all(map(_is_pair, value)):
        return ""
    if not any(has_phrase(pair["value"]) for pair in value):
        return ""
    return "\n".join(f"{_name_of_pair(pair)}: {pair['value']}" for pair in value)


def _is_pair(item: Any) -> bool:
    """Whether an item is an object with a name and a value, both texts."""
    return (
        isinstance(item, Mapping)
        and isinstance(item.get("value"), str)
        and bool(_name_of_pair(item))
    )


def _name_of_pair(pair: Mapping[str, Any]) -> str:
    """The name of a pair; "" for none."""
    names = [pair.get(field) for field in _NAMES_OF_PAIR]
    return next((name for name in names if isinstance(name, str)), "")


def has_phrase(value: Any) -> bool:
    """Whether a value, or one in it, has at least `PHRASE_WORDS` words."""
    lines = value_lines(value)
    return any(len(text.split()) >= PHRASE_WORDS for _, text in lines)


def line_block(line: Line) -> Block:
    """A value behind the names that lead to it; the field `title` of the whole file is a heading."""
    path, text = line
    if path == ("title",):
        return Block(one_line(text), 1)
    return Block(": ".join(filter(None, [" ".join(path), one_line(text)])))


def value_text(value: Any) -> str:
    """All texts and numbers in a value, one per line."""
    return "\n".join(text for _, text in value_lines(value))


def value_lines(value: Any, path: tuple[str, ...] = ()) -> Iterator[Line]:
    """Every non-empty value that is neither list nor object, with the names that lead to it.

    A value that is a page of HTML is its text; vectors and files in base64 have none.
    """
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from value_lines(item, (*path, str(name)))
    elif isinstance(value, list):
        for item in () if is_vector(value) else value:
            yield from value_lines(item, path)
    elif value is not None:
        text = _shown_text(str(value))
        if text.strip():
            yield path, text


def is_vector(value: Any) -> bool:
    """Whether a value is a vector: a list of at least `VECTOR_NUMBERS` numbers with a fraction."""
    return (
        isinstance(value, list)
        and len(value) >= VECTOR_NUMBERS
        and all(isinstance(item, float) for item in value)
    )


def _shown_text(value: str) -> str:
    """A value as it is shown: the text of a page of HTML, "" for a file in base64."""
    if is_page(value):
        return visible_text(value)
    return "" if _BASE64.fullmatch(value.strip()) else value
