"""Which elements of Office files are tables of contents, lists of figures and tables, or feet of slides."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kg2rag.datasets.documents.archives import attribute, local_name, named

_OPENDOCUMENT_INDEXES = frozenset(
    """table-of-content illustration-index table-index object-index user-index
    alphabetical-index footer-decl header-decl date-time-decl""".split()
)
_OPENDOCUMENT_FRAMES = frozenset("footer header date-time page-number".split())
# The names of Word's styles are English in every language; LibreOffice writes "Contents 1".
_STYLE = re.compile(
    r"(?i)(toc|contents) ?([1-9]|heading)|table ?of ?figures|(figure|illustration) ?index ?[1-9]"
)
_SLIDE_FRAME = frozenset(("ftr", "hdr", "dt", "sldNum"))
"""Kinds of placeholders that stand on every slide: foot, head, date and number."""
_TARGET = "_Toc"
"""Prefix of the names by which Word marks the targets of a table of contents."""


def is_opendocument_index(element: Any) -> bool:
    """Whether an element of OpenDocument is a table of contents or another index of pages.

    So are the feet, heads, dates and numbers of slides, and the texts that are declared for them.
    """
    kind = local_name(element)
    if kind == "frame":
        return attribute(element, "class") in _OPENDOCUMENT_FRAMES
    return kind in _OPENDOCUMENT_INDEXES


def is_slide_frame(element: Any) -> bool:
    """Whether an element of PowerPoint is the placeholder of a foot, head, date or number of slides."""
    if local_name(element) != "sp":
        return False
    placeholders = element.iterfind("{*}nvSpPr/{*}nvPr/{*}ph")
    return any(attribute(item, "type") in _SLIDE_FRAME for item in placeholders)


def word_contents(styles: Mapping[str, Any]) -> Callable[[Any], bool]:
    """The function that returns whether an element of Word is part of a table of contents.

    It is a content control of that gallery, or a paragraph of its styles or of links to headings.

    styles : id of a style -> its element.
    """

    def is_contents(element: Any) -> bool:
        kind = local_name(element)
        if kind == "sdt":
            galleries = element.iterfind("{*}sdtPr/{*}docPartObj/{*}docPartGallery")
            return any(
                attribute(item, "val") == "Table of Contents" for item in galleries
            )
        if kind != "p":
            return False
        return _has_contents_style(element, styles) or _is_entry(element)

    return is_contents


def _has_contents_style(paragraph: Any, styles: Mapping[str, Any]) -> bool:
    """Whether the name of a paragraph's style is one of a table of contents."""
    for reference in paragraph.iterfind("{*}pPr/{*}pStyle"):
        style_id = attribute(reference, "val")
        style = styles.get(style_id)
        marks = [] if style is None else [*style.iterfind("{*}name")]
        names = [attribute(name, "val") for name in marks] or [style_id]
        if any(map(_STYLE.fullmatch, names)):
            return True
    return False


def _is_entry(paragraph: Any) -> bool:
    """Whether all text of a paragraph belongs to links to headings or captions."""
    texts = [text for text in named(paragraph, "t") if (text.text or "").strip()]
    return bool(texts) and all(map(_leads_to_heading, texts))


def _leads_to_heading(text: Any) -> bool:
    """Whether a text stands in a link whose target a table of contents has marked."""
    links = text.iterancestors("{*}hyperlink")
    return any(attribute(link, "anchor").startswith(_TARGET) for link in links)
