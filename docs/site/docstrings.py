"""The project's NumPy-style docstrings -> Markdown, or reStructuredText for autodoc.

A parameter reads `name : what it means`, its type being in the signature; numpydoc takes that text for the type. Here
it is joined with the lines below it. Names between single backticks are code in both languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from typing import Any

from numpydoc.docscrape import NumpyDocString, Parameter

LISTED = ("Parameters", "Attributes", "Raises", "Yields", "Returns", "Methods")
_CODE = re.compile(r"(`[^`]*`)")
_MARKS = re.compile(r"(?<!\\)([*|]|(?<=\w)_(?!\w))")
_ITEM = re.compile(r"^(\s*)(- |\d+\. |\[\d+\] )")


def parsed(text: str) -> NumpyDocString:
    """A docstring by its sections."""
    return NumpyDocString(cleandoc(text))


def listed(found: NumpyDocString, section: str) -> dict[str, str]:
    """The entries of a section, by name or, where they have none, under the empty name."""
    entries: dict[str, str] = {}
    for one in found[section]:
        name, text = meaning(one)
        entries[name] = f"{entries[name]} {text}" if name in entries else text
    return entries


def meaning(entry: Parameter) -> tuple[str, str]:
    """The name of an entry, and all that is said of it in one line."""
    text = " ".join([entry.type, *(line.strip() for line in entry.desc)]).strip()
    return entry.name, text


def prose(text: str) -> str:
    """Paragraphs, lists and references of a docstring as Markdown."""
    lines = list(_separated(cleandoc(text).splitlines()))
    return "\n".join(
        line if line.startswith(">>>") else _escaped(line) for line in lines
    )


def restructured(lines: list[str]) -> list[str]:
    """A docstring as reStructuredText: prose, then its sections as fields."""
    found = parsed("\n".join(lines))
    out = [*_prose(found["Summary"]), "", *_prose(found["Extended Summary"]), ""]
    for section in LISTED:
        out += list(_fields(section, listed(found, section)))
    for section in ("Notes", "References"):
        out += ["", *_prose(found[section])]
    if found["Examples"]:
        out += ["", ".. rubric:: Examples", "", *found["Examples"], ""]
    return out


def process(*event: Any) -> None:
    """Replace a docstring's lines in place: autodoc's hook, whose last argument they are."""
    lines: list[str] = event[-1]
    if lines:
        lines[:] = restructured(lines)


def _fields(section: str, entries: dict[str, str]) -> Iterator[str]:
    if not entries:
        return
    yield ""
    if section in ("Returns", "Yields"):
        texts = [
            f"`{name}`: {text}" if name and text else name or text
            for name, text in entries.items()
        ]
        yield f":returns: {_escaped(' '.join(texts))}"
    elif section == "Raises":
        for name, text in entries.items():
            yield f":raises {name}: {_escaped(text)}"
    else:
        field = "param" if section == "Parameters" else "ivar"
        for name, text in entries.items():
            yield f":{field} {_escaped(name)}: {_escaped(text)}"
    yield ""


def _prose(lines: list[str]) -> list[str]:
    return [
        line if line.lstrip().startswith(">>>") else _escaped(line)
        for line in _separated(lines)
    ]


def _separated(lines: Iterable[str]) -> Iterator[str]:
    """A blank line before each list and each reference, which both languages want."""
    inside = False
    for line in lines:
        item = bool(_ITEM.match(line))
        if item and (not inside or line.lstrip().startswith("[")):
            yield ""
        inside = item or (inside and line.startswith("  "))
        yield line


def _escaped(line: str) -> str:
    """Stars, bars and trailing underscores outside of code mean themselves."""
    parts = _CODE.split(line)
    return "".join(
        part if part.startswith("`") else _MARKS.sub(r"\\\1", part) for part in parts
    )
