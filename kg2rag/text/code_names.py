r"""Names in code, their spellings and parts; a code format from an example -> a regular expression.

The dynamic hybrid design asks for it ("API keys in format 'sk-proj-xxxx'"); which words introduce an example, and what
its characters stand for, is ours. Runs of x, # and N are blanks; without any, digits stand for digits; without
digits, words stand for words. YYYY-MM-DD is a date. Everything else stands for itself.

>>> format_by_example("Find API keys in format 'sk-proj-xxxx'")
Format(example='sk-proj-xxxx', regex='\\bsk\\-proj\\-[A-Za-z0-9]{4,}')
>>> format_by_example("frameworks like React") is None
True
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import NamedTuple

from kg2rag.text.normalisation import normalise

# The maximum of characters of an indexed key: names are shorter, encoded blobs are longer.
MAX_KEY_CHARACTERS = 100
# The maximum of words of a name in code: a longer query is not tried as one name.
MAX_NAME_WORDS = 8
# Word characters, with single separators between them: os.path.join, ai-sdk/openai, std::vector.
_SURFACE = re.compile(r"\w+(?:(?:::|[.\-/:])\w+)*")
_SEPARATOR = re.compile(r"::|[.\-/:]")
_DEFINITION = re.compile(
    r"\b(?:def|class|func|function|fn|interface|struct|enum|trait|type|const|let|var)[ \t]+(\w+)"
)
_LETTERS_DIGITS = re.compile(r"[^\W\d_]+\d+\w*")
_KEY_PART = re.compile(r"[\W_]+")


def surfaces(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The names and words of a text as spelled, each with its (start, end), left to right.

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
    """The parts of a name, in order: split at separators, and before a capital that begins a word.

    >>> split("HTTPServer_v2.useChat")
    ['HTTP', 'Server', 'v2', 'use', 'Chat']
    """
    parts = []
    for run in filter(None, _KEY_PART.split(surface)):
        bounds = [0, *_word_starts(run), len(run)]
        parts += [run[start:end] for start, end in pairwise(bounds)]
    return parts


def _word_starts(run: str) -> list[int]:
    """The indices of inner capitals that begin a word.

    The last of several capitals begins the next word: HTTP|Server.
    """
    return [
        index
        for index in range(1, len(run))
        if run[index].isupper()
        and (not run[index - 1].isupper() or run[index + 1 : index + 2].islower())
    ]


def members(surface: str) -> list[str]:
    """The names that a path joins, in order; a name without separators is its only member.

    >>> members("os.path.joinAll")
    ['os', 'path', 'joinAll']
    """
    return _SEPARATOR.split(surface)


@lru_cache(maxsize=200_000)
def variants(surface: str) -> tuple[str, ...]:
    """The names under which a name is found: itself, the members of its path, and their parts.

    >>> variants("os.path.joinAll")
    ('os.path.joinAll', 'os', 'path', 'joinAll', 'join', 'All')
    """
    path = members(surface)
    parts = [part for member in path for part in split(member)]
    return tuple(
        name for name in dict.fromkeys([surface, *path, *parts]) if name.strip("_")
    )


def looks_like_name(surface: str) -> bool:
    """Whether a word is spelled like a name in code.

    Such a name has an inner capital or underscore, a path, or letters before digits.

    False for ordinary prose: initials (U.S.), hyphenated words, years, and words in capitals.

    >>> [looks_like_name(word) for word in ("useChat", "api_key", "np.linalg", "sk-proj-xxxx", "utf8", "os/path")]
    [True, True, True, False, True, True]
    >>> [looks_like_name(word) for word in ("well-known", "U.S.A", "1984", "NASA", "Paris", "20th", "and/or")]
    [False, False, False, False, False, False, True]
    """
    if "_" in surface.strip("_") or re.match("_.", surface):
        return True
    if "/" in surface or "::" in surface:
        return any(map(str.isalpha, surface))
    path = members(surface)
    if "." in surface and all(
        len(member) > 1 and member[0].isalpha() for member in path
    ):
        return True
    return any(map(_is_coined, path))


def _is_coined(word: str) -> bool:
    """Whether a word that is not in capitals has an inner capital, or letters before digits."""
    return not word.isupper() and bool(
        _word_starts(word) or _LETTERS_DIGITS.fullmatch(word)
    )


def definitions(text: str) -> Iterator[str]:
    r"""The names that a piece of source code defines, as spelled.

    >>> list(definitions("class Chat:\n    def send(self): ..."))
    ['Chat', 'send']
    """
    return (match.group(1) for match in _DEFINITION.finditer(text))


# "of the form …" announces an example. Prose may follow "like …": there, the example must have blanks.
_INTRODUCED = re.compile(
    r"\b(?:(?P<begins>(?:start|begin)(?:s|n?ing)?\s+with)|(?P<ends>end(?:s|ing)?\s+(?:in|with))|(?P<announced>"
    r"(?:in|of|with|have|has)\s+(?:the\s+|this\s+)?(?:format|form|pattern|shape)(?:\s+of)?|match(?:es|ing)?|"
    r"(?:formatted|written|spelt|spelled|shaped|encoded)\s+(?:as|like)|look(?:s|ing)?\s+like)|"
    r"like|such\s+as|e\.g\.|for\s+example)[\s:]+",
    re.I,
)
_QUOTES = "\"'`“”‘’"
_QUOTED = re.compile(rf"[{_QUOTES}]([^{_QUOTES}]+)[{_QUOTES}]")
_COLOUR = re.compile(r"#[0-9a-f]{3,8}", re.I)
_ALONE, _END = r"(?<![A-Za-z])", r"(?![A-Za-z])"
_PIECE = re.compile(
    rf"(?P<any>{_ALONE}[xX]+{_END}|X{{4,}})|(?P<count>{_ALONE}(?:YY|MM|DD|HH|SS)+{_END})|(?P<number>#{{2,}}|{_ALONE}N{{2,}}{_END})"
    r"|(?P<zeros>(?<!\d)0+(?!\d))|(?P<digits>\d+)|(?P<letters>(?:(?!X{4,})[A-Za-z])+)|."
)
_READ = 200  # characters searched after an introduction


class Format(NamedTuple):
    """An example as the query spells it, and a case-sensitive expression for codes of its form."""

    example: str
    regex: str


def format_by_example(text: str) -> Format | None:
    """The format that a query gives by an example; None if it gives none."""
    for introduction in _INTRODUCED.finditer(text):
        example = _example(text[introduction.end() : introduction.end() + _READ])
        if not _is_coded(example):
            continue
        if introduction["begins"]:
            return Format(example, rf"{_edge(example)}{re.escape(example)}\w+")
        if introduction["ends"]:
            return Format(example, rf"\w+{re.escape(example)}\b")
        if (
            introduction["announced"]
            or _has_blanks(example)
            or _COLOUR.fullmatch(example)
        ):
            return Format(example, _regex(example))
    return None


def _example(text: str) -> str:
    """The example that begins a text: a quotation, or else its leading words that are codes."""
    quoted = _QUOTED.match(text)
    if quoted:
        return quoted[1].strip()
    words = (word.strip(_QUOTES + "(),;?!").rstrip(".:") for word in text.split())
    return " ".join(takewhile(_is_coded, words))


def _is_coded(example: str) -> bool:
    """Whether a text is a code: it has blanks to fill in, a digit, or an inner or final sign.

    A text with wildcards is none.
    """
    if "*" in example:
        return False
    return bool(
        re.search(r"[\d_@#$%:/+]|\w[-.]\w", example)
        or {"any", "number"} & _kinds(example)
    )


def _has_blanks(example: str) -> bool:
    """Whether an example has characters to fill in, such as x, # or 0."""
    return len(example) > 1 and bool({"any", "number", "zeros"} & _kinds(example))


def _kinds(example: str) -> set[str | None]:
    """The names of the groups of `_PIECE` that match somewhere in an example."""
    return {piece.lastgroup for piece in _PIECE.finditer(example)}


def _regex(example: str) -> str:
    """The regular expression of codes like an example.

    Its blanks vary; without blanks, its digits do; without either, its letters, too.
    """
    if _COLOUR.fullmatch(example):
        return rf"#[0-9A-Fa-f]{{{len(example) - 1}}}\b"
    kinds = _kinds(example)
    has_blanks = bool({"any", "number"} & kinds)
    letters_vary = not has_blanks and not {"digits", "zeros", "count"} & kinds
    pieces = [
        _piece_regex(piece, not has_blanks, letters_vary)
        for piece in _PIECE.finditer(example)
    ]
    return f"{_edge(example)}{''.join(pieces)}"


def _piece_regex(piece: re.Match[str], digits_vary: bool, letters_vary: bool) -> str:
    """The regular expression of one match of `_PIECE`."""
    text, kind = piece.group(), piece.lastgroup
    if kind == "any":
        return rf"[A-Za-z0-9]{{{len(text)},}}"
    if kind == "count":
        return rf"\d{{{len(text)}}}"
    if kind == "number" or (digits_vary and kind in ("digits", "zeros")):
        return r"\d+"
    if letters_vary and kind == "letters":
        return "[A-Za-z]+"
    return re.escape(text)


def _edge(example: str) -> str:
    r"""`\b` if an example begins with a word character."""
    return r"\b" if re.match(r"\w", example) else ""
