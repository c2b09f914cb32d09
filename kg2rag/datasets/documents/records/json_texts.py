"""JSON and YAML -> records with a text, at any depth; else one document with a line per value.

A record is an object with a field of text. It inherits the fields of the objects that contain it,
and their titles are its title and headings. Records that inherit their last title from one object
are one document. So question sets (SQuAD), exports of chats and forums, and responses of search
engines are read by one rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from kg2rag.datasets.documents.blocks import (
    FileDocument,
    join_remarks,
    one_line,
    plain_document,
)
from kg2rag.datasets.documents.records.json_values import (
    SENTENCE_WORDS,
    fields_text,
    has_phrase,
    line_block,
    load_lines,
    load_value,
    pairs_text,
    value_lines,
    value_text,
)
from kg2rag.datasets.documents.records.layout import (
    layout_documents,
    layout_documents_of_lines,
)
from kg2rag.datasets.documents.records.rich_texts import flat_text, piece_text
from kg2rag.datasets.hub_viewer import viewer_rows
from kg2rag.text.decoding import decode_text
from kg2rag.text.records import DataError
from kg2rag.text.scripts import words
from kg2rag.types.coerce_corpus import PASSAGE, QUESTION_AND_ANSWER

QUESTION_COLUMNS = ("question", "query", "user_input")
_QUESTIONS = (
    *QUESTION_COLUMNS,
    *QUESTION_AND_ANSWER["question"],
    *("input", "prompt"),
)
_TEXTS = (
    *PASSAGE["text"],
    *(
        "context",
        "abstract_inverted_index",
        "extracted_content",
        "string",
        "cooked",
        "canvascontent1",
    ),
)
_TITLES = (*PASSAGE["title"], "heading", "head")
_CONTAINER = "containing object"
"""Field of a nested record without a number: the identity of the object with its last title."""


def json_records(value: Any, name: str | None = None) -> list[Mapping[str, Any]] | None:
    """The records in a value; None if there is none.

    The value is a list of records or texts, a mapping {id: record or text}, the answer of the hub's
    viewer, or has records at any depth.

    name : the file, for the DataError about cells that the viewer has truncated; None accepts them.
    """
    value = viewer_rows(value, name) or value
    return (
        _listed_records(value)
        or _mapped_records(value)
        or numbered_records(nested_records([value]))
        or _titled_records(value)
        or None
    )


def _listed_records(value: Any) -> list[Mapping[str, Any]]:
    """The records of a list of texts or of questions; [] for any other value."""
    if not isinstance(value, list):
        return []
    if all(isinstance(item, str) for item in value):
        return _texts_by_id(enumerate(value))
    if all(_first_name(item, QUESTION_COLUMNS) for item in value):
        return value
    return []


def _titled_records(value: Any) -> list[Mapping[str, Any]]:
    """A list of flat objects without a field of text, each with a title and a sentence; [] for others."""
    if not isinstance(value, list) or len(value) < 2:
        return []
    return value if all(map(_is_titled, value)) else []


def _is_titled(item: Any) -> bool:
    """Whether an item is an object with a title, a sentence in another field, and no object in it."""
    if not isinstance(item, Mapping) or not item.get(_first_name(item, _TITLES)):
        return False
    if any(isinstance(field, Mapping) for field in item.values()):
        return False
    return any(map(_is_sentence, item.values()))


def _mapped_records(value: Any) -> list[Mapping[str, Any]]:
    """The records of a mapping {id: text or record}; [] for any other value."""
    if not isinstance(value, Mapping) or not value:
        return []
    if all(map(_is_sentence, value.values())):
        return _texts_by_id(value.items())
    if not all(_first_name(item, PASSAGE["text"]) for item in value.values()):
        return []
    return numbered_records(
        nested_records([{"id": id_, **item} for id_, item in value.items()])
    )


def _texts_by_id(items: Iterable[tuple[Any, str]]) -> list[Mapping[str, Any]]:
    """One record per (id, text)."""
    return [{"id": str(id_), "text": text} for id_, text in items]


def _is_sentence(value: object) -> bool:
    """Whether a value is a text of at least `SENTENCE_WORDS` words."""
    return isinstance(value, str) and len(value.split()) >= SENTENCE_WORDS


def flat_questions(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list, each with a question; [] for another value.

    If an inner object has the question, the fields of all inner objects are those of the object itself:
    Langfuse, LangSmith and Label Studio have the answer in another inner object.
    """
    if not isinstance(value, list):
        return []
    records: list[Mapping[str, Any]] = []
    for item in value:
        if isinstance(item, Mapping):
            asks = isinstance(item.get(_first_name(item, _QUESTIONS)), str)
            records.append(item if asks else _flat_fields(item))
    asks = all(_first_name(record, _QUESTIONS) for record in records)
    return records if asks and len(records) == len(value) else []


def _flat_fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an object and of its inner objects; of equal names, the outer counts."""
    inner = [value for value in record.values() if isinstance(value, Mapping)]
    fields = {
        name: value for name, value in record.items() if not isinstance(value, Mapping)
    }
    for value in inner:
        fields = {**_flat_fields(value), **fields}
    return fields


def nested_questions(
    value: Any, inherited: Mapping[str, Any] | None = None
) -> Iterator[Mapping[str, Any]]:
    """The objects with a question at any depth of a value, with the fields that they inherit.

    inherited : the fields of the containing objects that are neither lists nor objects.
    """
    if isinstance(value, list):
        for item in value:
            yield from nested_questions(item, inherited)
    elif isinstance(value, Mapping):
        yield from _questions_of_object(value, inherited or {})


def _questions_of_object(
    value: Mapping[str, Any], inherited: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """An object with a question, in it or in one inner object; else the questions below it."""
    fields = {**inherited, **value}
    asks = [item for item in value.values() if _first_name(item, QUESTION_COLUMNS)]
    if _first_name(value, QUESTION_COLUMNS):
        yield fields
    elif len(asks) == 1:  # its answer and source are in the other objects
        yield {**inherited, **_flat_fields(value)}
    else:
        plain_fields = {
            name: item
            for name, item in fields.items()
            if not isinstance(item, list | Mapping)
        }
        yield from nested_questions(list(value.values()), plain_fields)


def nested_records(value: Any) -> Sequence[Mapping[str, Any]]:
    """The objects with a text at any depth of a value, to be numbered by `numbered_records`.

    All records in an object without titles, such as a line with messages, have it as container.
    """
    inherited = {_CONTAINER: id(value)} if isinstance(value, Mapping) else {}
    return list(_records_below(value, (), inherited))


def numbered_records(
    records: Sequence[Mapping[str, Any]],
) -> list[Mapping[str, Any]]:
    """Nested records with ids.

    A record without an id is numbered; all are numbered if two have the same id. The records of a
    titled object have the id of the first of them as `doc_id`.
    """
    ids = [
        record.get(_first_name(record, PASSAGE["id"]), number)
        for number, record in enumerate(records)
    ]
    if len(set(map(str, ids))) < len(ids):
        ids = list(range(len(ids)))
    n_records = Counter(record.get(_CONTAINER) for record in records)
    documents = dict[object, Any]()
    numbered = list[Mapping[str, Any]]()
    for id_, record in zip(ids, records, strict=True):
        container = record.get(_CONTAINER)
        fields = {name: item for name, item in record.items() if name != _CONTAINER}
        if container is not None and n_records[container] > 1:
            fields = {"doc_id": documents.setdefault(container, id_), **fields}
        numbered.append({**fields, "id": id_})
    return numbered


def _records_below(
    value: Any, titles: tuple[str, ...], inherited: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """The records in a value; in a list with records, any other member with a phrase is one, too.

    titles, inherited : the titles and the other fields of the containing objects.
    """
    if isinstance(value, list):
        inherited = {name: item for name, item in inherited.items() if name != "id"}
        lists = [list(_records_below(item, titles, inherited)) for item in value]
        for item, records in zip(value, lists, strict=True):
            if any(lists) and not records and has_phrase(item):
                yield from _records_of({"text": fields_text(item)}, titles, inherited)
            yield from records
    elif isinstance(value, Mapping):
        yield from _records_of(_in_order_of_tree(value), titles, inherited)


def _in_order_of_tree(nodes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The nodes of a tree of messages, each before its children; any other object as it is.

    nodes : id -> node, with the ids of its parent and its children.
    """
    if not nodes or not all(map(_is_node, nodes.values())):
        return nodes
    stack = [id_ for id_ in nodes if nodes[id_]["parent"] not in nodes][::-1]
    ordered = dict[str, Any]()
    while stack:
        id_ = stack.pop()
        if id_ in nodes and id_ not in ordered:
            ordered[id_] = nodes[id_]
            stack += nodes[id_]["children"][::-1]
    return {**ordered, **nodes}


def _is_node(value: Any) -> bool:
    """Whether a value is a node of a tree: an object with a parent and a list of children's ids."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("parent", 0), str | None)
        and isinstance(value.get("children"), list)
        and all(isinstance(id_, str) for id_ in value["children"])
    )


def _records_of(
    value: Mapping[str, Any], titles: tuple[str, ...], inherited: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """The record of an object with a text, then the records below it that have further words.

    The phrases of an object without a text that contains records are a text.
    """
    text_name, text = _text_of(value)
    fields, title = _plain_fields(value, text_name)
    if title:
        titles = (*titles, title)
        inherited = {**inherited, _CONTAINER: id(value)}
    inherited = _without_phrases({**inherited, **fields})
    below = {
        name: list(_records_below(item, titles, inherited))
        for name, item in value.items()
        if isinstance(item, Mapping | list) and name != text_name
    }
    if not text and any(below.values()):
        text = "\n\n".join(filter(has_phrase, fields.values()))
        fields = {}
    below = _records_with_new_words(below, text)
    if text:
        columns = {name: value[name] for name in below if not below[name]}
        pairs = map(pairs_text, columns.values())
        text = "\n".join([text, *filter(None, pairs)])
        columns |= _parts_without_text(value, text_name)
        yield _record({**columns, **inherited, **fields}, titles, text)
    yield from chain.from_iterable(below.values())


def _record(
    fields: Mapping[str, Any], titles: Sequence[str], text: str
) -> dict[str, Any]:
    """A record: the first of its titles is its title, the others are headings of its text."""
    lines = [" > ".join(titles[1:]), text]
    return {
        **fields,
        "title": "".join(titles[:1]),
        "text": "\n".join(filter(None, lines)),
    }


def _text_of(value: Mapping[str, Any]) -> tuple[str, str]:
    """The name of the field with the text of an object, and the text; ("", "") for none."""
    texts = {name: flat_text(item) for name, item in value.items()}
    filled = {name: text for name, text in texts.items() if text}
    name = _first_name(filled, _TEXTS)
    return name, filled.get(name, "")


def _parts_without_text(value: Mapping[str, Any], text_name: str) -> dict[str, Any]:
    """The other values of a text that is an object with `parts`, such as names of pictures."""
    text = value.get(text_name)
    if not isinstance(text, Mapping) or "parts" not in text:
        return {}
    parts = [part for part in text["parts"] if not piece_text(part)]
    return {text_name: {**text, "parts": parts}}


def _without_phrases(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields whose values have no phrase, such as numbers, names and codes."""
    return {name: item for name, item in fields.items() if not has_phrase(item)}


def _records_with_new_words(
    records_of: Mapping[str, list[Mapping[str, Any]]], text: str
) -> dict[str, list[Mapping[str, Any]]]:
    """Field -> its records that have a word beyond those of a text.

    Other records are pieces of the text or answers from it.
    """
    text_words = set(words(text))
    return {
        name: [record for record in records if _new_words(record, text_words)]
        for name, records in records_of.items()
    }


def _new_words(record: Mapping[str, Any], text_words: Container[str]) -> list[str]:
    """The words of a record, without numbers, that are not among those of a text."""
    return [
        word
        for word in words(record["text"])
        if word not in text_words and not word.isdigit()
    ]


def _first_name(value: Any, names: Sequence[str]) -> str:
    """The field of an object that has the first of some names, in any case; "" for none."""
    if not isinstance(value, Mapping):
        return ""
    spelling = {str(name).casefold(): name for name in value}
    return next((spelling[name] for name in names if name in spelling), "")


def _plain_fields(
    value: Mapping[str, Any], text_name: str
) -> tuple[dict[str, Any], str]:
    """The fields of an object that are neither lists nor objects, and its title, "" for none.

    The text and the title are no fields; an id in any spelling is the field "id".
    """
    fields = {
        name: item
        for name, item in value.items()
        if not isinstance(item, Mapping | list) and name != text_name
    }
    title = fields.pop(_first_name(fields, _TITLES), None) or _title_beside(value)
    id_ = fields.pop(_first_name(fields, PASSAGE["id"]), None)
    if id_ is not None:
        fields["id"] = id_
    return fields, one_line(str(title)) if title else ""


def with_title(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A record with a title, which may stand in its metadata; without one as it is."""
    title = None if _first_name(record, _TITLES) else _title_beside(record)
    return {**record, "title": title} if title else record


def _title_beside(value: Mapping[str, Any]) -> Any:
    """The title in the metadata of a paper, or the name of the channel of a chat; None for none."""
    for name in ("metadata", "channel"):
        fields = value.get(name)
        if not isinstance(fields, Mapping):
            continue
        title = fields.get(_first_name(fields, _TITLES))
        if isinstance(title, str):
            return title
    return None


def read_json(data: bytes, name: str = "") -> list[FileDocument]:
    """The documents of a layout, or the one of JSON without records.

    DataError: it is not valid, or has no sentence.
    """
    text, remark = decode_text(data)
    value = load_value(text, name)
    return layout_documents(value) or [_value_document(value, remark)]


def read_json_lines(data: bytes, name: str = "") -> list[FileDocument]:
    """The documents of layouts in JSON Lines; DataError: there is none."""
    text, remark = decode_text(data)
    documents = layout_documents_of_lines(load_lines(text, name))
    if not documents:
        raise DataError("no elements of a layout in it.")
    return [replace(document, remark=remark) for document in documents]


def read_yaml(data: bytes, name: str = "") -> list[FileDocument]:
    """The document of YAML without records; invalid YAML is read as plain text."""
    text, remark = decode_text(data)
    try:
        value = load_value(text, name)
    except DataError as error:
        return [plain_document(text, join_remarks(remark, f"plain text: {error}"))]
    return [_value_document(value, remark)]


def _value_document(value: Any, remark: str) -> FileDocument:
    """A document of one line per value behind its names; DataError: no value is a sentence."""
    lines = list(value_lines(value))
    # Of a description of an interface (OpenAPI), which may have no sentence.
    title = next(
        (one_line(text) for path, text in lines if path == ("info", "title")), ""
    )
    if not title and not any(_is_sentence(text) for _, text in lines):
        raise DataError("no records with a text and no sentence in it: settings?")
    blocks = list(map(line_block, lines))
    return FileDocument(blocks, title, source=value_text(value), remark=remark)
