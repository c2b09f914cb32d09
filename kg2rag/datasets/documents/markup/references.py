"""Lists of references -> one document per reference, with authors, date, journal, keywords and abstract.

BibTeX is read by pandoc. RIS, PubMed's format (.nbib), EndNote (.enw) and Web of Science (.ciw, .isi)
write a tag, a value and, on lines without a tag, what follows of it; a reference begins with the first
tag of the file.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from kg2rag.datasets.documents.blocks import FileDocument, one_line, titled_blocks
from kg2rag.datasets.documents.markup.pandoc import converted
from kg2rag.text.decoding import decode_text
from kg2rag.text.records import DataError, parse_json

TAGGED_ENDINGS = (".ris", ".nbib", ".enw", ".ciw", ".isi")
_LINE = re.compile(
    r"(?m)^(?:%(\S)[ \t]|([A-Z][A-Z0-9]{1,3})[ ]*-(?:[ \t]|$)|([A-Z][A-Z0-9])(?:[ \t]|$))"
)
_LIST = re.compile(r"\s*(?:TY  - |PMID- \d|FN (?:Clarivate|Thomson|ISI)|%0 \S)")
_HEAD = frozenset(("FN", "VR", "EF"))  # of a file of Web of Science
_END = "ER"
_TITLES = ("TI", "T1", "CT", "BT", "T")
_IDS = ("PMID", "UT")
_AUTHORS = ("FAU", "AF", "AU", "A1", "A")
_TEXTS = (
    ("DP", "PY", "Y1", "DA", "D"),
    ("JT", "SO", "JO", "JF", "T2", "J", "B"),
    ("PB", "I"),
    ("OT", "KW", "DE", "K"),
    ("MH", "ID"),
    ("AB", "N2", "X"),
    ("N1", "Z"),
)
"""Tags of the date, journal, publisher, keywords, abstract and note; of each, the first is read."""
Fields = Mapping[str, Sequence[str]]

_TEXT_FIELDS = (
    *("container-title", "publisher", "keyword", "abstract", "note", "annote"),
)
# pandoc writes English titles in lower case; of an entry in German it leaves them as they are.
_LANGUAGE = re.compile(r"(?im)^([ \t]*)(?:langid|language)(?=[ \t]*=)")
_KEY = re.compile(r"(?m)^([ \t]*@(?!(?i:comment|string|preamble)\b)\w+\s*\{[^,{}=]*,)")
_MARKUP = re.compile(r"</?[a-z]+[^<>]*>")


def is_tagged_list(text: str) -> bool:
    """Whether a text begins like a list of references with tags."""
    return _LIST.match(text) is not None


def read_tagged_references(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """One document per reference; DataError: no line has a tag."""
    return tagged_documents(*decode_text(data))


def tagged_documents(text: str, remark: str = "") -> list[FileDocument]:
    """One document per reference of a text; DataError: no line has a tag."""
    entries = list(_entries(text.lstrip("\ufeff")))
    if not entries:
        raise DataError("no line has a tag, such as 'TI  - ': it has no reference.")
    return [
        _tagged_document(fields, number, remark)
        for number, fields in enumerate(entries)
    ]


def _entries(text: str) -> Iterator[Fields]:
    """The fields of each reference: tag -> its values."""
    matches = [match for match in _LINE.finditer(text) if _tag(match) not in _HEAD]
    starts = [*(match.start() for match in matches), len(text)]
    fields = defaultdict[str, list[str]](list)
    for number, match in enumerate(matches, start=1):
        tag = _tag(match)
        if fields and tag == _tag(matches[0]):
            yield fields
            fields = defaultdict(list)
        if tag != _END:
            stop = starts[number]
            fields[tag].append(text[match.end() : stop].strip())
    if fields:
        yield fields


def _tag(match: re.Match[str]) -> str:
    """The tag of a line."""
    return "".join(filter(None, match.groups()))


def _tagged_document(fields: Fields, number: int, remark: str) -> FileDocument:
    """The document of a reference: authors, date, journal, keywords, abstract and note."""
    title_tag = _first_tag(fields, _TITLES)
    author_tag = _first_tag(fields, _AUTHORS)
    text_tags = list(filter(None, (_first_tag(fields, tags) for tags in _TEXTS)))
    title = " ".join(map(one_line, fields.get(title_tag, ())))
    lines = [", ".join(map(_person, _values(fields.get(author_tag, ()))))]
    lines += [", ".join(map(one_line, fields[tag])) for tag in text_tags]
    unshown = fields.keys() - {title_tag, author_tag, *text_tags}
    key = str(number)
    id_tag = _first_tag(fields, _IDS)
    if id_tag:
        key = fields[id_tag][0]
    return FileDocument(
        titled_blocks(title, lines),
        title=title,
        key=key,
        source=_values_of(fields, fields),
        left_out=_values_of(fields, sorted(unshown)),
        remark=remark,
    )


def _values_of(fields: Fields, tags: Iterable[str]) -> str:
    """The values of some tags, one per line."""
    return "\n".join(chain.from_iterable(fields[tag] for tag in tags))


def _first_tag(fields: Fields, tags: Sequence[str]) -> str:
    """The first of some tags that a reference has; "" for none."""
    return next((tag for tag in tags if tag in fields), "")


def _values(values: Sequence[str]) -> list[str]:
    """The lines of some values, as Web of Science writes a list of authors."""
    return [line for value in values for line in value.split("\n")]


def _person(name: str) -> str:
    """A name such as "Moor, Ida" as "Ida Moor"."""
    family, _, first_name = one_line(name).partition(", ")
    return f"{first_name} {family}".strip()


def read_references(data: bytes, name: str) -> list[FileDocument]:
    """One document per reference; DataError: pandoc cannot read the list, or it is empty."""
    decoded = decode_text(data)
    text = _LANGUAGE.sub(r"\1original-language", decoded.text)
    text = _KEY.sub(r"\1 langid = {ngerman},", text)
    entries = parse_json(converted(text, "bibtex", "csljson").text, name)
    if not entries:
        raise DataError("it has no entry.")
    return [_bibtex_document(entry, decoded.remark) for entry in entries]


def _bibtex_document(entry: Mapping[str, Any], remark: str) -> FileDocument:
    """The document of an entry in CSL-JSON."""
    title = _without_tags(entry.get("title", ""))
    lines = [", ".join(_people(entry)), _date(entry)]
    lines += [_without_tags(entry.get(field, "")) for field in _TEXT_FIELDS]
    return FileDocument(
        titled_blocks(title, lines),
        title=title,
        key=str(entry.get("id", title)),
        source="\n".join([title, *lines]),
        remark=remark,
    )


def _without_tags(value: object) -> str:
    """A field as one line without markup."""
    return one_line(_MARKUP.sub("", str(value)))


def _people(entry: Mapping[str, Any]) -> Iterator[str]:
    """The names of the authors, then of the editors."""
    for person in [*entry.get("author", ()), *entry.get("editor", ())]:
        parts = [
            person.get("given", ""),
            person.get("family", ""),
            person.get("literal", ""),
        ]
        yield " ".join(filter(None, parts))


def _date(entry: Mapping[str, Any]) -> str:
    """The date of an entry as year-month-day, as far as it is known."""
    dates = entry.get("issued", {}).get("date-parts") or [[]]
    return "-".join(map(str, dates[0]))
