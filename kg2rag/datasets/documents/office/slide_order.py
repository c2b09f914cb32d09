"""The shapes of a slide -> the order in which they are read.

A file has the shapes in the order in which they were inserted. Ours: a title stands first. Other
shapes change their order only where their places leave no doubt, in a single column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

from kg2rag.datasets.documents.archives import attribute, local_name, named

_TITLES = ("title", "ctrTitle")
"""Kinds of PowerPoint's placeholders of titles."""
_TRANSFORMS = ("{*}xfrm", "{*}spPr/{*}xfrm", "{*}grpSpPr/{*}xfrm")
_POINTS = {"cm": 72 / 2.54, "mm": 72 / 25.4, "in": 72.0, "pt": 1.0, "pc": 12.0}
"""Unit of a length of OpenDocument -> points."""
_LENGTH = re.compile(r"(-?\d*\.?\d+)(cm|mm|in|pt|pc)")


class _Place(NamedTuple):
    """The place of a shape; `top` and `bottom` count from the top of the slide."""

    left: float
    top: float
    right: float
    bottom: float


def order_powerpoint(slide: Any, is_left_out: Callable[[Any], bool]) -> None:
    """Put the shapes of a slide of PowerPoint in reading order, in place.

    is_left_out : function that returns whether a shape is not read.
    """
    for shapes in named(slide, "spTree"):
        _order(shapes, is_powerpoint_title, is_left_out, _powerpoint_place)


def order_opendocument(root: Any, is_left_out: Callable[[Any], bool]) -> None:
    """Put the shapes of every slide of OpenDocument in reading order, in place.

    is_left_out : function that returns whether a shape is not read.
    """

    def is_left_in_place(shape: Any) -> bool:
        return local_name(shape) == "notes" or is_left_out(shape)

    for slide in named(root, "page"):
        _order(slide, is_opendocument_title, is_left_in_place, _opendocument_place)


def is_powerpoint_title(shape: Any) -> bool:
    """Whether a shape of PowerPoint is the placeholder of a title."""
    placeholders = shape.iterfind("{*}nvSpPr/{*}nvPr/{*}ph")
    return any(attribute(item, "type") in _TITLES for item in placeholders)


def is_opendocument_title(shape: Any) -> bool:
    """Whether a shape of OpenDocument is a frame of a title."""
    return local_name(shape) == "frame" and attribute(shape, "class") == "title"


def _order(
    parent: Any,
    is_title: Callable[[Any], bool],
    is_left_out: Callable[[Any], bool],
    place_of: Callable[[Any], _Place | None],
) -> None:
    """Put titles before all children of `parent`, and sort its texts if they are a column."""
    titles = list(filter(is_title, parent))
    others = [child for child in parent if child not in titles]
    rows = [
        row
        for row, child in enumerate(others)
        if _has_text(child) and not is_left_out(child)
    ]
    texts = _from_the_top([others[row] for row in rows], place_of)
    for row, text in zip(rows, texts, strict=True):
        others[row] = text
    for child in [*titles, *others]:
        parent.append(child)  # which moves it


def _from_the_top(
    texts: Sequence[Any], place_of: Callable[[Any], _Place | None]
) -> list[Any]:
    """Some shapes sorted from the top, if their places are known and form a column; else as they are."""
    places = list(filter(None, map(place_of, texts)))
    if len(places) < len(texts) or not _are_column(places):
        return list(texts)
    order = sorted(range(len(texts)), key=lambda number: places[number].top)
    return [texts[number] for number in order]


def _are_column(places: Sequence[_Place]) -> bool:
    """Whether all places stand above or below each other, with no two side by side."""
    return all(
        (one.bottom <= two.top or two.bottom <= one.top)
        and one.left < two.right
        and two.left < one.right
        for one, two in combinations(places, 2)
    )


def _has_text(shape: Any) -> bool:
    """Whether a shape has text."""
    return any(text.strip() for text in shape.itertext())


def _powerpoint_place(shape: Any) -> _Place | None:
    """The place of a shape of PowerPoint; None if its layout has it, or if it is turned."""
    transform = next(chain.from_iterable(map(shape.iterfind, _TRANSFORMS)), None)
    if transform is None or transform.get("rot", "0") != "0":
        return None
    values = {**_numbers(transform, "off"), **_numbers(transform, "ext")}
    return _place(*map(values.get, ("x", "y", "cx", "cy")))


def _numbers(element: Any, child: str) -> dict[str, float]:
    """The numbers in the attributes of a child element."""
    return {
        name: float(value)
        for each in element.iterfind(f"{{*}}{child}")
        for name, value in each.attrib.items()
        if value.lstrip("-").isdigit()
    }


def _opendocument_place(shape: Any) -> _Place | None:
    """The place of a shape of OpenDocument; None if it is a group or turned."""
    lengths = (attribute(shape, name) for name in ("x", "y", "width", "height"))
    return _place(*map(_points, lengths))


def _points(length: str) -> float | None:
    """A length of OpenDocument in points; None if it is none."""
    match = _LENGTH.fullmatch(length)
    return float(match[1]) * _POINTS[match[2]] if match else None


def _place(
    left: float | None, top: float | None, width: float | None, height: float | None
) -> _Place | None:
    """The place of a shape by its corner and its size; None if one of them is not known."""
    if left is None or top is None or width is None or height is None:
        return None
    return _Place(left, top, left + width, top + height)
