"""Hyperlinks of documents -> the target passages, in the metadata `links` of the linking passages."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from kg2rag.datasets.documents.blocks import WIKI
from kg2rag.datasets.documents.passages.splitting import PassageRow

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_INDEX_PAGES = ("index", "readme", "_index")


def resolve_links(
    rows: Sequence[PassageRow], aliases: Mapping[str, Sequence[str]]
) -> None:
    """Set the metadata `links` of each passage: [text, passage id] for its links to other documents.

    The target of a link is the first passage under the heading that it names, or the first passage
    of the document.

    aliases : document -> its other names.
    """
    pages = Pages(rows, aliases)
    for row in rows:
        resolved = list[list[str]]()
        for text, target in row.pop("links", ()):
            document, fragment = pages.find(target, row["metadata"].get("file", ""))
            if document and document != row["doc_id"]:
                link = [text, pages.passage(document, fragment)]
                if link not in resolved:
                    resolved.append(link)
        if resolved:
            row["metadata"]["links"] = resolved


def slug(heading: str) -> str:
    """A heading in the form of a URL's fragment: words in lower case, joined by `-`.

    >>> slug("Getting started: a Guide")
    'getting-started-a-guide'
    """
    return "-".join(
        re.findall(r"\w+", unicodedata.normalize("NFC", heading).casefold())
    )


class Pages:
    """An index of documents by their paths, names and titles, and of passages by their headings."""

    def __init__(
        self, rows: Sequence[PassageRow], aliases: Mapping[str, Sequence[str]]
    ) -> None:
        self._by_path = dict[str, str]()
        self._by_name = dict[str, str]()
        self._first = dict[str, str]()
        self._by_heading = dict[tuple[str, str], str]()
        for row in rows:
            document = row["doc_id"]
            id_ = row["id"]
            if document not in self._first:
                self._first[document] = id_
                self._add_document(document, row["title"], aliases.get(document, ()))
            for heading in row.get("headings", ()):
                self._by_heading.setdefault((document, slug(heading)), id_)

    def _add_document(self, document: str, title: str, aliases: Sequence[str]) -> None:
        """Add a document under its path, its names and its aliases; earlier documents keep their names."""
        path = _path_key(document)
        stem = posixpath.splitext(path)[0]
        for key in (path, stem):
            self._by_path.setdefault(key, document)
        if posixpath.basename(stem) in _INDEX_PAGES:
            self._by_path.setdefault(posixpath.dirname(path) or ".", document)
        for name in (
            stem,
            posixpath.basename(stem),
            posixpath.basename(path),
            title,
            *aliases,
        ):
            self._by_name.setdefault(_name_key(name), document)

    def find(self, target: str, file: str) -> tuple[str, str]:
        """The document to which a link in a file leads, and the fragment of the link.

        Both are "" for the address of a web page. The document is "" if there is none of the name.
        """
        if target.startswith(WIKI):
            name, _, fragment = target[len(WIKI) :].partition("#")
            return self._by_name.get(_name_key(name), ""), fragment
        if _SCHEME.match(target) or target.startswith("//"):
            return "", ""
        address, _, fragment = target.partition("#")
        path = unquote(address.partition("?")[0])
        if not path:
            return "", ""
        key = _path_key(posixpath.join(posixpath.dirname(file), path).lstrip("/"))
        stem, ending = posixpath.splitext(key)
        # Site generators publish .md files as .html pages, and links name either.
        page_key = stem if ending in (".html", ".htm", ".md") else key
        document = self._by_path.get(key) or self._by_path.get(page_key, "")
        return document, unquote(fragment)

    def passage(self, document: str, fragment: str) -> str:
        """The id of the first passage under a heading; without such, of the document's first."""
        return self._by_heading.get((document, slug(fragment)), self._first[document])


def _path_key(path: str) -> str:
    """A normalised path in lower case, with signs in place of escapes such as %2D."""
    return posixpath.normpath(unicodedata.normalize("NFC", unquote(path))).casefold()


def _name_key(name: str) -> str:
    """A name in lower case with single blanks between words, in place of `_` and `-` too."""
    name = unicodedata.normalize("NFC", name).casefold()
    return " ".join(name.replace("_", " ").replace("-", " ").split())
