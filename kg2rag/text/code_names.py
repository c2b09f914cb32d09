"""Names in code: their spellings, parts and keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from kg2rag.text.normalisation import normalise

LONGEST = 100  # characters of the longest key that is looked up or indexed: names are shorter, encoded blobs longer
WHOLE = 8  # the maximum of words of a name in code: a longer query is not tried as one name
# Word characters, with single separators between them: os.path.join, ai-sdk/openai, std::vector.
_SURFACE = re.compile(r"\w+(?:(?:::|[.\-/:])\w+)*", re.UNICODE)
_SEPARATOR = re.compile(r"::|[.\-/:]")
_DEFINITION = re.compile(
    r"\b(?:def|class|func|function|fn|interface|struct|enum|trait|type|const|let|var)[ \t]+(\w+)", re.UNICODE
)
_LETTERS_DIGITS = re.compile(r"[^\W\d_]+\d+\w*")
_KEY_PART = re.compile(r"[\W_]+", re.UNICODE)


def surfaces(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Names and words as spelled, with their (start, end), left to right.

    >>> [name for name, _ in surfaces("Call os.path.join() or @ai-sdk/openai.")]
    ['Call', 'os.path.join', 'or', 'ai-sdk/openai']
    """
    return ((match.group(), match.span()) for match in _SURFACE.finditer(text))


@lru_cache(maxsize=200_000)
def key(surface: str) -> str:
    """The key that all spellings of a name share: without case, accents and separators.

    >>> key("StreamingTextResponse") == key("streaming_text-response")
    True
    """
    if surface.isascii():  # the common case, ten times faster
        return _KEY_PART.sub("", surface.lower())
    return normalise(surface).replace(" ", "")


def split(surface: str) -> list[str]:
    """The parts of a name, in order: split at separators, and where a capital begins a word.

    >>> split("HTTPServer_v2.useChat")
    ['HTTP', 'Server', 'v2', 'use', 'Chat']
    """
    parts = []
    for run in filter(None, _KEY_PART.split(surface)):
        bounds = [0, *(at for at in range(1, len(run)) if _word_begins(run, at)), len(run)]
        parts += [run[start:end] for start, end in pairwise(bounds)]
    return parts


def _word_begins(run: str, at: int) -> bool:
    # The last capital of a run of them begins the word that follows: HTTP|Server.
    return run[at].isupper() and (not run[at - 1].isupper() or run[at + 1 : at + 2].islower())


def members(surface: str) -> list[str]:
    """The names that a path joins, in order; a name without separators is its only member.

    >>> members("os.path.joinAll")
    ['os', 'path', 'joinAll']
    """
    return _SEPARATOR.split(surface)


@lru_cache(maxsize=200_000)
def variants(surface: str) -> tuple[str, ...]:
    """A name and all that it is found by: itself, the members of its path, and their parts; each once.

    >>> variants("os.path.joinAll")
    ('os.path.joinAll', 'os', 'path', 'joinAll', 'join', 'All')
    """
    path = members(surface)
    found = dict.fromkeys([surface, *path, *(part for member in path for part in split(member))])
    return tuple(name for name in found if name.strip("_"))


def looks_like_name(surface: str) -> bool:
    """Whether a word is spelled like a name in code: an inner capital or underscore, a path, letters with digits.

    False for ordinary prose: initials (U.S.), hyphenated words, years, and words in capitals.

    >>> [looks_like_name(word) for word in ("useChat", "api_key", "np.linalg", "sk-proj-xxxx", "utf8", "os/path")]
    [True, True, True, False, True, True]
    >>> [looks_like_name(word) for word in ("well-known", "U.S.A", "1984", "NASA", "Paris", "20th", "and/or")]
    [False, False, False, False, False, False, True]
    """
    if "_" in surface.strip("_") or (surface.startswith("_") and len(surface) > 1):
        return True
    if "/" in surface or "::" in surface:
        return any(map(str.isalpha, surface))
    path = members(surface)
    if "." in surface and all(len(member) > 1 and member[0].isalpha() for member in path):
        return True
    return any(
        (word != word.upper() and any(_word_begins(word, at) for at in range(1, len(word))))
        or (_LETTERS_DIGITS.fullmatch(word) and not word.isupper())
        for word in path
    )


def definitions(text: str) -> Iterator[str]:
    r"""The names that a piece of source code defines, as spelled.

    >>> list(definitions("class Chat:\n    def send(self): ..."))
    ['Chat', 'send']
    """
    return (match.group(1) for match in _DEFINITION.finditer(text))
