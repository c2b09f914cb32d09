"""JSON of programs that find the layout of pages -> its documents, without running heads and feet.

Ours: Unstructured, Azure Document Intelligence, Amazon Textract, Docling, MinerU, Marker and
LlamaParse write lists of elements, each with a kind and a text. Names of kinds differ in case and
signs only: `PageHeader`, `page_header`. Tables follow the text of their page if their list is
another. All other values, such as places on the page, are not read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from pathlib import PurePath
from typing import Any, NamedTuple

from kg2rag.datasets.documents.blocks import Block, FileDocument, one_line, paragraphs
from kg2rag.datasets.documents.web.html import read_html

_KINDS = ("type", "role", "label", "block_type", "category")
_HTML = ("text_as_html", "table_body", "html")
_TEXTS = ("text", "content", "value", "md")
_PAGES = ("page_number", "pageNumber", "page_no", "page", "Page")
_PLACES = ("boundingRegions", "bounding_regions", "prov")
_LEVELS = ("text_level", "lvl", "level")
_FURNITURE = frozenset("footer pageheader pagefooter pagenumber discarded".split())
_HEADING_TAG = re.compile(r"\s*<h([1-6])\b")
_HEADINGS = {
    **dict.fromkeys(("title", "doctitle", "documenttitle"), 1),
    **dict.fromkeys(
        ("sectionheader", "sectionheading", "sectiontitle", "heading", "header"), 2
    ),
}
_BODY = frozenset(
    """abstract address asidetext caption checkbox checkboxselected checkboxunselected code
    codesnippet emailaddress equation figure figurecaption footnote form formkeysvalues formula
    image keyvalue link list listgroup listitem narrativetext pagebreak pagefootnote paragraph
    picture reference table tablecaption tablegroup text uncategorizedtext""".split()
)
KNOWN_SHARE = 3 / 4
"""Least share of the members of a list of elements whose kind is known."""


SAMPLE_LINES = 100
"""Lines of JSON that show whether they are of a layout."""


class _Element(NamedTuple):
    """An element of a page; `kind` has small letters only, `page` is 0 if unknown, `level` for a text."""

    kind: str
    text: str
    level: int
    page: int
    file: str


def layout_documents(value: Any) -> list[FileDocument]:
    """The documents of the elements in a value, one for each file; [] for any other value.

    Such a value has a heading or a running head, and a text besides.
    """
    elements = list(_elements(_of_textract(value), 0))
    texts = [element for element in elements if element.text]
    n_marked = sum(element.level > 0 or element.kind in _FURNITURE for element in texts)
    if not 0 < n_marked < len(texts):
        return []
    elements_of = defaultdict[str, list[_Element]](list)
    for element in texts:
        elements_of[element.file].append(element)
    if len(elements_of) == 1:
        return [_document(texts, "")]
    return [_document(group, file) for file, group in elements_of.items()]


def layout_documents_of_lines(lines: Sequence[Any]) -> list[FileDocument]:
    """The documents in lines of JSON, which are elements, pages, or the layouts of several files.

    It is [] for other lines.
    """
    first = lines[:SAMPLE_LINES]
    if not layout_documents(first):
        return []
    documents_of = [layout_documents(line) for line in lines]
    are_files = all(documents_of) and not any(_number(line, _PAGES) for line in lines)
    if not are_files or len(lines) == 1:
        return layout_documents(lines)
    return [
        replace(document, key="/".join(filter(None, (str(number), document.key))))
        for number, documents in enumerate(documents_of, start=1)
        for document in documents
    ]


def _document(elements: Sequence[_Element], key: str) -> FileDocument:
    """The document of the elements of one file; `header` is a heading in one without pages.

    key : the file, if there are others; else "".
    """
    furniture = set(_FURNITURE)
    if any(element.page or element.kind in _FURNITURE for element in elements):
        furniture.add("header")
    body = [element for element in elements if element.kind not in furniture]
    margins = [element for element in elements if element.kind in furniture]
    body.sort(key=attrgetter("page"))
    return FileDocument(
        list(chain.from_iterable(map(_blocks, body))),
        title=PurePath(key).stem,
        key=key,
        source="\n".join(map(attrgetter("text"), elements)),
        left_out="\n".join(map(attrgetter("text"), margins)),
    )


def _blocks(element: _Element) -> Iterator[Block]:
    """The blocks of an element: a heading, or the paragraphs of a text."""
    text = element.text
    if element.level:
        text = one_line(text)
    for block in paragraphs(text):
        yield block._replace(
            level=element.level, page=element.page, last_page=element.page
        )


def _elements(value: Any, page: int) -> Iterator[_Element]:
    """The elements in a value, at any depth; `page` is that of the containing object, 0 for none."""
    if isinstance(value, list) and _are_elements(value):
        yield from _listed_elements(value, page)
    elif isinstance(value, list):
        for item in value:
            yield from _elements(item, page)
    elif isinstance(value, Mapping):
        page = _number(value, _PAGES) or page
        for item in value.values():
            if isinstance(item, list | Mapping):
                yield from _elements(item, page)


def _listed_elements(
    items: Sequence[Mapping[str, Any]], page: int
) -> Iterator[_Element]:
    """The elements of a list, each without a text before those that it contains."""
    for item in items:
        element = _element(item, page)
        yield element
        page = element.page or page
        if not element.text:
            yield from _elements(item.get("children"), page)


def _are_elements(items: Sequence[Any]) -> bool:
    """Whether all members of a list have a kind or a place, and most have a known kind or none."""
    kinds = {*_FURNITURE, *_HEADINGS, *_BODY, ""}
    if not items or not all(isinstance(item, Mapping) for item in items):
        return False
    n_known = sum(_kind(item) in kinds for item in items)
    have_kinds = all(_kind(item) or _places(item) for item in items)
    return have_kinds and n_known >= KNOWN_SHARE * len(items)


def _kind(item: Mapping[str, Any]) -> str:
    """The kind of an element in small letters; "" for none."""
    kind = next((item[name] for name in _KINDS if isinstance(item.get(name), str)), "")
    return "".join(filter(str.isalpha, kind.casefold()))


def _places(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The places of an element on pages, as some programs list them."""
    places = [item.get(name) for name in _PLACES]
    members = chain.from_iterable(place for place in places if isinstance(place, list))
    return [place for place in members if isinstance(place, Mapping)]


def _element(item: Mapping[str, Any], page: int) -> _Element:
    """The element of an object; `page` is that of the element before."""
    metadata = item.get("metadata")
    fields = {**item, **(metadata if isinstance(metadata, Mapping) else {})}
    fields |= next(iter(_places(item)), {})
    number = _number(fields, _PAGES)
    if isinstance(item.get("page_idx"), int):
        number = item["page_idx"] + 1
    file = fields.get("filename")
    if not isinstance(file, str):
        file = ""
    kind = _kind(item)
    return _Element(kind, _text(fields), _level(item, kind), number or page, file)


def _level(item: Mapping[str, Any], kind: str) -> int:
    """The level of an element as a heading; 0 for none."""
    level = _HEADINGS.get(kind, 0)
    tag = _HEADING_TAG.match(str(item.get("html", "")))
    if tag:
        return int(tag[1])
    number = _number(item, _LEVELS)
    if number and (level or kind == "text"):
        return number + (kind == "sectionheader")
    return level


def _number(fields: Mapping[str, Any], names: Sequence[str]) -> int:
    """The first whole number in some fields; 0 for none."""
    return next(
        (fields[name] for name in names if isinstance(fields.get(name), int)), 0
    )


def _text(fields: Mapping[str, Any]) -> str:
    """The text of an element, with captions; that of a table may be its rows."""
    texts = [_shown_text(fields.get(name)) for name in _HTML]
    texts += [fields[name] for name in _TEXTS if isinstance(fields.get(name), str)]
    texts.append(_rows_of_grid(fields.get("data")))
    text = next((text.strip() for text in texts if text.strip()), "")
    return "\n\n".join(filter(None, [*_captions(fields), text]))


def _captions(fields: Mapping[str, Any]) -> list[str]:
    """The captions and footnotes of a table or picture."""
    lists = [
        value
        for name, value in fields.items()
        if name.endswith(("_caption", "_footnote")) and isinstance(value, list)
    ]
    members = chain.from_iterable(lists)
    return [caption for caption in members if isinstance(caption, str)]


def _rows_of_grid(data: Any) -> str:
    """The rows of a table that is a grid of cells; "" for any other value."""
    rows = data.get("grid") if isinstance(data, Mapping) else None
    if not isinstance(rows, list):
        return ""
    rows = [row for row in rows if isinstance(row, list)]
    return "\n\n".join(" | ".join(map(_cell, row)) for row in rows)


def _shown_text(value: Any) -> str:
    """The text that a value in HTML shows; "" for a value that is no text."""
    documents = read_html(value.encode()) if isinstance(value, str) and value else []
    return "\n\n".join(block.text for page in documents for block in page.blocks)


def _cell(cell: Any) -> str:
    """The text of a cell of a table."""
    return str(cell.get("text", "")) if isinstance(cell, Mapping) else str(cell)


def _has_kind(block: Any) -> bool:
    """Whether a value is a block of Textract."""
    return isinstance(block, Mapping) and "BlockType" in block


def _of_textract(value: Any) -> Any:
    """The elements of the layout in a response of Textract; any other value as it is.

    The text of an element is that of the lines to which it refers.
    """
    blocks = value.get("Blocks") if isinstance(value, Mapping) else None
    if not isinstance(blocks, list) or not all(map(_has_kind, blocks)):
        return value
    lines = {
        block.get("Id"): str(block.get("Text", ""))
        for block in blocks
        if block.get("BlockType") == "LINE"
    }
    return [
        {
            "type": str(block["BlockType"]).removeprefix("LAYOUT_"),
            "page": block.get("Page", 1),
            "text": _text_of_lines(block, lines),
        }
        for block in blocks
        if str(block.get("BlockType")).startswith("LAYOUT_")
    ]


def _text_of_lines(block: Mapping[str, Any], lines: Mapping[Any, str]) -> str:
    """The text of the lines, by their ids, to which a block of Textract refers."""
    relations = block.get("Relationships") or []
    ids = [id_ for relation in relations for id_ in relation.get("Ids", [])]
    return "\n".join(lines[id_] for id_ in ids if id_ in lines)
