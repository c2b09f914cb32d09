"""A page of a PDF with letters from right to left -> the order in which they are read.

pdfium returns some words from right to left in visual order, ligatures of two letters reversed,
and the parts of a Latin name such as BM25 from right to left. Ours: letters by their places.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby

_LETTER = (
    r"\u0591-\u060b\u060d-\u061a\u061c-\u061e\u0620-\u065f\u066e-\u06d3\u06d5-\u06ef"
    r"\u06fa-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
)
"""Letters and marks from right to left, without digits and punctuation."""
RIGHT_TO_LEFT = re.compile(f"[{_LETTER}]+")
_SIGN = r"[.,:;!?\u060c\u061b\u061f\u06d4\-\u2013]"
_OTHER = rf"(?![{_LETTER}])\w"
_RUN = re.compile(
    rf"(?P<before>{_SIGN}*)"
    rf"(?P<body>[{_LETTER}]+|{_OTHER}(?:[^{_LETTER}\n]*{_OTHER})?)"
    rf"(?P<after>{_SIGN}*)"
)
"""A word from right to left, or a number or Latin text, with the signs beside it."""
_LATIN = re.compile(rf"(?![{_LETTER}])[^\W\d_]")
_ALEF = "\u0627\u0622\u0623\u0625\u0671"
_LAM = "\u0644"
_REVERSED_NAME = "\u0647\u0644\u0644\u0627"
"""The ligature of Allah, reversed."""
_MIRRORED = str.maketrans("()[]{}", ")(][}{")
_MISPLACED_BLANK = re.compile(r"(?<=\S)([(\[{]) ")
_CLOSED_FIRST = re.compile(r"[^(\[{]*[)\]}].*[(\[{]")


def reading_order(text: str, left: Callable[[int], float]) -> list[int]:
    """The numbers of the characters of a text of pdfium, in the order in which they are read.

    left : the left edge of a character, in points.
    """
    order = list[int]()
    for line in re.finditer(r"[^\n]*\n|[^\n]+", text):
        places = list(range(*line.span()))
        if RIGHT_TO_LEFT.search(line[0]):
            _order_line(places, text, left)
        order += places
    return order


def with_mirrored_brackets(text: str) -> str:
    """A text in reading order; brackets of lines that would close before they open are mirrored."""
    return "".join(
        _MISPLACED_BLANK.sub(r" \1", line.translate(_MIRRORED))
        if RIGHT_TO_LEFT.search(line) and _CLOSED_FIRST.match(line)
        else line
        for line in text.splitlines(keepends=True)
    )


def _order_line(places: list[int], text: str, left: Callable[[int], float]) -> None:
    """Order the numbers of the characters of a line, in place.

    The signs beside words and the parts of Latin text are ordered if most letters of the line are
    from right to left.
    """
    start, end = places[0], places[-1] + 1
    words = list(RIGHT_TO_LEFT.finditer(text, start, end))
    for word in words:
        places[word.start() - start : word.end() - start] = _word(word, left)
    n_letters = sum(len(word[0]) for word in words)
    if 2 * n_letters < sum(map(str.isalpha, text[start:end])):
        return
    for run in _RUN.finditer(text, start, end):
        before, body, after = (
            places[run.start(group) - start : run.end(group) - start]
            for group in ("before", "body", "after")
        )
        if _LATIN.search(run["body"]):
            body.sort(key=left)
        edge = min(map(left, body))
        signs = sorted([*before, *after], key=left, reverse=True)
        n_right = sum(left(sign) > edge for sign in signs)
        places[run.start() - start : run.end() - start] = [
            *signs[:n_right],
            *body,
            *signs[n_right:],
        ]


def _word(word: re.Match[str], left: Callable[[int], float]) -> list[int]:
    """The characters of a word from right to left, ligature by ligature."""
    ligatures = [
        _ligature(word.string, list(places))
        for _, places in groupby(range(*word.span()), left)
    ]
    if left(word.start()) < left(word.end() - 1):
        ligatures.reverse()
    return [place for places in ligatures for place in places]


def _ligature(text: str, places: list[int]) -> list[int]:
    """The characters of a ligature; an alef joins the letter before it, so that it is the last."""
    letters = "".join(text[place] for place in places)
    is_reversed = len(letters) == 2 and letters[0] in _ALEF and letters[1] == _LAM
    if is_reversed or letters == _REVERSED_NAME:
        places.reverse()
    return places
