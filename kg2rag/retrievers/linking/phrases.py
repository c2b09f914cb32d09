"""Query text -> the spans of its quoted and capitalised phrases, which may be names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kg2rag.text.normalisation import FUNCTION_WORDS, Lexicon, normalise

Span = tuple[int, int]  # start and end in the query's text

_NAME_WORD = re.compile(r"\w[\w'’\-]*[+#]*")  # C++ and C# differ from C
_QUOTED = re.compile(r"[\"“”«]([^\"“”«»]+)[\"“”»]")


def phrases(text: str) -> list[Span]:
    """The spans of quoted phrases, then of capitalised ones without leading function words."""
    quoted = (match.span(1) for match in _QUOTED.finditer(text))
    return list(dict.fromkeys([*quoted, *_capitalised_phrases(text)]))


def _capitalised_phrases(text: str) -> list[Span]:
    """The spans of runs of capitalised words, separated by blanks only.

    Words in scripts without case (Chinese, Arabic) count as capitalised.
    """
    spans: list[Span] = []
    for word in _NAME_WORD.finditer(text):
        if not word[0][0].isalpha() or word[0][0].islower():
            continue
        if spans and text[spans[-1][1] : word.start()].isspace():
            spans[-1] = (spans[-1][0], word.end())
        elif not _is_function_word(word[0]):
            spans.append(word.span())
    return spans


def _is_function_word(word: str) -> bool:
    """Whether a word is a function word and no acronym, as "WHO"."""
    is_acronym = len(word) > 1 and word.isupper()
    return normalise(word) in FUNCTION_WORDS and not is_acronym


def distinct_phrases(text: str) -> list[Span]:
    """The span of the first occurrence of each phrase."""
    spans: dict[str, Span] = {}
    for span in phrases(text):
        spans.setdefault(normalise(text[slice(*span)]), span)
    return list(spans.values())


def names_outside(text: str, spans: Sequence[Span]) -> tuple[str, ...]:
    """The `phrases_outside` without repetitions and without the first word, which has a capital anyway.

    >>> names_outside("Co bylo v Praze, when Anna Lund came?", [])
    ('Praze', 'Anna Lund')
    """
    names = dict.fromkeys(phrases_outside(text, spans))
    first, *others = text.split(maxsplit=1) or [""]
    return tuple(name for name in names if not others or name != first)


def unnamed_phrases(text: str, lexicon: Lexicon) -> tuple[str, ...]:
    """The `names_outside` the names of a lexicon."""
    return names_outside(text, [span for _, span in lexicon.find(text, capitals=False)])


def phrases_outside(text: str, spans: Sequence[Span]) -> list[str]:
    """The texts of the `phrases` that overlap none of some spans, with repetitions."""
    outside = []
    for start, end in phrases(text):
        if not any(start < last and first < end for first, last in spans):
            outside.append(text[start:end])
    return outside
