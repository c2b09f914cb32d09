"""JSON of programs that find the layout of pages -> its documents, without running heads and feet.

Ours: Unstructured, Azure Document Intelligence, Amazon Textract, Docling, MinerU, Marker and
LlamaParse write lists of elements, each with a kind and a text. Names of kinds differ in case and
signs only: `PageHeader`, `page_header`. Tables follow the text of their page if their list is
another. All other values, such as places on the page, are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from kg2rag.datasets.documents.blocks import FileDocument, one_line, paragraphs
from kg2rag.datasets.documents.html import read_html

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
    n_marked = sum(one.level > 0 or one.kind in _FURNITURE for one in texts)
    if not 0 < n_marked < len(texts):
        return []
    files = dict.fromkeys(element.file for element in texts)
    return [
        _document(
            [element for element in texts if element.file == file],
            file if len(files) > 1 else "",
        )
        for file in files
    ]


def _document(elements: Sequence[_Element], key: str) -> FileDocument:
    """The document of the elements of one file; `header` is a heading in one without pages.

    key : the file, if there are others; else "".
    """
    has_pages = any(one.page or one.kind in _FURNITURE for one in elements)
    furniture = {*_FURNITURE, *(["header"] if has_pages else ())}
    body = [one for one in elements if one.kind not in furniture]
    left_out = "\n".join(one.text for one in elements if one.kind in furniture)
    return FileDocument(
        [
            block._replace(level=one.level, page=one.page, last_page=one.page)
            for one in sorted(body, key=lambda one: one.page)
            for block in paragraphs(one_line(one.text) if one.level else one.text)
        ],
        title=PurePath(key).stem,
        key=key,
        source="\n".join(one.text for one in elements),
        left_out=left_out,
    )


def _elements(value: Any, page: int) -> Iterator[_Element]:
    """The elements in a value, at any depth; `page` is that of the containing object, 0 for none."""
    if isinstance(value, list) and _are_elements(value):
        for item in value:
            element = _element(item, page)
            yield element
            page = element.page or page
            if not element.text:
                yield from _elements(item.get("children"), page)
    elif isinstance(value, list):
        for item in value:
            yield from _elements(item, page)
    elif isinstance(value, Mapping):
        page = _number(value, _PAGES) or page
        for item in value.values():
            if isinstance(item, list | Mapping):
                yield from _elements(item, page)


def _are_elements(items: Sequence[Any]) -> bool:
    """Whether all members of a list have a kind or a place, and most have a known kind or none."""
    known = {*_FURNITURE, *_HEADINGS, *_BODY, ""}
    if not items or not all(isinstance(item, Mapping) for item in items):
        return False
    n_known = sum(_kind(item) in known for item in items)
    have_kinds = all(_kind(item) or _places(item) for item in items)
    return have_kinds and n_known >= KNOWN_SHARE * len(items)


def _kind(item: Mapping[str, Any]) -> str:
    """The kind of an element in small letters; "" for none."""
    kind = next((item[name] for name in _KINDS if isinstance(item.get(name), str)), "")
    return "".join(filter(str.isalpha, kind.casefold()))


def _places(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The places of an element on pages, as some programs list them."""
    places = [item.get(name) for name in _PLACES]
    lists = [place for place in places if isinstance(place, list)]
    return [place for one in lists for place in one if isinstance(place, Mapping)]


def _element(item: Mapping[str, Any], page: int) -> _Element:
    """The element of an object; `page` is that of the element before."""
    metadata = item.get("metadata")
    fields = {**item, **(metadata if isinstance(metadata, Mapping) else {})}
    fields |= next(iter(_places(item)), {})
    own_page = _number(fields, _PAGES)
    if isinstance(item.get("page_idx"), int):
        own_page = item["page_idx"] + 1
    kind = _kind(item)
    level = _HEADINGS.get(kind, 0)
    given = _number(item, _LEVELS)
    tag = _HEADING_TAG.match(str(item.get("html", "")))
    if tag:
        level = int(tag[1])
    elif given and (level or kind == "text"):
        level = given + (kind == "sectionheader")
    file = fields.get("filename")
    file = file if isinstance(file, str) else ""
    return _Element(kind, _text(fields), level, own_page or page, file)


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
    return [caption for one in lists for caption in one if isinstance(caption, str)]


def _rows_of_grid(data: Any) -> str:
    """The rows of a table that is a grid of cells; "" for any other value."""
    rows = data.get("grid") if isinstance(data, Mapping) else None
    if not isinstance(rows, list):
        return ""
    rows = [row for row in rows if isinstance(row, list)]
    return "\n\n".join(" | ".join(map(_cell, row)) for row in rows)


def _shown_text(page: Any) -> str:
    """The text that a value in HTML shows; "" for a value that is no text."""
    documents = read_html(page.encode()) if isinstance(page, str) and page else []
    return "\n\n".join(block.text for one in documents for block in one.blocks)


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
            "text": "\n".join(
                lines[id_]
                for relation in block.get("Relationships") or []
                for id_ in relation.get("Ids", [])
                if id_ in lines
            ),
        }
        for block in blocks
        if str(block.get("BlockType")).startswith("LAYOUT_")
    ]
