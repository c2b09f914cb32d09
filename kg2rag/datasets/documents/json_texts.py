"""JSON and YAML -> records with a text, at any depth; else one document with a line for each value.

A record is an object with a field of text. It has the fields of the objects around it; the names
of these are its title and headings. So sets of questions (SQuAD), exports of chats and forums, and
answers of search engines are read alike.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from kg2rag.datasets.documents.blocks import (
    Block,
    FileDocument,
    join_remarks,
    one_line,
    plain_document,
)
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.datasets.hub_viewer import viewer_rows
from kg2rag.text.records import DataError, parse_json
from kg2rag.text.scripts import words
from kg2rag.types.coerce_corpus import PASSAGE

QUESTION_COLUMNS = ("question", "query", "user_input")
_TEXTS = (*PASSAGE["text"], "context", "abstract_inverted_index")
_TITLES = (*PASSAGE["title"], "heading", "head")
PHRASE_WORDS = 3
SENTENCE_WORDS = 5
"""Words of a string from which a JSON file is read as text; settings have none."""

_UTF8_AS_ESCAPES = re.compile(r"(?:\\u00[89a-f][0-9a-f]){2,}")
Line = tuple[tuple[str, ...], str]
"""The names of the fields that lead to a value, and the value."""


def load_value(text: str, name: str) -> Any:
    """The value of a file in JSON or YAML; DataError: it is not valid, or has aliases, which are not followed."""
    if name.lower().endswith((".yaml", ".yml")):
        return _load_yaml(text)
    text = _UTF8_AS_ESCAPES.sub(_letter_of_escapes, text)
    return parse_json(text, name or "the file", pairs=unique_fields)


def _letter_of_escapes(match: re.Match[str]) -> str:
    """The letter of bytes that an export of Facebook has written as letters; any other escapes as they are."""
    data = bytes.fromhex(match[0].replace("\\u00", ""))
    try:
        return data.decode()
    except UnicodeDecodeError:
        return match[0]


def _load_yaml(text: str) -> Any:
    import yaml

    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise DataError("it has aliases, which are not followed.")
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise DataError(f"it is no valid YAML: {one_line(str(error))}.") from None


def unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of an object; DataError: a name is there twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"field {twice!r} is there twice in a record. Names must be unique."
        )
    return fields


def json_records(value: Any, name: str | None = None) -> list[Mapping[str, Any]] | None:
    """The records of a value: a list of them, {id: record or text}, or those anywhere in it; None for none.

    `name` is that of the file, for the DataError about an answer of the hub's viewer that is cut;
    None looks for no cuts.
    """
    value = viewer_rows(value, name) or value
    if isinstance(value, list) and value:
        if all(isinstance(item, str) for item in value):
            return _texts_by_id(enumerate(value))
        if all(_first_name(item, QUESTION_COLUMNS) for item in value):
            return value
    return _mapped_records(value) or nested_records(value) or None


def _mapped_records(value: Any) -> list[Mapping[str, Any]]:
    """The records of {id: text or record}; [] for any other value."""
    if not isinstance(value, Mapping) or not value:
        return []
    if all(map(_is_sentence, value.values())):
        return _texts_by_id(value.items())
    if not all(_first_name(item, PASSAGE["text"]) for item in value.values()):
        return []
    return nested_records([{"id": id_, **item} for id_, item in value.items()])


def _texts_by_id(items: Iterable[tuple[Any, str]]) -> list[Mapping[str, Any]]:
    return [{"id": str(id_), "text": text} for id_, text in items]


def _is_sentence(value: object) -> bool:
    return isinstance(value, str) and len(value.split()) >= SENTENCE_WORDS


def nested_questions(
    value: Any, around: Mapping[str, Any] | None = None
) -> Iterator[Mapping[str, Any]]:
    """The objects with a question that lie anywhere in a value, with the single values of the objects around them."""
    if isinstance(value, list):
        for item in value:
            yield from nested_questions(item, around)
    elif isinstance(value, Mapping):
        fields = {**(around or {}), **value}
        if _first_name(value, QUESTION_COLUMNS):
            yield fields
            return
        around = {
            name: item
            for name, item in fields.items()
            if not isinstance(item, list | Mapping)
        }
        yield from nested_questions(list(value.values()), around)


def nested_records(value: Any) -> list[Mapping[str, Any]]:
    """The objects with a text that lie anywhere in a value; numbered where an id lacks or any repeats."""
    records: list[Mapping[str, Any]] = [
        {"id": place, **record}
        for place, record in enumerate(_records_below(value, (), {}))
    ]
    if len({str(record["id"]) for record in records}) < len(records):
        return [{**record, "id": place} for place, record in enumerate(records)]
    return records


def _records_below(
    value: Any, titles: tuple[str, ...], around: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """The records in a value; `titles`, `around`: titles and other fields of the objects that it lies in."""
    if isinstance(value, list):
        around = {name: item for name, item in around.items() if name != "id"}
        lists = [list(_records_below(item, titles, around)) for item in value]
        for item, records in zip(value, lists, strict=True):
            if any(lists) and not records and has_phrase(item):
                yield from _records_of({"text": fields_text(item)}, titles, around)
            yield from records
    elif isinstance(value, Mapping):
        yield from _records_of(value, titles, around)


def _records_of(
    value: Mapping[str, Any], titles: tuple[str, ...], around: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """The record of an object with a text, and those below it that say more; prose beside records is one, too."""
    texts = {name: item for name, item in value.items() if flat_text(item)}
    text_name = _first_name(texts, _TEXTS)
    text = flat_text(texts.get(text_name))
    fields, title = _plain_fields(value, text_name)
    titles = (*titles, *title)
    inherited = _without_prose({**around, **fields})
    below = {
        name: list(_records_below(item, titles, inherited))
        for name, item in value.items()
        if isinstance(item, Mapping | list) and name != text_name
    }
    if not text and any(below.values()):
        text = "\n\n".join(filter(has_phrase, fields.values()))
        fields = {}
    below = _new_records(below, text)
    if text:
        columns = {name: value[name] for name in below if not below[name]}
        headings = [" > ".join(titles[1:])] if titles[1:] else []
        fields = {**columns, **inherited, **fields, "title": "".join(titles[:1])}
        yield {**fields, "text": "\n".join([*headings, text])}
    yield from chain.from_iterable(below.values())


def _without_prose(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: item for name, item in fields.items() if not has_phrase(item)}


def _new_records(
    records: Mapping[str, list[Mapping[str, Any]]], text: str
) -> dict[str, list[Mapping[str, Any]]]:
    """The records of each field that have words that a text lacks: others are its pieces or answers."""
    text_words = set(words(text))
    return {
        name: [record for record in below if _new_words(record, text_words)]
        for name, below in records.items()
    }


def _new_words(record: Mapping[str, Any], text_words: Container[str]) -> list[str]:
    """The words of a record, numbers apart, that a text lacks."""
    return [
        word
        for word in words(record["text"])
        if word not in text_words and not word.isdigit()
    ]


def _first_name(value: Any, names: Sequence[str]) -> str:
    """The first field of an object that has one of some names, in any case; "" for none."""
    if not isinstance(value, Mapping):
        return ""
    spelling = {str(name).casefold(): name for name in value}
    return next((spelling[name] for name in names if name in spelling), "")


def _plain_fields(
    value: Mapping[str, Any], text_name: str
) -> tuple[dict[str, Any], list[str]]:
    """The fields of an object that are neither lists nor objects nor its text, with its id; and its title."""
    fields = {
        name: item
        for name, item in value.items()
        if not isinstance(item, Mapping | list) and name != text_name
    }
    metadata = value.get("metadata")
    if isinstance(metadata, Mapping) and not _first_name(fields, _TITLES):
        fields |= {"title": metadata.get("title")}
    title = fields.pop(_first_name(fields, _TITLES), None)
    id_ = fields.pop(_first_name(fields, PASSAGE["id"]), None)
    if id_ is not None:
        fields["id"] = id_
    return fields, [one_line(str(title))] if title else []


def flat_text(value: Any) -> str:
    """A text, or the joined pieces of a text with formats, as chats and editors keep it; "" for any other value.

    Pieces are texts and objects with a `type`; a piece that holds others is a paragraph.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and all(map(_is_places, value.values())):
        return " ".join(sorted(value, key=lambda word: value[word][0]))
    if not isinstance(value, list) or not all(map(_is_piece, value)):
        return ""
    return "".join(map(_piece_text, value))


def _is_places(value: Any) -> bool:
    """Whether a value has the places of a word in a text, as OpenAlex keeps abstracts."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], int)


def _is_piece(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, Mapping) and "type" in value)


def _piece_text(piece: Any) -> str:
    if isinstance(piece, str):
        return piece
    inside = piece.get("text") or piece.get("content")
    return flat_text(inside) + "\n\n" * isinstance(inside, list)


def read_json(data: bytes, name: str = "") -> list[FileDocument]:
    """The document of JSON that holds no records; DataError: it is not valid, or has no sentence."""
    text, remark = decode_text(data)
    return [_value_document(load_value(text, name), remark)]


def read_yaml(data: bytes, name: str = "") -> list[FileDocument]:
    """The document of YAML as that of JSON; what cannot be read so is plain text."""
    text, remark = decode_text(data)
    try:
        value = load_value(text, name)
    except DataError as error:
        return [plain_document(text, join_remarks(remark, f"plain text: {error}"))]
    return [_value_document(value, remark)]


def _value_document(value: Any, remark: str) -> FileDocument:
    """A line for every value, under the names that lead to it; DataError: no sentence, as settings have none."""
    lines = list(value_lines(value))
    # of a description of an interface (OpenAPI)
    title = next(
        (one_line(text) for path, text in lines if path == ("info", "title")), ""
    )
    if not title and not any(_is_sentence(text) for _, text in lines):
        raise DataError("no records with a text and no sentence in it: settings?")
    blocks = list(map(line_block, lines))
    return FileDocument(blocks, title, source=value_text(value), remark=remark)


def fields_text(record: Any) -> str:
    """All values of a record, a line each, behind their names."""
    return "\n".join(line_block(line).text for line in value_lines(record))


def has_phrase(value: Any) -> bool:
    """Whether a text in a value has three words; numbers, names and codes have fewer."""
    lines = value_lines(value)
    return any(len(text.split()) >= PHRASE_WORDS for _, text in lines)


def line_block(line: Line) -> Block:
    """The value of a field with the field's names before it; the field `title` of the whole is a heading."""
    path, text = line
    if path == ("title",):
        return Block(one_line(text), 1)
    return Block(": ".join(filter(None, [" ".join(path), one_line(text)])))


def value_text(value: Any) -> str:
    """All texts and numbers in a value, a line each."""
    return "\n".join(text for _, text in value_lines(value))


def value_lines(value: Any, path: tuple[str, ...] = ()) -> Iterator[Line]:
    """Every value that is no list or object, with the names of the fields that lead to it."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from value_lines(item, (*path, str(name)))
    elif isinstance(value, list):
        for item in value:
            yield from value_lines(item, path)
    elif value is not None and str(value).strip():
        yield path, str(value)
