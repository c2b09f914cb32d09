"""Paths of a folder or archive -> the files that programs made of or beside its documents.

A rule has two patterns. Group 1 of the first, in a path, is a place: a folder, or a name without its
ending. The second matches what stands behind a place in the paths of the files that are no documents.
Sites of documentation are known by files that only their generators write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kg2rag.datasets.documents.wiki_folders import FRAME

_SITE = "an index, a search page or a listing of code of a site"
_OF_LATEX = "written by LaTeX beside its source"
_RULES = (
    # Sphinx; pages may be folders with an index.html.
    (
        r"(|.*/)(?:searchindex\.js|objects\.inv|genindex\.html|genindex/index\.html)",
        r"(?:genindex(?:-[^/]*)?|[a-z]+-modindex|modindex|search|http-routingtable)(?:\.html|/index\.html)|"
        r"_modules/.*",
        _SITE,
    ),
    # Doxygen; the long names are of folders and of listings of code.
    (
        r"(|.*/)(?:doxygen(?:\.css|\.svg|\.png)|doxygen_crawl\.html)",
        r"(?:annotated|classes|files|hierarchy|inherits|namespaces|graph_legend|doxygen_crawl|"
        r"pages|topics|modules|examples|concepts)\.html|"
        r"(?:functions|globals|namespacemembers)(?:_\w+)?\.html|dir_[0-9a-f]{32}(?:_dep)?\.html|"
        r".*_source\.html|.*-members\.html|search/.*\.html|.*\.dot",
        _SITE,
    ),
    # Javadoc
    (
        r"(|.*/)(?:element-list|package-list)",
        r"index-all\.html|index-files/.*|all(?:classes|packages)[\w-]*\.html|help-doc\.html|search\.html|"
        r"deprecated-list\.html|(?:.*/)?(?:overview|package)-(?:tree|use|frame)\.html|(?:.*/)?class-use/.*|src-html/.*",
        _SITE,
    ),
    # rustdoc
    (
        r"(|.*/)crates\.js",
        r"(?:.*/)?all\.html|help\.html|settings\.html|src/.*|source/.*",
        _SITE,
    ),
    # mdBook
    (
        r"(|.*/)(?:book|searcher)(?:-\w+)?\.js",
        r"print\.html|toc\.html",
        _SITE,
    ),
    # MkDocs with a page for printing
    (
        r"(|.*/)search/search_index\.json",
        r"print_page(?:\.html|/index\.html)",
        _SITE,
    ),
    # YARD
    (r"(|.*/)js/full_list\.js", r"_index\.html|\w+_list\.html", _SITE),
    # JSDoc
    (r"(|.*/)scripts/prettify/prettify\.js", r".*\.js\.html", _SITE),
    # any site
    (
        r"(|.*/)index\.html",
        r"404(?:\.html|/index\.html)|(?:bookindex|ix01)\.html",
        _SITE,
    ),
    (
        r"(|.*/)(?:[^/]*\.(?:woff2?|ttf|otf)|prettify\.js)",
        r"(?i)(?:[^/]*[\W_])?(?:licen[cs]e|copyright|ofl)(?:[\W_][^/]*)?\.(?:txt|md)",
        "the licence of a font or program of a site",
    ),
    # GitHub and Gollum
    (rf"(|.*/){FRAME}", FRAME, "the navigation of a wiki"),
    (
        r"(.*)\.tex",
        r"\.(?:aux|log|toc|out|lof|lot|blg|fls|fdb_latexmk|nav|snm|vrb|idx|ind|ilg|bcf|run\.xml|synctex\.gz)",
        _OF_LATEX,
    ),
    (r"().*\.bib", r".*\.bbl", _OF_LATEX),
    # Programs of LaTeX and BibTeX, which set the form of a text, and the list of files of arXiv.
    (
        r"().*\.tex",
        r".*(?:\.(?:sty|cls|clo|bst|bbx|cbx|lbx|fd|ist)|00README\.(?:json|XXX))",
        "a style or setting of LaTeX",
    ),
    # SMART, such as CISI.ALL with CISI.QRY and CISI.REL
    (
        r"(?i)(|.*/)[^/]*\.all(?:\.\d+)?",
        r"(?i)[^/]*(?:\.qry|\.rel|\.bln|qrels?(?:\.text)?|query\.text)",
        "queries or judgments of a test collection",
    ),
    (r"(|.*/)logseq/config\.edn", r"logseq/.*", "settings and copies of Logseq"),
    # Feeds repeat the texts of the pages of a site.
    (
        r"().*\.html?",
        r"(?:.*/)?(?:index|(?:[^/]*[._-])?(?:feed|rss|atom))\.(?:xml|rss|atom|json)",
        "a feed of HTML pages",
    ),
    (
        r"().*\.html?",
        r".*\.(?:js|css|map)|.*(?:objects\.inv|element-list|package-list|sitemap\.xml(?:\.gz)?)|"
        r"(?:.*/)?(?:[^/]*[._-])?search(?:[._-]?(?:plus|index|data|docs|lookup))*\.(?:json|xml)",
        "programs, styles and indexes of HTML pages",
    ),
    (r"(.*)\.html?", r"_files/.*", "a part of a page that a browser saved"),
)
"""(files with a place in their path, files behind a place, why these are not read); of several, the last counts."""
_PATTERNS = [
    (re.compile(mark), re.compile(files), reason) for mark, files, reason in _RULES
]
_PLACE_END = re.compile(r"(?<=/)|(?=\.)|(?=_files/)")
# Sphinx keeps the sources of its pages beside them.
_SPHINX_SOURCE = re.compile(r"(|.*/)_sources/(.+?)(?:\.\w+)?\.txt")
_PAGE = re.compile(r"(.*)\.html?")


def derived_files(paths: Sequence[str]) -> dict[str, str]:
    """Path -> why it is not read, for the files of a folder or archive that programs made."""
    places_of = {path: list(_places(path)) for path in paths}
    reasons = dict[str, str]()
    for mark, files, reason in _PATTERNS:
        places = {match[1] for match in map(mark.fullmatch, paths) if match}
        for path in paths if places else ():
            if any(
                place in places and files.fullmatch(path, len(place))
                for place in places_of[path]
            ):
                reasons[path] = reason
    sources = _sources_of_pages(paths)
    return {
        **reasons,
        **dict.fromkeys(sources, "the sources of HTML pages that are read"),
    }


def _places(path: str) -> Iterator[str]:
    """The beginnings of a path that may be places: folders, each with its `/`, and names without endings."""
    yield ""
    for end in _PLACE_END.finditer(path):
        yield path[: end.start()]


def _sources_of_pages(paths: Sequence[str]) -> Iterator[str]:
    """The sources of pages, which Sphinx copies to a folder beside them."""
    pages = {match[1] for match in map(_PAGE.fullmatch, paths) if match}
    for path in paths:
        source = _SPHINX_SOURCE.fullmatch(path)
        if source and f"{source[1]}{source[2]}" in pages:
            yield path
