"""Word, PowerPoint and OpenDocument files -> every paragraph of the file, once.

Ours: one walk through the elements, which reads paragraphs, rows and cells, and enters all others.
So text boxes, content controls, footnotes and notes of slides are read. Mammoth loses equations,
titles and derived headings; pandoc loses text boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from kg2rag.datasets.documents.archives import Archive, attribute, local_name, named
from kg2rag.datasets.documents.blocks import (
    Block,
    FileDocument,
    join_remarks,
    joined_documents,
    named_remark,
    one_line,
)
from kg2rag.datasets.documents.contents_headings import without_typed_contents
from kg2rag.datasets.documents.messages.mail import read_web_archive
from kg2rag.datasets.documents.office.elements import (
    CELL_BREAK,
    NOTES,
    Walker,
    all_text,
    is_opendocument_index,
    is_slide_frame,
    relation_id,
    word_contents,
)
from kg2rag.datasets.documents.office.slide_order import (
    is_opendocument_title,
    is_powerpoint_title,
    order_opendocument,
    order_powerpoint,
)
from kg2rag.datasets.documents.office.word_headings import (
    HIGHEST_HEADING,
    LONGEST_HEADING,
    Levels,
    below_title,
    level_of_name,
    levels_by_format,
    remark_on_headings,
    word_levels,
)
from kg2rag.datasets.documents.office.word_numbers import number_labels
from kg2rag.datasets.documents.running_heads import SENTENCE_END
from kg2rag.datasets.documents.web.html import read_html
from kg2rag.text.scripts import words

_OPENDOCUMENT_PROPERTIES = "meta.xml"
_NUMBERING = "word/numbering.xml"

MOST_POINTS = 50
"""Most values of a series of a chart that are read."""
_DRAWINGS = ("chart", "diagramData")
"""Kinds of relations to the charts and diagrams of a page."""

_READERS_OF_INSERTED: Mapping[str, Callable[[bytes], list[FileDocument]]] = {
    **dict.fromkeys((".htm", ".html", ".xhtml"), read_html),
    **dict.fromkeys((".mht", ".mhtml"), read_web_archive),
}

Relations = Mapping[str, tuple[str, str]]
"""Id -> kind and target, as `Archive.relations` gives them."""


def read_docx(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a Word file; notes follow the paragraph that refers to them.

    Headers, comments and tables of contents are left out.
    """
    archive = Archive(data)
    main = _main_part(archive, "word/document.xml")
    relations = archive.relations(main)
    styles = _word_styles(archive)
    root = archive.xml(main)
    levels = word_levels(styles)
    by_format = levels_by_format(root, levels, styles)
    title = _declared_title(archive, map(all_text, named(root, "p")))
    if not title and 1 not in by_format.values():
        levels = below_title(levels, named(root, "p"))
    note_parts = _related(archive, relations, "footnotes", "endnotes")
    walker = Walker(
        lambda paragraph: levels(paragraph) or by_format.get(paragraph, 0),
        {
            id_: target
            for id_, (kind, target) in relations.items()
            if kind == "hyperlink"
        },
        word_contents(styles),
        _number_labels(archive, root, styles, levels),
        _notes(note_parts),
    )
    roots = [root, *note_parts, *_related(archive, relations, *_DRAWINGS)]
    inserted = _inserted_document(archive, relations)
    document = joined_documents(
        [_document_of(roots, walker), inserted],
        join_remarks(inserted.remark, remark_on_headings(by_format)),
    )
    blocks, contents = without_typed_contents(document.blocks)
    margins = _related(archive, relations, "header", "footer", "comments")
    left_out = map(all_text, [*margins, *walker.contents])
    return [
        replace(
            document,
            blocks=blocks,
            title=title,
            left_out="\n".join([document.left_out, *left_out, *contents]),
        )
    ]


def _declared_title(archive: Archive, texts: Iterable[str]) -> str:
    """The title in the properties of a file; "" if its text lacks a word of it.

    Such a title is left from another file, from which this one was made.
    """
    parts = [
        part
        for kind, part in archive.relations("").values()
        if kind == "core-properties"
    ]
    for part in [*parts, _OPENDOCUMENT_PROPERTIES]:
        if part in archive.names:
            titles = list(named(archive.xml(part), "title"))
            title = one_line("".join(map(_itertext, titles)))
            text_words = {word for text in texts for word in words(text)}
            return title if text_words.issuperset(words(title)) else ""
    return ""


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
    remark = named_remark("inserted documents are not read", unread)
    return joined_documents(documents, remark)


def _related(archive: Archive, relations: Relations, *kinds: str) -> list[Any]:
    """The root elements of the parts to which relations of these kinds lead."""
    targets = [
        target
        for kind, target in sorted(relations.values())
        if kind in kinds and target in archive.names
    ]
    return [archive.xml(target) for target in dict.fromkeys(targets)]


def _document_of(roots: Sequence[Any], walker: Walker) -> FileDocument:
    """The document of several parts, in their order; the series of a chart follow its title."""
    blocks = list[Block]()
    source = list[str]()
    for root in roots:
        names = _chart_rows(root)
        blocks += [*walker.blocks(root), *map(Block, names)]
        source += [all_text(root), *names]
    return FileDocument(blocks, source="\n".join(source))


def _chart_rows(root: Any) -> list[str]:
    """The series of a chart, each once: its name, and its categories with their values.

    Of a series with more than `MOST_POINTS` values, the name and the categories are separate rows
    without values.
    """
    rows = list[str]()
    for series in named(root, "ser"):
        name = CELL_BREAK.join(_points(series, "tx").values())
        categories = _points(series, "cat")
        values = _points(series, "val")
        if 0 < len(values) <= MOST_POINTS:
            points = [
                f"{categories.get(number, '')} {_shown_number(value)}".strip()
                for number, value in values.items()
            ]
            rows.append(CELL_BREAK.join(filter(None, [name, *points])))
        else:
            rows += filter(None, [name, CELL_BREAK.join(categories.values())])
    return list(dict.fromkeys(rows))


def _shown_number(text: str) -> str:
    """A number as a chart shows it, without the digits that its binary form adds."""
    try:
        return f"{float(text):.10g}"
    except ValueError:
        return text


def _points(series: Any, part: str) -> dict[str, str]:
    """Number of a point -> its text or value in a part of a series; upper levels come first."""
    points = dict[str, str]()
    for element in series.iterfind(f"{{*}}{part}"):
        for place, point in enumerate(named(element, "pt")):
            number = attribute(point, "idx") or str(place)
            text = one_line("".join(value.text or "" for value in named(point, "v")))
            points[number] = f"{text} {points.get(number, '')}".strip()
    return points


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


def _notes(parts: Sequence[Any]) -> dict[tuple[str, str], Any]:
    """Kind of a reference and the id of a note -> the note's element."""
    return {
        (reference, attribute(note, "id")): note
        for reference, kind in NOTES.items()
        for part in parts
        for note in named(part, kind)
    }


def _number_labels(
    archive: Archive, root: Any, styles: Mapping[str, Any], levels: Levels
) -> dict[Any, str]:
    """Element of each paragraph of a Word file with an automatic number -> that number."""
    if _NUMBERING not in archive.names:
        return {}
    return number_labels(root, archive.xml(_NUMBERING), styles, levels)


def read_pptx(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a presentation: titles are headings, notes follow their slide, slides are pages.

    The feet, dates and numbers of slides are left out.
    """
    archive = Archive(data)
    main = _main_part(archive, "ppt/presentation.xml")
    relations = archive.relations(main)
    ids = [relation_id(slide) for slide in named(archive.xml(main), "sldId")]
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
    root = archive.xml(slide)
    order_powerpoint(root, is_slide_frame)
    roots = [
        root,
        *_related(archive, relations, "notesSlide", *_DRAWINGS),
    ]
    targets = {
        id_: target for id_, (kind, target) in relations.items() if kind == "hyperlink"
    }
    level = partial(_slide_level, title_level=min(number, 2))
    walker = Walker(level, targets, is_slide_frame)
    document = _document_of(roots, walker)
    blocks = document.blocks
    if len(blocks) > 1 and not any(block.level for block in blocks):
        blocks = [_as_title(blocks[0], min(number, 2)), *blocks[1:]]
    return replace(
        document,
        blocks=[block._replace(page=number, last_page=number) for block in blocks],
        left_out="\n".join(map(all_text, walker.contents)),
    )


def _as_title(block: Block, level: int) -> Block:
    """The first block of a slide without a title, as its title if it is short, no sentence and no row."""
    text = block.text
    if len(text) > LONGEST_HEADING or SENTENCE_END.search(text) or CELL_BREAK in text:
        return block
    return block._replace(level=level)


def _slide_level(paragraph: Any, *, title_level: int) -> int:
    """The level of a paragraph of a slide: `title_level` in the shape of a title, else 0."""
    shape = next(paragraph.iterancestors("{*}sp"), None)
    return 0 if shape is None or not is_powerpoint_title(shape) else title_level


def read_opendocument(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a text or presentation of OpenDocument, with its charts and formulas."""
    archive = Archive(data)
    objects = [
        archive.xml(part) for part in archive.names if part.endswith("/content.xml")
    ]
    root = archive.xml("content.xml")
    title = _declared_title(archive, root.itertext())
    return [replace(opendocument_document(root, objects, title), title=title)]


def opendocument_document(
    root: Any, objects: Sequence[Any] = (), title: str = ""
) -> FileDocument:
    """The document of the contents of an OpenDocument file, and of its embedded objects.

    title : the title in its properties.
    """
    level_of = _levels_of_styles(root)
    order_opendocument(root, is_opendocument_index)

    def levels(paragraph: Any) -> int:
        return _opendocument_level(paragraph, level_of)

    walker = Walker(
        levels if title else below_title(levels, named(root, "p", "h")),
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


def _levels_of_styles(root: Any) -> dict[str, int]:
    """Name of a style that is based on the style of a title or heading -> its level."""
    styles = {
        attribute(style, "name"): level_of_name(attribute(style, "parent-style-name"))
        for style in named(root, "style")
    }
    return {name: level for name, level in styles.items() if level}


def _body_blocks(body: Any, walker: Walker) -> list[Block]:
    """The blocks of a body; a formula is one block."""
    if local_name(body) == "math":
        return [Block(one_line(_itertext(body)))]
    return list(walker.blocks(body))


def _itertext(element: Any) -> str:
    """All text below an element, one piece per line."""
    return "\n".join(element.itertext())


def _opendocument_level(paragraph: Any, level_of: Mapping[str, int]) -> int:
    """The heading level of a paragraph of OpenDocument: 1 of titles, else from 2; 0 for none.

    level_of : name of a style -> its level.
    """
    if local_name(paragraph) == "h":
        level = attribute(paragraph, "outline-level")
        return HIGHEST_HEADING - 1 + max(1, int(level) if level.isdigit() else 1)
    style = attribute(paragraph, "style-name")
    level_of_style = level_of.get(style) or level_of_name(style)
    if level_of_style:
        return level_of_style
    frames = paragraph.iterancestors("{*}frame")
    if not any(map(is_opendocument_title, frames)):
        return 0
    slide = next(paragraph.iterancestors("{*}page"), None)
    if slide is None:
        return HIGHEST_HEADING
    is_first = next(slide.itersiblings("{*}page", preceding=True), None) is None
    return 1 if is_first else HIGHEST_HEADING
