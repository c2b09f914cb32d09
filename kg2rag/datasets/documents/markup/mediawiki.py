"""An export of MediaWiki -> a document for each page, by pandoc.

The export says what its namespaces are called in the language of the wiki. Documents are articles,
and pages of namespaces that the wiki has added; talk, user pages, files, templates, categories and
modules are left out and counted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

from kg2rag.compute.hardware import threads
from kg2rag.datasets.documents.archives import attribute, named
from kg2rag.datasets.documents.blocks import Block, FileDocument, named_remark
from kg2rag.datasets.documents.markup.pandoc import markup_document

FIRST_ADDED = 100
"""Lowest number of a namespace that a wiki has added. Odd numbers are those of talk pages."""
_CODE_NAMESPACES = frozenset(("710", "828", "2300", "2302"))
"""Numbers of subtitles, modules and gadgets."""
_FILES = "6"
_CATEGORIES = "14"
# All options of a picture that others follow, and a last one of a single word.
_OPTIONS = r"(?:\|[^|\[\]\n]*(?=\|))*(?:\|[^\s|\[\]]*(?=\]\]))?"
_LANGUAGE_LINK = r"^(?:\[\[[a-z]{2,3}(?:-[a-z]+){0,2}:[^\[\]|\n]+\]\][ \t]*)+$"


def wiki_documents(root: Any) -> Iterator[FileDocument]:
    """A document for each page that is one; a redirect is a name of its target.

    root : the root element of the export.
    """
    names = defaultdict[str, list[str]](list)
    pages = list[Any]()
    unread_pages = list[Any]()
    for page in named(root, "page"):
        redirects = list(page.iterchildren("{*}redirect"))
        for redirect in redirects:
            names[attribute(redirect, "title")].append(_child_text(page, "title"))
        if not _is_document(_child_text(page, "ns")):
            unread_pages.append(page)
        elif not redirects:
            pages.append(page)
    namespaces = _namespaces(root)
    unread = FileDocument(
        [],
        source="\n".join(map(_last_text, unread_pages)),
        left_out="\n".join(map(_last_text, unread_pages)),
        remark=_remark_on(unread_pages, namespaces),
    )
    if unread_pages:
        yield unread
    with ThreadPoolExecutor(threads()) as pool:  # a process of pandoc each
        documents = pool.map(partial(_document, namespaces=namespaces), pages)
        for number, (page, document) in enumerate(zip(pages, documents, strict=True)):
            title = _child_text(page, "title")
            yield replace(
                document,
                blocks=[Block(title, 1), *document.blocks],
                title=title,
                key=str(number),
                names=tuple(dict.fromkeys([title, *names[title]])),
            )


def _is_document(namespace: str) -> bool:
    """Whether the pages of a namespace, given by its number, are documents; "" is that of articles."""
    if namespace in ("", "0"):
        return True
    is_added = namespace.isdecimal() and int(namespace) >= FIRST_ADDED
    return is_added and int(namespace) % 2 == 0 and namespace not in _CODE_NAMESPACES


def _namespaces(root: Any) -> dict[str, str]:
    """Number -> name of each namespace that an export lists."""
    return {
        attribute(namespace, "key"): namespace.text or ""
        for namespace in named(root, "namespace")
    }


def _remark_on(pages: Iterable[Any], namespaces: Mapping[str, str]) -> str:
    """The remark on pages that are no documents; "" for none."""
    counts = Counter(_child_text(page, "ns") for page in pages)
    parts = [
        f"{count} of {namespaces.get(number) or f'namespace {number}'}"
        for number, count in sorted(counts.items())
    ]
    return named_remark("pages that are no articles, left out", parts)


def _document(page: Any, *, namespaces: Mapping[str, str]) -> FileDocument:
    """The last version of a page, without its categories and links to other languages.

    Of a picture, the caption stays: the last of its options, if that has several words.
    """
    categories = _name_pattern("Category", namespaces.get(_CATEGORIES, ""))
    files = _name_pattern("File", "Image", namespaces.get(_FILES, ""))
    unshown = re.compile(
        rf"\[\[[ \t]*{categories}[ \t]*:[^\[\]\n]*\]\]|{_LANGUAGE_LINK}|"
        rf"(?P<start>\[\[)[ \t]*{files}[ \t]*:(?P<name>[^|\[\]\n]*){_OPTIONS}",
        re.MULTILINE,
    )
    text = _last_text(page)
    left_out = [match[0] for match in unshown.finditer(text)]
    text = unshown.sub(_picture, text)
    document = markup_document(text, "mediawiki", "")
    removed = "\n".join(left_out)
    return replace(
        document,
        source=f"{document.source}\n{removed}",
        left_out=f"{document.left_out}\n{removed}",
    )


def _picture(match: re.Match[str]) -> str:
    """The start of a picture's link as pandoc reads it; "" for any other match."""
    return f"[[File:{match['name']}" if match["start"] else ""


def _name_pattern(*names: str) -> str:
    """A pattern of the names of a namespace, in which blanks may be underscores."""
    patterns = [re.escape(name).replace(r"\ ", "[ _]") for name in names if name]
    return f"(?i:{'|'.join(patterns)})"


def _last_text(page: Any) -> str:
    """The text of the last version of a page."""
    versions = list(named(page, "revision"))[-1:]
    return "".join(_child_text(version, "text") for version in versions)


def _child_text(element: Any, name: str) -> str:
    """The joined text of the children of that name."""
    return "".join(child.text or "" for child in element.iterchildren(f"{{*}}{name}"))
