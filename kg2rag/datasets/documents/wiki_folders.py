"""Folders of wikis -> the titles of their pages, their navigation, and the format of their pages.

A wiki of GitHub or Gollum shows a page under the name of its file, in which hyphens are blanks, and
beside it the pages `_Sidebar`, `_Footer` and `_Header`. A folder is known by one of these. DokuWiki
has pages in files `.txt`, which are known by the headings of half of them. Obsidian and Logseq name
a note by its file, and keep their settings beside the notes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

FRAME = r"_(?:Sidebar|Footer|Header)\.(?i:md|markdown|mediawiki|asciidoc|adoc|creole|org|pod|rst|textile)"
"""The name of a file that stands beside every page of a wiki."""
_LINK = re.compile(rb"\[\[([^\[\]|\n]{1,300})\|([^\[\]|\n]{1,300})\]\]")
DOKUWIKI_HEADING = re.compile(r"(?m)^={6} [^=\n]+ ={6}[ \t]*$")
START_BYTES = 4_000
"""Bytes of a file within which a page of DokuWiki has its heading."""
SETTINGS = (".obsidian", "logseq/config.edn")
"""Settings beside the notes of a program that names a note by its file."""
_ENDINGS = frozenset(
    ".md .markdown .mediawiki .asciidoc .adoc .creole .org .pod .rst .textile".split()
)


def with_page_first(text: bytes) -> bytes:
    """A page in Markdown with its links `[[words|Page]]` in the usual order, `[[Page|words]]`."""
    return _LINK.sub(rb"[[\2|\1]]", text)


def wiki_titles(paths: Iterable[str]) -> dict[str, str]:
    """Path -> title of each page in the folder of a wiki, or in a folder below it."""
    files = list(map(PurePosixPath, paths))
    folders = {file.parent for file in files if re.fullmatch(FRAME, file.name)}
    if not folders:
        return {}
    return {
        str(file): file.stem.replace("-", " ")
        for file in files
        if file.suffix.lower() in _ENDINGS and not folders.isdisjoint(file.parents)
    }


def named_notes(path_of: Mapping[str, Path]) -> set[str]:
    """The notes in folders, and in those below, that have one of the `SETTINGS`.

    path_of : path from the listed folder -> the file.
    """
    folders = {
        (name, folder)
        for path, file in path_of.items()
        for name, folder in zip(PurePosixPath(path).parents, file.parents, strict=False)
    }
    vaults = {
        name
        for name, folder in folders
        if any((folder / settings).exists() for settings in SETTINGS)
    }
    return {
        str(path)
        for path in map(PurePosixPath, path_of)
        if path.suffix.lower() in _ENDINGS and not vaults.isdisjoint(path.parents)
    }


def dokuwiki_files(path_of: Mapping[str, Path]) -> set[str]:
    """The files `.txt` of folders in which, with all folders below, half of these are pages of DokuWiki.

    So a page without a heading, such as a side bar, is read as the others are.

    path_of : path from the listed folder -> the file.
    """
    folders_of = {
        name: PurePosixPath(name).parents
        for name in path_of
        if name.lower().endswith(".txt")
    }
    n_files = Counter(folder for folders in folders_of.values() for folder in folders)
    n_pages = Counter(
        folder
        for name, folders in folders_of.items()
        if _has_heading(path_of[name])
        for folder in folders
    )
    return {
        name
        for name, folders in folders_of.items()
        if 2 * n_pages[folders[0]] >= n_files[folders[0]]
    }


def _has_heading(file: Path) -> bool:
    """Whether a file begins as a page of DokuWiki; a file that cannot be read does not."""
    with suppress(OSError), file.open("rb") as source:
        start = source.read(START_BYTES).decode("utf-8", "replace")
        return bool(DOKUWIKI_HEADING.search(start.replace("\r\n", "\n")))
    return False
