"""Word, PowerPoint and OpenDocument files -> every paragraph of the file, once.

Ours: one walk through the elements, which reads paragraphs, rows and cells, and enters all others.
So text boxes, content controls, footnotes and notes of slides are read. Mammoth loses equations,
titles and derived headings; pandoc loses text boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from kg2rag.datasets.documents.archives import Archive, attribute, local_name, named
from kg2rag.datasets.documents.blocks import (
    Block,
    FileDocument,
    Link,
    join_remarks,
    joined_documents,
    one_line,
)
from kg2rag.datasets.documents.contents_headings import without_typed_contents
from kg2rag.datasets.documents.html import read_html
from kg2rag.datasets.documents.mail import read_web_archive
from kg2rag.datasets.documents.office_contents import (
    is_opendocument_index,
    is_slide_frame,
    word_contents,
)
from kg2rag.datasets.documents.word_headings import (
    Levels,
    level_of_name,
    levels_by_format,
    remark_on_headings,
    word_levels,
)

_HIDDEN = frozenset(
    "del moveFrom delText instrText rPr pPr sectPr tblPr trPr tcPr rubyPr tracked-changes".split()
)
_SIGNS = {**dict.fromkeys("tab br cr line-break s".split(), " "), "noBreakHyphen": "-"}
"""Name of an element -> the text that it represents."""
_SLIDE_TITLES = ("title", "ctrTitle")
_HOLDERS = frozenset("txbxContent text-box note annotation".split())
_CELLS = frozenset("tc table-cell covered-table-cell sdt".split())

_DRAWINGS = ("chart", "diagramData")
"""Kinds of relations to the charts and diagrams of a page."""

_READERS_OF_INSERTED: Mapping[str, Callable[[bytes], list[FileDocument]]] = {
    **dict.fromkeys((".htm", ".html", ".xhtml"), read_html),
    **dict.fromkeys((".mht", ".mhtml"), read_web_archive),
}

Relations = Mapping[str, tuple[str, str]]
"""Id -> kind and target, as `Archive.relations` gives them."""


def read_docx(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a Word file; notes follow its text.

    Headers, comments and tables of contents are left out.
    """
    archive = Archive(data)
    main = _main_part(archive, "word/document.xml")
    relations = archive.relations(main)
    styles = _word_styles(archive)
    root = archive.xml(main)
    levels = word_levels(styles)
    by_format = levels_by_format(root, levels, styles)
    walker = _Walker(
        lambda paragraph: levels(paragraph) or by_format.get(paragraph, 0),
        {
            id_: target
            for id_, (kind, target) in relations.items()
            if kind == "hyperlink"
        },
        word_contents(styles),
    )
    roots = [root, *_related(archive, relations, "footnotes", "endnotes", *_DRAWINGS)]
    inserted = _inserted_document(archive, relations)
    document = joined_documents(
        [_document_of(roots, walker), inserted],
        join_remarks(inserted.remark, remark_on_headings(by_format)),
    )
    blocks, contents = without_typed_contents(document.blocks)
    others = _related(archive, relations, "header", "footer", "comments")
    left_out = map(_all_text, [*others, *walker.contents])
    return [
        replace(
            document,
            blocks=blocks,
            left_out="\n".join([document.left_out, *left_out, *contents]),
        )
    ]


def _inserted_document(archive: Archive, relations: Relations) -> FileDocument:
    """The document of the files that a Word file embeds as text (altChunk).

    Programs that convert HTML to Word write such files.
    """
    documents = list[FileDocument]()
    unread = list[str]()
    for kind, target in sorted(relations.values()):
        reader = _READERS_OF_INSERTED.get(Path(target).suffix.lower())
        if kind == "aFChunk" and reader is not None and target in archive.names:
            documents += reader(archive.read(target))
        elif kind == "aFChunk":
            unread.append(target)
    remark = f"inserted documents are not read: {', '.join(unread)}" if unread else ""
    return joined_documents(documents, remark)


def _related(archive: Archive, relations: Relations, *kinds: str) -> list[Any]:
    """The root elements of the parts to which relations of these kinds lead."""
    targets = [
        target
        for kind, target in sorted(relations.values())
        if kind in kinds and target in archive.names
    ]
    return [archive.xml(target) for target in dict.fromkeys(targets)]


def _document_of(roots: Sequence[Any], walker: _Walker) -> FileDocument:
    """The document of several parts, in their order; the names in a chart follow its title."""
    blocks = list[Block]()
    source = list[str]()
    for root in roots:
        names = _chart_names(root)
        blocks += [*walker.blocks(root), *map(Block, names)]
        source += [_all_text(root), *names]
    return FileDocument(blocks, source="\n".join(source))


def _chart_names(root: Any) -> list[str]:
    """The names of a chart's series and categories, each once; its numbers are not read."""
    caches = [
        list(named(cache, "v")) for cache in named(root, "strCache", "multiLvlStrCache")
    ]
    return list(
        dict.fromkeys(
            " | ".join(value.text or "" for value in values)
            for values in caches
            if values
        )
    )


def _main_part(archive: Archive, default: str) -> str:
    """The name of the main part of an Office file."""
    targets = [
        target
        for kind, target in archive.relations("").values()
        if kind == "officeDocument"
    ]
    return next((target for target in targets if target in archive.names), default)


def _word_styles(archive: Archive) -> dict[str, Any]:
    """Id -> element of each style of a Word file."""
    if "word/styles.xml" not in archive.names:
        return {}
    return {
        attribute(style, "styleId"): style
        for style in named(archive.xml("word/styles.xml"), "style")
    }


def read_pptx(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a presentation: titles are headings, notes follow their slide, slides are pages.

    The feet, dates and numbers of slides are left out.
    """
    archive = Archive(data)
    main = _main_part(archive, "ppt/presentation.xml")
    relations = archive.relations(main)
    ids = [_relation_id(slide) for slide in named(archive.xml(main), "sldId")]
    slides = [relations[id_][1] for id_ in ids if id_ in relations]
    return [
        joined_documents(
            [
                _slide_document(archive, slide, number)
                for number, slide in enumerate(slides, start=1)
            ]
        )
    ]


def _slide_document(archive: Archive, slide: str, number: int) -> FileDocument:
    """The document of a slide, its notes, charts and diagrams; `number` counts slides from 1."""
    relations = archive.relations(slide)
    if slide not in archive.names:
        return FileDocument([])
    roots = [
        archive.xml(slide),
        *_related(archive, relations, "notesSlide", *_DRAWINGS),
    ]
    targets = {
        id_: target for id_, (kind, target) in relations.items() if kind == "hyperlink"
    }
    level = partial(_slide_level, title_level=min(number, 2))
    walker = _Walker(level, targets, is_slide_frame)
    document = _document_of(roots, walker)
    return replace(
        document,
        blocks=[
            block._replace(page=number, last_page=number) for block in document.blocks
        ],
        left_out="\n".join(map(_all_text, walker.contents)),
    )


def _relation_id(element: Any) -> str:
    """The id of the relation that an element refers to; "" for none."""
    return next(
        (
            value
            for key, value in element.attrib.items()
            if key.endswith("relationships}id")
        ),
        "",
    )


def _slide_level(paragraph: Any, *, title_level: int) -> int:
    """The level of a paragraph of a slide: `title_level` in the shape of a title, else 0."""
    shape = next(paragraph.iterancestors("{*}sp"), None)
    if shape is None:
        return 0
    kinds = [attribute(placeholder, "type") for placeholder in named(shape, "ph")]
    return 0 if set(kinds).isdisjoint(_SLIDE_TITLES) else title_level


def read_opendocument(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a text or presentation of OpenDocument, with its charts and formulas."""
    archive = Archive(data)
    objects = [
        archive.xml(part) for part in archive.names if part.endswith("/content.xml")
    ]
    return [opendocument_document(archive.xml("content.xml"), objects)]


def opendocument_document(root: Any, objects: Sequence[Any] = ()) -> FileDocument:
    """The document of the contents of an OpenDocument file, and of its embedded objects."""
    titles = _title_styles(root)
    walker = _Walker(
        lambda paragraph: _opendocument_level(paragraph, titles),
        {},
        is_opendocument_index,
    )
    bodies = list(
        chain.from_iterable(
            list(named(part, "body")) or [part] for part in [root, *objects]
        )
    )
    blocks = list(chain.from_iterable(_body_blocks(body, walker) for body in bodies))
    changes = [
        _itertext(change)
        for body in bodies
        for change in named(body, "tracked-changes")
    ]
    contents = map(_itertext, walker.contents)
    return FileDocument(
        blocks,
        source="\n".join(map(_itertext, bodies)),
        left_out="\n".join([*changes, *contents]),
    )


def _title_styles(root: Any) -> set[str]:
    """The names of styles that are based on the style of a title."""
    styles = {
        attribute(style, "name"): attribute(style, "parent-style-name")
        for style in named(root, "style")
    }
    return {name for name, parent in styles.items() if level_of_name(parent) == 1}


def _body_blocks(body: Any, walker: _Walker) -> list[Block]:
    """The blocks of a body; a formula is one block."""
    if local_name(body) == "math":
        return [Block(one_line(_itertext(body)))]
    return list(walker.blocks(body))


def _itertext(element: Any) -> str:
    """All text below an element, one piece per line."""
    return "\n".join(element.itertext())


def _opendocument_level(paragraph: Any, titles: set[str]) -> int:
    """The heading level of a paragraph of OpenDocument; 0 for none.

    titles : names of the styles of titles.
    """
    style = attribute(paragraph, "style-name")
    if local_name(paragraph) == "h":
        level = attribute(paragraph, "outline-level")
        return int(level) if level.isdigit() and level != "0" else 1
    if style in titles or level_of_name(style) == 1:
        return 1
    frames = paragraph.iterancestors("{*}frame")
    return 2 if any(attribute(frame, "class") == "title" for frame in frames) else 0


def _all_text(root: Any) -> str:
    """The text of every `t` of a part that is shown; paragraphs, tabs and breaks separate them.

    It is the second, simpler reading against which lost words are counted.
    """
    texts = list[str]()
    for leaf in named(root, "t", "p", *_SIGNS):
        if local_name(leaf) != "t":
            texts.append("\n")
        elif all(map(_is_shown, _hiding_elements(leaf))):
            texts.append(leaf.text or "")
    return "".join(texts)


def _hiding_elements(leaf: Any) -> Iterator[Any]:
    """The parent of a `t`, and the copies for older programs that contain it."""
    yield leaf.getparent()
    yield from leaf.iterancestors("{*}Fallback")


class _Walker:
    """Reads the blocks below an element.

    level : function that returns the heading level of a paragraph.
    targets : id of a hyperlink's relation -> its target.
    is_contents : function that returns whether an element is a table of contents; such elements
    are not read but collected in `contents`.
    """

    def __init__(
        self,
        level: Levels,
        targets: Mapping[str, str],
        is_contents: Callable[[Any], bool] = lambda _: False,
    ) -> None:
        self.level = level
        self.targets = targets
        self.is_contents = is_contents
        self.contents = list[Any]()

    def blocks(self, element: Any) -> Iterator[Block]:
        """The blocks of an element's children, in their order."""
        for child in element:
            kind = local_name(child)
            if not _is_shown(child):
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
            yield Block(text, self.level(element), links=tuple(paragraph.links))
        for holder in paragraph.holders:
            yield from self.blocks(holder)

    def _row(self, row: Any) -> Iterator[Block]:
        """The block of a row, or the blocks of its cells if it only arranges parts of a page.

        Such a row has a single cell, or tables or headings in its cells.
        """
        cells = [list(self.blocks(cell)) for cell in row if local_name(cell) in _CELLS]
        blocks = list(chain.from_iterable(cells))
        has_headings = any(block.level for block in blocks)
        has_tables = next(named(row, "tbl", "table"), None) is not None
        if len(cells) <= 1 or has_headings or has_tables:
            yield from blocks
            return
        text = " | ".join(map(_text_of, cells)).strip(" |")
        if text:
            yield Block(
                text, links=tuple(chain.from_iterable(block.links for block in blocks))
            )


def _text_of(blocks: list[Block]) -> str:
    """The texts of blocks, joined by blanks."""
    return " ".join(block.text for block in blocks)


class _Paragraph:
    """Collects the text of a paragraph, its links, and the text boxes and notes in it (`holders`).

    Word has text in `t` elements only, OpenDocument anywhere (`has_loose_text`).
    """

    def __init__(self, targets: Mapping[str, str], *, has_loose_text: bool) -> None:
        self.targets = targets
        self.has_loose_text = has_loose_text
        self.pieces = list[str]()
        self.links = list[Link]()
        self.holders = list[Any]()

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
        elif _is_shown(child):
            start = len(self.pieces)
            self.add(child)
            target = self._target(child, kind)
            if target:
                self.links.append(Link(one_line("".join(self.pieces[start:])), target))

    def _target(self, child: Any, kind: str) -> str:
        """The target of a hyperlink; "" for any other element."""
        if kind == "hyperlink":
            return self.targets.get(_relation_id(child), "") or attribute(
                child, "anchor"
            )
        if kind == "a":
            return attribute(child, "href")
        return ""


def _is_shown(element: Any) -> bool:
    """Whether an element is shown.

    Comments, deleted and hidden text, slide numbers, and copies for older programs are not.
    """
    kind = local_name(element)
    if kind == "fld":
        return attribute(element, "type") != "slidenum"
    if kind == "r":
        return not any(local_name(mark) == "vanish" for mark in element.iterfind("*/*"))
    if kind == "Fallback":
        return all(
            local_name(sibling) != "Choice"
            for sibling in element.itersiblings(preceding=True)
        )
    return bool(kind) and kind not in _HIDDEN
