r"""Files that other files include -> the whole texts of these, and the reason why a part is not read.

Inclusions are `\input` and `\include` of LaTeX, snippets of MkDocs, directives of MyST,
reStructuredText, AsciiDoc, Org and Typst, and the shortcodes of mdBook and Quarto. An inclusion of
some lines or sections of a file stays as it is, since the file is read by itself.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import indent

from kg2rag.datasets.documents.markup.front_matter import split_front_matter
from kg2rag.text.decoding import decode_text
from kg2rag.text.records import DataError

MAX_FILES = 500
"""Most files that one file includes, directly or not."""
MAX_INCLUDING_BYTES = 5_000_000
"""Largest file in which inclusions are looked for."""
_LATEX = re.compile(
    r"\\(?:input|include|subfile)(?:[ \t]*\{(?P<path>[^{}\n]+)\}|[ \t]+(?P<bare>[^\s\\{}]+))|"
    r"\\(?:sub)?import\*?\{(?P<folder>[^{}\n]*)\}\{(?P<name>[^{}\n]+)\}"
)
_MARKDOWN = re.compile(
    r"""(?m)^(?P<indent>[ \t]*)(?:-{1,2}8<-{1,2}[ \t]+(?P<quote>["'])(?P<path>[^"':\n]+)(?P=quote)|"""
    r"""<<<[ \t]+@?/?(?P<snippet>[^\s{}#]+)(?:\{[^{}\n]*\})?|"""
    r"""\{%-?[ \t]*include-markdown[ \t]+["'](?P<page>[^"'\n]+)["'][ \t]*-?%\}|"""
    r"""<!--[ \t]*@include:[ \t]*@?/?(?P<fragment>[^\s{}<>#]+)[ \t]*-->|"""
    r"""\{\{[ \t]*#include[ \t]+(?P<part>[^\s:{}]+)[ \t]*\}\}|\{\{<[ \t]*include[ \t]+(?P<file>[^\s<>]+)[ \t]*>\}\}|"""
    r"""(?P<fence>`{3,}|:{3,})\{include\}[ \t]+(?P<source>\S+)[ \t]*\n[ \t]*(?P=fence))[ \t]*$"""
)
_RST = re.compile(
    r"(?m)^(?P<indent>[ \t]*)\.\. include::[ \t]+(?P<path>\S+)[ \t]*$(?!\n[ \t]+:)"
)
_ASCIIDOC = re.compile(
    r"(?m)^include::(?P<path>[^\[\]\n]+)\[(?:leveloffset=(?P<offset>[^,\]\n]*))?\][ \t]*$"
)
_ASCIIDOC_HEADING = re.compile(r"(?m)^=+(?=[ \t]+\S)")
_ORG = re.compile(r"""(?im)^#\+include:[ \t]+"(?P<path>[^"\n:]+)"[ \t]*$""")
_TYPST = re.compile(r"""(?m)^[ \t]*#include[ \t]+"(?P<path>[^"\n]+)"[ \t]*$""")
_INCLUSIONS: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys((".tex", ".latex"), _LATEX),
    **dict.fromkeys((".md", ".markdown", ".mdx", ".qmd", ".rmd"), _MARKDOWN),
    **dict.fromkeys((".rst", ".rest"), _RST),
    **dict.fromkeys((".adoc", ".asciidoc"), _ASCIIDOC),
    ".org": _ORG,
    ".typ": _TYPST,
}
"""Ending -> the inclusions in files of that kind."""
_TARGETS = (
    "path",
    "bare",
    "name",
    "page",
    "part",
    "file",
    "source",
    "snippet",
    "fragment",
)
_MARKS = (b"\\in", b"import", b"\\sub", b"8<", b"<<<", b"include", b"INCLUDE")
_LATEX_BODY = re.compile(r"\\begin\{document\}(.*?)\\end\{document\}", re.DOTALL)
_LATEX_COMMENT = re.compile(r"(?<!\\)(?:\\\\)*%")


class Inclusions:
    """The inclusions among the files of a folder or archive.

    A file that is included is part of each file that includes it, in each once.

    Parameters
    ----------
    names : the names of the files, with `/` between folders.
    read : returns the bytes of a file.

    Attributes
    ----------
    reasons : name of a file that is included -> why it is no document.
    """

    def __init__(self, names: Sequence[str], read: Callable[[str], bytes]) -> None:
        self._names = frozenset(names)
        self._read = read
        self._included = dict[str, list[str]]()
        for name in filter(_may_include, names):
            targets = [target for _, target in self._matches(name, self._text(name))]
            if targets:
                self._included[name] = targets
        parts = {part for targets in self._included.values() for part in targets}
        self._roots = self._included.keys() - parts
        self.reasons = {
            part: "included in another file"
            for root in self._roots
            for part in self._parts(root)
        }

    def whole(self, name: str, data: bytes) -> bytes:
        """The bytes of a file, with those of the files that it includes."""
        if name not in self._roots:
            return data
        return self._expand(name, decode_text(data).text, [name]).encode(
            "utf-8", "surrogatepass"
        )

    def _parts(self, root: str) -> list[str]:
        """The files that a file includes, directly or not."""
        parts = [root]
        for name in parts:
            if len(parts) < MAX_FILES:
                targets = dict.fromkeys(self._included.get(name, ()))
                parts += [target for target in targets if target not in parts]
        return parts[1:]

    def _text(self, name: str) -> str:
        """The text of a file; "" if it has no inclusion or cannot be read, which its reader reports."""
        try:
            data = self._read(name)
            has_mark = any(mark in data for mark in _MARKS)
            if len(data) > MAX_INCLUDING_BYTES or not has_mark:
                return ""
            return decode_text(data).text
        except (OSError, DataError):
            return ""

    def _matches(self, name: str, text: str) -> Iterator[tuple[re.Match[str], str]]:
        """The inclusions in a text, each with the name of the included file; others are passed over."""
        ending = posixpath.splitext(name)[1].lower()
        pattern = _INCLUSIONS.get(ending)
        for match in pattern.finditer(text) if pattern else ():
            if pattern is not _LATEX or not _is_in_comment(match):
                target = self._resolve(_path_in(match), ending, name)
                if target not in ("", name):
                    yield match, target

    def _resolve(self, path: str, ending: str, file: str) -> str:
        """The name of a file included by another, from its folder or one above it; "" for none."""
        folder = file
        while folder:
            folder = posixpath.dirname(folder)
            target = posixpath.normpath(posixpath.join(folder, path.lstrip("/")))
            if target in self._names:
                return target
            if target + ending in self._names:
                return target + ending
        return ""

    def _expand(self, name: str, text: str, files: list[str]) -> str:
        """A text with the files that it includes, without those that are in `files` already."""
        pieces = list[str]()
        end = 0
        for match, target in self._matches(name, text):
            pieces.append(text[end : match.start()])
            end = match.end()
            if target not in files and len(files) < MAX_FILES:
                files.append(target)
                part = self._expand(
                    target, _body(decode_text(self._read(target)).text), files
                )
                groups = match.groupdict()
                if "offset" in groups:
                    part = _below_title(part, groups["offset"] or "")
                if groups.get("snippet"):  # VitePress shows it as code
                    part = f"```\n{part}\n```\n"
                pieces.append(indent(part, groups.get("indent") or ""))
        return "".join([*pieces, text[end:]])


def _may_include(name: str) -> bool:
    """Whether files of that name may include others."""
    return posixpath.splitext(name)[1].lower() in _INCLUSIONS


def _path_in(match: re.Match[str]) -> str:
    """The path of the included file, as the inclusion writes it."""
    groups = match.groupdict()
    path = next(groups[group] for group in _TARGETS if groups.get(group))
    return posixpath.join(groups.get("folder") or "", path.strip())


def _is_in_comment(match: re.Match[str]) -> bool:
    """Whether a command of LaTeX stands behind a sign of percent on its line."""
    start = match.string.rfind("\n", 0, match.start()) + 1
    return bool(_LATEX_COMMENT.search(match.string, start, match.start()))


def _body(text: str) -> str:
    """The part of an included text that is shown: a document of LaTeX, or a page behind its front matter."""
    document = _LATEX_BODY.search(text)
    return document[1] if document else split_front_matter(text).body


def _below_title(text: str, offset: str) -> str:
    """An included text of AsciiDoc with its headings moved by an offset, none above level 1."""
    level = re.search(r"[+-]?\d+", offset)
    n_signs = int(level[0]) if level else 0
    return _ASCIIDOC_HEADING.sub(
        lambda heading: "=" * max(2, len(heading[0]) + n_signs), text
    )
