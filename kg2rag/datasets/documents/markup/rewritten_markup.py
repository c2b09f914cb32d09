"""Light markup -> the same as pandoc reads it, and the HTML of its roles.

What pandoc would show as text, lose or misread is rewritten. Roles of Sphinx and MyST become the
words that a page of Sphinx shows.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from kg2rag.datasets.documents.blocks import WIKI

Replacement = str | Callable[[re.Match[str]], str]
_GROUP = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+)\}"
_STEPS = r"(?:<[^<>\n]*>)?"
_OPTIONS = r"(?:\[[^\]\n]*\])*"
_SIZE = rf"{_OPTIONS}\{{[^{{}}\n]*\}}"
# DokuWiki: code, which stays as it is, and the tags that plugins add.
_DOKUWIKI_TAG = re.compile(
    r"(?s)<(?P<code>code|file|nowiki|html|php)\b[^>]*>.*?</(?P=code)>|%%.*?%%|"
    r"</?(?!(?:del|sub|sup)\b)(?P<name>[a-zA-Z]\w*)(?P<words>[ \t][^<>\n]*)?>"
)
_TITLED_TAGS = frozenset("hidden tabbox details panel accordion".split())

DOTLESS = re.compile(r"(\\[`'^\"~=.]\s*)(?:\{\\([ij])\}|\\([ij])(?![a-zA-Z])\s?)")
"""An accent on the letter i or j without its dot, which pandoc does not join."""
_ACCENT = re.compile(
    r"(?<!\\)\\(?:([`'^\"~=.])|([Hbcdkruv])(?![a-zA-Z]))\s*(\{)?\\?([a-zA-Z])(?(3)\})"
)
_LETTER = re.compile(
    r"(?<!\\)\\(AA|AE|DH|DJ|L|NG|O|OE|SS|TH|aa|ae|dh|dj|i|j|l|ng|o|oe|ss|th)(?![a-zA-Z])(?:\{\}|\s*)"
)
_LETTER_IN_GROUP = re.compile(r"\{([^\x00-\x7f])\}")
_MARK_OF_ACCENT = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "H": "\u030b", "b": "\u0331", "c": "\u0327", "d": "\u0323", "k": "\u0328", "r": "\u030a", "u": "\u0306",
    "v": "\u030c",
}  # fmt: skip
"""Accent of LaTeX -> the combining mark."""
_LETTER_OF_NAME = {
    "AA": "Å", "AE": "Æ", "DH": "Ð", "DJ": "Đ", "L": "Ł", "NG": "Ŋ", "O": "Ø", "OE": "Œ", "SS": "ẞ", "TH": "Þ",
    "aa": "å", "ae": "æ", "dh": "ð", "dj": "đ", "i": "ı", "j": "ȷ", "l": "ł", "ng": "ŋ", "o": "ø", "oe": "œ",
    "ss": "ß", "th": "þ",
}  # fmt: skip

_WITH_TARGET = re.compile(r"(.+?)\s*&lt;(.+)&gt;", re.DOTALL)
_PROSE_ROLES = frozenset("term abbr menuselection guilabel sub sup download".split())


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


_CAPTION = re.compile(rf"\\caption{_OPTIONS}\s*{_GROUP}")


def _section_of_notes(match: re.Match[str]) -> str:
    """The notes at the end of an article as a section."""
    return f"<sec>{_NOTE_OF_JATS.sub('', match[1])}</sec>"


_NOTE_OF_JATS = re.compile(r"(?s)</?fn\b[^<>]*>|<label\b.*?</label>")


def _with_caption(match: re.Match[str]) -> str:
    """An environment whose caption is a paragraph; pandoc shows captions of figures and tables only."""
    return _CAPTION.sub(lambda caption: f"\n\n{caption[1]}\n\n", match[0])


def _below_title(match: re.Match[str]) -> str:
    """The start of an environment below the title or caption in its options."""
    return f"\n\n{match[1] or match[2]}\n\n{match[0]}"


def _arguments(template: str) -> list[str]:
    """The parts of a template of MediaWiki behind its name; links may have a bar, too."""
    return [part.strip() for part in _BAR.split(template)[1:]]


def _words_of_template(match: re.Match[str]) -> str:
    """The unnamed arguments of a template within a line, such as those of `{{circa|1930}}`."""
    arguments = _arguments(match[0].strip("{}"))
    return " ".join(part for part in arguments if "=" not in part)


def _lines_of_template(match: re.Match[str]) -> str:
    """The arguments of a template that begins a line, as paragraphs.

    These are named ones, `name: value`, without pictures, if there are two, and unnamed ones with
    `PHRASE_WORDS` words, such as a quotation. A template without them is returned as it is.
    """
    arguments = _arguments(match[1])
    pairs = [part.partition("=") for part in arguments]
    fields = {name.strip(): " ".join(value.split()) for name, _, value in pairs}
    lines = [
        f"{name.replace('_', ' ')}: {value}"
        for name, value in fields.items()
        if value and not _PICTURE.fullmatch(value)
    ]
    if len(lines) < 2:
        lines = []
    lines += [part for part in arguments if _is_phrase(part)]
    if not lines:
        return match[0]
    return "\n\n" + "\n\n".join(lines) + "\n\n"


def _is_phrase(argument: str) -> bool:
    """Whether an argument of a template is unnamed and has `PHRASE_WORDS` words."""
    return "=" not in argument and len(argument.split()) >= PHRASE_WORDS


PHRASE_WORDS = 5
"""Fewest words of an unnamed argument of a template that is text."""
_BAR = re.compile(r"\|(?![^\[\]]*\]\])")
_PICTURE = re.compile(r"(?i)[^\n]+\.(?:jpe?g|png|gif|svg|tiff?|webp)")
_WORDS_AS_TEMPLATE = re.compile(
    r"(?m)(?:(?<=[ \t(=|'\"“„«/–—])|^(?=\{\{[^{}\n]+\}\}[^\n]*\w))\{\{[^{}|\n]+\|[^{}\n]*\}\}"
)
"""A template that stands as a word in a line; a citation follows a word without a blank."""
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
        # pandoc shows the title of a table of contents.
        (re.compile(r"(?m)^([ \t]*\.\. contents::)[^\n]*"), r"\1"),
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
        # pandoc drops boxes, and a group behind a command that has no argument.
        (
            re.compile(
                rf"\\(?:fbox|framebox|makebox|reflectbox|marginpar|marginnote|sidenote|"
                rf"subcaptionbox\*?|(?:raise|rotate|scale|adjust)box{_SIZE}|"
                rf"resizebox\*?{_SIZE}{_SIZE}){_OPTIONS}(?=\s*\{{)"
            ),
            " ",
        ),
        (re.compile(r"\\sub(?:float|figure)\[([^\]\n]*)\](?=\s*\{)"), r"\1 "),
        (
            re.compile(
                r"\\(?:noindent|indent|(?:small|med|big)skip|centering|raggedright|raggedleft|"
                r"(?:new|clear)page|(?:no)?pagebreak|leavevmode|relax|normalfont)(?=[ \t]*\{)"
            ),
            " ",
        ),
        # pandoc drops the captions of floats beside text, and shows the sizes of environments.
        (re.compile(rf"\\begin\{{wrap(figure|table)\}}(?:{_SIZE})+"), r"\\begin{\1}"),
        (re.compile(r"\\end\{wrap(figure|table)\}"), r"\\end{\1}"),
        (re.compile(rf"(\\begin\{{(?:multicols\*?|adjustbox)\}}){_SIZE}"), r"\1"),
        (
            re.compile(r"(?s)\\begin\{(algorithm|listing)(\*?)\}.*?\\end\{\1\2\}"),
            _with_caption,
        ),
        (
            re.compile(
                r"\\begin\{(?!frame|figure|table)[a-zA-Z]+\}\[(?:[^\[\]]*?[\s,\[])??(?:title|caption)\s*=\s*"
                r"(?:\{([^{}\n]+)\}|([^,\[\]{}\n]+))"
            ),
            _below_title,
        ),
        # pandoc takes a rule under some columns for the next cell.
        (
            re.compile(
                r"\\(?:cmidrule|cline)[ \t]*(?:\([^()\n]*\)|\[[^\[\]\n]*\])*\{[^{}\n]*\}"
            ),
            " ",
        ),
    ),
    # pandoc shows words of the index and remarks of editors, and drops steps within steps and titles of lists.
    "docbook": (
        (re.compile(r"(?s)<(indexterm|remark)\b[^<>]*>.*?</\1>"), ""),
        (re.compile(r"<(/?)substeps\b[^<>]*>"), r"<\1procedure>"),
        (
            re.compile(
                r"(?s)(<(?:itemized|ordered|variable)list\b[^<>]*>|<procedure\b[^<>]*>)\s*"
                r"(?:<info>\s*)?<title>(.*?)</title>(?:\s*</info>)?"
            ),
            r"<para>\2</para>\1",
        ),
    ),
    # pandoc drops notes at the end of an article, puts acknowledgements below the section before them, and
    # shows the preamble of a formula.
    "jats": (
        (re.compile(r"(?s)<fn-group\b[^<>]*>(.*?)</fn-group>"), _section_of_notes),
        (re.compile(r"<(/?)ack\b"), r"<\1sec"),
        (
            re.compile(
                r"(?s)\\documentclass\b(?:(?!</tex-math>).)*?\\begin\{document\}\s*\$*(.*?)\$*\s*\\end\{document\}"
            ),
            r"\1",
        ),
    ),
    # pandoc drops templates: words in a line, of templates in templates, too, and the fields of an infobox.
    "mediawiki": (
        (
            re.compile(
                r"(?i)\{\{(?:formatnum|[ul]c(?:first)?):([^{}|]*)(?:\|[^{}|]*)?\}\}"
            ),
            r"\1",
        ),
        (_WORDS_AS_TEMPLATE, _words_of_template),
        (_WORDS_AS_TEMPLATE, _words_of_template),
        (
            re.compile(
                r"(?m)^[*#:;]*[ \t]*\{\{([^{}|\n]+\n?[ \t]*\|(?:[^{}]|\{\{(?:[^{}]|\{\{[^{}]*+\}\})*+\}\})*+)\}\}"
            ),
            _lines_of_template,
        ),
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


def with_letters(text: str) -> str:
    r"""LaTeX with letters in place of accents and of the names of letters.

    >>> with_letters(r"G\"odel, Erd{\H o}s, caf\'{e}, stra\ss e, na\"{\i}ve, Gar\c{c}on \cite{x}")
    'Gödel, Erdős, café, straße, naïve, Garçon \\cite{x}'
    """

    def accented(match: re.Match[str]) -> str:
        mark = _MARK_OF_ACCENT[match[1] or match[2]]
        return unicodedata.normalize("NFC", f"{match[4]}{mark}")

    text = _ACCENT.sub(accented, text)
    text = _LETTER.sub(lambda match: _LETTER_OF_NAME[match[1]], text)
    return _LETTER_IN_GROUP.sub(r"\1", text)


def role_html(role: str, text: str) -> str:
    """The HTML of a role; its text is escaped.

    "words <target>" becomes the words, and `~a.Name` the whole name, since a text may be searched
    for it. A reference to a label becomes a wiki link, which is resolved by the names of documents.
    """
    titled = _WITH_TARGET.fullmatch(text.strip())
    words, target = (titled[1], titled[2]) if titled else (text, text)
    if role == "doc":
        return f'<a href="{target}.html">{words}</a>'
    if role in ("ref", "numref"):
        return f'<a href="{WIKI}{target}">{words}</a>'
    if role in ("pep", "rfc"):
        return f"{role.upper()} {words}"
    words = words.removeprefix("~")
    if role in _PROSE_ROLES:
        return words
    return f"<code>{words}</code>"
