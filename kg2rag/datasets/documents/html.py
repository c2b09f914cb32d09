"""A page of HTML, parsed by Beautiful Soup and lxml -> its blocks without navigation.

Ours: the rule for navigation. An element with a name, role or class of navigation is left out only
if it has at most half of the words of the page's main part and no heading of level 1. So a page
within a form, a header or a template is read.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from html import unescape
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
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.text.scripts import words

HEADINGS = {f"h{level}": level for level in range(1, 7)}
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
_NAVIGATION_ROLES = frozenset(("navigation", "search"))
# "dw__toc" and "breadcrumb-section", but not "without-toc" and "toc-content".
_PREFIX_OF_NAME = r"(?!\S*(?:has|no|with|without)[-_])(?:\S+[-_])?"
_BREADCRUMB_NAME = _PREFIX_OF_NAME + r"breadcrumbs?(?:[-_]\S+)?"
_BREADCRUMBS = re.compile(_BREADCRUMB_NAME, re.IGNORECASE)
_NAVIGATION_NAME = re.compile(
    rf"{_BREADCRUMB_NAME}|{_PREFIX_OF_NAME}(?:toc|table-?of-?contents|pagination)|sphinxsidebar|toc-macro|"
    "toctree-wrapper|page-metadata|xdocLastModification|navpath|(?:top|sub|bottom)Nav",
    re.IGNORECASE,
)
"""Classes and ids of navigation, and of lines that say who changed a page."""
_SEPARATOR_OF_TITLE = r" [:|/»›·–—-] "
_FURNITURE_TAGS = frozenset(("footer", "noscript", "select", "textarea", "iframe"))
_FURNITURE_CLASSES = frozenset(
    """headerlink linenos lineno gutter footnote-ref footnote-back footnote-backref fnanchor sdfootnoteanc
    sdendnoteanc _idFootnoteLink mw-editsection printfooter""".split()
)
_KINDS_OF_NOTES = frozenset(
    """abstract attention bug caution danger error example failure hint important info note question quote seealso
    success summary tip todo warning""".split()
) | {"see also"}
"""Default titles of notes, which are left out."""
_NOTE_MARK = re.compile(r"[(\[]?(?:\d{1,4}|[a-z]|[ivxlc]+|[*†‡§¶]+)[)\]]?")
_RAISED = frozenset(("sup",))
_MENU_TAGS = frozenset(("header", "aside", "button"))
_MENU_ROLES = frozenset(("banner", "complementary"))
_CELLS = frozenset(("td", "th"))
_LAYOUT = frozenset(("table", "pre")) | HEADINGS.keys()
_CONTENT = frozenset(("main", "article", "h1"))
_TITLES = frozenset(("summary", "dt", "th")) | HEADINGS.keys()
_MOST_OF_LINKS = 0.6
"""Share of an element's words in links above which a header or an aside is a menu."""
_CHARSET = re.compile(
    rb"""<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*["']?([\w-]+)""",
    re.IGNORECASE,
)
_NOT_SHOWN = re2.compile(
    r"(?is)<!--.*?-->|<script\b.*?</script\s*>|<style\b.*?</style\s*>|<svg\b.*?</svg\s*>|<head\b.*?</head\s*>"
)
_TAG = re.compile(r"<[a-zA-Z/!?][^<>]*>")
_FIRST_TAG = re.compile(
    r"(?i)\s*<(?:!doctype html|html|body|div|p|h[1-6]|ul|ol|table|article|section)\b[^<>]*>"
)
_LAST_TAG = re.compile(r"(?:</\w+|<br */?)>\s*\Z")
_WORD_BREAK = re.compile(r"(?i)</?wbr\b[^<>]*>|&shy;|&#173;|&#xad;|\xad")
_TEMPLATE = re.compile(r"(?i)<(/?)template\b")  # Beautiful Soup gives no text of it
_STYLED_TITLE = 'p.MsoTitle, body.doc-content p.title, head:has(meta[content^="LibreOffice"]) + body p.title'
"""Selector of the title in a page that Word, Google Docs or LibreOffice saved."""
_MANY_LOST = 0.05
"""Share of a page's characters whose loss makes the slower parser of Python's library try again."""


def read_html(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a page with the title of its head."""
    declared = next(iter(_CHARSET.findall(data[:4000])), b"")
    decoded = decode_text(data, declared.decode("ascii"))
    return [page_document(decoded.text, decoded.remark)]


def page_document(page: str, remark: str = "") -> FileDocument:
    """The document of a page given as text; one that nests too deeply is read as plain text."""
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
    """Whether a text begins and ends with tags of HTML."""
    return bool(_FIRST_TAG.match(text) and _LAST_TAG.search(text[-100:]))


def visible_text(page: str) -> str:
    """The text of a page without tags, comments, scripts and styles, by regular expressions only.

    It is the second reading against which lost words are counted.
    """
    return unescape(_TAG.sub(" ", _NOT_SHOWN.sub(" ", page)))


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
    prefixes = _shorten_titles(soup)
    title = one_line(soup.title.get_text(" ")) if soup.title else ""
    styled_title = soup.select_one(_STYLED_TITLE)
    if styled_title:
        _lower_headings(soup)
        styled_title.name = "h1"
        title = one_line(styled_title.get_text())
    blocks, left_out = tree_blocks(soup)
    left_out = " ".join([*prefixes, left_out])
    return FileDocument(blocks, title, source=source, left_out=left_out, remark=remark)


def _shorten_titles(soup: Any) -> list[str]:
    """Take the name of the site, if it is the first breadcrumb, from the beginnings of titles.

    Returns the name for each heading that it was taken from.
    """
    breadcrumbs = next(filter(_is_breadcrumbs, soup(True)), None)
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
    for heading in _named(soup, frozenset(HEADINGS)):
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


def tree_blocks(tree: Any) -> tuple[list[Block], str]:
    """The blocks of a tree, and the text that was left out; the tree is changed."""
    left_out = _show_formulas(tree)
    for tag in _named(tree, _INVISIBLE):
        tag.decompose()
    for tag in tree("br"):
        tag.string = "\n"
    for tag in _named(tree, _SEPARATE):
        tag.insert_before(" ")
        tag.insert_after(" ")
    body = tree.body or tree
    main = _main_part(body)
    if main is not body:
        left_out.append(_text_outside(body, main))
    _remove_navigation(main, left_out)
    return list(_walk(main)), " ".join(left_out)


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


def _main_part(body: Any) -> Any:
    """The main part of a page: `main` or the only `article`, or else the whole body.

    The element must have at least half of the words that are not navigation.
    """
    candidates = [
        *body("main")[:1],
        *[element for element in body(True) if element.attrs.get("role") == "main"][:1],
    ]
    articles = body("article")
    if len(articles) == 1:
        candidates += articles
    if not candidates:
        return body
    content = _count(body) - _count_navigation(body)
    return next(
        (element for element in candidates if _count(element) >= content / 2), body
    )


def _count_navigation(body: Any) -> int:
    """The number of words in elements that may be navigation, each counted once."""
    navigation = {
        id(element): element
        for element in body(True)
        if element.name in ("footer", "header", "aside", "noscript")
        or _is_navigation(element)
    }
    elements = [
        element
        for element in navigation.values()
        if navigation.keys().isdisjoint(map(id, element.parents))
    ]
    return sum(map(_count, elements))


def _text_outside(body: Any, main: Any) -> str:
    """The visible text of the body outside its main part."""
    inside = {id(text) for text in main.find_all(string=True)}
    return " ".join(
        str(text)
        for text in body.find_all(string=True)
        if id(text) not in inside and _is_shown(text)
    )


def _remove_navigation(main: Any, left_out: list[str]) -> None:
    """Remove navigation and menus from the main part, and add their texts to `left_out`."""
    half = _count(main) / 2
    elements = main(True)
    menus = [element for element in filter(_may_be_menu, elements) if _is_menu(element)]
    navigation = [
        element
        for element in elements
        if _is_navigation(element) or _is_furniture(element)
    ]
    for element in [*navigation, *menus]:
        if (
            not element.decomposed
            and not _holds(element, _CONTENT)
            and _count(element) <= half
        ):
            left_out.append(element.get_text(" "))
            element.decompose()


def _named(element: Any, names: frozenset[str]) -> list[Any]:
    """The elements of these names below an element; faster than the search of Beautiful Soup."""
    return [node for node in element.descendants if node.name in names]


def _holds(element: Any, names: frozenset[str]) -> bool:
    """Whether an element of these names is below an element."""
    return any(node.name in names for node in element.descendants)


def _classes(element: Any) -> frozenset[str]:
    """The classes of an element."""
    return frozenset(element.attrs.get("class", "").split())


def _names(element: Any) -> list[str]:
    """The classes and the id of an element."""
    fields = element.attrs
    return [*fields.get("class", "").split(), *filter(None, [fields.get("id")])]


def _is_navigation(element: Any) -> bool:
    """Whether an element is navigation by its name, role, class or id."""
    if element.name == "nav" or element.attrs.get("role") in _NAVIGATION_ROLES:
        return True
    return any(map(_NAVIGATION_NAME.fullmatch, _names(element)))


def _is_breadcrumbs(element: Any) -> bool:
    """Whether an element is the path to a page within its site, by its class or id."""
    return any(map(_BREADCRUMBS.fullmatch, _names(element)))


def _is_note_mark(element: Any) -> bool:
    """Whether an element is the mark of a note, a link in the text to the note.

    It is declared as one, as in e-books and accessible pages, or is a raised number or sign.
    """
    if element.name != "a":
        return False
    fields = element.attrs
    if fields.get("epub:type") == "noteref" or fields.get("role") == "doc-noteref":
        return True
    is_raised = element.parent.name == "sup" or _holds(element, _RAISED)
    return (
        is_raised
        and "#" in fields.get("href", "")
        and _NOTE_MARK.fullmatch(element.get_text().strip()) is not None
    )


def _is_furniture(element: Any) -> bool:
    """Whether an element is a footer, a choice of a form, an anchor, a line number or an icon."""
    if element.name in _FURNITURE_TAGS or _is_note_mark(element):
        return True
    fields = element.attrs
    is_hidden = fields.get("aria-hidden") == "true" or "data-template" in fields
    if is_hidden or fields.get("role") == "contentinfo":
        return True
    return _is_furniture_by_class(element, _classes(element))


def _is_furniture_by_class(element: Any, classes: frozenset[str]) -> bool:
    """Whether the classes of an element are those of a footer, an anchor, a line number or an icon."""
    if "admonition-title" in classes:
        return one_line(element.get_text()).casefold().rstrip(":") in _KINDS_OF_NOTES
    if "pageSection" in classes and element.find(id="attachments"):  # Confluence's
        return True
    is_icon = "icon" in classes and element.name == "td"  # "Note", of an admonition
    return (
        is_icon
        or not _FURNITURE_CLASSES.isdisjoint(classes)
        or any(name.startswith("footer") for name in classes)
    )


def _may_be_menu(element: Any) -> bool:
    """Whether an element is a header, an aside or a button."""
    return element.name in _MENU_TAGS or element.attrs.get("role") in _MENU_ROLES


def _is_menu(element: Any) -> bool:
    """Whether a header or an aside consists mostly of links, or a button is only a short label.

    A button with a title in or around it, or with text beside it, unfolds a section.
    """
    size = _count(element)
    if element.name == "button":
        if _holds(element, _TITLES) or element.find_parent(_TITLES):
            return False
        text_beside = element.parent.find(string=True, recursive=False)
        return size <= 2 and not (text_beside or "").strip()
    linked = sum(_count(link) for link in element("a"))
    return linked > _MOST_OF_LINKS * size or (element.name == "header" and size == 0)


def _count(element: Any) -> int:
    """The number of words of an element."""
    return len(element.get_text(" ").split())


def _is_shown(node: Any) -> bool:
    """Whether a node is text that a browser shows, and no comment, script or declaration."""
    return type(node).__name__ in (
        "NavigableString",
        "CData",
        "TemplateString",
        "RubyTextString",
    )


def _walk(node: Any) -> Iterator[Block]:
    """The blocks below a node: those of its block elements, and the inline text between them."""
    inline = list[str]()
    links = list[Link]()
    for child in node.children:
        name = child.name
        if name and (name in _BLOCKS or _holds(child, _BLOCKS)):
            yield from _inline_block(inline, links)
            inline, links = [], []
            yield from _element_blocks(child)
        elif name:
            inline.append(child.get_text())
            links += _links(child)
        elif _is_shown(child):
            inline.append(str(child))
    yield from _inline_block(inline, links)


def _inline_block(inline: list[str], links: list[Link]) -> Iterator[Block]:
    """The block of inline text, if it is not blank."""
    text = one_line("".join(inline))
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
    return not cells or only_cell or _holds(row, _LAYOUT)


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
