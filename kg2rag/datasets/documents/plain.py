"""Plain text and light markup -> their blocks; markup is read by pandoc in a separate process.

pandoc keeps the text of unknown directives of reStructuredText, which docutils drops. It runs
without access to files or the network, and with bounded memory and time. A file that it cannot read
is read as plain text.
"""

from __future__ import annotations

import codecs
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from html import unescape
from typing import NamedTuple

from kg2rag.datasets.documents.blocks import (
    FileDocument,
    join_remarks,
    one_line,
    plain_document,
)
from kg2rag.datasets.documents.calendars import calendar_documents, is_calendar
from kg2rag.datasets.documents.chat_logs import chat_document
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.datasets.documents.html import page_document, visible_text
from kg2rag.datasets.documents.latex_letters import with_letters
from kg2rag.datasets.documents.libraries import library_documents
from kg2rag.datasets.documents.pdf import pdf_blocks
from kg2rag.datasets.documents.rewritten_markup import OPTIONS_OF_RST, REWRITTEN
from kg2rag.datasets.documents.script_notebooks import script_notebook
from kg2rag.datasets.documents.smart import collection_records, is_test_collection
from kg2rag.datasets.documents.sphinx_roles import role_html
from kg2rag.datasets.documents.tagged_references import (
    is_tagged_list,
    tagged_documents,
)
from kg2rag.datasets.documents.wiki_folders import DOKUWIKI_HEADING
from kg2rag.text.records import DataError

TIMEOUT_SECONDS = 60
MEMORY = "-M1000m"
MAX_MARKUP_BYTES = 5_000_000
"""Largest file that pandoc reads; a book has one million bytes."""
FORMATS = {
    ".rst": "rst",
    ".rest": "rst",
    ".org": "org",
    ".tex": "latex",
    ".latex": "latex",
    ".bbl": "latex",
    ".adoc": "asciidoc",
    ".asciidoc": "asciidoc",
    ".textile": "textile",
    ".mediawiki": "mediawiki",
    ".wiki": "mediawiki",
    ".typ": "typst",
    ".rtf": "rtf",
    ".creole": "creole",
    ".dj": "djot",
    ".dokuwiki": "dokuwiki",
    ".jira": "jira",
    ".muse": "muse",
    ".pod": "pod",
    ".t2t": "t2t",
}
"""Ending -> pandoc's name of the format."""
_PAGE_OPTIONS = (
    "--syntax-highlighting=none",
    "--wrap=none",
    "--metadata=pagetitle= ",
)
_XML = frozenset(("fb2", "opml", "docbook", "jats"))
_NOT_TEXT = _XML | {"rtf"}
"""Formats that are not read as plain text if pandoc fails."""
_READ_TWICE = frozenset(("dokuwiki", "latex", "rtf"))
"""Formats whose words are counted in the text that pandoc reads."""
_MDOC = re.compile(r"(?m)^\.Dd\b")
_DIRECTIVE = re.compile(r"(?m)^[ \t]*\.\. [\w:-]+::")
_COLLECTION = re.compile(r"\s*<(?:DOC|doc [^<>]*)>")
_COLLECTED = re.compile(r"(?is)<doc\b([^<>]*)>(.*?)</doc>")
_FIELD = re.compile(r"(?is)<(docno|title|headline)>(.*?)</\1>")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_PAGE_FOOT = re.compile(r"(?m)^[^\n]+\[Page [\divxlc]+\][ \t]*$")
"""The last line of a page of an RFC."""
_JIRA_HEADING = re.compile(r"(?m)^h[1-6]\. ")
_LABEL = re.compile(r"(?m)^[ \t]*\.\. _`?([^:`\n]+)`?:[ \t]*$")
_ROLE = re.compile(r":[a-z]+(?::[a-z]+)?:`[^`\n]+`")
_UNDERLINE = re.compile(r"(?m)^(\S[^\n]{2,100})\n([=\-~^\"'*+#]){3,}[ \t]*$")
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
        r"\\(?:begin|end|label|ref|eqref|pageref|cite\w*|input|include\w*|bibliography\w*|usepackage|"
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
_CODE_PAGE = re.compile(r"\\ansicpg(\d+)")
_RTF_BYTES = re.compile(r"(?:\\'[0-9a-fA-F]{2})+")
# A character by its UTF-16 unit, and the byte that older programs show instead.
_RTF_LETTER = re.compile(r"\\u(-?\d+)(?:\?|\\'[0-9a-fA-F]{2})")
_INTERPRETED = re.compile(
    r'<code class="interpreted-text"\s+role="([^"]*)">([^<]*)</code>'
)
_UNREAD = re.compile(r"\[WARNING\][^\n]*(?:Skipped|Could not)[^\n]*")


def read_plain(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The documents of a text file; reStructuredText and DokuWiki are recognised by their markup.

    A file may also be a collection of documents (TREC, SMART, WikiExtractor), a book of a library
    (see `libraries`), have pages (RFCs), or be a list of references, a chat, a calendar or a list
    of contacts.
    """
    decoded = decode_text(data)
    kind = _kind_of_text(decoded.text)
    if kind and len(data) <= MAX_MARKUP_BYTES:
        return [markup_document(decoded.text, kind, decoded.remark)]
    if is_tagged_list(decoded.text):
        return tagged_documents(*decoded)
    if _COLLECTION.match(decoded.text):
        return list(_documents_of_collection(*decoded))
    if is_test_collection(decoded.text):
        return list(collection_records(*decoded))
    books = library_documents(*decoded)
    if books:
        return books
    if "\f" not in decoded.text and len(_PAGE_FOOT.findall(decoded.text)) > 1:
        decoded = decoded._replace(text=_PAGE_FOOT.sub("\\g<0>\f", decoded.text))
    if "\f" in decoded.text:
        return [_paged_document(*decoded)]
    if is_calendar(decoded.text):
        return calendar_documents(*decoded)
    return [chat_document(*decoded) or plain_document(*decoded)]


def read_unknown(data: bytes, name: str = "") -> list[FileDocument]:
    """The documents of a file of unknown kind, as plain text or as a notebook kept as a script.

    DataError: its bytes are no text.
    """
    notebook = script_notebook(*decode_text(data))
    if notebook:
        return [notebook]
    documents = read_plain(data, name)
    if documents and documents[0].key:
        return documents
    return [
        replace(document, remark=join_remarks(document.remark, "plain text"))
        for document in documents
    ]


def _documents_of_collection(text: str, remark: str) -> Iterator[FileDocument]:
    """The documents of a collection of TREC or WikiExtractor, with their ids and titles."""
    for attributes, body in _COLLECTED.findall(text):
        fields = dict(_ATTRIBUTE.findall(attributes))
        fields |= {tag.casefold(): field for tag, field in _FIELD.findall(body)}
        key = fields.get("docno") or fields.get("id", "")
        title = one_line(fields.get("title") or fields.get("headline", ""))
        document = plain_document(visible_text(_FIELD.sub("", body)), remark)
        yield replace(
            document,
            blocks=[block for block in document.blocks if block.text != title],
            title=title,
            key=key.strip(),
        )


def _paged_document(text: str, remark: str) -> FileDocument:
    """The document of a text whose pages end with form feeds, without running heads and feet."""
    pages = [
        [line.strip() for line in page.strip().split("\n")] for page in text.split("\f")
    ]
    blocks, left_out, source = pdf_blocks(pages, {})
    return FileDocument(
        blocks, source=source, left_out="\n".join(left_out), remark=remark
    )


def _kind_of_text(text: str) -> str:
    """The format of a text by its markup, "rst" or "dokuwiki"; "" for plain text."""
    if looks_like_rst(text):
        return "rst"
    if DOKUWIKI_HEADING.search(text[:100_000]):
        return "dokuwiki"
    return ""


def looks_like_rst(text: str) -> bool:
    """Whether a text is reStructuredText.

    It has two directives or roles, or one of them and an underlined heading.
    """
    sample = text[:100_000]
    n_marks = len(_DIRECTIVE.findall(sample)) + len(_ROLE.findall(sample))
    return n_marks > 1 or (n_marks == 1 and bool(_UNDERLINE.search(sample)))


def read_markup(data: bytes, name: str) -> list[FileDocument]:
    """The document of a file in light markup; the ending of its name tells the format.

    DataError: it has more than `MAX_MARKUP_BYTES`, or is no text.
    """
    ending = name[name.rfind(".") :].lower()
    if len(data) > MAX_MARKUP_BYTES:
        raise DataError(
            f"it has {len(data):,} bytes; of this kind at most {MAX_MARKUP_BYTES:,} are read. Divide it."
        )
    decoded = decode_text(data)
    kind = FORMATS[ending]
    if ending == ".wiki" and _JIRA_HEADING.search(decoded.text):
        kind = "jira"
    return [markup_document(decoded.text, kind, decoded.remark)]


def read_manual(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a manual page in roff; a file that begins with no request is plain text."""
    decoded = decode_text(data)
    if decoded.text.lstrip()[:1] not in (".", "'"):
        return [plain_document(*decoded)]
    kind = "mdoc" if _MDOC.search(decoded.text) else "man"
    return [markup_document(decoded.text, kind, decoded.remark)]


def markup_document(text: str, kind: str, remark: str) -> FileDocument:
    """The document of a text in a format that pandoc reads, or as plain text if pandoc fails.

    DataError: pandoc fails at one of the formats `_NOT_TEXT`.
    """
    rewritten = _unicode_rtf(text) if kind == "rtf" else text
    for pattern, replacement in REWRITTEN.get(kind, ()):
        rewritten = pattern.sub(replacement, rewritten)
    try:
        page, warnings = converted(rewritten, kind, "html", *_PAGE_OPTIONS)
    except DataError as error:
        if kind in _NOT_TEXT:
            raise
        return plain_document(
            text, join_remarks(remark, f"read as plain text: {error}")
        )
    page = _INTERPRETED.sub(lambda match: role_html(match[1], match[2]), page)
    document = page_document(page)
    shown, left_out = _shown_text(rewritten if kind in _READ_TWICE else text, kind)
    unread = len(_UNREAD.findall(warnings)) + _n_removed(text, kind)
    if unread:
        remark = join_remarks(remark, f"parts left out by pandoc: {unread}")
    labels = _LABEL.findall(text) if kind == "rst" else []
    return FileDocument(
        document.blocks,
        source=shown,
        left_out=f"{document.left_out}\n{left_out}",
        remark=remark,
        names=tuple(labels),
    )


def _n_removed(text: str, kind: str) -> int:
    """The number of parts that are removed from a text before pandoc reads it."""
    return sum(
        len(pattern.findall(text))
        for pattern, replacement in REWRITTEN.get(kind, ())
        if not replacement
    )


def _unicode_rtf(text: str) -> str:
    """RTF with Unicode characters in place of escapes.

    pandoc decodes all bytes as Windows-1252, and loses blanks behind escapes.
    """
    text = _RTF_LETTER.sub(_letter_of_escape, text)
    declared = _CODE_PAGE.search(text[:1000])
    encoding = "cp1252"
    if declared:
        with suppress(LookupError):
            encoding = codecs.lookup(f"cp{declared[1]}").name

    def letters(match: re.Match[str]) -> str:
        return bytes.fromhex(match[0].replace("\\'", "")).decode(encoding, "replace")

    return _RTF_BYTES.sub(letters, text)


def _letter_of_escape(match: re.Match[str]) -> str:
    """The character of an escape; a surrogate, half of a character, stays an escape."""
    unit = int(match[1]) % 0x10000
    if 0xD800 <= unit < 0xE000:
        return match[0]
    return chr(unit)


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
    return unescape(shown) if kind in _WITH_ENTITIES else shown, left_out


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
