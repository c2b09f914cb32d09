"""A page of HTML, parsed by Beautiful Soup and lxml -> its blocks without navigation."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from html import unescape
from itertools import chain
from typing import Any

import re2

from kg2rag.datasets.documents.blocks import (
    CODE,
    Block,
    FileDocument,
    Link,
    join_remarks,
    lost_words,
    one_line,
    plain_document,
)
from kg2rag.datasets.documents.confluence_storage import storage_as_html
from kg2rag.datasets.documents.contents_headings import without_contents
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.datasets.documents.page_navigation import (
    HEADINGS,
    count_words,
    elements_named,
    holds,
    is_breadcrumbs,
    is_shown,
    main_part,
    remove_navigation,
    text_outside,
    title_outside,
)
from kg2rag.text.scripts import words

_BLOCKS = (
    frozenset(
        """address article aside blockquote body br caption center dd details div dl dt fieldset figcaption figure
    footer form header hgroup hr html legend li main nav ol p pre section summary table tbody td tfoot th thead tr
    ul""".split()
    )
    | HEADINGS.keys()
)
_INVISIBLE = frozenset(
    ("script", "style", "meta", "link", "input", "svg", "img", "head")
)
_SEPARATE = frozenset(("button", "label", "option"))
"""Inline elements whose text is separated by blanks from neighbouring words."""
_SEPARATOR_OF_TITLE = r" [:|/»›·–—-] "
_CELLS = frozenset(("td", "th"))
_LAYOUT = frozenset(("table", "pre")) | HEADINGS.keys()
_CHARSET = re.compile(
    rb"""<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*["']?([\w-]+)""",
    re.IGNORECASE,
)
_NOT_SHOWN = re2.compile(
    r"(?is)<!--.*?-->|<script\b.*?</script\s*>|<style\b.*?</style\s*>|<svg\b.*?</svg\s*>|<title\b.*?</title\s*>|<head\b.*?</head\s*>"
)
_TAG = re.compile(r"<[a-zA-Z/!?][^<>]*>")
_FIRST_TAG = re.compile(
    r"(?i)\s*<(?:!doctype html|html|body|div|p|h[1-6]|ul|ol|table|article|section|ac:[\w-]+)\b[^<>]*>"
)
_LAST_TAG = re.compile(r"(?:</[\w:-]+|<[\w:-]+[^<>]*/|<br)>\s*\Z")
# Of an event or an attachment of a chat.
_ONLY_TAGS = re.compile(
    r"\s*(?:<[a-zA-Z][^<>]*/>\s*|<([a-zA-Z][\w:-]*)[^<>]*>\s*</\1>\s*)+"
)
_WORD_BREAK = re.compile(r"(?i)</?wbr\b[^<>]*>|&shy;|&#173;|&#xad;|\xad")
_BULLET = re.compile(r"^[·•▪◦‣] +(?=\S)")
_TEMPLATE = re.compile(r"(?i)<(/?)template\b")  # Beautiful Soup gives no text of it
_STYLED_TITLE = 'p.MsoTitle, body.doc-content p.title, head:has(meta[content^="LibreOffice"]) + body p.title'
"""Selector of the title in a page that Word, Google Docs or LibreOffice saved."""
MOVED_WORDS = 50
"""Most words of a page that only leads to another."""
_MANY_LOST = 0.05
"""Share of a page's characters whose loss makes the slower parser of Python's library try again."""


def read_html(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a page with the title of its head."""
    declared = next(iter(_CHARSET.findall(data[:4000])), b"")
    decoded = decode_text(data, declared.decode("ascii"))
    return [page_document(decoded.text, decoded.remark)]


def page_document(page: str, remark: str = "") -> FileDocument:
    """The document of a page given as text; one that nests too deeply is read as plain text."""
    page = storage_as_html(page)
    source = visible_text(page)
    try:
        return _best_parse(page, source, remark)
    except RecursionError:
        return plain_document(
            source,
            join_remarks(remark, "elements nest too deeply: read as plain text"),
        )


def _best_parse(page: str, source: str, remark: str) -> FileDocument:
    """The document by lxml, or by the parser of Python's library if that loses fewer words."""
    document = _parse_page(page, "lxml", source, remark)
    n_characters = sum(map(_count_characters, _texts(document)))
    # lxml stops at 256 nested elements.
    if n_characters < (1 - _MANY_LOST) * _count_characters(source):
        reparsed = _parse_page(page, "html.parser", source, remark)
        if _share_lost(reparsed) < _share_lost(document):
            return reparsed
    return document


def is_page(text: str) -> bool:
    """Whether a text begins and ends with tags of HTML, or is only tags."""
    if _ONLY_TAGS.fullmatch(text):
        return True
    return bool(_FIRST_TAG.match(text) and _LAST_TAG.search(text[-100:]))


def visible_text(page: str) -> str:
    """The text of a page without tags, comments, scripts and styles, by regular expressions only.

    It is the second reading against which lost words are counted.
    """
    shown = _NOT_SHOWN.sub(" ", storage_as_html(page))
    return unescape(_TAG.sub(" ", shown))


def _texts(document: FileDocument) -> list[str]:
    """All texts that were read of a page, including those left out."""
    return [
        document.title,
        document.left_out,
        *(block.text for block in document.blocks),
    ]


def _count_characters(text: str) -> int:
    """The number of characters other than blanks."""
    return sum(map(len, text.split()))


def _share_lost(document: FileDocument) -> float:
    """The share of the words of a page that were not read, from 0 to 1."""
    source_words = words(document.source)
    return len(lost_words(source_words, _texts(document))) / max(1, len(source_words))


def _parse_page(page: str, parser: str, source: str, remark: str) -> FileDocument:
    """The document of a page by one of the parsers of Beautiful Soup."""
    soup = parse_tree(_TEMPLATE.sub(r"<\1div data-template", page), parser)
    if _leads_elsewhere(soup):
        remark = join_remarks(remark, "it only leads to another page")
        return FileDocument([], source=source, left_out=source, remark=remark)
    prefixes = _shorten_titles(soup)
    title = one_line(soup.title.get_text(" ")) if soup.title else ""
    styled_title = soup.select_one(_STYLED_TITLE)
    if styled_title:
        _lower_headings(soup)
        styled_title.name = "h1"
        title = one_line(styled_title.get_text())
    blocks, left_out = tree_blocks(soup, title)
    left_out = " ".join([*prefixes, left_out])
    return FileDocument(blocks, title, source=source, left_out=left_out, remark=remark)


def _leads_elsewhere(soup: Any) -> bool:
    """Whether a page of few words leads to another at once, as those of moved pages do."""
    refreshes = soup("meta", attrs={"http-equiv": re.compile("(?i)refresh")})
    has_target = any(
        re.match(r"\s*\d+\s*;", meta.get("content", "")) for meta in refreshes
    )
    return has_target and count_words(soup) <= MOVED_WORDS


def _shorten_titles(soup: Any) -> list[str]:
    """Take the name of the site, if it is the first breadcrumb, from the beginnings of titles.

    Returns the name for each heading that it was taken from.
    """
    breadcrumbs = next(filter(is_breadcrumbs, soup(True)), None)
    first = breadcrumbs.find(["a", "li"]) if breadcrumbs else None
    site = one_line(first.get_text()) if first else ""
    if not site:
        return []
    prefix = re.compile(rf"{re.escape(site)}{_SEPARATOR_OF_TITLE}(?=\S)")
    titles = [
        title
        for title in soup(["title", "h1"])
        if prefix.match(one_line(title.get_text()))
    ]
    for title in titles:
        title.string = prefix.sub("", one_line(title.get_text()), count=1)
    return [site for title in titles if title.name == "h1"]


def _lower_headings(soup: Any) -> None:
    """Lower each heading by a level, since the styled title becomes the one of level 1."""
    for heading in elements_named(soup, frozenset(HEADINGS)):
        heading.name = f"h{min(HEADINGS[heading.name] + 1, max(HEADINGS.values()))}"


def parse_tree(page: str, parser: str = "lxml") -> Any:
    """The tree of a page by one of the parsers of Beautiful Soup; attributes are strings."""
    from bs4 import BeautifulSoup, MarkupResemblesLocatorWarning, XMLParsedAsHTMLWarning

    page = _WORD_BREAK.sub("", page)
    with warnings.catch_warnings():  # XHTML can be parsed as HTML
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        warnings.simplefilter("ignore", MarkupResemblesLocatorWarning)
        return BeautifulSoup(
            page,
            parser,
            multi_valued_attributes=None,
            attribute_dict_class=dict,
            store_line_numbers=False,
        )


def tree_blocks(tree: Any, title: str = "") -> tuple[list[Block], str]:
    """The blocks of a tree, and the text that was left out; the tree is changed.

    title : the title of the page in its head.
    """
    left_out = _show_formulas(tree)
    for tag in elements_named(tree, _INVISIBLE):
        tag.decompose()
    for tag in tree("br"):
        tag.string = "\n"
    for tag in elements_named(tree, _SEPARATE):
        tag.insert_before(" ")
        tag.insert_after(" ")
    body = tree.body or tree
    main = main_part(body)
    if main is not body:
        left_out.append(text_outside(body, main))
    outside = chain.from_iterable(
        map(_element_blocks, title_outside(body, main, title))
    )
    remove_navigation(main, left_out)
    blocks, contents = without_contents([*outside, *_walk(main)])
    return blocks, " ".join([*left_out, *contents])


def _show_formulas(tree: Any) -> list[str]:
    """Replace each formula in MathML by its TeX source, or by its text; returns its other forms."""
    others = list[str]()
    for formula in tree("math"):
        for annotation in formula(["annotation", "annotation-xml"]):
            others.append(annotation.get_text(" "))
            annotation.decompose()
        text = one_line(formula.get_text(" "))
        source = formula.get("alttext")
        if source:
            others.append(text)
        formula.replace_with(source or f" {text} ")
    return others


def _walk(node: Any) -> Iterator[Block]:
    """The blocks below a node: those of its block elements, and the inline text between them."""
    inline = list[str]()
    links = list[Link]()
    for child in node.children:
        name = child.name
        if name and (name in _BLOCKS or holds(child, _BLOCKS)):
            yield from _inline_block(inline, links)
            inline, links = [], []
            yield from _element_blocks(child)
        elif name:
            inline.append(child.get_text())
            links += _links(child)
        elif is_shown(child):
            inline.append(str(child))
    yield from _inline_block(inline, links)


def _inline_block(inline: list[str], links: list[Link]) -> Iterator[Block]:
    """The block of inline text, if it is not blank."""
    text = _BULLET.sub("", one_line("".join(inline)), count=1)
    if text:
        yield Block(text, links=tuple(links))


def _element_blocks(tag: Any) -> Iterator[Block]:
    """The blocks of a block element: a heading, a listing and a row of a table are one block."""
    level = HEADINGS.get(tag.name, 0)
    if level:
        block = Block(one_line(tag.get_text()).strip("¶# "), level, links=_links(tag))
    elif tag.name == "pre":
        block = Block(tag.get_text().strip("\n"), kind=CODE, links=_links(tag))
    elif tag.name == "tr" and not _is_layout(tag):
        cells = [" ".join(block.text for block in _walk(cell)) for cell in _cells(tag)]
        block = Block(" | ".join(cells).strip(" |"), links=_links(tag))
    else:
        yield from _walk(tag)
        return
    if block.text.strip():
        yield block


def _is_layout(row: Any) -> bool:
    """Whether a row of a table only arranges parts of a page.

    It is the only cell of the table, or has headings, listings or tables in its cells.
    """
    cells = _cells(row)
    only_cell = (
        len(cells) == 1
        and row.parent is not None
        and len(row.parent("tr", recursive=False)) == 1
    )
    return not cells or only_cell or holds(row, _LAYOUT)


def _cells(row: Any) -> list[Any]:
    """The cells of a row of a table."""
    return [child for child in row.children if child.name in _CELLS]


def _links(tag: Any) -> tuple[Link, ...]:
    """The hyperlinks in an element, itself included."""
    anchors = [
        element
        for element in (tag, *tag("a"))
        if element.name == "a" and element.get("href")
    ]
    return tuple(
        Link(one_line(anchor.get_text()), anchor["href"]) for anchor in anchors
    )
