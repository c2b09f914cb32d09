"""Paths of a built site -> its pages that are no documents: indexes, search, code, the whole site on one page.

A site is known by files that only its generator writes. The pages are those that generators of
documentation make beside the pages that people wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_GENERATORS = (
    # Sphinx; pages may be folders with an index.html.
    (
        r"searchindex\.js|objects\.inv|genindex\.html|genindex/index\.html",
        r"(?:genindex(?:-[^/]*)?|[a-z]+-modindex|modindex|search|http-routingtable)(?:\.html|/index\.html)|"
        r"_modules/.*",
    ),
    # Doxygen; the long names are of folders and of listings of code.
    (
        r"doxygen(?:\.css|\.svg|\.png)|doxygen_crawl\.html",
        r"(?:annotated|classes|files|hierarchy|inherits|namespaces|graph_legend|doxygen_crawl)\.html|"
        r"(?:functions|globals|namespacemembers)(?:_\w+)?\.html|dir_[0-9a-f]{32}(?:_dep)?\.html|"
        r".*_source\.html|.*-members\.html|search/.*\.html",
    ),
    # Javadoc
    (
        r"element-list|package-list",
        r"index-all\.html|index-files/.*|all(?:classes|packages)[\w-]*\.html|help-doc\.html|search\.html|"
        r"deprecated-list\.html|(?:.*/)?(?:overview|package)-(?:tree|use|frame)\.html|(?:.*/)?class-use/.*|src-html/.*",
    ),
    # rustdoc
    (
        r"crates\.js",
        r"(?:.*/)?all\.html|help\.html|settings\.html|src/.*|source/.*",
    ),
    # mdBook
    (r"book(?:-\w+)?\.js|searcher(?:-\w+)?\.js", r"print\.html|toc\.html"),
    # MkDocs with a page for printing
    (r"search/search_index\.json", r"print_page(?:\.html|/index\.html)"),
    # YARD
    (r"js/full_list\.js", r"_index\.html|\w+_list\.html"),
    # JSDoc
    (r"scripts/prettify/prettify\.js", r".*\.js\.html"),
    # any site
    (r"index\.html", r"404(?:\.html|/index\.html)|(?:bookindex|ix01)\.html"),
)
"""(files by which the folder of a site is known, its pages that are no documents)."""
_PATTERNS = [
    (re.compile(rf"(|.*/)(?:{marks})"), re.compile(pages))
    for marks, pages in _GENERATORS
]


def site_indexes(paths: Sequence[str]) -> Iterator[str]:
    """The paths of indexes, search pages, listings of code and copies of a whole site."""
    for mark, page in _PATTERNS:
        sites = {match[1] for match in map(mark.fullmatch, paths) if match}
        for path in paths if sites else ():
            if any(
                folder in sites and page.fullmatch(path, len(folder))
                for folder in _folders_above(path)
            ):
                yield path


def _folders_above(path: str) -> Iterator[str]:
    """The folders that contain a file, from the listed one, as "", to its own, each with its `/`."""
    yield ""
    for index, character in enumerate(path, start=1):
        if character == "/":
            yield path[:index]
