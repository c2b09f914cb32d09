"""Roles of Sphinx and MyST -> HTML with the words that a page of Sphinx shows."""

from __future__ import annotations

import re

from kg2rag.datasets.documents.blocks import WIKI

_WITH_TARGET = re.compile(r"(.+?)\s*&lt;(.+)&gt;", re.DOTALL)
_PROSE_ROLES = frozenset("term abbr menuselection guilabel sub sup download".split())


def role_html(role: str, text: str) -> str:
    """The HTML of a role; its text is escaped.

    "words <target>" becomes the words, and `~a.Name` the whole name, since a text may be searched
    for it. A reference to a label becomes a wiki link, which is resolved by the names of documents.
    """
    titled = _WITH_TARGET.fullmatch(text.strip())
    words, target = (titled[1], titled[2]) if titled else (text, text)
    if role == "doc":
        return f'<a href="{target}.html">{words}</a>'
    if role in ("ref", "numref"):
        return f'<a href="{WIKI}{target}">{words}</a>'
    if role in ("pep", "rfc"):
        return f"{role.upper()} {words}"
    words = words.removeprefix("~")
    if role in _PROSE_ROLES:
        return words
    return f"<code>{words}</code>"
