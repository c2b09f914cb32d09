"""A Word file -> the automatic numbers of its paragraphs, which its text does not contain.

A number is read if the text can refer to it: in a list that numbers headings, or that has several
numbers or a word in one of its labels, as clauses (4.1) and articles (§ 3) do. The labels of plain
lists of steps are left out, as in all other formats.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from kg2rag.datasets.documents.archives import attribute, named
from kg2rag.datasets.documents.office.word_headings import Levels, base_styles

_PLACE = re.compile(r"%([1-9])")
_REFERENCE = re.compile(r"%[1-9].*%[1-9]|[^\W\d_]{2}|§|第")
"""In the pattern of a label: several numbers, or a word."""
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc")),
    *((50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_HAN_DIGITS = "〇一二三四五六七八九"
_HAN_UNITS = ((1000, "千"), (100, "百"), (10, "十"), (1, ""))
_UNSHOWN = frozenset(("bullet", "none"))
"""Formats that show no number."""


def number_labels(
    root: Any, numbering: Any, styles: Mapping[str, Any], levels: Levels
) -> dict[Any, str]:
    """Element of each numbered paragraph -> its label, such as "4.1" or "(a)".

    numbering : the root element of `numbering.xml`.
    styles : id of a style -> its element.
    levels : function that returns the heading level of a paragraph.
    """
    lists = _Lists(numbering, styles)
    labels = dict[Any, str]()
    in_use = set[str]()
    list_of = dict[Any, str]()
    for paragraph in named(root, "p"):
        place = lists.place_of(paragraph)
        if place and next(paragraph.iterancestors("{*}Fallback"), None) is None:
            label, list_of[paragraph] = lists.count(*place)
            labels[paragraph] = label
            if levels(paragraph) > 1:
                in_use.add(list_of[paragraph])
    in_use |= set(lists.with_references())
    return {
        paragraph: label
        for paragraph, label in labels.items()
        if label and list_of[paragraph] in in_use
    }


class _Lists:
    """The lists of a file, each with a count per level."""

    def __init__(self, numbering: Any, styles: Mapping[str, Any]) -> None:
        self.styles = styles
        self._definitions = {
            attribute(element, "abstractNumId"): element
            for element in numbering.iterfind("{*}abstractNum")
        }
        self._instances = {
            attribute(element, "numId"): element
            for element in numbering.iterfind("{*}num")
        }
        self._counts = defaultdict[str, dict[int, int]](dict)
        """Id of a definition -> level -> its last number."""
        self._begun = set[tuple[str, int]]()

    def place_of(self, paragraph: Any) -> tuple[str, int] | None:
        """The id of the instance of a list, and the level, of a paragraph; None for no number."""
        style_ids = [_value(paragraph, "{*}pPr/{*}pStyle")]
        sources = [paragraph, *base_styles(style_ids[0], self.styles)]
        instance = _first(sources, "{*}pPr/{*}numPr/{*}numId")
        if not self._is_defined(instance):
            return None
        level = _first(sources, "{*}pPr/{*}numPr/{*}ilvl")
        if not level:
            level = self._level_of_style(instance, style_ids[0])
        return instance, int(level) if level.isdigit() else 0

    def _is_defined(self, instance: str) -> bool:
        """Whether an instance of a list and its definition exist."""
        element = self._instances.get(instance)
        if element is None:
            return False
        return _value(element, "{*}abstractNumId") in self._definitions

    def _level_of_style(self, instance: str, style_id: str) -> str:
        """The level of a list that is bound to a style; "0" for none."""
        for level in self._definition(instance).iterfind("{*}lvl"):
            if _value(level, "{*}pStyle") == style_id:
                return attribute(level, "ilvl")
        return "0"

    def _definition(self, instance: str) -> Any:
        """The definition of a list; that of the style to which it refers, if it does."""
        element = self._definitions[
            _value(self._instances[instance], "{*}abstractNumId")
        ]
        linked = self.styles.get(_value(element, "{*}numStyleLink"))
        if linked is not None:
            target = _value(linked, "{*}pPr/{*}numPr/{*}numId")
            if self._is_defined(target):
                element = self._instances[target]
                return self._definitions[_value(element, "{*}abstractNumId")]
        return element

    def count(self, instance: str, level: int) -> tuple[str, str]:
        """The label of the next paragraph of a list, and the id of the list's definition."""
        definition = self._definition(instance)
        id_ = attribute(definition, "abstractNumId")
        counts = self._counts[id_]
        elements = self._levels(instance, definition)
        for upper in range(level + 1):
            start = self._restart(instance, upper)
            if start or upper not in counts:
                counts[upper] = int(start or _start(elements, upper))
            elif upper == level:
                counts[upper] += 1
        for lower in [key for key in counts if key > level]:
            del counts[lower]
        return _label(elements, level, counts), id_

    def _levels(self, instance: str, definition: Any) -> dict[int, Any]:
        """Level -> its element, of the instance or else of the definition."""
        overrides = self._instances[instance].iterfind("{*}lvlOverride/{*}lvl")
        return {
            int(attribute(element, "ilvl") or 0): element
            for element in [*definition.iterfind("{*}lvl"), *overrides]
        }

    def _restart(self, instance: str, level: int) -> str:
        """The number with which an instance begins a level again; "" if it goes on, or has begun."""
        if (instance, level) in self._begun:
            return ""
        self._begun.add((instance, level))
        for override in self._instances[instance].iterfind("{*}lvlOverride"):
            if attribute(override, "ilvl") == str(level):
                return _value(override, "{*}startOverride")
        return ""

    def with_references(self) -> Iterator[str]:
        """The ids of the definitions with a label to which a text can refer."""
        for id_, definition in self._definitions.items():
            patterns = [
                _value(level, "{*}lvlText")
                for level in definition.iterfind("{*}lvl")
                if _value(level, "{*}numFmt") not in _UNSHOWN
            ]
            if any(map(_REFERENCE.search, patterns)):
                yield id_


def _start(elements: Mapping[int, Any], level: int) -> str:
    """The first number of a level."""
    start = _value(elements[level], "{*}start") if level in elements else ""
    return start if start.isdigit() else "1"


def _label(elements: Mapping[int, Any], level: int, counts: Mapping[int, int]) -> str:
    """The label of a paragraph; "" for a bullet."""
    element = elements.get(level)
    if element is None or _value(element, "{*}numFmt") in _UNSHOWN:
        return ""
    is_decimal = next(element.iterfind("{*}isLgl"), None) is not None

    def number(match: re.Match[str]) -> str:
        place = int(match[1]) - 1
        style = "decimal"
        if place in elements and not is_decimal:
            style = _value(elements[place], "{*}numFmt")
        return _number(counts.get(place, 1), style)

    return _PLACE.sub(number, _value(element, "{*}lvlText")).strip()


def _number(number: int, style: str) -> str:
    """A number in one of Word's formats; in a rare one, as digits.

    >>> _number(14, "lowerRoman"), _number(28, "upperLetter"), _number(12, "chineseCounting")
    ('xiv', 'BB', '十二')
    """
    if style == "decimalZero":
        return f"{number:02d}"
    if style.endswith("Letter"):
        letter = chr(ord("a") + (number - 1) % 26) * (1 + (number - 1) // 26)
        return letter.upper() if style.startswith("upper") else letter
    if style.endswith("Roman"):
        roman = _roman(number)
        return roman.upper() if style.startswith("upper") else roman
    if style.startswith(("chinese", "japanese", "taiwanese", "ideograph")):
        return _han(number)
    return str(number)


def _roman(number: int) -> str:
    """A number in small Roman letters."""
    letters = list[str]()
    for value, letter in _ROMAN:
        count, number = divmod(number, value)
        letters.append(letter * count)
    return "".join(letters)


def _han(number: int) -> str:
    """A number below 10,000 in Chinese characters."""
    signs = list[str]()
    for unit, sign in _HAN_UNITS:
        digit, number = divmod(number, unit)
        if digit:
            signs.append(_HAN_DIGITS[digit] + sign)
        elif signs and number and not signs[-1].endswith("〇"):
            signs.append("〇")
    text = "".join(signs)
    return text[1:] if text.startswith("一十") else text


def _value(element: Any, path: str) -> str:
    """The attribute `val` of the first element at a path; "" for none."""
    return _first([element], path)


def _first(elements: list[Any], path: str) -> str:
    """The attribute `val` of the first element at a path below some elements; "" for none."""
    for element in elements:
        for property_ in element.iterfind(path):
            return attribute(property_, "val")
    return ""
