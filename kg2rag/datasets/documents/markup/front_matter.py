"""A page of Markdown -> the fields before or behind its text, and the text.

Read are YAML (`---`), TOML (`+++`) and JSON (`{`) of site generators, `name:: value` of Logseq,
lines `Name: value` that begin with the title (MultiMarkdown, Pelican, Jina's reader), and the lines
at the end of a note that Joplin exports.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

FRONT_MATTER_LINES = 1_000
"""Lines within which the end of front matter is looked for."""
_BEFORE_FRONT_MATTER = re.compile(r"\s*(?:<!--.*?-->\s*)*", re.DOTALL)
_FRONT_MATTER_ENDS = {"---": ("---", "..."), "+++": ("+++",), "{": ("}",)}
# At the end of an export of Joplin; type 1 is a note, other types are notebooks, tags and files.
_JOPLIN_FIELDS = re.compile(
    r"\n\nid: [0-9a-f]{32}\n(?:\w+:[^\n]*\n)*type_: (?P<type>\d+)\s*\Z"
)
_LOGSEQ_FIELD = re.compile(r"(?m)^([\w-]+):: (.*)$")
_HEADER_FIELD = re.compile(r"(?m)^([A-Za-z][\w -]{0,30}):[ \t]+(\S.*)$")
# Up to an empty line, or up to the line with which Jina's reader announces the page.
_HEADER = re.compile(
    r"\A\s*(?i:title):[ \t]+\S.*\n(?:(?:\s*[A-Z][\w -]{0,30}:[ \t]+\S.*\n)+\s*Markdown Content:[ \t]*\n|"
    r"(?:[A-Za-z][\w -]{0,30}:.*\n)+[ \t]*\n)"
)
_LOGSEQ_FIELDS = re.compile(r"\A(?:[\w-]+:: .*\n)+")


class FrontMatter(NamedTuple):
    """The fields of a page's front matter, its text, and the page without it."""

    fields: Mapping[str, Any]
    text: str
    body: str


def split_front_matter(text: str) -> FrontMatter:
    """The front matter of a page in any of the forms, empty if there is none, and the rest."""
    for split in (_split_joplin, _split_logseq, _split_header, _split_fenced):
        front = split(text)
        if front is not None:
            return front
    return FrontMatter({}, "", text)


def _split_joplin(text: str) -> FrontMatter | None:
    """The title and text of a note of Joplin; None for other pages.

    An exported notebook or tag has no text, so all of it is front matter.
    """
    fields = _JOPLIN_FIELDS.search(text)
    if fields is None:
        return None
    if fields["type"] != "1":
        return FrontMatter({}, text, "")
    title, _, body = text[: fields.start()].partition("\n")
    return FrontMatter({"title": title}, f"{title}\n{fields[0]}", body)


def _split_logseq(text: str) -> FrontMatter | None:
    """The fields and text of a page of Logseq; None if it does not begin with `name:: value`."""
    fields = _LOGSEQ_FIELDS.match(text)
    if fields is None:
        return None
    pairs = dict(_LOGSEQ_FIELD.findall(fields[0]))
    return FrontMatter(pairs, fields[0], text[fields.end() :])


def _split_header(text: str) -> FrontMatter | None:
    """The fields `Name: value` above a page, its title first; None for other pages."""
    header = _HEADER.match(text)
    if header is None:
        return None
    pairs = _HEADER_FIELD.findall(header[0])
    fields = {name.lower(): value.strip() for name, value in pairs}
    return FrontMatter(fields, header[0], text[header.end() :])


def _split_fenced(text: str) -> FrontMatter | None:
    """The fields between `---` or `+++`, or in a JSON object, and the text behind them.

    None if the page does not begin so; it may begin with a thematic break (`---`).
    """
    start = _BEFORE_FRONT_MATTER.match(text).end()  # type: ignore[union-attr]
    lines = text[start : start + 200_000].split("\n", FRONT_MATTER_LINES)
    mark = lines[0].rstrip()
    ends = _FRONT_MATTER_ENDS.get(mark, ())
    rows = enumerate(lines[1:], start=1)
    stop = next((row for row, line in rows if line.rstrip() in ends), None)
    if stop is None:
        return None
    page_start = start + len("\n".join(lines[: stop + 1]))
    inside = "\n".join(lines[1:stop])
    if mark == "{":
        inside = "\n".join(lines[: stop + 1])
    fields = _fields(inside, mark)
    if fields is None:
        return None
    return FrontMatter(fields, inside, text[page_start:])


def _fields(text: str, mark: str) -> Mapping[str, Any] | None:
    """The fields of front matter; None if the text has no fields.

    mark : the line that opens it, `---`, `+++` or `{`.
    """
    import yaml

    if not text.strip():
        return {}
    value: object = None
    with suppress(tomllib.TOMLDecodeError, yaml.YAMLError, ValueError, RecursionError):
        value = {"+++": tomllib.loads, "{": json.loads}.get(mark, yaml.safe_load)(text)
    if isinstance(value, Mapping):
        return value
    # Many files have a colon in an unquoted title, which YAML refuses.
    pairs = re.findall(r"(?m)^([A-Za-z_][\w-]*)[ \t]*[:=][ \t]*(.*)$", text)
    if not pairs or value is not None:
        return None
    return {key: field.strip().strip("\"'") for key, field in pairs}
