"""Plain text, reStructuredText and other light markup -> their blocks; the latter by pandoc, in a separate process.

pandoc reads what Sphinx's authors write: unknown directives keep their text, which docutils drops.
It runs without access to files or the network, with bounded memory and time. A file that it cannot
read is read as plain text.
"""

from __future__ import annotations

import re
import subprocess

from kg2rag.datasets.documents.blocks import FileDocument, plain_document
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
_REWRITTEN = {
    "rst": (
        # pandoc takes it for a comment
        (re.compile(r"(?m)^([ \t]*\.\. [a-z]+):([\w:+-]+)(?=::)"), r"\1-\2"),
        (re.compile(r"(?m)^([ \t]*\.\. )class(?=::)"), r"\1py-class"),  # of Sphinx, not of docutils
        # pandoc inserts today's
        (re.compile(r"(?m)^([ \t]*\.\. (?:\|[^|\n]+\| )?)date::.*"), r"\1replace:: date"),
    ),
    # which pandoc insists on reading
    "asciidoc": ((re.compile(r"(?m)^include::[^\n\[]*+\[[^\n\]]*+\][ \t]*$"), ""),),
}
"""Format -> patterns of what pandoc would not read, and what stands in their place."""
_MARKUP = {
    "rst": re.compile(
        r"(?m)^[ \t]*\.\. (?:code|code-block|sourcecode|highlight|include|literalinclude|image|figure)::[^\n]*|"
        r"^[ \t]*\.\.(?= )[^\n]*?::|^[ \t]*:[\w -]+:|:\w[\w+.-]{0,40}+(?::[\w+.-]{1,40}+){0,3}:(?=`)|<[^<>\n]*>(?=`)|"
        r"^[ \t]*\.\. _[^\n]*"
    ),
    "latex": re.compile(
        r"(?<!\\)%[^\n]*|\\(?:begin|end|label|ref|eqref|pageref|cite\w*|input|include\w*|bibliography\w*|usepackage|"
        r"documentclass|vspace|hspace)\*?(?:\[[^\]\n]{0,300}+\])*(?:\{[^{}\n]{0,300}+\})?|\\[a-zA-Z]+\*?"
    ),
    "org": re.compile(
        r"(?m)^[ \t]*#\+\w+:?[^\n]*|^[ \t]*:[\w-]+:[^\n]*|\[\[[^\]\n]{0,300}+\](?=\[)"
    ),
    "asciidoc": re.compile(
        r"(?m)^//[^\n]*|^:[\w!-]+:[^\n]*|^\[[^\]\n]*\]$|^(?:ifn?def|ifeval|endif)::\S*?(?=\[|$)|"
        r"(?:https?|link|xref|image|mailto|kbd|btn|menu|icon)::?[^\s\[\]]{1,300}+(?=\[)|<<[^<>,\n]*,"
    ),
    "mediawiki": re.compile(
        r"\{\|[^\n]*|\|-[^\n]*|\[\[[^\[\]|\n]*\||\[https?:\S{1,300}+|<[^<>]*>|<!--.{,300}?-->|__[A-Z]+__"
    ),
    "textile": re.compile(r"(?m)^(?:h[1-6]|p|bq|bc|pre|fn\d+)[^\s.]*\.+(?= )|\":\S{1,300}+"),
    "typst": re.compile(
        r"(?m)^#(?:set|show|import|let)\b[^\n]*|#[\w.]+|//[^\n]*|(?<![\w-])[\w-]{1,40}+:(?=\s)"
    ),
}
"""Format -> what of its source is markup and no text, for the count of lost words."""
_OPTIONS_OF_RST = re.compile(r"(?m)^[ \t]*\.\. (?>[^\n]*?::)[^\n]*+((?:\n[ \t]+:[\w-]+:[^\n]*)+)")
_COMMENT_OF_RST = re.compile(
    r"(?m)^([ \t]*)\.\.(?: (?![^\n]*::|[\[_|])[^\n]*|[ \t]*$)(?:\n(?:\1[ \t]+\S[^\n]*|[ \t]*(?=\n)))*"
)
_INTERPRETED = re.compile(r'<code class="interpreted-text"\s+role="([^"]*)">([^<]*)</code>')
_WITH_TARGET = re.compile(r"(.+?)\s*&lt;(.+)&gt;", re.DOTALL)
_UNREAD = re.compile(r"\[WARNING\][^\n]*(?:Skipped|Could not)[^\n]*")


def read_plain(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a text file; reStructuredText is known by its directives and roles."""
    decoded = decode_text(data)
    if len(data) <= MAX_MARKUP_BYTES and looks_like_rst(decoded.text):
        return [_markup_document(decoded.text, "rst", decoded.remark)]
    return [plain_document(*decoded)]


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
        raise DataError(
            f"it has {len(data):,} bytes; of this kind at most {MAX_MARKUP_BYTES:,} are read. Divide it."
        )
    decoded = decode_text(data)
    return [_markup_document(decoded.text, FORMATS[ending], decoded.remark)]


def _markup_document(text: str, kind: str, remark: str) -> FileDocument:
    rewritten = text
    for pattern, replacement in _REWRITTEN.get(kind, ()):
        rewritten = pattern.sub(replacement, rewritten)
    try:
        page, warnings = _pandoc(rewritten, kind)
    except DataError as error:
        if kind in ("rtf", "fb2", "opml"):
            raise
        return plain_document(
            text, "; ".join(filter(None, [remark, f"read as plain text: {error}"]))
        )
    document = page_document(_INTERPRETED.sub(_interpreted_text, page))
    shown, left_out = _shown_text(text, kind)
    removed = [pattern for pattern, replacement in _REWRITTEN.get(kind, ()) if not replacement]
    unread = len(_UNREAD.findall(warnings)) + sum(len(pattern.findall(text)) for pattern in removed)
    if unread:
        remark = "; ".join(filter(None, [remark, f"parts left out by pandoc: {unread}"]))
    return FileDocument(
        document.blocks, source=shown, left_out=f"{document.left_out}\n{left_out}", remark=remark
    )


def _interpreted_text(match: re.Match[str]) -> str:
    """A role of Sphinx by the words that its pages show: "words <target>" by its words, `~a.Name` by its whole name."""
    role, text = match[1], match[2]
    titled = _WITH_TARGET.fullmatch(text.strip())
    words, target = (titled[1], titled[2]) if titled else (text, text)
    if role == "doc":
        return f'<a href="{target}.html">{words}</a>'
    if role in ("pep", "rfc"):
        return f"{role.upper()} {words}"
    words = words.removeprefix("~")
    return (
        words
        if role in ("ref", "term", "abbr", "menuselection", "guilabel")
        else f"<code>{words}</code>"
    )


def _shown_text(text: str, kind: str) -> tuple[str, str]:
    """The text of a source without its markup, for the count of losses, and what of it pandoc leaves out on purpose."""
    if kind not in _MARKUP:
        return "", ""
    left_out = ""
    if kind == "latex" and r"\begin{document}" in text:
        left_out, _, text = text.partition(r"\begin{document}")
    elif kind == "rst":
        options = [match[1] for match in _OPTIONS_OF_RST.finditer(text)]
        comments = [match[0] for match in _COMMENT_OF_RST.finditer(text)]
        left_out = "\n".join([*options, *comments])
    return _MARKUP[kind].sub(" ", text), left_out


def _pandoc(text: str, kind: str) -> tuple[str, str]:
    """A text as a page of HTML, and pandoc's warnings."""
    from pypandoc import get_pandoc_path

    options = [
        "--sandbox",
        "--standalone",
        "--syntax-highlighting=none",
        "--wrap=none",
        "--metadata=pagetitle= ",
    ]
    command = [get_pandoc_path(), "-f", kind, "-t", "html", *options, "+RTS", MEMORY, "-RTS"]
    try:
        done = subprocess.run(  # noqa: S603
            command,
            input=text.encode("utf-8", "replace"),
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DataError(f"pandoc needs more than {TIMEOUT_SECONDS} seconds for it.") from None
    messages = done.stderr.decode("utf-8", "replace")
    if done.returncode:
        reason = messages.strip() or f"it ended with {done.returncode}"
        raise DataError(f"pandoc cannot read it ({reason.splitlines()[0][:200]}).")
    return done.stdout.decode("utf-8", "replace"), messages
