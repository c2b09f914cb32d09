"""A page's Markdown -> the same with the values at its markers filled in, and all that is wrong with it.

    <!-- = mean musique-100 dense recall@5 -->62.2<!-- / -->    a value, by a query of page_numbers
    <!-- holds: p musique-100 bm25 recall@5 < .05 -->            two queries or numbers with <, > or = (as shown)
    <!-- typed: why -->61.9<!-- / -->                            numbers that no file of ours holds, and the reason
    <!-- systems musique-100 -->…<!-- / -->                      a table, by a function that the caller gives

Markers do not nest, and stand behind a word of their line, statements also on lines of their own behind a paragraph.
Comments in code are left alone; any other comment is an error, so that no marker is overlooked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from page_data import Results, UnknownError
from page_numbers import answer
from page_values import Number

COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
FENCED = re.compile(r"^```.*?^```[^\n]*$", re.DOTALL | re.MULTILINE)
QUIET = re.compile(
    r"^\|.*$"  # rows of tables
    r"|`[^`\n]+`"  # code: names, commands, parameters
    r"|\]\([^)]*\)"  # where a link leads
    r"|\bhttps?://\S+",
    re.MULTILINE,
)
NUMBER = re.compile(r"(?<![\w.,@^])(?<!\w-)(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?(?:\s?%)?(?![\w@])")
SMALL = 20  # whole numbers up to this are words of prose: three sets, ten passages
CLOSED = "<!-- / -->"
SIGNS: Mapping[str, Callable[[Number, Number], bool]] = {
    "<": lambda left, right: right.above(left),
    ">": lambda left, right: left.above(right),
    "=": lambda left, right: left.text == right.text,
}
Table = Callable[[str], str]


class Exceptions(NamedTuple):
    """What may be typed: phrases, and paragraphs by their first words (`eval/typed.toml`)."""

    phrases: tuple[str, ...] = ()
    paragraphs: tuple[str, ...] = ()

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Exceptions:
        """Those of a file, each of which needs a reason."""
        kinds = {"phrase": "text", "paragraph": "starts"}
        for kind, key in kinds.items():
            for entry in record.get(kind, ()):
                if set(entry) != {key, "why"} or not entry["why"].strip():
                    raise ValueError(f"typed.toml: a {kind} needs {key} and why, and nothing else: {entry}.")
        found = (tuple(entry[key] for entry in record.get(kind, ())) for kind, key in kinds.items())
        return cls(*found)


class Page(NamedTuple):
    """A page as it should be, what is wrong with it, and the exceptions that it needs."""

    text: str
    problems: list[str]
    used: set[str]


def filled(
    text: str,
    name: str,
    results: Results,
    tables: Mapping[str, Table] | None = None,
    exceptions: Exceptions | None = None,
) -> Page:
    """A page with its markers filled and, where exceptions are given, its prose read for typed numbers.

    Parameters
    ----------
    name : of the page, for problems.
    tables : for each kind of table a function that makes it of the word behind the kind.
    """
    tables, code = tables or {}, [match.span() for match in FENCED.finditer(text)]
    comments = [one for one in COMMENT.finditer(text) if not any(start <= one.start() < end for start, end in code)]
    problems, made, prose = [], [], []
    at, opened = 0, ""
    for comment in comments:
        body, between = " ".join(comment[1].split()), text[at : comment.start()]
        where = f"{name}, line {_line(text, comment.start())}: {comment[0]}"
        new, found = between, [misplaced(text, comment)]
        if body == "/" and opened:
            new, reason = _inside(opened, between, results, tables)
            problems += [f"{name}, line {_line(text, at)}: <!-- {opened} --> {reason}"] if reason else []
        elif opened:
            found.append(f"stands within <!-- {opened} -->: markers do not nest. Close that by {CLOSED}")
        else:
            found.append(_wrong(body, results, tables))
        problems += [f"{where} {reason}" for reason in found if reason]
        made += [new, comment[0]]
        prose += [_blank(between) if opened else between, _blank(comment[0])]
        at, opened = comment.end(), body if _opens(body, tables) else ""
    if opened:
        problems.append(f"{name}, line {_line(text, at)}: <!-- {opened} --> is not closed by {CLOSED}")
    typed, used = ([], set()) if exceptions is None else typed_numbers("".join([*prose, text[at:]]), exceptions)
    problems += [f"{name}, line {line}: {number!r} is typed by hand." for line, number in typed]
    return Page("".join([*made, text[at:]]), problems, used)


def misplaced(text: str, comment: re.Match[str]) -> str:
    """Why a marker would not be invisible where it stands; empty where it is.

    Markdown takes a line that begins with a comment as HTML: it shows the code of what stands behind the comment, and
    a paragraph ends there. Such a line may have comments alone, and none of a paragraph behind it.
    """
    if "--" in comment[1]:
        return "has two hyphens within, for which some Markdown shows it as text."
    line = text[text.rfind("\n", 0, comment.start()) + 1 :].split("\n", 2)
    table = not comment[1].lstrip().startswith(("=", "typed:", "holds:"))
    if table or not line[0].lstrip().startswith("<!--"):
        return ""
    if COMMENT.sub("", line[0]).strip() or not line[0].lstrip().startswith("<!-- holds:"):
        return "begins a line, which Markdown then takes as HTML. Put a word before it."
    behind = line[1].strip() if len(line) > 1 else ""
    return "" if not behind or behind.startswith("<!--") else "cuts a paragraph in two. Put it behind the paragraph."


def _opens(body: str, tables: Mapping[str, Table]) -> bool:
    return body.startswith(("= ", "typed:")) or body.partition(" ")[0] in tables


def _wrong(body: str, results: Results, tables: Mapping[str, Table]) -> str:
    """What is wrong with a marker by itself; empty where nothing is."""
    if body.startswith("holds:"):
        return broken(body.removeprefix("holds:"), results)
    if body == "/":
        return "closes nothing."
    kinds = ", ".join(["=", "holds:", "typed:", "/", *sorted(tables)])
    return "" if _opens(body, tables) else f"is no marker. Known: {kinds}."


HELP = (
    "Fill a typed number by a marker, say why it is typed (<!-- typed: why -->), or leave it out: eval/page_markers.py."
)


def _inside(opened: str, old: str, results: Results, tables: Mapping[str, Table]) -> tuple[str, str]:
    """What belongs between a marker and its end, and what is wrong with the marker."""
    kind, _, rest = opened.partition(" ")
    try:
        if kind == "=":
            found = answer(results, rest)
            return (found.text if isinstance(found, Number) else found), ""
        if kind in tables:
            return f"\n{tables[kind](rest)}", ""
    except UnknownError as error:
        return old, str(error)
    return old, "" if opened.removeprefix("typed:").strip() else "gives no reason."


def broken(statement: str, results: Results) -> str:
    """Why a statement such as `mean musique-100 dense recall@5 > 60` does not hold; empty where it does."""
    parts = re.split(r"\s+([<>=])\s+", statement.strip())
    if len(parts) != 3:
        return "is no statement: it needs one of < > = between two queries or numbers."
    try:
        left, right = (_side(side, results) for side in (parts[0], parts[2]))
    except UnknownError as error:
        return str(error)
    return (
        "" if SIGNS[parts[1]](left, right) else f"does not hold: {left.text} {parts[1]} {right.text}. Mend the prose."
    )


def _side(text: str, results: Results) -> Number:
    """A number as it is written, or the answer to a query."""
    try:
        return Number(float(text.replace(",", "")), text)
    except ValueError:
        found = answer(results, text)
    if isinstance(found, str):
        raise UnknownError(f"{text!r} gives words, which cannot be compared.")
    return found


def typed_numbers(prose: str, exceptions: Exceptions) -> tuple[list[tuple[int, str]], set[str]]:
    """The numbers of a text without markers, with their lines; and the exceptions that excused some.

    Whole numbers above 20, decimals and per cents count; not those in code, tables, links or in a name (`BM25`).
    """
    used = set()
    for pattern in (FENCED, QUIET):
        prose = pattern.sub(lambda match: _blank(match[0]), prose)
    for start in exceptions.paragraphs:
        shape = re.compile(rf"^{_spaced(start)}.*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)
        prose, found = shape.subn(lambda match: _blank(match[0]), prose)
        used |= {start} if found else set()
    for phrase in exceptions.phrases:
        prose, found = re.subn(rf"(?<![\w.]){_spaced(phrase)}(?!\w)", lambda match: _blank(match[0]), prose)
        used |= {phrase} if found else set()
    found = [(match.start(), match[0].rstrip(",")) for match in NUMBER.finditer(prose)]
    return [(_line(prose, at), number) for at, number in found if _counts(number)], used


def _counts(number: str) -> bool:
    digits = number.replace(",", "")
    return not digits.isdigit() or int(digits) > SMALL


def _spaced(words: str) -> str:
    return r"\s+".join(map(re.escape, words.split()))


def _blank(text: str) -> str:
    """As many characters and lines, and nothing in them."""
    return re.sub(r"[^\n]", " ", text)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def unused(exceptions: Exceptions, pages: Iterable[Page]) -> list[str]:
    """The exceptions that no page needs."""
    needed = set().union(*(page.used for page in pages))
    given = (*exceptions.phrases, *exceptions.paragraphs)
    return [f"typed.toml: no page needs {text!r}. Remove it." for text in given if text not in needed]
