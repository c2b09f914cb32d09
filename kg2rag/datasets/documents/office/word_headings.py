"""The headings of a Word file: by their styles, or in a file without these, by their format.

A paragraph is a heading by its format if it is short, ends no sentence, and is bold or larger than
the text, and if others have the same format and most of them precede a text. The first such
paragraph is the title if no other has its format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from itertools import pairwise, takewhile
from typing import Any, NamedTuple

from kg2rag.datasets.documents.archives import attribute, named
from kg2rag.datasets.documents.blocks import counted_remark, one_line
from kg2rag.datasets.documents.running_heads import SENTENCE_END

Levels = Callable[[Any], int]
"""A paragraph's element -> its level as a heading; 0 for none."""
_LEVEL_OF_NAME = {"title": 1, **{f"heading{n}": n + 1 for n in range(1, 10)}}
HIGHEST_HEADING = 2
"""The level of "heading 1"; 1 is that of the title."""
_MAX_STYLES = 20  # longest chain of styles based on each other
_SIZE = 20
"""Size of letters that no style gives, in half points."""
LONGEST_HEADING = 100
"""Characters of the longest heading by its format."""
TITLE_PARAGRAPHS = 3
"""Paragraphs among which the title is."""


def word_levels(styles: Mapping[str, Any]) -> Levels:
    """The function that returns the heading level of a paragraph of Word: 1 of titles, else from 2.

    The level is the paragraph's outline level, or that of its style or of the style's base.

    styles : id of a style -> its element.
    """

    def style_level(style_id: str) -> int:
        for style in base_styles(style_id, styles):
            name = next(_values([style], "{*}name"), "")
            level = level_of_name(name) or _outline_level(style)
            if level:
                return level
            style_id = next(_values([style], "{*}basedOn"), "")
        return 0 if style_id in styles else level_of_name(style_id)

    def level(paragraph: Any) -> int:
        properties = next(iter(paragraph.iterchildren("{*}pPr")), None)
        if properties is None:
            return 0
        return _outline_level(properties) or style_level(_style_id(paragraph))

    return level


def base_styles(style_id: str, styles: Mapping[str, Any]) -> list[Any]:
    """A style and those on which it is based, nearest first."""
    chain = list[Any]()
    while style_id in styles and len(chain) < _MAX_STYLES:
        chain.append(styles[style_id])
        style_id = next(_values([chain[-1]], "{*}basedOn"), "")
    return chain


def _style_id(element: Any, path: str = "{*}pPr/{*}pStyle") -> str:
    """The id of the style of a paragraph or run; "" for none."""
    return next(_values([element], path), "")


def _outline_level(element: Any) -> int:
    """The level by the outline level below an element; 0 for none, and for Word's level of body text."""
    for outline in named(element, "outlineLvl"):
        value = attribute(outline, "val")
        if value.isdigit() and int(value) < 9:
            return int(value) + HIGHEST_HEADING
    return 0


def level_of_name(name: str) -> int:
    """The level of a style by its name, 1 for "Title" and 2 for "heading 1"; 0 for other names."""
    return _LEVEL_OF_NAME.get(name.casefold().replace(" ", "").replace("_20_", ""), 0)


class _Format(NamedTuple):
    """How a paragraph looks; the size of its letters is in half points."""

    size: int
    is_bold: bool
    is_centred: bool


class _Line(NamedTuple):
    """A paragraph outside tables that has text, and its format."""

    element: Any
    text: str
    format: _Format


def levels_by_format(
    root: Any, levels: Levels, styles: Mapping[str, Any]
) -> dict[Any, int]:
    """Element of each paragraph that is a heading by its format -> its level, 1 for the title.

    levels : the levels by style.
    """
    by_style = {
        paragraph: levels(paragraph)
        for paragraph in named(root, "p")
        if levels(paragraph)
    }
    if by_style:
        return _levels_beside_styles(root, styles, by_style)
    return _levels_by_format(root, styles, {})


def _levels_beside_styles(
    root: Any, styles: Mapping[str, Any], by_style: Mapping[Any, int]
) -> dict[Any, int]:
    """The levels by format in a file that has headings by their styles, `by_style`.

    It has none below these, but below those of the highest level; it has a title by its format
    above the first of them, if none is a title by its style.
    """
    lowest = max(by_style.values())
    may_have_headings = lowest <= HIGHEST_HEADING
    may_have_title = not _has_title(by_style.values())
    if not may_have_headings and not may_have_title:
        return {}
    by_format = _levels_by_format(root, styles, by_style)
    above = set(takewhile(lambda element: element not in by_style, named(root, "p")))
    result = dict[Any, int]()
    for paragraph, level in by_format.items():
        if level > 1 and may_have_headings:
            result[paragraph] = level + lowest - 1
        elif level == 1 and may_have_title and paragraph in above:
            result[paragraph] = level
    return result


def _has_title(levels: Iterable[int]) -> bool:
    """Whether the first of some levels by style is of a title, or of the only heading of the highest level."""
    first, *others = levels
    return first < min(others, default=first + 1)


def below_title(levels: Levels, paragraphs: Iterable[Any]) -> Levels:
    """The levels of headings below a title, of level 1.

    Without a title, they are a level higher if one heading has the highest level. Several are
    chapters, and no title of the file.
    """
    counts = Counter(map(levels, paragraphs))
    highest = min((level for level in counts if level), default=1)
    if highest == 1 or counts[highest] > 1:
        return levels
    return lambda paragraph: max(0, levels(paragraph) - 1)


def remark_on_headings(by_format: Mapping[Any, int]) -> str:
    """What the report says of headings by their format; "" without them."""
    n_headings = sum(level > 1 for level in by_format.values())
    return counted_remark(
        "no styles of headings: by their format, these paragraphs are headings",
        n_headings,
    )


def _levels_by_format(
    root: Any, styles: Mapping[str, Any], by_style: Container[Any]
) -> dict[Any, int]:
    """Element of each paragraph that looks like a heading -> its level, 1 for the title.

    by_style : the elements of headings by their styles, which are no others by their format.
    """
    lines = list(_lines(root, styles))
    usual = _usual_letters(lines)
    candidates = dict.fromkeys(line for line in lines if _stands_out(line, usual))
    title = _title(lines, candidates, Counter(line.format for line in candidates))
    others = [line for line in candidates if line.element not in by_style]
    level_of = _levels_of_formats(
        lines, candidates, Counter(line.format for line in others)
    )
    levels = {
        line.element: level_of[line.format]
        for line in others
        if line.format in level_of
    }
    if title:
        levels[title.element] = 1
    return levels


def _usual_letters(lines: Sequence[_Line]) -> tuple[int, bool]:
    """The size and weight of most letters."""
    letters = Counter[tuple[int, bool]]()
    for line in lines:
        letters[line.format.size, line.format.is_bold] += len(line.text)
    return max(letters, key=letters.__getitem__, default=(_SIZE, False))


def _levels_of_formats(
    lines: Sequence[_Line],
    candidates: Collection[_Line],
    counts: Mapping[_Format, int],
) -> dict[_Format, int]:
    """The formats of headings, those that precede a text in most cases -> levels from 2.

    counts : format -> number of candidates.
    """
    before_text = Counter(
        line.format
        for line, following in pairwise(lines)
        if line in candidates and following not in candidates
    )
    formats = [
        heading_format
        for heading_format, count in counts.items()
        if 1 < count <= 2 * before_text[heading_format]
    ]
    ranked = sorted(formats, reverse=True)
    return {heading_format: level for level, heading_format in enumerate(ranked, 2)}


def _title(
    lines: Sequence[_Line], candidates: Collection[_Line], counts: Mapping[_Format, int]
) -> _Line | None:
    """The first candidate, if it is among the first paragraphs and its format is its own."""
    first = next(
        (line for line in lines[:TITLE_PARAGRAPHS] if line in candidates), None
    )
    if first is None or counts[first.format] > 1:
        return None
    largest = max(line.format.size for line in candidates)
    is_largest = first.format.size == largest
    return first if is_largest or first.format.is_centred else None


def _stands_out(line: _Line, usual: tuple[int, bool]) -> bool:
    """Whether a line is short, no sentence, and larger than usual or bold unlike most letters."""
    size, is_bold = usual
    if len(line.text) > LONGEST_HEADING or SENTENCE_END.search(line.text):
        return False
    has_letter = any(map(str.isalpha, line.text))
    is_large = line.format.size > size
    is_bold_only_here = line.format.is_bold and not is_bold and line.format.size == size
    return has_letter and (is_large or is_bold_only_here)


def _lines(root: Any, styles: Mapping[str, Any]) -> Iterator[_Line]:
    """The paragraphs of a Word file that have text, outside tables and text boxes.

    Captions just above tables are none of them.
    """
    default_style = _default_style(styles)
    sheet = next((style.getparent() for style in styles.values()), None)
    defaults = [] if sheet is None else list(named(sheet, "rPrDefault"))
    tables = set(named(root, "tbl"))
    for paragraph in named(root, "p"):
        holders = paragraph.iterancestors("{*}tc", "{*}txbxContent")
        text = one_line(_text(paragraph))
        is_caption = next(paragraph.itersiblings(), None) in tables
        if text and not is_caption and next(holders, None) is None:
            style_id = _style_id(paragraph) or default_style
            bases = [*base_styles(style_id, styles), *defaults]
            yield _Line(paragraph, text, _format(paragraph, bases, styles))


def _default_style(styles: Mapping[str, Any]) -> str:
    """The id of the style of paragraphs that name none; "" for none."""
    for id_, style in styles.items():
        is_default = attribute(style, "default") == "1"
        if is_default and attribute(style, "type") == "paragraph":
            return id_
    return ""


def _format(paragraph: Any, bases: Sequence[Any], styles: Mapping[str, Any]) -> _Format:
    """The format that all runs of a paragraph have; `bases` are its styles, nearest first."""
    sizes = list[int]()
    bold = list[bool]()
    for run in named(paragraph, "r"):
        if not _text(run).strip():
            continue
        of_run = base_styles(_style_id(run, "{*}rPr/{*}rStyle"), styles)
        sources = [run, *of_run, *bases]
        size = next(_values(sources, "{*}rPr/{*}sz"), "")
        sizes.append(int(size) if size.isdigit() else _SIZE)
        bold.append(
            next(_values(sources, "{*}rPr/{*}b"), "0") not in ("0", "false", "off")
        )
    place = next(_values([paragraph, *bases], "{*}pPr/{*}jc"), "")
    return _Format(min(sizes, default=_SIZE), all(bold), place == "center")


def _values(elements: Sequence[Any], path: str) -> Iterator[str]:
    """The attribute `val` of the elements at a path below some elements."""
    for element in elements:
        for property_ in element.iterfind(path):
            yield attribute(property_, "val")


def _text(element: Any) -> str:
    """The text below an element of Word."""
    return "".join(text.text or "" for text in named(element, "t"))
