"""Question -> its sub-phrases, which are encoded as further queries."""

from __future__ import annotations

import re

from kg2rag.text.normalisation import FUNCTION_WORDS

_TOKEN = re.compile(r"[\w’'\-\.&]+|[,;:()\"“”?!]")
_PUNCTUATION = re.compile(r"[,;:()\"“”?!]")
_POSSESSIVE = re.compile(r"['’]s$")
CHARACTERS = 5_000
"""The maximum of characters in all phrases of a question, since each is encoded; real questions have up to 3,300."""
_BOUNDARY = FUNCTION_WORDS | set(
    "s t d whose whom be being am 's does did do done than out off down how many much".split()
)


def sub_phrases(question: str, max_phrases: int) -> list[str]:
    """The sub-phrases of a question, each once, those with the fewest runs first.

    A run is a sequence of content words; function words, punctuation and a possessive end it. A
    phrase has two or more words, begins and ends with a run, may have function words between runs,
    and is not the whole question. A phrase is left out if it and the phrases before it exceed
    `CHARACTERS`; so is every phrase with more runs.
    """
    words, runs = _content_runs(question)
    phrases: dict[str, None] = {}
    n_characters = 0
    for n_runs in range(1, len(runs) + 1):
        exceeds = False
        for (start, _), (_, end) in zip(runs, runs[n_runs - 1 :], strict=False):
            if end - start < 2 or (start == 0 and end == len(words)):
                continue
            phrase = _POSSESSIVE.sub("", " ".join(words[start:end]))
            if phrase in phrases:
                continue
            if len(phrases) == max_phrases:
                return list(phrases)
            if n_characters + len(phrase) > CHARACTERS:
                exceeds = True
                continue
            phrases[phrase] = None
            n_characters += len(phrase)
        if exceeds:
            break
    return list(phrases)


def _content_runs(question: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The words of a question, and the (start, end) of each run of content words among them."""
    words: list[str] = []
    runs: list[tuple[int, int]] = []
    continues_run = False
    for token in _TOKEN.findall(question):
        bare = token.strip(".'’-").lower()
        if _PUNCTUATION.fullmatch(token):
            continues_run = False
            continue
        if not bare:  # such as a dash, which ends no run
            continue
        words.append(token.strip("?.,"))
        is_content = bare not in _BOUNDARY
        if is_content:
            start = runs.pop()[0] if continues_run else len(words) - 1
            runs.append((start, len(words)))
        continues_run = is_content and not bare.endswith(("'s", "’s"))
    return words, runs
