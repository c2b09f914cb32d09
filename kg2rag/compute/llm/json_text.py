"""What a model wrote -> the one JSON value in it.

Small models wrap JSON in fences and prose, leave trailing commas, and write Python quotes and constants. Such a text is
repaired where only one reading is possible, and refused, with the reason, where there are several or none. The rules
are ours. All of it is linear in the length of the text: an answer may be anything, and is read again on every resume.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from kg2rag.text.records import too_deep

_FENCED = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.DOTALL)
_TRAILING_COMMA = re.compile(r"(?<![{\[,:\s])\s*,(\s*[}\]])")
_CONSTANT = re.compile(r"\b(?:True|False|None)\b")
_JSON_CONSTANT = {"True": "true", "False": "false", "None": "null"}


def without_reasoning(text: str) -> str:
    """A text without the `<think>` block that reasoning models put first; its opening tag may be missing.

    >>> without_reasoning("<think>Paris? Yes.</think> Paris")
    'Paris'
    """
    thought, end, answer = text.partition("</think>")
    return answer.lstrip() if end and "<think>" not in thought.lstrip().removeprefix("<think>") else text


def json_in(text: str, keys: Collection[str] = ()) -> Any:
    """The JSON value of a text that holds exactly one, repaired where only one reading is possible.

    `keys` are all that the object wanted may have. Where given, an object that lacks nothing but its closing brace is
    closed if it then has every one of them: nothing else can have been cut off. ValueError says why there is no value:
    none, several different ones, a repeated key, a cut-off text.

    >>> json_in("Sure! {'answer': 'Paris', 'sure': True,} Anything else?")
    {'answer': 'Paris', 'sure': True}
    """
    try:
        return _strict(text)
    except _NotJsonError:
        pass
    if keys and (closed := _closed(text, keys)) is not None:
        return closed
    fenced = _FENCED.findall(text)
    spans = fenced if len(fenced) == 1 else list(_objects(text))
    found: dict[str, Any] = {}
    reasons: list[str] = []
    for span in spans:
        try:
            value = _repaired(span)
        except _NotJsonError as error:
            reasons.append(str(error))
            continue
        found.setdefault(json.dumps(value, sort_keys=True), value)  # as text, for 1 and True are not the same
    if len(found) > 1:
        raise ValueError(f"it holds {len(found)} different JSON objects where one was asked for")
    if not found:
        raise ValueError(reasons[0] if reasons else "it holds no JSON object")
    return next(iter(found.values()))


class _NotJsonError(ValueError):
    """A text that is no JSON; a repeated key is another matter and stays a ValueError."""


class _Pieces:
    """A text in pieces: quoted strings whole, the characters `marks` one by one, runs of anything else.

    A quotation mark that nothing closes is a piece of its own. After one, no other of its kind can be closed either,
    so that none is looked for again: this keeps a text of many escaped marks linear.
    """

    def __init__(self, text: str, marks: str = "") -> None:
        self.text, self.marks, self.quotes = text, marks, "\"'"

    def after(self, start: int) -> Iterator[tuple[str, int]]:
        """The pieces from a position on, with the position after each."""
        while start < len(self.text):
            match = _piece(self.marks, self.quotes).match(self.text, start)
            assert match is not None  # the last alternative is any character
            piece = match[0]
            if piece[0] in self.quotes and not any(match.groups()):
                self.quotes = self.quotes.replace(piece[0], "")
                piece = piece[0]
            start += len(piece)
            yield piece, start


@cache
def _piece(marks: str, quotes: str) -> re.Pattern[str]:
    strings = [rf"{quote}(?:[^{quote}\\]++|\\.)*+({quote}?)" for quote in quotes]
    return re.compile("|".join([*strings, rf"""[^"'{re.escape(marks)}]+""", "."]), re.DOTALL)


def _strict(text: str) -> Any:
    if too_deep(text):
        raise ValueError("its JSON is nested too deeply")
    try:
        # Line breaks inside strings are not JSON, but leave one reading.
        return json.loads(text, strict=False, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise _NotJsonError(f"it is no JSON ({error})") from None


def _repaired(span: str) -> Any:
    try:
        return _strict(span)
    except _NotJsonError:
        return _strict("".join(_as_json(span.strip())))


def _as_json(span: str) -> Iterator[str]:
    """The tokens of a span, with single-quoted strings, Python constants and trailing commas as JSON has them."""
    tokens = [piece for piece, _ in _Pieces(span).after(0)]
    for at, token in enumerate(tokens):
        if token[0] == '"':
            yield token
        elif token[0] == "'":
            before = tokens[at - 1].rstrip()[-1:] if at else ""
            after = tokens[at + 1].lstrip()[:1] if at + 1 < len(tokens) else ""
            if len(token) < 2 or before not in tuple("{[,:") or after not in tuple(",:]}"):
                raise _NotJsonError(f"it is no JSON, and where the single quotes end at {token[:40]!r} is a guess")
            yield json.dumps(json.loads(_double_quoted(token), strict=False))
        else:
            plain = _TRAILING_COMMA.sub(r"\1", token)
            yield _CONSTANT.sub(lambda match: _JSON_CONSTANT[match[0]], plain)


def _double_quoted(token: str) -> str:
    """A single-quoted string as a JSON string: quotes swapped, other escapes as they are."""
    body = re.sub(r'\\.|"', lambda match: {"\\'": "'", '"': '\\"'}.get(match[0], match[0]), token[1:-1], flags=re.S)
    return f'"{body}"'


def _objects(text: str) -> Iterator[str]:
    """The outermost `{...}` of a text; braces inside strings do not count."""
    pieces, end = _Pieces(text, "{}"), 0
    while (start := text.find("{", end)) >= 0:
        before, end = text[end:start].rstrip()[-1:], _closing(pieces, start)
        if before in ("[", ","):
            raise ValueError("its JSON object is part of a list that is cut off or damaged")
        yield text[start:end]


def _closing(pieces: _Pieces, start: int) -> int:
    """The position after the brace that closes the one at `start`."""
    depth = 0
    for piece, end in pieces.after(start):
        depth += {"{": 1, "}": -1}.get(piece, 0)
        if depth == 0:
            return end
    raise ValueError("its JSON is cut off: a brace is never closed")


def _closed(text: str, keys: Collection[str]) -> dict[str, Any] | None:
    """The last object of a text whose closing brace is missing; None where more is missing, or nothing is."""
    start = text.find("{")
    span = text[start:].rstrip().removesuffix("```").rstrip().removesuffix(",").rstrip() if start >= 0 else ""
    if span[-1:] not in ('"', "'", "]", "}"):  # a number may go on
        return None
    open_: list[str] = []
    for piece, _ in _Pieces(span, "{}[]").after(0):
        if piece in ("{", "["):
            open_.append(piece)
        elif piece in ("}", "]") and (not open_ or open_.pop() != {"}": "{", "]": "["}[piece]):
            return None
        if piece in ('"', "'") or not open_:  # cut off within a string, or closed before the end
            return None
    if len(open_) > 1:  # a list may have lost items, an object within it keys
        return None
    try:
        value = _repaired(span + "}")
    except _NotJsonError:
        return None
    return value if isinstance(value, dict) and set(keys) <= value.keys() else None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"its key {twice!r} stands twice")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"it holds {name}, which is no JSON value")
