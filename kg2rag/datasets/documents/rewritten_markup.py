"""Light markup -> the same as pandoc reads it: what it would show as text, lose or misread is rewritten."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from kg2rag.datasets.documents.latex_letters import DOTLESS

Replacement = str | Callable[[re.Match[str]], str]
_GROUP = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+)\}"
_STEPS = r"(?:<[^<>\n]*>)?"
# DokuWiki: code, which stays as it is, and the tags that plugins add.
_DOKUWIKI_TAG = re.compile(
    r"(?s)<(?P<code>code|file|nowiki|html|php)\b[^>]*>.*?</(?P=code)>|%%.*?%%|"
    r"</?(?!(?:del|sub|sup)\b)(?P<name>[a-zA-Z]\w*)(?P<words>[ \t][^<>\n]*)?>"
)
_TITLED_TAGS = frozenset("hidden tabbox details panel accordion".split())


def _without_tag(match: re.Match[str]) -> str:
    """The title in a tag of a plugin, "" without one; a match of code unchanged."""
    if not match["name"]:
        return match[0]
    if match["name"].lower() not in _TITLED_TAGS or not match["words"]:
        return ""
    title = re.sub(r"\b\w+=|[\"']", "", match["words"]).strip()
    return f"{title}\n\n"


def _frame(match: re.Match[str]) -> str:
    """The start of a frame of slides, with its title as the command that pandoc makes a heading of.

    Its subtitle is a paragraph.
    """
    title = rf"\frametitle{{{match[1]}}}" if match[1] else ""
    return "\n\n".join([rf"\begin{{frame}}{title}", match[2] or "", ""])


OPTIONS_OF_RST = re.compile(
    r"(?m)^[ \t]*\.\. (?>[^\n]*?::)[^\n]*+((?:\n[ \t]+:[\w-]+:[^\n]*(?:\n[ \t]+[^\s:][^\n]*)*)+)"
)
_CONTINUED = re.compile(r"\n[ \t]+(?=[^\s:])")
"""Among options, the end of a line that goes on in the next one."""
REWRITTEN: Mapping[str, Sequence[tuple[re.Pattern[str], Replacement]]] = {
    "rst": (
        # pandoc takes the text of a directive for the next line of an option of several.
        (OPTIONS_OF_RST, lambda match: _CONTINUED.sub(" ", match[0])),
        # pandoc takes a directive with colons in its name for a comment.
        (re.compile(r"(?m)^([ \t]*\.\. [a-z]+):([\w:+-]+)(?=::)"), r"\1-\2"),
        # Sphinx's directive `class` documents a class; docutils's sets a style.
        (
            re.compile(r"(?m)^([ \t]*\.\. )class(?=::)"),
            r"\1py-class",
        ),
        # pandoc inserts today's date.
        (
            re.compile(r"(?m)^([ \t]*\.\. (?:\|[^|\n]+\| )?)date::.*"),
            r"\1replace:: date",
        ),
    ),
    # Slides (beamer): titles of frames and blocks, notes, the steps at which something is shown, and the
    # widths of columns. pandoc inserts today's date.
    "latex": (
        (
            re.compile(
                rf"\\begin\{{frame\}}{_STEPS}(?:\[[^\]\n]*\])*(?:[ \t]*{_GROUP})?(?:[ \t]*{_GROUP})?"
            ),
            _frame,
        ),
        (
            re.compile(rf"(\\begin\{{(?:alert|example)?block\}}){_STEPS}{_GROUP}"),
            r"\1\n\n\2\n\n",
        ),
        (re.compile(rf"\\note{_STEPS}(?:\[[^\]\n]*\])?{_STEPS}(?=\{{)"), r"\n\n"),
        (re.compile(rf"\\frame{_STEPS}(?:\[[^\]\n]*\])*(?=\s*\{{)"), r"\n\n"),
        (re.compile(r"\\today(?![a-zA-Z])"), " "),
        (DOTLESS, r"\1{\2\3}"),
        (re.compile(r"\\(?:only|onslide|uncover|visible|mode)<[^<>\n]*>(?=\{)"), " "),
        (re.compile(r"(\\[a-zA-Z]+)<[\d+,. -]+>"), r"\1 "),
        (re.compile(r"(\\begin\{column\})\{[^{}\n]*\}"), r"\1"),
    ),
    # Tags of plugins, and cells that go on from the row above.
    "dokuwiki": (
        (_DOKUWIKI_TAG, _without_tag),
        (re.compile(r"(?<=[|^])[ \t]*:::[ \t]*(?=[|^])"), " "),
        # pandoc drops the words of a link to a file.
        (
            re.compile(
                r"\{\{([^{}|\n]*\.(?!png|jpe?g|gif|svg|webp)\w+[ \t]*\|[^{}\n]*)\}\}"
            ),
            r"[[\1]]",
        ),
        (re.compile(r"(?m)^[ \t]*~~[A-Z]+(?::[^~\n]*)?~~[ \t]*$"), " "),
    ),
    "asciidoc": (
        (re.compile(r"(?ms)^////+\n.*?^////+[ \t]*$"), "\n"),
        # pandoc fails at an included file.
        (re.compile(r"(?m)^include::[^\n\[]*+\[[^\n\]]*+\][ \t]*$"), ""),
        # pandoc shows the names of conditions; the text under them stays.
        (
            re.compile(
                r"(?m)^(?:ifn?def::[^\n\[]*+\[([^\n\]]*+)\]|(?:ifeval|endif)::[^\n]*+)[ \t]*$"
            ),
            r"\1",
        ),
    ),
}
"""Format -> (pattern, replacement) for markup that pandoc would misread."""
