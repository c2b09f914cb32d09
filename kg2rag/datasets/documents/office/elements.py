"""Elements of Office files -> their blocks, without tables of contents and the feet of slides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any

from kg2rag.datasets.documents.archives import attribute, local_name, named
from kg2rag.datasets.documents.blocks import Block, Link, one_line
from kg2rag.datasets.documents.office.word_headings import Levels
from kg2rag.datasets.documents.web.merged_cells import value_cell

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

_HIDDEN = frozenset(
    "del moveFrom delText instrText rPr pPr sectPr tblPr trPr tcPr rubyPr tracked-changes".split()
)
_SIGNS = {**dict.fromkeys("tab br cr line-break s".split(), " "), "noBreakHyphen": "-"}
"""Name of an element -> the text that it represents."""
CELL_BREAK = " | "
"""What separates the cells of a row."""
_PARTS_OF_FORMULAS = {"num": "", "den": "/", "sup": "^", "sub": "_"}
"""Part of a formula -> the sign before it: numerator, denominator, exponent and index."""
_HOLDERS = frozenset("txbxContent text-box note annotation".split())
NOTES = {"footnoteReference": "footnote", "endnoteReference": "endnote"}
"""Kind of a reference to a note in another part of a Word file -> the kind of the note."""
_CELLS = frozenset("tc table-cell covered-table-cell sdt".split())


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


def relation_id(element: Any) -> str:
    """The id of the relation that an element refers to; "" for none."""
    return next(
        (
            value
            for key, value in element.attrib.items()
            if key.endswith("relationships}id")
        ),
        "",
    )


def all_text(root: Any) -> str:
    """The text of every `t` of a part that is shown; paragraphs, tabs and breaks separate them.

    It is the second, simpler reading against which lost words are counted.
    """
    texts = list[str]()
    for leaf in named(root, "t", "p", *_SIGNS, *_PARTS_OF_FORMULAS):
        if local_name(leaf) != "t":
            texts.append("\n")
        elif all(map(is_shown, _hiding_elements(leaf))):
            texts.append(leaf.text or "")
    return "".join(texts)


def _hiding_elements(leaf: Any) -> Iterator[Any]:
    """The parent of a `t`, and the copies for older programs, controls and deletions that contain it."""
    yield leaf.getparent()
    yield from leaf.iterancestors("{*}Fallback", "{*}sdt", "{*}moveFrom", "{*}del")


class Walker:
    """Reads the blocks below an element.

    level : function that returns the heading level of a paragraph.
    targets : id of a hyperlink's relation -> its target.
    is_contents : function that returns whether an element is a table of contents; such elements
    are not read but collected in `contents`.
    labels : element of a paragraph with an automatic number -> that number.
    notes : kind of a reference to a note and its id -> the note's element; it follows the first
    paragraph that refers to it.
    """

    def __init__(
        self,
        level: Levels,
        targets: Mapping[str, str],
        is_contents: Callable[[Any], bool] = lambda _: False,
        labels: Mapping[Any, str] = MappingProxyType({}),
        notes: Mapping[tuple[str, str], Any] = MappingProxyType({}),
    ) -> None:
        self.level = level
        self.targets = targets
        self.is_contents = is_contents
        self.labels = labels
        self.notes = notes
        self._read_notes = set[Any]()
        self.contents = list[Any]()

    def blocks(self, element: Any) -> Iterator[Block]:
        """The blocks of an element's children, in their order."""
        for child in element:
            kind = local_name(child)
            if not is_shown(child) or child in self._read_notes:
                continue
            if self.is_contents(child):
                self.contents.append(child)
            elif kind in ("p", "h"):
                yield from self._paragraph(child)
            elif kind in ("tr", "table-row"):
                yield from self._row(child)
            else:
                yield from self.blocks(child)

    def _paragraph(self, element: Any) -> Iterator[Block]:
        """The block of a paragraph, if it has text, and the blocks of text boxes and notes in it."""
        paragraph = _Paragraph(
            self.targets,
            has_loose_text="opendocument" in (element.nsmap.get(element.prefix) or ""),
        )
        paragraph.add(element)
        text = one_line("".join(paragraph.pieces))
        if text:
            text = f"{self.labels.get(element, '')} {text}".lstrip()
            yield Block(text, self.level(element), links=tuple(paragraph.links))
        notes = {self.notes.get(reference) for reference in paragraph.references}
        new_notes = [
            note
            for note in self.notes.values()
            if note in notes and note not in self._read_notes
        ]
        self._read_notes.update(new_notes)
        for holder in [*paragraph.holders, *new_notes]:
            yield from self.blocks(holder)

    def _row(self, row: Any) -> Iterator[Block]:
        """The block of a row, or the blocks of its cells if it only arranges parts of a page.

        Such a row has a single cell, or tables or headings in its cells.
        """
        cells = [
            list(self.blocks(value_cell(cell)))
            for cell in row
            if local_name(cell) in _CELLS
        ]
        blocks = list(chain.from_iterable(cells))
        has_headings = any(block.level for block in blocks)
        has_tables = next(named(row, "tbl", "table"), None) is not None
        if len(cells) <= 1 or has_headings or has_tables:
            yield from blocks
            return
        text = CELL_BREAK.join(map(_text_of, cells)).strip(CELL_BREAK)
        if text:
            yield Block(
                text, links=tuple(chain.from_iterable(block.links for block in blocks))
            )


def _box_sign(field: Any) -> str:
    """The sign of a box of a form, ticked or not."""
    marks = [*field.iterfind("{*}checked"), *field.iterfind("{*}default")]
    is_ticked = bool(marks) and attribute(marks[0], "val") not in ("0", "false", "off")
    return "☒" if is_ticked else "☐"


def _chosen_entry(field: Any) -> str:
    """The entry of a list of a form that is chosen."""
    entries = [attribute(entry, "val") for entry in field.iterfind("{*}listEntry")]
    results = [attribute(result, "val") for result in field.iterfind("{*}result")]
    number = next((int(result) for result in results if result.isdigit()), 0)
    return entries[number] if number < len(entries) else ""


_FORM_FIELDS: Mapping[str, Callable[[Any], str]] = {
    "checkBox": _box_sign,
    "ddList": _chosen_entry,
}
"""Kind of a field of a form -> the function that returns its value."""


def _text_of(blocks: list[Block]) -> str:
    """The texts of blocks, joined by blanks."""
    return " ".join(block.text for block in blocks)


class _Paragraph:
    """Collects the text of a paragraph, its links, and the text boxes and notes in it (`holders`).

    `references` are those to notes in other parts. Word has text in `t` elements only, OpenDocument
    anywhere (`has_loose_text`).
    """

    def __init__(self, targets: Mapping[str, str], *, has_loose_text: bool) -> None:
        self.targets = targets
        self.has_loose_text = has_loose_text
        self.pieces = list[str]()
        self.links = list[Link]()
        self.holders = list[Any]()
        self.references = list[tuple[str, str]]()

    def add(self, element: Any) -> None:
        """Add the text below an element."""
        if self.has_loose_text:
            self.pieces.append(element.text or "")
        for child in element:
            self._add_child(child)
            if self.has_loose_text:
                self.pieces.append(child.tail or "")

    def _add_child(self, child: Any) -> None:
        """Add a child element by its kind: text, sign, holder of paragraphs, or any other."""
        kind = local_name(child)
        if kind == "t":
            self.pieces.append(child.text or "")
        elif kind in _SIGNS:
            self.pieces.append(_SIGNS[kind])
        elif kind in _HOLDERS:
            self.holders.append(child)
        elif kind in _FORM_FIELDS:
            self.pieces.append(_FORM_FIELDS[kind](child))
        elif kind in NOTES:
            self.references.append((kind, attribute(child, "id")))
        elif is_shown(child):
            self._add_shown(child, kind)

    def _add_shown(self, child: Any, kind: str) -> None:
        """Add the text below a child element, which may be a part of a formula or a link."""
        start = len(self.pieces)
        self.add(child)
        if kind in _PARTS_OF_FORMULAS:
            part = "".join(self.pieces[start:])
            if len(part) > 1:
                part = f"({part})"
            self.pieces[start:] = [_PARTS_OF_FORMULAS[kind], part]
        target = self._target(child, kind)
        if target:
            self.links.append(Link(one_line("".join(self.pieces[start:])), target))

    def _target(self, child: Any, kind: str) -> str:
        """The target of a hyperlink; "" for any other element."""
        if kind == "hyperlink":
            return self.targets.get(relation_id(child), "") or attribute(
                child, "anchor"
            )
        if kind == "a":
            return attribute(child, "href")
        return ""


def is_shown(element: Any) -> bool:
    """Whether an element is shown.

    Comments, deleted and hidden text, slide numbers, the prompts of controls that nobody has filled,
    and copies for older programs are not.
    """
    kind = local_name(element)
    if kind == "fld":
        return attribute(element, "type") != "slidenum"
    if kind == "r":
        return not any(local_name(mark) == "vanish" for mark in element.iterfind("*/*"))
    if kind == "sdt":
        return next(element.iterfind("{*}sdtPr/{*}showingPlcHdr"), None) is None
    if kind == "Fallback":
        return all(
            local_name(sibling) != "Choice"
            for sibling in element.itersiblings(preceding=True)
        )
    return bool(kind) and kind not in _HIDDEN
