"""Light markup -> its blocks, read by pandoc in a separate process.

pandoc keeps the text of unknown directives of reStructuredText, which docutils drops. It runs
without access to files or the network, and with bounded memory and time. A file that it cannot read
is read as plain text.
"""

from __future__ import annotations

import re
import subprocess
from html import unescape
from typing import NamedTuple

from kg2rag.datasets.documents.blocks import (
    FileDocument,
    counted_remark,
    join_remarks,
    plain_document,
)
from kg2rag.datasets.documents.markup.latex_commands import (
    MAX_READINGS,
    with_shown_arguments,
)
from kg2rag.datasets.documents.markup.rewritten_markup import (
    OPTIONS_OF_RST,
    REWRITTEN,
    role_html,
    with_letters,
)
from kg2rag.datasets.documents.markup.rtf_letters import unicode_rtf
from kg2rag.datasets.documents.web.html import page_document
from kg2rag.text.records import DataError

TIMEOUT_SECONDS = 60
MEMORY = "-M1000m"
_PAGE_OPTIONS = (
    "--syntax-highlighting=none",
    "--wrap=none",
    "--metadata=pagetitle= ",
)
_XML = frozenset(("fb2", "opml", "docbook", "jats"))
_NOT_TEXT = _XML | {"rtf"}
"""Formats that are not read as plain text if pandoc fails."""
_READ_TWICE = frozenset(("dokuwiki", "latex", "mediawiki", "rtf"))
"""Formats whose words are counted in the text that pandoc reads."""
_LABEL = re.compile(r"(?m)^[ \t]*\.\. _`?([^:`\n]+)`?:[ \t]*$")
_BRACES = r"(?:\{(?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]*+\})*+\}){0,300}+\})"
"""A group of LaTeX in a line, nested up to three deep."""
_MARKUP = {
    "rst": re.compile(
        r"(?m)^[ \t]*\.\. (?:code|code-block|sourcecode|highlight|include|literalinclude|image|figure)::[^\n]*|"
        r"^[ \t]*\.\. (?:container|class|raw|role|default-role)::[^\n]*|"
        r"^[ \t]*\(?(?:\d{1,4}|[a-zA-Z]|[ivxlc]+|[IVXLC]+)[.)](?=[ \t])|"
        r"^[ \t]*\.\. \|[^|\n]+\| image::[^\n]*|"
        r"^[ \t]*\.\.(?= )[^\n]*?::|^[ \t]*:[\w -]+:|:\w[\w+.-]{0,40}+(?::[\w+.-]{1,40}+){0,3}:(?=`)|"
        r"<[^<>]{1,500}>(?=`)|^[ \t]*(?:\.\. _[^\n]*|\.\. __:[^\n]*|__[ \t][^\n]*)(?:\n[ \t]+https?:[^\n]*)*"
    ),
    "latex": re.compile(
        r"(?<!\\)%[^\n]*|\\(?:href|hypertarget|hyperlink)\{[^{}]{0,500}\}|"
        rf"\\begin\{{(?:tabular|longtable|array|table|figure|tab\w+|wrap\w+)\*?\}}(?:\[[^\]\n]{{0,300}}+\]|{_BRACES})*|"
        rf"\\multi(?:column|row)(?:\[[^\]\n]{{0,99}}+\])?{_BRACES}(?:\[[^\]\n]{{0,99}}+\])?{_BRACES}|"
        r"\\(?:begin|end|label|ref|eqref|pageref|cite\w*|input|include\w*|bibliography\w*|usepackage|"
        r"documentclass|vspace|hspace)(?![a-zA-Z])\*?(?:\[[^\]\n]{0,300}+\])*(?:\{[^{}\n]{0,300}+\})?|\\[a-zA-Z]+\*?"
    ),
    "org": re.compile(
        r"(?m)^[ \t]*#\+\w+:?[^\n]*|^[ \t]*:[\w-]+:[^\n]*|\[\[[^\]\n]{0,300}+\](?=\[)"
    ),
    "asciidoc": re.compile(
        r"(?m)^//[^\n]*|^:[\w!-]+:[^\n]*|^\[[^\]\n]*\]$|^(?:ifn?def|ifeval|endif)::\S*?(?=\[|$)|"
        r"(?:https?|link|xref|image|mailto|kbd|btn|menu|icon)::?[^\s\[\]]{1,300}+(?=\[)|<<[^<>,\n]*,"
    ),
    "mediawiki": re.compile(
        r"\{\|[^\n]*|\|-[^\n]*|\[\[[^\[\]|\n]*\||\[https?:\S{1,300}+|<[^<>]*>|<!--.{,300}?-->|__[A-Z]+__|"
        r"(?:(?:style|class|align|width|colspan|rowspan|scope|id)=(?:\"[^\"\n]*\"|\w+)[ \t]*)+\|?"
    ),
    **dict.fromkeys(
        ("man", "mdoc"),
        re.compile(
            # requests, some with lengths and conditions behind them; fonts, letters by name, motions
            r"(?m)^[.'][ \t]*(?:\\\"[^\n]*|"
            r"(?:TH|Dd|Dt|Os|TP|HP|RS|RE|PD|UR|MT|sp|ne|in|ti|ll|nr|ds|de|ie|el|if)\b[^\n]*|"
            r"IP[ \t]+\\(?:\(bu|\[bu\])[^\n]*|\w+)|"
            r"\\f(?:\[\w*\]|\(..|\w)|\\\*?\[[^\]\n]*\]|\\[(*]..|"
            r"\\[hvsmM](?:'[^'\n]*'|\[[^\]\n]*\]|[-+]?\d+)|\\[a-zA-Z&%|^]|(?<=[ \t])\d+[mn]$"
        ),
    ),
    # Groups of settings, nested up to three deep, and control words.
    "rtf": re.compile(
        r"\{\\(?:\*|fonttbl|colortbl|stylesheet|info|pict|listtable|themedata)"
        r"(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}|\\[a-z]+-?\d* ?|\\\W|[{}]"
    ),
    "textile": re.compile(
        r"(?m)^(?:h[1-6]|p|bq|bc|pre|fn\d+)[^\s.]*\.+(?= )|\":\S{1,300}+|</?[a-zA-Z][^<>\n]*>"
    ),
    "djot": re.compile(
        r"(?m)(?<=\])\([^()\s]{0,500}\)|\{[^{}\n]{0,300}\}|^\[[^\]\n]+\]:[^\n]*"
    ),
    "typst": re.compile(
        r"(?m)^#(?:set|show|import|let)\b[^\n]*|#[\w.]+|//[^\n]*|(?<![\w-])[\w-]{1,40}+:(?=\s)"
    ),
}
"""Format -> the markup in its source, which is not counted as lost words."""
_MARGIN_OF_RTF = re.compile(
    r"\{\\(?:header|footer)[lrf]?\b(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"
)
"""A running head or foot, nested up to three deep."""
_WITH_ENTITIES = frozenset(("mediawiki", "textile"))
"""Formats that write a sign as HTML does."""
_OTHER_MARKUP = re.compile(
    r"(?m)\[\[[^\[\]|\n]*\||\{\{[^{}\n]*\}\}|\{[\w-]+(?::[^{}\n]*)?\}|</?[a-zA-Z][^<>\n]*>|https?:\S{1,300}+|"
    r"^h[1-6]\.(?= )|^=\w+|[A-Z]<|^%![^\n]*"
)
"""Markup of the other formats: targets of links, macros, tags and marks of headings."""
_COMMENT_OF_RST = re.compile(
    r"(?m)^([ \t]*)\.\.(?: (?![^\n]*::|[\[_|])[^\n]*|[ \t]*$)(?:\n(?:\1[ \t]+\S[^\n]*|[ \t]*(?=\n)))*"
)
_INTERPRETED = re.compile(
    r'<code class="interpreted-text"\s+role="([^"]*)">([^<]*)</code>'
)
_UNREAD = re.compile(r"\[WARNING\][^\n]*(?:Skipped|Could not)[^\n]*")


def markup_document(text: str, kind: str, remark: str) -> FileDocument:
    """The document of a text in a format that pandoc reads, or as plain text if pandoc fails.

    DataError: pandoc fails at one of the formats `_NOT_TEXT`.
    """
    rewritten = text
    if kind == "rtf":
        rewritten = unicode_rtf(text)
    for pattern, replacement in REWRITTEN.get(kind, ()):
        rewritten = pattern.sub(replacement, rewritten)
    try:
        rewritten, (page, warnings) = _read_page(rewritten, kind)
    except DataError as error:
        if kind in _NOT_TEXT:
            raise
        return plain_document(
            text, join_remarks(remark, f"read as plain text: {error}")
        )
    page = _INTERPRETED.sub(lambda match: role_html(match[1], match[2]), page)
    document = page_document(page)
    source = text
    if kind in _READ_TWICE:
        source = rewritten
    shown, left_out = _shown_text(source, kind)
    n_unread = len(_UNREAD.findall(warnings)) + _n_removed(text, kind)
    labels = []
    if kind == "rst":
        labels = _LABEL.findall(text)
    return FileDocument(
        document.blocks,
        source=shown,
        left_out=f"{document.left_out}\n{left_out}",
        remark=join_remarks(
            remark, counted_remark("parts left out by pandoc", n_unread)
        ),
        names=tuple(labels),
    )


def _read_page(text: str, kind: str) -> tuple[str, Converted]:
    """The text that pandoc reads and the page of it; LaTeX is read again if commands were skipped."""
    if kind != "latex":
        return text, converted(text, kind, "html", *_PAGE_OPTIONS)
    for _ in range(MAX_READINGS):
        page, messages = converted(text, kind, "html", *_PAGE_OPTIONS, "--verbose")
        shown = with_shown_arguments(text, messages)
        if shown == text:
            break
        text = shown
    return text, Converted(page, messages)


def _n_removed(text: str, kind: str) -> int:
    """The number of parts that are removed from a text before pandoc reads it."""
    return sum(
        len(pattern.findall(text))
        for pattern, replacement in REWRITTEN.get(kind, ())
        if not replacement
    )


def _shown_text(text: str, kind: str) -> tuple[str, str]:
    """The text of a source without its markup, and the text that pandoc leaves out by design.

    Both serve the count of lost words. The latter are the preamble of LaTeX, running heads of RTF, and
    the options and comments of reStructuredText. Both are "" for formats of XML, whose text others count.
    """
    if kind in _XML:
        return "", ""
    left_out = ""
    if kind == "latex":
        text = with_letters(text)
        if r"\begin{document}" in text:
            left_out, _, text = text.partition(r"\begin{document}")
    elif kind == "rst":
        options = [match[1] for match in OPTIONS_OF_RST.finditer(text)]
        comments = [match[0] for match in _COMMENT_OF_RST.finditer(text)]
        left_out = "\n".join([*options, *comments])
    elif kind == "rtf":
        margins = " ".join(_MARGIN_OF_RTF.findall(text))
        left_out = _MARKUP[kind].sub(" ", margins)
    shown = _MARKUP.get(kind, _OTHER_MARKUP).sub(" ", text)
    if kind in _WITH_ENTITIES:
        shown = unescape(shown)
    return shown, left_out


class Converted(NamedTuple):
    """A text converted to another format, and pandoc's warnings."""

    text: str
    warnings: str


def converted(text: str, source: str, target: str, *options: str) -> Converted:
    """The result of pandoc, which runs without access to files or the network.

    DataError: pandoc cannot read the text, or needs more than `TIMEOUT_SECONDS`.
    """
    from pypandoc import get_pandoc_path

    formats = ["-f", source, "-t", target, "--sandbox", "--standalone"]
    try:
        process = subprocess.run(  # noqa: S603
            [get_pandoc_path(), *formats, *options, "+RTS", MEMORY, "-RTS"],
            input=text.encode("utf-8", "replace"),
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DataError(
            f"pandoc needs more than {TIMEOUT_SECONDS} seconds for it."
        ) from None
    messages = process.stderr.decode("utf-8", "replace")
    if process.returncode:
        reason = messages.strip() or f"it ended with {process.returncode}"
        raise DataError(f"pandoc cannot read it ({reason.splitlines()[0][:200]}).")
    return Converted(process.stdout.decode("utf-8", "replace"), messages)
