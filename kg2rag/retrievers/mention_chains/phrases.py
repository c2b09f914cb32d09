"""Question -> its sub-phrases, which are encoded as further queries."""

from __future__ import annotations

import re

from kg2rag.text.normalisation import FUNCTION_WORDS

_TOKEN = re.compile(r"[\w’'\-\.&]+|[,;:()\"“”?!]")
_PUNCTUATION = re.compile(r"[,;:()\"“”?!]")
_POSSESSIVE = re.compile(r"['’]s$")
CHARACTERS = 5_000
"""The maximum of all phrases of a question together: real questions have up to 3,300, and each phrase is encoded."""
_BOUNDARY = FUNCTION_WORDS | set(
    "s t d whose whom be being am 's does did do done than out off down how many much".split()
)


def sub_phrases(question: str, most: int) -> list[str]:
    """At most `most` spans of two or more words, each once, those with the fewest runs first.

    A run is a sequence of content words; function words, punctuation and a possessive end it. A
    span begins and ends with a run, may hold function words between runs, and is not the whole
    question. Of a text so long that its phrases have more than `CHARACTERS`, those that fit, and
    none of more runs than the first that does not.
    """
    words, runs = _runs(question)
    phrases: dict[str, None] = {}
    room = CHARACTERS
    for length in range(1, len(runs) + 1):
        full = False
        for (start, _), (_, end) in zip(runs, runs[length - 1 :], strict=False):
            if end - start < 2 or (start == 0 and end == len(words)):
                continue
            phrase = _POSSESSIVE.sub("", " ".join(words[start:end]))
            if phrase in phrases:
                continue
            if len(phrases) == most:
                return list(phrases)
            if len(phrase) > room:
                full = True
                continue
            phrases[phrase] = None
            room -= len(phrase)
        if full:
            break
    return list(phrases)


def _runs(question: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The words of a question, and the (start, end) of each run of content words among them."""
    words: list[str] = []
    runs: list[tuple[int, int]] = []
    inside = False
    for token in _TOKEN.findall(question):
        bare = token.strip(".'’-").lower()
        if not bare or _PUNCTUATION.fullmatch(token):
            inside = inside and not _PUNCTUATION.fullmatch(token)
            continue
        words.append(token.strip("?.,"))
        content = bare not in _BOUNDARY
        if content:
            start = runs.pop()[0] if inside else len(words) - 1
            runs.append((start, len(words)))
        inside = content and not bare.endswith(("'s", "’s"))
    return words, runs
