"""A page of HTML -> its tree by lxml, and the texts of elements.

Elements are taken out of a tree by `empty`, so that the texts beside them stay apart. The trees
have no comments, scripts, styles and readings above characters (ruby).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_WORD_BREAK = re.compile(r"(?i)</?wbr\b[^<>]*>|&shy;|&#173;|&#xad;|\xad")
_TEMPLATE = re.compile(r"(?i)<(/?)template\b")
"""A tag of templates, whose texts libxml2 puts into the head of a page."""
_HIDDEN = "//*[@hidden] | //*[contains(translate(@style, ' ', ''), 'display:none')]"
"""XPath of elements that a page does not show at first."""
MIN_CHARACTERS = 20
"""Least length of a hidden text that is compared with the page."""
MOST_HIDDEN = 200
"""Most hidden elements of a page that are compared."""
_UNREAD = ("script", "style", "rt", "rp")


def parse_tree(page: str) -> Any:
    """The root of the tree of a page, an element `html`."""
    from lxml import etree

    # The limits of libxml2 are those of its memory; `MAX_TEXT_BYTES` limits a page.
    parser = etree.HTMLParser(remove_comments=True, remove_pis=True, huge_tree=True)
    parser.feed(_TEMPLATE.sub(r"<\1div data-template", _WORD_BREAK.sub("", page)))
    root = parser.close()
    if root is None:
        return etree.Element("html")
    empty(root.iter(*_UNREAD))
    return root


def empty(elements: Iterable[Any]) -> None:
    """Take elements with their texts out of their tree: each becomes a `span` without text."""
    for element in list(elements):
        element.clear(keep_tail=True)
        element.tag = "span"


def remove_hidden_copies(root: Any) -> list[str]:
    """Remove hidden elements whose text the page has elsewhere, too; returns their texts.

    Such copies are for other devices, or for programs that copy the page.
    """
    copies = dict[Any, str]()
    page = ""
    for element in root.xpath(_HIDDEN)[:MOST_HIDDEN]:
        text = _joined_words(element)
        page = page or _joined_words(root)
        n_removed = list(copies.values()).count(text)
        if len(text) >= MIN_CHARACTERS and page.count(text) - n_removed > 1:
            copies[element] = text
    empty(copies)
    return list(copies.values())


def _joined_words(element: Any) -> str:
    """The words of an element with single blanks between them."""
    return " ".join(separated_text(element).split())


def text_of(element: Any) -> str:
    """The text of an element as a line of a page shows it."""
    return "".join(element.itertext())


def separated_text(element: Any) -> str:
    """The text of an element with blanks between its parts."""
    return " ".join(element.itertext())


def count_words(element: Any) -> int:
    """The number of words of an element."""
    return len(separated_text(element).split())


def surround_with_blanks(element: Any) -> None:
    """Put blanks before and after an element."""
    before = element.getprevious()
    if before is None:
        parent = element.getparent()
        parent.text = f"{parent.text or ''} "
    else:
        before.tail = f"{before.tail or ''} "
    element.tail = f" {element.tail or ''}"


def holds(element: Any, names: frozenset[str]) -> bool:
    """Whether an element of these names is below an element."""
    return any(node.tag in names for node in element.iterdescendants())


def classes_of(element: Any) -> list[str]:
    """The classes of an element."""
    names: list[str] = element.get("class", "").split()
    return names
