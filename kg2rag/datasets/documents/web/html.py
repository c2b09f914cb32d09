"""A page of HTML -> its blocks without navigation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape
from itertools import chain, islice
from typing import Any

import re2

from kg2rag.datasets.documents.blocks import (
    CODE,
    Block,
    FileDocument,
    Link,
    join_remarks,
    one_line,
    plain_document,
)
from kg2rag.datasets.documents.contents_headings import without_contents
from kg2rag.datasets.documents.web.merged_cells import repeat_merged_cells
from kg2rag.datasets.documents.web.page_navigation import (
    HEADINGS,
    breadcrumbs_of,
    main_part,
    navigation_of,
    remove_navigation,
    text_outside,
    title_outside,
)
from kg2rag.datasets.documents.web.page_tree import (
    classes_of,
    count_words,
    empty,
    holds,
    parse_tree,
    remove_hidden_copies,
    separated_text,
    surround_with_blanks,
    text_of,
)
from kg2rag.text.decoding import decode_text
from kg2rag.text.scripts import words

_BLOCKS = (
    frozenset(
        """address article aside blockquote body br caption center dd details div dl dt fieldset figcaption figure
    footer form header hgroup hr html legend li main nav ol p pre section summary table tbody td tfoot th thead tr
    ul""".split()
    )
    | HEADINGS.keys()
)
_INVISIBLE = ("svg", "head")
_SEPARATE = ("button", "label", "option")
"""Inline elements whose text is separated by blanks from neighbouring words."""
_LABEL = re.compile(
    r"(?:\S{1,60}-)?(?:tags?|badges?|chips?|pills?|labels?|selected-value)(?:-\S{1,60})?",
    re.IGNORECASE,
)
"""Classes of labels, which a page shows apart from each other."""
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
    r"(?i)\s*<(?:!doctype html|html|body|div|p|h[1-6]|ul|ol|table|article|section|"
    r"aside|blockquote|details|figure|pre|ac:[\w-]+)\b[^<>]*>"
)
_LAST_TAG = re.compile(r"(?:</[\w:-]+|<[\w:-]+[^<>]*/|<br)>\s*\Z")
# Of an event or an attachment of a chat.
_ONLY_TAGS = re.compile(
    r"\s*(?:<[a-zA-Z][^<>]*/>\s*|<([a-zA-Z][\w:-]*)[^<>]*>\s*</\1>\s*)+"
)
_BULLET = re.compile(r"^[·•▪◦‣] +(?=\S)")
_SAVED_PAGE = """
    /html/body[contains(concat(" ", normalize-space(@class), " "), " doc-content ")]
    | /html/head[.//meta[starts-with(@content, "LibreOffice")]]/following-sibling::body
"""
"""XPath of the body of a page that Google Docs or LibreOffice saved."""
MOVED_WORDS = 50
"""Most words of a page that only leads to another."""
_STORAGE_FORMAT = (
    (
        re.compile(
            r"(?s)<ac:plain-text-body>\s*<!\[CDATA\[(.*?)\]\]>\s*</ac:plain-text-body>"
        ),
        lambda match: f"<pre>{escape(match[1])}</pre>",
    ),
    (re.compile(r"(?s)<!\[CDATA\[(.*?)\]\]>"), lambda match: escape(match[1])),
    (
        re.compile(
            r"""(?s)<ac:parameter\b[^<>]*\bac:name="(?:title|key)"[^<>]*>([^<]*)</ac:parameter>"""
        ),
        r" <b>\1</b> ",
    ),
    (
        re.compile(
            r"(?s)<ac:(parameter|task-id|task-uuid|task-status)\b[^<>]*(?<!/)>.*?</ac:\1>|"
            r"<ac:placeholder\b.*?</ac:placeholder>"
        ),
        "",
    ),
    (
        re.compile(
            r"""<ac:link\b[^<>]*>\s*<ri:page\b[^<>]*\bri:content-title="([^"]*)"[^<>]*>\s*"""
            r"""(?:</ri:page>\s*)?</ac:link>"""
        ),
        r"\1",
    ),
    (re.compile(r"<(/?)ac:task>"), r"<\1li>"),
)
"""The storage format of Confluence: (pattern, HTML) of code, titles of macros, words of links and tasks.

Parameters of macros and ids of tasks are no text.
"""


def read_html(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a page with the title of its head."""
    declared = next(iter(_CHARSET.findall(data[:4000])), b"")
    decoded = decode_text(data, declared.decode("ascii"))
    return [page_document(decoded.text, decoded.remark)]


def page_document(page: str, remark: str = "") -> FileDocument:
    """The document of a page given as text; one that nests too deeply is read as plain text."""
    page = _storage_as_html(page)
    source = visible_text(page)
    try:
        return _page_document(page, source, remark)
    except RecursionError:
        return plain_document(
            source,
            join_remarks(remark, "elements nest too deeply: read as plain text"),
        )


def is_page(text: str) -> bool:
    """Whether a text begins and ends with tags of HTML, or is only tags."""
    if _ONLY_TAGS.fullmatch(text):
        return True
    return bool(_FIRST_TAG.match(text) and _LAST_TAG.search(text[-100:]))


def visible_text(page: str) -> str:
    """The text of a page without tags, comments, scripts and styles, by regular expressions only.

    It is the second reading against which lost words are counted.
    """
    shown = _NOT_SHOWN.sub(" ", _storage_as_html(page))
    return unescape(_TAG.sub(" ", shown))


def _page_document(page: str, source: str, remark: str) -> FileDocument:
    """The document of a page whose text is `source`."""
    root = parse_tree(page)
    if _leads_elsewhere(root):
        remark = join_remarks(remark, "it only leads to another page")
        return FileDocument([], source=source, left_out=source, remark=remark)
    prefixes = _shorten_titles(root)
    title = next(map(separated_text, root.iter("title")), "")
    styled_title = _styled_title(root)
    if styled_title is not None:
        _lower_headings(root)
        styled_title.tag = "h1"
        title = text_of(styled_title)
    title = one_line(title)
    blocks, left_out = tree_blocks(root, title)
    left_out = " ".join([*prefixes, left_out])
    return FileDocument(blocks, title, source=source, left_out=left_out, remark=remark)


def _leads_elsewhere(root: Any) -> bool:
    """Whether a page of few words leads to another at once, as those of moved pages do."""
    has_target = any(
        "refresh" in meta.get("http-equiv", "").lower()
        and re.match(r"\s*\d+\s*;", meta.get("content", ""))
        for meta in root.iter("meta")
    )
    return has_target and count_words(root) <= MOVED_WORDS


def _shorten_titles(root: Any) -> list[str]:
    """Take the name of the site, if it is the first breadcrumb, from the beginnings of titles.

    Returns the name for each heading that it was taken from.
    """
    breadcrumbs = islice(breadcrumbs_of(root), 1)
    parts = [part for path in breadcrumbs for part in path.iterdescendants("a", "li")]
    site = one_line(text_of(parts[0])) if parts else ""
    if not site:
        return []
    prefix = re.compile(rf"{re.escape(site)}{_SEPARATOR_OF_TITLE}(?=\S)")
    titles = [
        title
        for title in root.iter("title", "h1")
        if prefix.match(one_line(text_of(title)))
    ]
    for title in titles:
        text = prefix.sub("", one_line(text_of(title)), count=1)
        del title[:]
        title.text = text
    return [site for title in titles if title.tag == "h1"]


def _styled_title(root: Any) -> Any:
    """The title in a page that Word, Google Docs or LibreOffice saved; None without one."""
    is_saved = bool(root.xpath(_SAVED_PAGE))
    for paragraph in root.iter("p"):
        classes = classes_of(paragraph)
        if "MsoTitle" in classes or (is_saved and "title" in classes):
            return paragraph
    return None


def _lower_headings(root: Any) -> None:
    """Lower each heading by a level, since the styled title becomes the one of level 1."""
    for heading in list(root.iter(*HEADINGS)):
        heading.tag = f"h{min(HEADINGS[heading.tag] + 1, max(HEADINGS.values()))}"


def tree_blocks(root: Any, title: str = "") -> tuple[list[Block], str]:
    """The blocks of a tree, and the text that was left out; the tree is changed.

    title : the title of the page in its head.
    """
    left_out = [*_show_formulas(root), *_remove_switches(root)]
    left_out += remove_hidden_copies(root)
    empty(root.iter(*_INVISIBLE))
    for element in root.iter("br"):
        element.text = "\n"
    for element in [*root.iter(*_SEPARATE), *filter(_is_label, root.iter("a", "span"))]:
        surround_with_blanks(element)
    body = next(root.iter("body"), root)
    navigation = navigation_of(body)
    main = main_part(body, navigation)
    if main is not body:
        left_out.append(text_outside(body, main))
    outside = chain.from_iterable(
        map(_element_blocks, title_outside(body, main, title))
    )
    remove_navigation(main, navigation, left_out)
    repeat_merged_cells(main)
    blocks, contents = without_contents([*outside, *_walk(main)])
    return blocks, " ".join([*left_out, *contents])


def _remove_switches(root: Any) -> list[str]:
    """Remove the labels of boxes that programs do not read aloud, such as "View Source"; returns them."""
    boxes = root.xpath("//input[@type='checkbox'][@aria-hidden='true']/@id")
    labels = [label for label in root.iter("label") if label.get("for") in boxes]
    texts = list(map(separated_text, labels))
    empty(labels)
    return texts


def _show_formulas(root: Any) -> list[str]:
    """Replace each formula in MathML by its TeX source, or by its text; returns its other forms."""
    others = list[str]()
    for formula in list(root.iter("math")):
        annotations = list(formula.iterdescendants("annotation", "annotation-xml"))
        others += map(separated_text, annotations)
        empty(annotations)
        text = one_line(separated_text(formula))
        source = formula.get("alttext")
        if source:
            others.append(text)
        empty([formula])
        formula.text = source or f" {text} "
    return others


def _walk(element: Any) -> Iterator[Block]:
    """The blocks below an element: those of its block elements, and the inline text between them."""
    inline = [element.text or ""]
    links = list[Link]()
    for child in element:
        if child.tag in _BLOCKS or holds(child, _BLOCKS):
            yield from _inline_block(inline, links)
            inline = []
            links = []
            yield from _element_blocks(child)
        else:
            inline.append(text_of(child))
            links += _links(child)
        inline.append(child.tail or "")
    yield from _inline_block(inline, links)


def _inline_block(inline: list[str], links: list[Link]) -> Iterator[Block]:
    """The block of inline text, if it is not blank."""
    text = _BULLET.sub("", one_line("".join(inline)), count=1)
    if text:
        yield Block(text, links=tuple(links))


def _element_blocks(element: Any) -> Iterator[Block]:
    """The blocks of a block element: a heading, a listing and a row of a table are one block."""
    level = HEADINGS.get(element.tag, 0)
    if level:
        text = one_line(text_of(element)).strip("¶# ")
        block = Block(text, level, links=_links(element))
    elif element.tag == "pre":
        text = text_of(element).strip("\n")
        block = Block(text, kind=CODE, links=_links(element))
    elif element.tag == "tr" and not _is_layout(element):
        cells = [
            " ".join(block.text for block in _walk(cell)) for cell in _cells(element)
        ]
        block = Block(" | ".join(cells).strip(" |"), links=_links(element))
    else:
        yield from _walk(element)
        return
    if block.text.strip():
        yield block


def _is_label(element: Any) -> bool:
    """Whether an inline element is followed at once by another link or label, as in a list of tags.

    Parts of a word in a listing are none.
    """
    following = element.getnext()
    if element.tail or following is None or following.tag != element.tag:
        return False
    if next(element.iterancestors("pre", "code"), None) is not None:
        return False
    pair = (element, following)
    if element.tag == "a":
        return all(link.get("href") and words(text_of(link)) for link in pair)
    return all(any(map(_LABEL.fullmatch, classes_of(part))) for part in pair)


def _is_layout(row: Any) -> bool:
    """Whether a row of a table only arranges parts of a page.

    It is the only cell of the table, or has headings, listings or tables in its cells.
    """
    cells = _cells(row)
    only_cell = len(cells) == 1 and len(row.getparent().findall("tr")) == 1
    return not cells or only_cell or holds(row, _LAYOUT)


def _cells(row: Any) -> list[Any]:
    """The cells of a row of a table."""
    return [child for child in row if child.tag in _CELLS]


def _links(element: Any) -> tuple[Link, ...]:
    """The hyperlinks in an element, itself included."""
    return tuple(
        Link(one_line(text_of(anchor)), anchor.get("href"))
        for anchor in element.iter("a")
        if anchor.get("href")
    )


def _storage_as_html(page: str) -> str:
    """A page in the storage format of Confluence as HTML; any other page as it is."""
    if "<ac:" not in page:
        return page
    for pattern, replacement in _STORAGE_FORMAT:
        page = pattern.sub(replacement, page)
    return page
