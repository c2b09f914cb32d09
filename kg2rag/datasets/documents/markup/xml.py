"""XML -> its documents; the root element tells the format.

DocBook, JATS, FictionBook, OPML and exports of MediaWiki are read by pandoc, and flat OpenDocument
as in `office`. Ours: the reading of any other format. An element with text outside its
children is a paragraph, or a heading by its name; other elements are entered. A row of a table and an
element of short values only are one line. Text that contains tags, as in feeds and notes, is a page of HTML.
Of a header with at most half of the words, only an abstract and notes are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from typing import Any

from kg2rag.datasets.documents.archives import attribute, local_name, named, parse_xml
from kg2rag.datasets.documents.blocks import (
    READER_FIELDS,
    Block,
    FileDocument,
    counted_remark,
    one_line,
)
from kg2rag.datasets.documents.markup.mediawiki import wiki_documents
from kg2rag.datasets.documents.markup.pandoc import markup_document
from kg2rag.datasets.documents.markup.xml_records import (
    HEADING_NAME,
    fields_of_texts,
    take_metadata,
)
from kg2rag.datasets.documents.office.reader import opendocument_document
from kg2rag.datasets.documents.records.json_values import PHRASE_WORDS, SENTENCE_WORDS
from kg2rag.datasets.documents.web.html import page_document, read_html, visible_text
from kg2rag.text.decoding import decode_text
from kg2rag.text.records import DataError

XML_ENDINGS = tuple(
    ".xml .docbook .dbk .nxml .jats .tei .enex .rss .atom .opml .fb2 .fodt .fodp .ttml .xhtml".split()
)
MAX_LEVEL = 6
_DOCBOOK_ROOTS = frozenset(
    """appendix article book chapter glossary part preface refentry refsect1 sect1 section
    set""".split()
)
_FORMAT_OF_ROOT = {
    "FictionBook": "fb2",
    "opml": "opml",
    **dict.fromkeys(_DOCBOOK_ROOTS, "docbook"),
}
_ENTRIES = frozenset("DOC doc entry item note post record".split())
_DIVISIONS = frozenset("body chapter div group p page part section tu".split())
_ENTRY_TITLES = frozenset("DOCNO field id title".split())
_HEADERS = frozenset(("teiHeader", "meta", "metadata", "prolog"))
_READ_IN_HEADERS = ("abstract", "notes")
_NO_SECTIONS = frozenset(
    "analytic fig figure imprint journal list monogr series table".split()
)
"""Elements, in lower case, whose headings are text: captions, and titles in references."""
_ROWS = frozenset("row strow sthead tr".split())
SHARED_ENTRIES = 4
"""Least number of entries that share a text, such as a licence, from which it is left out."""
_LINE_BREAKS = frozenset(("br", "lb"))

_TITLE_NAME = re.compile(r"(?i)\w*title")
_TAG = re.compile(r"</?[a-zA-Z][\w:-]*(?:\s[^<>]*)?/?>")
_DECLARED_ENCODING = re.compile(rb"""<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w-]+)""")


def read_xml(data: bytes, name: str = "") -> list[FileDocument]:
    """The documents of a file in XML.

    DataError: it is not valid, or a file `.xml` has no sentence, such as one of settings.
    """
    root = parse_xml(data.lstrip(), name or "the file")
    kind = local_name(root)
    if kind == "html":
        return read_html(data)
    if kind == "mediawiki":
        return list(wiki_documents(root))
    if _is_opendocument(root):
        return [opendocument_document(root)]
    pandoc_format = _pandoc_format(root)
    if pandoc_format:
        return [_pandoc_document(data, root, pandoc_format)]
    documents = _text_documents(root)
    if name.lower().endswith(".xml") and not any(map(_has_sentence, documents)):
        raise DataError("no sentence in it: settings?")
    return documents


def _text_documents(root: Any) -> list[FileDocument]:
    """One document, or one for each entry of a feed or a collection.

    Text around the entries is the first document or, if it has no sentence, left out.
    """
    entries = _entries(root)
    fields = fields_of_texts(entries)
    if len(entries) < 2 and not fields:
        return [_text_document(root)]
    documents = [
        replace(_record_document(entry, fields), key=str(number))
        for number, entry in enumerate(entries)
    ]
    n_empty = sum(not document.blocks for document in documents)
    remark = counted_remark("records without a text, left out", n_empty)
    documents[0] = replace(documents[0], remark=remark)
    documents = _without_shared_texts(documents)
    for entry in entries:
        entry.clear(keep_tail=True)
    around = _text_document(root)
    if _has_sentence(around):
        return [around, *documents]
    text = f"{documents[0].left_out}\n{around.source}"
    return [replace(documents[0], left_out=text), *documents[1:]]


def _entries(root: Any) -> list[Any]:
    """The entries of a feed or collection: by their names, or else all children, if of one name."""
    entries = [element for element in root.iter() if _is_entry(element)]
    children = list(filter(local_name, root))
    names = set(map(local_name, children))
    if not entries and len(names) == 1 and names.isdisjoint(_DIVISIONS):
        return children
    return entries


def _record_document(record: Any, fields: frozenset[str]) -> FileDocument:
    """The document of an entry; one without a text, such as that of a picture, has no blocks.

    fields : the names of the elements with texts in HTML; without any, all elements are text.
    """
    if not fields:
        return _text_document(record)
    metadata, removed_texts = take_metadata(record, fields)
    document = _text_document(record)
    has_text = any(not block.level for block in document.blocks)
    left_out = "\n".join([document.left_out, *removed_texts])
    return replace(
        document,
        blocks=document.blocks if has_text else [],
        source="\n".join([document.source, *removed_texts]),
        left_out=left_out if has_text else f"{left_out}\n{document.source}",
        metadata={
            name: ", ".join(values)
            for name, values in metadata.items()
            if name not in READER_FIELDS
        },
    )


def _without_shared_texts(documents: list[FileDocument]) -> list[FileDocument]:
    """The documents of entries without the texts that all of at least `SHARED_ENTRIES` have."""
    if len(documents) < SHARED_ENTRIES:
        return documents
    texts = [{block.text for block in document.blocks} for document in documents]
    shared = set.intersection(*filter(None, texts)) if any(texts) else set()
    return [
        replace(
            document,
            blocks=[block for block in document.blocks if block.text not in shared],
            left_out="\n".join([document.left_out, *sorted(shared)]),
        )
        for document in documents
    ]


def _is_entry(element: Any) -> bool:
    """Whether an element is one of many documents, as those of feeds, notes and collections are.

    It has a title; a record may have it further below, as in the answers of archives (OAI-PMH).
    """
    kind = local_name(element)
    members = element.iter() if kind == "record" else element
    return kind in _ENTRIES and any(
        local_name(member) in _ENTRY_TITLES for member in members
    )


def _is_opendocument(root: Any) -> bool:
    """Whether the root element is that of flat OpenDocument."""
    is_office = "office" in (root.prefix or "")
    return is_office and local_name(root) in ("document", "document-content")


def _pandoc_format(root: Any) -> str:
    """Pandoc's name of a document's format; "" for one that pandoc does not read."""
    kind = local_name(root)
    has_front = next(root.iterchildren("{*}front"), None) is not None
    if kind == "article" and has_front:
        return "jats"
    return _FORMAT_OF_ROOT.get(kind, "")


def _has_sentence(document: FileDocument) -> bool:
    """Whether a block of a document has at least `SENTENCE_WORDS` words."""
    return any(len(block.text.split()) >= SENTENCE_WORDS for block in document.blocks)


def _pandoc_document(data: bytes, root: Any, kind: str) -> FileDocument:
    """The document by pandoc or, if pandoc fails, by the text of its elements."""
    declared = b"".join(_DECLARED_ENCODING.findall(data[:200]))
    decoded = decode_text(data, declared.decode("ascii"))
    try:
        document = markup_document(decoded.text, kind, decoded.remark)
    except DataError as error:
        return replace(_text_document(root), remark=f"read by its text only: {error}")
    return replace(document, source=visible_text(_element_text(root)))


def _text_document(root: Any) -> FileDocument:
    """The document of an unknown format by the text of its elements; the element is changed."""
    title = _title(root)
    attributes = [
        text for element in root.iter() for _, text in _attribute_texts(element)
    ]
    source = visible_text("\n".join([_element_text(root), *attributes]))
    left_out = [
        _element_text(element) for element in root.iter() if _is_base64(element)
    ]
    header = _emptied_header(root, len(source.split()) / 2)
    _number_headings(root)
    blocks = list(_blocks(root, 1))
    if header and title:
        blocks = [Block(title, 1), *blocks]
    return FileDocument(
        blocks, title, source=source, left_out="\n".join([*left_out, *header])
    )


def _emptied_header(root: Any, most_words: float) -> list[str]:
    """Empty the only header, if it has at most so many words, but for its abstract and notes.

    Returns the texts that were in it.
    """
    headers = list(named(root, *_HEADERS))
    if not headers or any(
        headers[0] not in other.iterancestors() for other in headers[1:]
    ):
        return []
    header = headers[0]
    if header is root or len(_element_text(header).split()) > most_words:
        return []
    parts = list(named(header, *_READ_IN_HEADERS))
    for part in parts:
        part.getparent().remove(part)
    texts = [_element_text(header)]
    for element in header.iter():
        texts += [text for _, text in _attribute_texts(element)]
    header.clear(keep_tail=True)
    header.extend(parts)
    return texts


def _number_headings(root: Any) -> None:
    """Put the number of a heading, an element before it as in laws, into the heading."""
    for number in list(named(root, "num")):
        heading = number.getnext()
        if heading is not None and _is_heading(heading):
            heading.text = f"{_element_text(number)} {heading.text or ''}"
            number.getparent().remove(number)


def _title(root: Any) -> str:
    """The text of the first element `title`, or the longest of an element such as `docTitle`; "" for none."""
    title = next(named(root, "title"), None)
    if title is not None:
        return one_line(visible_text(_element_text(title)))
    titles = [
        one_line(visible_text(_element_text(element)))
        for element in root.iter()
        if _TITLE_NAME.fullmatch(local_name(element))
    ]
    return max(titles, key=len, default="")


def _blocks(element: Any, level: int) -> Iterator[Block]:
    """The blocks of an element; `level` is that of headings directly in it, 1 for the root."""
    if not local_name(element) or _is_base64(element):
        return
    if _is_line(element):
        yield _line(element)
    elif len(element) and not _has_loose_text(element):
        inner = level + (level == 1 or any(map(_is_heading, element)))
        for child in element:
            yield from _blocks(child, level if _is_heading(child) else inner)
    else:
        yield from _leaf_blocks(element, level)


def _leaf_blocks(element: Any, level: int) -> Iterator[Block]:
    """The blocks of an element with a text, or of its attributes; a caption is no heading."""
    parent = element.getparent()
    is_caption = parent is not None and local_name(parent).casefold() in _NO_SECTIONS
    text = _element_text(element)
    if text.strip():
        kind = "" if is_caption else local_name(element)
        yield from _text_blocks(kind, text, level)
    else:
        yield from _attribute_blocks(element, level)


def _line(element: Any) -> Block:
    """The block of a row of a table, or of an element of short values."""
    divider = " | " if local_name(element) in _ROWS else " "
    values = [one_line(_element_text(child)) for child in element]
    return Block(divider.join(filter(None, values)))


def _is_line(element: Any) -> bool:
    """Whether an element is a row of a table, or only has short values, such as the parts of a name."""
    if local_name(element) in _ROWS:
        return len(element) > 0 and not _has_loose_text(element)
    return len(element) > 1 and all(map(_is_short_value, element))


def _is_short_value(element: Any) -> bool:
    """Whether an element has a text of less than `PHRASE_WORDS` words, no heading, and no child."""
    n_words = len((element.text or "").split())
    return (
        local_name(element) != ""
        and not _is_heading(element)
        and not len(element)
        and not (element.tail or "").strip()
        and 0 < n_words < PHRASE_WORDS
    )


def _is_heading(element: Any) -> bool:
    """Whether an element is a heading by its name."""
    return HEADING_NAME.fullmatch(local_name(element)) is not None


def _text_blocks(name: str, text: str, level: int) -> Iterator[Block]:
    """The blocks of the text of an element or attribute with this name."""
    if HEADING_NAME.fullmatch(name):
        yield Block(one_line(visible_text(text)), min(level, MAX_LEVEL))
    elif _TAG.search(text):
        yield from page_document(text).blocks
    else:
        yield Block(one_line(text))


def _attribute_blocks(element: Any, level: int) -> Iterator[Block]:
    """The blocks of an empty element's attributes, which exports of databases use for texts."""
    for name, text in _attribute_texts(element):
        yield from _text_blocks(name, text, level)


def _attribute_texts(element: Any) -> list[tuple[str, str]]:
    """The (name, value) of an empty element's attributes that are phrases; [] for other elements."""
    if not local_name(element) or len(element) or (element.text or "").strip():
        return []
    return [
        (name, text)
        for name, text in element.items()
        if len(text.split()) >= PHRASE_WORDS
    ]


def _is_base64(element: Any) -> bool:
    """Whether an element contains a file in base64."""
    return local_name(element) != "" and attribute(element, "encoding") == "base64"


def _has_loose_text(element: Any) -> bool:
    """Whether an element has text outside its child elements."""
    pieces = [element.text, *(child.tail for child in element)]
    return any(piece and piece.strip() for piece in pieces)


def _element_text(element: Any) -> str:
    """The text of an element; blanks separate its children if it has no other text."""
    pieces = [element.text or ""]
    divider = "" if _has_loose_text(element) else " "
    for child in element:
        if local_name(child) in _LINE_BREAKS and attribute(child, "break") != "no":
            pieces.append("\n")
        elif local_name(child):
            pieces += [divider, _element_text(child), divider]
        elif child.text and child.text.startswith("&"):
            pieces.append(unescape(child.text))
        pieces.append(child.tail or "")
    return "".join(pieces)
