"""Folders of wikis of GitHub and Gollum -> the titles of their pages, and their navigation.

Such a wiki shows a page under the name of its file, in which hyphens are blanks, and beside it the
pages `_Sidebar`, `_Footer` and `_Header`. A folder is known by one of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

_FRAME = re.compile(r"_(?:Sidebar|Footer|Header)")
_LINK = re.compile(rb"\[\[([^\[\]|\n]{1,300})\|([^\[\]|\n]{1,300})\]\]")
_ENDINGS = frozenset(
    ".md .markdown .mediawiki .asciidoc .adoc .creole .org .pod .rst .textile".split()
)


def wiki_navigation(paths: Iterable[str]) -> list[str]:
    """The files of wikis that stand beside every page."""
    return [path for path in paths if _is_frame(PurePosixPath(path))]


def with_page_first(text: bytes) -> bytes:
    """A page in Markdown with its links `[[words|Page]]` in the usual order, `[[Page|words]]`."""
    return _LINK.sub(rb"[[\2|\1]]", text)


def wiki_titles(paths: Iterable[str]) -> dict[str, str]:
    """Path -> title of each page in the folder of a wiki, or in a folder below it."""
    files = list(map(PurePosixPath, paths))
    folders = {file.parent for file in files if _is_frame(file)}
    if not folders:
        return {}
    return {
        str(file): file.stem.replace("-", " ")
        for file in files
        if file.suffix.lower() in _ENDINGS and not folders.isdisjoint(file.parents)
    }


def _is_frame(file: PurePosixPath) -> bool:
    """Whether a file stands beside every page of a wiki."""
    return bool(_FRAME.fullmatch(file.stem)) and file.suffix.lower() in _ENDINGS
