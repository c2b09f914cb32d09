"""The tree of a page of HTML -> its main part without navigation.

Ours: the rule for navigation. An element with a name, role or class of navigation is left out only
if it has at most half of the words of the page's main part and no heading of level 1. So a page
within a form, a header or a template is read. A `footer` without such a heading is always left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from kg2rag.datasets.documents.blocks import one_line
from kg2rag.datasets.documents.web.page_tree import (
    classes_of,
    count_words,
    empty,
    holds,
    separated_text,
    text_of,
)
from kg2rag.text.scripts import words

HEADINGS = {f"h{level}": level for level in range(1, 7)}
_NAVIGATION_ROLES = frozenset(("navigation", "search"))
# "dw__toc" and "breadcrumb-section", but not "without-toc" and "toc-content".
_PREFIX_OF_NAME = r"(?!\S*(?:has|no|with|without)[-_])(?:\S+[-_])?"
_BREADCRUMB_NAME = _PREFIX_OF_NAME + r"breadcrumbs?(?:[-_]\S+)?"
_BREADCRUMBS = re.compile(_BREADCRUMB_NAME, re.IGNORECASE)
_NAVIGATION_NAME = re.compile(
    rf"{_BREADCRUMB_NAME}|{_PREFIX_OF_NAME}(?:toc(?:-mobile|-desktop)?|table-?of-?contents|pagination)|"
    rf"{_PREFIX_OF_NAME}nav(?:bar|igation|header|footer|path|panel|links)?|(?:top|sub|bottom)Nav|"
    "toc-macro|toctree-wrapper|page-metadata|xdocLastModification|"
    r"(?:\S+-)?navbox\S*|(?:\S+-)?portlet|catlinks|portalbar|bandeau-portail|no-?print|d-print-none",
    re.IGNORECASE,
)
"""Classes and ids of navigation, of lines that say who changed a page, and of what is not printed."""
_MENU_CLASS = re.compile(
    r"(?:\S{1,60}[-_])?(?:shar(?:e|ing)|social|follow)(?:[-_]?(?:this|us|on))?"
    r"[-_]?(?:tools|links|buttons|bar|icons|list|media|menu|box|widget|wrapper|container)|"
    r"(?:\S{1,60}[-_])?(?:cookie|gdpr|consent|newsletter)[-_](?:\S{1,60}[-_])?(?:banner|notice|bar|popup|modal|overlay|dialog|"
    r"consent|box|sign-?up|form|subscribe|cta|prompt|wrapper|container)|"
    r"(?:cookie|ad)[-_]?(?:banner|slot|container|wrapper|unit)|advert|advertisement|"
    r"(?:related|recommended|popular|trending|most)[-_](?:posts|articles|stories|links|content|read|news|popular)|"
    r"(?:article|blog|collapsible|left|main|page|primary|right|secondary|site|widget)[-_]?sidebar|sidenav|"
    r"sidebar[-_](?:left|menu|nav|primary|right|secondary|widgets?)",
    re.IGNORECASE,
)
"""Classes of menus, advertisements and notices beside an article; ids of sections have such names, too."""
_NAMED = "descendant::*[@class or @id]"
"""XPath of the elements with a class or an id."""
_MAY_BE_NAVIGATION = "descendant::*[self::nav or @role or @class or @id or a/@rel]"
_NEIGHBOURS = frozenset("prev previous next up".split())
LINE_WORDS = 30
"""Most words of a line of links to neighbouring pages."""
# Footers, numbers of headings, and labels for programs that read aloud, which glue to words.
_FURNITURE_NAME = re.compile(
    r"footer\S*|\S*section-number|(?:\S+-)?(?:sr-only|screen-?reader-(?:only|text)|visually-?hidden)"
)
_FURNITURE_TAGS = frozenset(
    "footer noscript select textarea iframe dialog en-crypt".split()
)
_FURNITURE_CLASSES = frozenset(
    """linenos lineno gutter _idFootnoteLink mw-editsection printfooter hideme jp-InputPrompt jp-OutputPrompt
    input_prompt output_prompt pg-boilerplate""".split()
)
_SHADOW_ROOTS = frozenset(("shadowroot", "shadowrootmode"))
"""Attributes of a template that a page shows: the content of an element of its program."""
_KINDS_OF_NOTES = frozenset(
    """abstract attention bug caution danger error example failure hint important info note question quote seealso
    success summary tip todo warning""".split()
) | {"see also"}
"""Default titles of notes, which are left out."""
_NOTE_MARK = re.compile(r"[(\[]?(?:\d{1,4}|[a-z]|[ivxlc]+|[*†‡§¶]+)[)\]]?")
_RAISED = frozenset(("sup",))
_MENU_TAGS = frozenset(("header", "aside", "button"))
_MENU_ROLES = frozenset(("banner", "complementary"))
_BESIDE_CONTENT = ("footer", "header", "aside", "noscript")
_HEADINGS = frozenset(HEADINGS)
_CONTENT = frozenset(("main", "article", "h1"))
_TITLES = frozenset(("summary", "dt", "th")) | HEADINGS.keys()
_MOST_OF_LINKS = 0.6
"""Share of an element's words in links above which a header or an aside is a menu."""


def main_part(body: Any, navigation: frozenset[Any]) -> Any:
    """The main part of a page: `main` or the only `article`, or else the whole body.

    The element must have at least half of the words that are not navigation.
    """
    candidates = [
        *islice(body.iterdescendants("main"), 1),
        *body.xpath("descendant::*[@role='main'][1]"),
    ]
    articles = list(body.iterdescendants("article"))
    if len(articles) == 1:
        candidates += articles
    if not candidates:
        return body
    content = count_words(body) - _count_navigation(body, navigation)
    return next(
        (element for element in candidates if count_words(element) >= content / 2), body
    )


def _count_navigation(body: Any, navigation: frozenset[Any]) -> int:
    """The number of words in elements that may be navigation, each counted once."""
    elements = navigation.union(body.iterdescendants(*_BESIDE_CONTENT))
    return sum(
        count_words(element)
        for element in elements
        if elements.isdisjoint(element.iterancestors())
    )


def title_outside(body: Any, main: Any, title: str) -> list[Any]:
    """The only heading of level 1, if it is outside the main part and most of the page's title."""
    headings = list(body.iterdescendants("h1"))
    is_outside = len(headings) == 1 and main not in headings[0].iterancestors()
    text = separated_text(headings[0]) if is_outside else ""
    if len(words(text)) > len(words(title)) / 2:
        return headings
    return []


def text_outside(body: Any, main: Any) -> str:
    """The text of the body outside its main part."""
    inside = set(main.iter())
    pieces = [body.text]
    for element in body.iterdescendants():
        if element not in inside:
            pieces += [element.text, element.tail]
    return " ".join(filter(None, [*pieces, main.tail]))


def navigation_of(body: Any) -> frozenset[Any]:
    """The elements that are navigation."""
    return frozenset(filter(_is_navigation, body.xpath(_MAY_BE_NAVIGATION)))


def remove_navigation(
    main: Any, navigation: frozenset[Any], left_out: list[str]
) -> None:
    """Remove navigation and menus from the main part, and add their texts to `left_out`."""
    half = count_words(main) / 2
    elements = list(main.iterdescendants())
    menus = [element for element in filter(_may_be_menu, elements) if _is_menu(element)]
    furniture = [
        element
        for element in elements
        if element in navigation or _is_furniture(element)
    ]
    removed = set[Any]()
    for element in [*furniture, *menus]:
        if element not in removed and _may_be_removed(element, half):
            left_out.append(separated_text(element))
            removed.update(element.iter())
            empty([element])


def _may_be_removed(element: Any, most_words: float) -> bool:
    """Whether an element holds no content, and is a foot or has at most so many words."""
    if holds(element, _CONTENT):
        return False
    return _is_foot(element) or count_words(element) <= most_words


def _names(element: Any) -> list[str]:
    """The classes and the id of an element."""
    return [*classes_of(element), *filter(None, [element.get("id")])]


def _is_navigation(element: Any) -> bool:
    """Whether an element is navigation by its name, role, class or id."""
    if element.tag == "nav" or element.get("role") in _NAVIGATION_ROLES:
        return True
    if any(map(_NAVIGATION_NAME.fullmatch, _names(element))):
        return True
    if any(map(_MENU_CLASS.fullmatch, classes_of(element))):
        return True
    return any(map(_leads_to_neighbour, element)) and count_words(element) <= LINE_WORDS


def _leads_to_neighbour(element: Any) -> bool:
    """Whether an element is a link to the page before or after, or above."""
    return element.tag == "a" and element.get("rel") in _NEIGHBOURS


def breadcrumbs_of(root: Any) -> Iterator[Any]:
    """The elements that are the path to a page within its site, by their class or id."""
    for element in root.xpath(_NAMED):
        if any(map(_BREADCRUMBS.fullmatch, _names(element))):
            yield element


def _is_note_mark(element: Any) -> bool:
    """Whether an element is the mark of a note, or a sign such as ¶, that links within the page.

    A mark is declared as one, as in e-books and accessible pages, or is a number or sign that is
    raised or has a link back to it.
    """
    if element.tag != "a":
        return False
    if element.get("epub:type") == "noteref" or element.get("role") == "doc-noteref":
        return True
    if "#" not in element.get("href", ""):
        return False
    text = text_of(element).strip()
    is_raised = element.getparent().tag == "sup" or holds(element, _RAISED)
    is_end = "id" in element.attrib or "name" in element.attrib  # of another link
    is_mark = (is_raised or is_end) and _NOTE_MARK.fullmatch(text) is not None
    return is_mark or not words(text)


def _is_foot(element: Any) -> bool:
    """Whether an element is the foot of a page, by its name, role or id."""
    if element.tag == "footer" or element.get("role") == "contentinfo":
        return True
    return element.get("id") == "footer" and not holds(element, _HEADINGS)


def _is_furniture(element: Any) -> bool:
    """Whether an element is a footer, a choice of a form, an anchor, a line number or an icon."""
    if element.tag in _FURNITURE_TAGS or _is_note_mark(element):
        return True
    is_template = "data-template" in element.attrib
    if is_template and not _SHADOW_ROOTS.isdisjoint(element.attrib):
        return False
    is_hidden = element.get("aria-hidden") == "true" or is_template
    if is_hidden or _is_foot(element):
        return True
    return _is_furniture_by_class(element, classes_of(element))


def _is_furniture_by_class(element: Any, classes: Sequence[str]) -> bool:
    """Whether the classes of an element are those of a footer, an anchor, a line number or an icon."""
    if "admonition-title" in classes:
        return one_line(text_of(element)).casefold().rstrip(":") in _KINDS_OF_NOTES
    if "pageSection" in classes and element.xpath("descendant::*[@id='attachments']"):
        return True  # Confluence's
    if element.tag not in HEADINGS and any(map(_FURNITURE_NAME.fullmatch, classes)):
        return True
    is_icon = "icon" in classes and element.tag == "td"  # "Note", of an admonition
    return is_icon or not _FURNITURE_CLASSES.isdisjoint(classes)


def _may_be_menu(element: Any) -> bool:
    """Whether an element is a header, an aside or a button."""
    return element.tag in _MENU_TAGS or element.get("role") in _MENU_ROLES


def _is_menu(element: Any) -> bool:
    """Whether a header or an aside consists mostly of links, or a button is only a short label.

    A button with a title in it, or that is a whole title, or with text beside it, unfolds a section.
    """
    size = count_words(element)
    if element.tag == "button":
        if holds(element, _TITLES):
            return False
        title = next(element.iterancestors(*_TITLES), None)
        if title is not None:
            return count_words(title) > size
        return size <= 2 and not _first_text(element.getparent()).strip()
    linked = sum(map(count_words, element.iterdescendants("a")))
    return linked > _MOST_OF_LINKS * size or (element.tag == "header" and size == 0)


def _first_text(element: Any) -> str:
    """The first text of an element that is in no other; "" if there is none."""
    texts = [element.text, *(child.tail for child in element)]
    return next(filter(None, texts), "")
