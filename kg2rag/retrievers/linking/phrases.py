"""Text -> the spans of its quoted and capitalised phrases."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kg2rag.text.lexicon import FUNCTION_WORDS
from kg2rag.text.normalisation import normalise

_WORD = re.compile(r"\w[\w'’\-]*[+#]*")  # C++ and C# are no C
_QUOTED = re.compile(r"[\"“”«]([^\"“”«»]+)[\"“”»]")


def phrases(text: str) -> list[tuple[int, int]]:
    """Spans of the quoted phrases of a text, then of the capitalised ones; leading function words are cut off."""
    spans = dict.fromkeys(match.span(1) for match in _QUOTED.finditer(text))
    start, end = -1, -1  # of the capitalised phrase that the words before have begun; start is -1 where there is none
    for word in _WORD.finditer(text):
        joined = start >= 0 and text[end : word.start()].isspace()
        if start >= 0 and not (joined and _capitalised(word.group())):
            spans[start, end] = None
            start = -1
        if _capitalised(word.group()) and (start >= 0 or normalise(word.group()) not in FUNCTION_WORDS):
            start, end = word.start() if start < 0 else start, word.end()
    if start >= 0:
        spans[start, end] = None
    return list(spans)


def phrases_beside(text: str, known: Sequence[tuple[int, int]]) -> list[str]:
    """The `phrases` of a text that overlap none of the known spans, as written; one that repeats is repeated."""
    return [
        text[start:end]
        for start, end in phrases(text)
        if not any(start < known_end and known_start < end for known_start, known_end in known)
    ]


def _capitalised(word: str) -> bool:
    """Whether a word begins as a name does; scripts without case (Chinese, Arabic) make no difference there."""
    return word[0].isalpha() and not word[0].islower()
