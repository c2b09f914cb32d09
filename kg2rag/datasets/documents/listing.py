"""A folder -> its files in a fixed order, each with the reason why it is not read, if any.

Installed packages and links that lead out of the folder are not read; hidden files and folders are
only counted.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kg2rag.datasets.documents.site_indexes import site_indexes
from kg2rag.datasets.documents.wiki_folders import wiki_navigation

PACKAGE_FOLDERS = frozenset(
    "node_modules bower_components __pycache__ __MACOSX site-packages venv".split()
)
"""Folders of installed packages; a virtual environment of any name is known by its pyvenv.cfg."""
# Sphinx keeps the sources of its pages beside them.
_SPHINX_SOURCE = re.compile(r"(|.*/)_sources/(.+?)(?:\.\w+)?\.txt")
_PAGES = (".html", ".htm")
_PARTS_OF_PAGES = (
    *(".js", ".css", ".map"),
    *("objects.inv", "element-list", "package-list", "sitemap.xml", "sitemap.xml.gz"),
)
# Feeds, which repeat the texts of the pages of a site.
_FEED = re.compile(
    r"(?:.*/)?(?:index|(?:[^/]*[._-])?(?:feed|rss|atom))\.(?:xml|rss|atom|json)"
)
_SEARCH_INDEX = re.compile(
    r"(?:.*/)?(?:[^/]*[._-])?search(?:[._-]?(?:plus|index|data|docs|lookup))*\.(?:json|xml)"
)

# What LaTeX and BibTeX write beside a file.
_LATEX_PRODUCTS = (
    *(".aux", ".log", ".toc", ".out", ".lof", ".lot", ".blg", ".fls", ".fdb_latexmk"),
    *(
        ".nav",
        ".snm",
        ".vrb",
        ".idx",
        ".ind",
        ".ilg",
        ".bcf",
        ".run.xml",
        ".synctex.gz",
    ),
)
# Programs of LaTeX and BibTeX, which set the form of a text, and the list of files of arXiv.
_LATEX_STYLES = (
    *(".sty", ".cls", ".clo", ".bst", ".bbx", ".cbx", ".lbx", ".fd", ".ist"),
    *("00README.json", "00README.XXX"),
)
# Test collections of SMART, such as CISI.ALL with CISI.QRY and CISI.REL.
_COLLECTION = re.compile(r"(?i)\.all(?:\.\d+)?$")
_QUERIES = re.compile(r"(?i)(?:\.qry|\.rel|\.bln|qrels?(?:\.text)?|query\.text)$")


class ListedFile(NamedTuple):
    """A file or folder.

    `relative_path` is its path from the listed folder, with `/`; `reason` says why it is not read,
    and is "" for a file that is.
    """

    path: Path
    relative_path: str
    reason: str = ""


class Listing(NamedTuple):
    """The files of a folder, sorted by path, and the number of hidden files and folders."""

    files: list[ListedFile]
    hidden: int


def list_folder(root: Path, leave_out: Path | None = None) -> Listing:
    """The files below a folder, or the one file at `root`, without `leave_out`."""
    if not root.is_dir():
        return Listing([ListedFile(root, posix_text(Path(root.name)))], 0)
    top = root.resolve()
    listed = list[ListedFile]()
    hidden = 0
    for folder, names, files, error in _walk(root):
        if error:
            relative_path = posix_text(folder.relative_to(root))
            listed.append(
                ListedFile(folder, relative_path, f"the folder cannot be read: {error}")
            )
        hidden += sum(name.startswith(".") for name in (*names, *files))
        listed += _entries_of(folder, [*names, *files], root, top)
    listed = [
        file
        for file in listed
        if leave_out is None or os.path.realpath(file.path) != str(leave_out)
    ]
    listed.sort(key=lambda file: file.path.parts)
    return Listing(_with_parts_skipped(listed), hidden)


def _entries_of(
    folder: Path, names: Sequence[str], root: Path, top: Path
) -> Iterator[ListedFile]:
    """The files of a folder that are not hidden, and those of its folders that are not entered."""
    for path in [folder / name for name in names if not name.startswith(".")]:
        reason = _why_path_is_skipped(path, top)
        if reason or not path.is_dir():
            yield ListedFile(path, posix_text(path.relative_to(root)), reason)


def _walk(root: Path) -> Iterator[tuple[Path, list[str], list[str], str]]:
    """For every folder at or below `root`: path, names of folders, names of files, and "".

    For a folder that cannot be read, the names are empty and the last member is the error.
    """
    errors = list[OSError]()
    for folder, names, files in os.walk(root, onerror=errors.append):
        path = Path(folder)
        yield path, list(names), files, ""
        names[:] = [
            name
            for name in names
            if not name.startswith(".")
            and name not in PACKAGE_FOLDERS
            and not _is_environment(path / name)
        ]
    for error in errors:
        yield Path(error.filename), [], [], error.strerror or type(error).__name__


def _is_environment(folder: Path) -> bool:
    """Whether a folder is a virtual environment of Python."""
    return os.path.lexists(folder / "pyvenv.cfg")


def _why_path_is_skipped(path: Path, top: Path) -> str:
    """Why a path is not read; "" for a file that is read and for a folder that is entered."""
    try:
        if path.is_symlink():
            return _why_link_is_skipped(path.resolve(), top)
        kind = path.lstat().st_mode
    except (OSError, RuntimeError) as error:
        return f"it cannot be read: {getattr(error, 'strerror', None) or error}"
    if stat.S_ISREG(kind):
        return ""
    if not stat.S_ISDIR(kind):
        return "no regular file"
    if path.name in PACKAGE_FOLDERS or _is_environment(path):
        return "a folder of installed packages"
    return ""


def _why_link_is_skipped(target: Path, top: Path) -> str:
    """Why a symbolic link is not followed; "" for a link to a file below `top`."""
    if not target.exists():
        return "a link that leads nowhere"
    if not target.is_relative_to(top):
        return "a link that leads out of the folder"
    if target.is_dir():
        return "a link to a folder"
    return ""


def _with_parts_skipped(files: list[ListedFile]) -> list[ListedFile]:
    """The files; those that programs wrote beside pages of HTML and texts of LaTeX have a reason."""
    reasons = parts_of_other_files(
        [file.relative_path for file in files if not file.reason]
    )
    return [
        file._replace(reason=reasons.get(file.relative_path, file.reason))
        for file in files
    ]


def parts_of_other_files(paths: Sequence[str]) -> dict[str, str]:
    """Path -> why it is not read, for parts of HTML pages and wikis and products of LaTeX in a folder or archive."""
    reason = "an index, a search page or a listing of code of a site"
    return {
        **dict.fromkeys(site_indexes(paths), reason),
        **dict.fromkeys(wiki_navigation(paths), "the navigation of a wiki"),
        **dict.fromkeys(
            _products_of_latex(paths), "written by LaTeX beside its source"
        ),
        **dict.fromkeys(_styles_of_latex(paths), "a style or setting of LaTeX"),
        **dict.fromkeys(
            _queries_of_collections(paths), "queries or judgments of a test collection"
        ),
        **dict.fromkeys(_settings_of_logseq(paths), "settings and copies of Logseq"),
        **_parts_of_pages(paths),
    }


def _settings_of_logseq(paths: Sequence[str]) -> Iterator[str]:
    """The files that Logseq keeps beside its notes, in the folder of its settings."""
    ending = "logseq/config.edn"
    folders = [
        path.removesuffix("config.edn") for path in paths if path.endswith(ending)
    ]
    return (path for path in paths if path.startswith(tuple(folders)))


def _products_of_latex(paths: Sequence[str]) -> Iterator[str]:
    """The files that LaTeX wrote beside a source; references only if their own source is there, too."""
    sources = {path.removesuffix(".tex") for path in paths if path.endswith(".tex")}
    has_references = any(path.endswith(".bib") for path in paths)
    endings = (*_LATEX_PRODUCTS, *([".bbl"] if has_references else []))
    for path in paths:
        ending = next(filter(path.endswith, endings), "")
        if ending and path.removesuffix(ending) in sources:
            yield path


def _styles_of_latex(paths: Sequence[str]) -> Iterator[str]:
    """The styles in a folder with a source of LaTeX."""
    if any(path.endswith(".tex") for path in paths):
        yield from (path for path in paths if path.endswith(_LATEX_STYLES))


def _queries_of_collections(paths: Sequence[str]) -> Iterator[str]:
    """The queries and judgments beside a collection such as cran.all.1400."""
    collections = filter(_COLLECTION.search, paths)
    folders = {path.rpartition("/")[0] for path in collections}
    for path in paths:
        if path.rpartition("/")[0] in folders and _QUERIES.search(path):
            yield path


def _parts_of_pages(paths: Sequence[str]) -> dict[str, str]:
    """Path -> why it is not read, for what stands beside pages of HTML."""
    pages = {path.rpartition(".")[0] for path in paths if path.endswith(_PAGES)}
    reasons = dict[str, str]()
    for path in paths:
        source = _SPHINX_SOURCE.fullmatch(path)
        folder = path.rpartition("/")[0]
        if folder.endswith("_files") and folder.removesuffix("_files") in pages:
            reasons[path] = "a part of a page that a browser saved"
        elif source and f"{source[1]}{source[2]}" in pages:
            reasons[path] = "the sources of HTML pages that are read"
        elif pages and (
            path.endswith(_PARTS_OF_PAGES) or _SEARCH_INDEX.fullmatch(path)
        ):
            reasons[path] = "programs, styles and indexes of HTML pages"
        elif pages and _FEED.fullmatch(path):
            reasons[path] = "a feed of HTML pages"
    return reasons


def posix_text(path: Path) -> str:
    """A path with `/`; bytes of a name that are not UTF-8 are decoded as Windows-1252."""
    text = path.as_posix()
    try:
        text.encode()
    except UnicodeEncodeError:
        return os.fsencode(text).decode("cp1252", "backslashreplace")
    return text
