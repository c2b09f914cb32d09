"""Plain text, reStructuredText and other light markup -> their blocks; the latter by pandoc, in a separate process.

pandoc reads what Sphinx's authors write: unknown directives keep their text, which docutils drops. It runs without
access to files or the network, with bounded memory and time. A file that it cannot read is read as plain text.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache

from kg2rag.datasets.documents.blocks import FileDocument, paragraphs
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.datasets.documents.html import page_document
from kg2rag.text.records import DataError

TIMEOUT_SECONDS = 60
MEMORY = "-M1000m"
MAX_MARKUP_BYTES = 5_000_000
"""Of a file that pandoc reads; a book has one million."""
FORMATS = {
    ".rst": "rst",
    ".rest": "rst",
    ".org": "org",
    ".tex": "latex",
    ".latex": "latex",
    ".adoc": "asciidoc",
    ".asciidoc": "asciidoc",
    ".textile": "textile",
    ".mediawiki": "mediawiki",
    ".wiki": "mediawiki",
    ".typ": "typst",
    ".rtf": "rtf",
    ".fb2": "fb2",
    ".opml": "opml",
}
"""Ending -> pandoc's name of the format."""
_DIRECTIVE = re.compile(r"(?m)^[ \t]*\.\. [\w:-]+::")
_ROLE = re.compile(r":[a-z]+(?::[a-z]+)?:`[^`\n]+`")
_UNDERLINE = re.compile(r"(?m)^(\S[^\n]{2,100})\n([=\-~^\"'*+#]){3,}[ \t]*$")
_MARKUP_OF_RST = re.compile(
    r"(?m)^[ \t]*\.\.(?= )[^\n]*?::|^[ \t]*:[\w -]+:|:[\w:+.-]+:(?=`)|<[^<>\n]*>(?=`)|^[ \t]*\.\. _[^\n]*"
)
_MARKUP_OF_LATEX = re.compile(
    r"(?<!\\)%[^\n]*|\\(?:begin|end|label|ref|eqref|pageref|cite\w*|input|include\w*|bibliography\w*|usepackage|"
    r"documentclass|vspace|hspace)\*?(?:\[[^\]\n]*\])*(?:\{[^{}\n]*\})?|\\[a-zA-Z]+\*?"
)
_MARKUP_OF_ORG = re.compile(r"(?m)^[ \t]*#\+\w+:?[^\n]*|^[ \t]*:[\w-]+:[^\n]*|\[\[[^\]\n]*\](?=\[)")
_INTERPRETED = re.compile(r'<code class="interpreted-text"\s+role="([^"]*)">([^<]*)</code>')
_WITH_TARGET = re.compile(r"(.+?)\s*&lt;(.+)&gt;", re.DOTALL)
_UNREAD = re.compile(r"\[WARNING\][^\n]*(?:Skipped|Could not)[^\n]*")


def read_plain(data: bytes, name: str = "") -> list[FileDocument]:
    """The document of a text file; reStructuredText is known by its directives and roles."""
    decoded = decode_text(data)
    remark = f"encoding guessed: {decoded.guessed}" if decoded.guessed else ""
    if len(data) <= MAX_MARKUP_BYTES and looks_like_rst(decoded.text):
        return [_markup_document(decoded.text, "rst", remark)]
    del name
    return [FileDocument(list(paragraphs(decoded.text)), source=decoded.text, remark=remark)]


def looks_like_rst(text: str) -> bool:
    """Whether a text is reStructuredText: a directive or two roles, and an underlined heading or a second sign."""
    sample = text[:100_000]
    directives = len(_DIRECTIVE.findall(sample))
    roles = len(_ROLE.findall(sample))
    return directives + roles > 1 or (directives + roles == 1 and bool(_UNDERLINE.search(sample)))


def read_markup(data: bytes, name: str) -> list[FileDocument]:
    """The document of a file in light markup, by its ending."""
    ending = name[name.rfind(".") :].lower()
    if len(data) > MAX_MARKUP_BYTES:
        raise DataError(f"it has {len(data):,} bytes; of this kind at most {MAX_MARKUP_BYTES:,} are read. Divide it.")
    decoded = decode_text(data)
    remark = f"encoding guessed: {decoded.guessed}" if decoded.guessed else ""
    return [_markup_document(decoded.text, FORMATS[ending], remark)]


def _markup_document(text: str, kind: str, remark: str) -> FileDocument:
    try:
        page, warnings = _pandoc(text, kind)
    except DataError as error:
        if kind in ("rtf", "fb2", "opml"):
            raise
        remark = "; ".join(filter(None, [remark, f"read as plain text: {error}"]))
        return FileDocument(list(paragraphs(text)), source=text, remark=remark)
    document = page_document(_INTERPRETED.sub(_interpreted_text, page))
    shown, left_out = _shown_markup(text, kind)
    unread = _UNREAD.findall(warnings)
    remark = "; ".join(filter(None, [remark, f"pandoc left out {len(unread)} parts" if unread else ""]))
    left = f"{document.left_out}\n{left_out}"
    return FileDocument(document.blocks, source=shown, left_out=left, remark=remark)


def _interpreted_text(match: re.Match[str]) -> str:
    """A role of Sphinx by the words that its pages show: "words <target>" by its words, `~a.Name` by its whole name."""
    role, text = match[1], match[2]
    titled = _WITH_TARGET.fullmatch(text.strip())
    words, target = (titled[1], titled[2]) if titled else (text, text)
    if role == "doc":
        return f'<a href="{target}.rst">{words}</a>'
    words = words.removeprefix("~")
    return words if role in ("ref", "term", "abbr", "menuselection", "guilabel") else f"<code>{words}</code>"


def _shown_markup(text: str, kind: str) -> tuple[str, str]:
    """The text of a source without its markup, for the count of losses, and what stands before the document's text."""
    if kind == "latex":
        before, begin, after = text.partition(r"\begin{document}")
        body = after if begin else before
        return _MARKUP_OF_LATEX.sub(" ", body), before if begin else ""
    if kind == "org":
        return _MARKUP_OF_ORG.sub(" ", text), ""
    return (_MARKUP_OF_RST.sub(" ", text), "") if kind == "rst" else ("", "")


@cache
def _pandoc_path() -> str:
    import pypandoc

    return str(pypandoc.get_pandoc_path())


def _pandoc(text: str, kind: str) -> tuple[str, str]:
    """A text as a page of HTML, and pandoc's warnings."""
    options = ["--sandbox", "--standalone", "--syntax-highlighting=none", "--wrap=none", "--metadata=pagetitle= "]
    limits = ["+RTS", MEMORY, "-RTS"]
    command = [_pandoc_path(), "-f", kind, "-t", "html", *options, *limits]
    try:
        done = subprocess.run(  # noqa: S603
            command, input=text.encode("utf-8", "replace"), capture_output=True, timeout=TIMEOUT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise DataError(f"pandoc needs more than {TIMEOUT_SECONDS} seconds for it.") from None
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode:
        last = said.strip().split("\n")[0][:200] if said.strip() else f"it ended with {done.returncode}"
        raise DataError(f"pandoc cannot read it ({last}).")
    return done.stdout.decode("utf-8", "replace"), said
