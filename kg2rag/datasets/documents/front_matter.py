"""A page of Markdown -> the fields before or behind its text, and the rest of the page.

YAML (`---`), TOML (`+++`) or JSON (`{`) of site generators, `name:: value` of Logseq, and the lines
with which an export of Joplin ends a note.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

FRONT_MATTER_LINES = 1_000
_BEFORE_FRONT_MATTER = re.compile(r"\s*(?:<!--.*?-->\s*)*", re.DOTALL)
_FRONT_MATTER_ENDS = {"---": ("---", "..."), "+++": ("+++",), "{": ("}",)}
# behind a note of Joplin; of type 1 are its notes, others are notebooks, tags and files
_JOPLIN_FIELDS = re.compile(
    r"\n\nid: [0-9a-f]{32}\n(?:\w+:[^\n]*\n)*type_: (?P<type>\d+)\s*\Z"
)
_LOGSEQ_FIELD = re.compile(r"(?m)^([\w-]+):: (.*)$")
_LOGSEQ_FIELDS = re.compile(r"\A(?:[\w-]+:: .*\n)+")


class FrontMatter(NamedTuple):
    """The fields of a page's front matter, its text, and the rest of the page."""

    fields: Mapping[str, Any]
    text: str
    body: str


def split_front_matter(text: str) -> FrontMatter:
    """The front matter of a page in any of the spellings, and its rest."""
    for split in (_split_joplin, _split_logseq, _split_fenced):
        front = split(text)
        if front is not None:
            return front
    return FrontMatter({}, "", text)


def _split_joplin(text: str) -> FrontMatter | None:
    """A note of Joplin, whose first line is its title; of its notebooks and tags all is front matter."""
    fields = _JOPLIN_FIELDS.search(text)
    if fields is None:
        return None
    if fields["type"] != "1":
        return FrontMatter({}, text, "")
    title, _, body = text[: fields.start()].partition("\n")
    return FrontMatter({"title": title}, f"{title}\n{fields[0]}", body)


def _split_logseq(text: str) -> FrontMatter | None:
    fields = _LOGSEQ_FIELDS.match(text)
    if fields is None:
        return None
    named = dict(_LOGSEQ_FIELD.findall(fields[0]))
    return FrontMatter(named, fields[0], text[fields.end() :])


def _split_fenced(text: str) -> FrontMatter | None:
    """Lines between `---` or `+++` that hold fields, or a JSON object; None for a thematic break."""
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
    """The fields of front matter; None where it has none."""
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
    return (
        {key: field.strip().strip("\"'") for key, field in pairs}
        if pairs and value is None
        else None
    )
