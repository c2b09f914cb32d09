"""Markdown of site generators and note programs -> plain Markdown.

Instructions are removed except for the titles in them: MDX (Docusaurus, Mintlify, Nextra),
shortcodes of Hugo and Quarto, Liquid (Jekyll, Eleventy), attributes of kramdown, icons,
abbreviations and snippets of MkDocs, marks and running heads of
pages, comments and block names of Obsidian, properties of Logseq, queries of Azure DevOps.
Code stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kg2rag.datasets.documents.running_heads import has_page_marks, without_page_marks

_FLAGS = re.DOTALL | re.MULTILINE
_CODE = (
    r"(?P<code>^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,3}(?P<mark>`{3,}|~{3,})[^`\n]*\n.*?"
    r"(?:^[ \t>]*(?P=mark)[`~]*[ \t]*$|\Z)|"
    r"(?<!`)`[^`\n]+`)"
)
_FENCE = re.compile(_CODE, _FLAGS)

_IMPORT = r"""^import\b[^;'"`]{0,1000}?['"][^'"\n]+['"];?[ \t]*$"""
_EXPORT = r"^export[ \t]+(?:const|default|function|async|let|var)\b.*?(?=^[ \t]*$|\Z)"
_COMMENT = r"\{/\*(?:(?!\{/\*|\*/).)*+\*/\}"
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_ATTRIBUTES = rf"""(?:[^<>{{}}"']|"[^"]*"|'[^']*'|{_BRACES})*"""
_COMPONENT = (
    rf"(?P<line>^[ \t]*)?</?(?:[A-Z][\w.]*|img)(?P<attributes>\s{_ATTRIBUTES})?/?>"
)
_MDX = re.compile("|".join([_CODE, _IMPORT, _EXPORT, _COMMENT, _COMPONENT]), _FLAGS)
_IMPORT_LINE = re.compile(
    r"""(?m)^import\s+[\w{*][^\n]*\sfrom\s+['"][^'"\n]+['"];?[ \t]*$"""
)

# A comment ends at the next mark of a comment, so that the time of a search is linear in the text.
_LIQUID_COMMENT = (
    r"\{%-?[ \t]*comment[ \t]*-?%\}(?:(?!\{%-?[ \t]*(?:end)?comment\b).)*+"
    r"\{%-?[ \t]*endcomment[ \t]*-?%\}"
)
_SHORTCODE = r"(?P<line>^[ \t]*)?(?:\{\{[<%].{0,2000}?[>%]\}\}|\{%.{0,2000}?%\})"
_ATTRIBUTE_LIST = r"\{:[^{}\n]*\}|^[ \t]*\{[ \t]*[.#][\w-][^{}\n]*\}[ \t]*$"
# MkDocs: icons with their attributes, definitions of abbreviations, places of tables of contents,
# included files that the folder lacks, and remarks of editors (Critic Markup).
_MKDOCS = (
    r":(?:material|octicons|fontawesome|simple|custom)-[\w-]+:(?:\{[^{}\n]*\})?[ \t]?|"
    r"^[ \t]*\*\[[^\]\n]+\]:[^\n]*(?:\n[ \t]+\S[^\n]*)*$|"
    r"^[ \t]*\[{1,2}_?(?i:toc|tosp)_?\]{1,2}[ \t]*$|"
    r"^[ \t]*-{1,2}8<-{1,2}[ \t]+[\"'][^\n]*$|"
    r"^[ \t]*-{1,2}8<-{1,2}[ \t]*\n(?:(?![ \t]*-{1,2}8<)[^\n]*\n){0,50}[ \t]*-{1,2}8<-{1,2}[ \t]*$|"
    # VitePress: an included file; kramdown: the list in whose place the table of contents stands.
    r"^[ \t]*<<<[ \t]+@?[./\w][^\n]*$|^[ \t]*(?:[*+-]|\d\.)[ \t]+[^\n]*\n[ \t]*\{:[^{}\n]*\btoc\b[^{}\n]*\}|"
    r"\{--.{1,2000}?--\}|\{>>.{1,2000}?<<\}"
)
# mkdocstrings: the name of an object and options, in whose place its documentation stands.
_OBJECT = re.compile(
    rf"{_CODE}|^[ \t]*:::[ \t]+(?P<object>\w+(?:[.:]+\w+)+)[ \t]*$(?:\n[ \t]+[^\n]+)*|"
    r"^[ \t]*:::[ \t]+(?P<module>\w+)[ \t]*\n[ \t]+(?:options|handler):[^\n]*(?:\n[ \t]+[^\n]+)*",
    _FLAGS,
)
# Discourse: quotations, parts that unfold, and polls.
_FORUM_END = re.compile(r"\[/(?:quote|details|spoiler|poll)\]")
_FORUM_DETAILS = re.compile(r"\[details=\"?([^\"\]\n]*)\"?\]")
_FORUM_MARK = re.compile(r"\[/?(?:quote|details|spoiler|poll)(?:[= ][^\]\n]*)?\]")
# Pandoc and Quarto: a picture that is a paragraph is shown with its description as the caption.
_FIGURE = re.compile(
    rf"{_CODE}|^[ \t]*!\[(?P<caption>[^\[\]\n]+)\]\([^()\n]*\)\{{[^{{}}\n]*#fig-[^{{}}\n]*\}}[ \t]*$",
    _FLAGS,
)
# Liquid: an address that is computed, which may have blanks.
_COMPUTED = re.compile(
    rf"{_CODE}|(?P<link>\]\([^()\s{{}}]*)\{{\{{[^{{}}\n]*\}}\}}(?P<path>[^()\s]*\))",
    _FLAGS,
)
# Marks around words that a page shows: keys, highlights and insertions.
_KEYS = re.compile(
    rf"{_CODE}|(?<![\w+])\+\+(?P<keys>(?:[a-z0-9-]+|\"[^\"\n]+\")(?:\+(?:[a-z0-9-]+|\"[^\"\n]+\"))*)\+\+(?![\w+])",
    _FLAGS,
)
_MARKED = re.compile(
    rf"{_CODE}|\{{(?:\+\+|==)(?P<inserted>[^{{}}]{{1,2000}}?)(?:\+\+|==)\}}|"
    r"\{~~[^{}]{0,1000}?~>(?P<replaced>[^{}]{0,1000}?)~~\}|"
    r"(?<![=\w])==(?=[^\s=])(?P<marked>[^=\n]+)(?<=\S)==(?![=\w])|"
    r"(?<![\^\w])\^\^(?=[^\s^])(?P<underlined>[^^\n]+)(?<=\S)\^\^(?![\^\w])",
    _FLAGS,
)
# The name of a picture that a page shows in place of it; options of MyST look alike.
# The number of a note below a listing, as MkDocs Material has it, `# (1)!`, or a mark of VitePress.
_ANNOTATION = re.compile(
    r"(?m)(?<![ \t])[ \t]*(?:#|//|--|;|%|<!--|/\*)[ \t]*"
    r"(?:\(\d{1,3}\)!|\[!code [^\]\n]{1,40}\])[ \t]*(?:-->|\*/)?[ \t]*$"
)
_EMOJI = re.compile(
    rf"{_CODE}|(?<![\w:/]):(?!(?:returns?|raises|rtype|yields):)[a-z][a-z0-9_+-]{{1,30}}:(?![\w:`])[ \t]?",
    _FLAGS,
)
_MYST_OPTIONS = re.compile(r"(?m)^[ \t]*(?:`{3,}|:{3,})\{[a-z]")
# Obsidian: comments, names of blocks, queries of its plug-ins, and drawings.
_NOTE_COMMENT = (
    r"^[ \t]*%%(?!%)(?:(?!%%).)+%%[ \t]*$|(?<![\w%])%%(?!%).{1,2000}?%%(?![\w%])"
)
_BLOCK_NAME = r"(?:(?<=\S)[ \t]+|^[ \t]*)\^[A-Za-z0-9][\w-]{3,}[ \t]*$"
_LIVE_LISTING = (
    r"^[ \t>]*`{3,}[ \t]*(?:dataview|dataviewjs|tasks|query|compressed-json)[ \t]*\n"
    r"(?:(?![ \t>]*```)[^\n]*\n)*[ \t>]*`{3,}[ \t]*$"
)
_DRAWING_BANNER = re.compile(r"^==⚠[^\n]*EXCALIDRAW VIEW[^\n]*$", re.MULTILINE)
_DRAWING_PART = re.compile(
    r"^#{1,2} (?:Excalidraw Data|(?:Text Elements|Element Links|Embedded Files)[ \t]*$|Drawing\n```\w*json\n"
    r"[^`]*```)",
    re.MULTILINE,
)
"""Headings of a drawing that Excalidraw saved as a note, and its data."""
# Logseq: properties of blocks, references to blocks, queries and clocks.
_LOGSEQ = (
    r"^[ \t]*(?:id|collapsed|heading|background-color|logseq\.[\w.-]+):: .*?$|"
    r"\(\([0-9a-f]{8}-[0-9a-f-]{27}\)\)|\{\{(?:embed|query|renderer|video|youtube|tweet)\b[^{}\n]*\}\}|"
    r"^[ \t]*:LOGBOOK:\n(?:[ \t]*CLOCK:[^\n]*\n)*[ \t]*:END:$|#\+(?:BEGIN|END)_[A-Z]+[ \t]*$"
)
# Azure DevOps: queries in place of their results, and people by their number.
_AZURE = (
    r"^[ \t]*:::[ \t]*query-table\b[^\n]*(?:\n[ \t]*:::[ \t]*$)?|"
    r"@<[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27}>"
)
# Azure DevOps and HackMD: the size of a picture, and a diagram as a container.
_PICTURE_SIZE = re.compile(
    rf"{_CODE}|(?P<picture>\]\([^()\s]+)[ \t]+=(?:\d+%?)?x?(?:\d+%?)?[ \t]*(?=\))",
    _FLAGS,
)
_DIAGRAM = re.compile(
    rf"{_CODE}|^[ \t]*:::[ \t]*mermaid[ \t]*\n(?P<diagram>.*?)^[ \t]*:::[ \t]*$",
    _FLAGS,
)
# Places of pictures, as PyMuPDF4LLM writes them.
_PICTURE = r"\*\*(?:==>[^\n*]*<==|-{5} (?:Start|End) of picture text -{5})\*\*"
_SITE = re.compile(
    "|".join(
        [
            _LIVE_LISTING,
            _CODE,
            _LOGSEQ,
            _AZURE,
            _PICTURE,
            _LIQUID_COMMENT,
            _SHORTCODE,
            _MKDOCS,
            _ATTRIBUTE_LIST,
            _NOTE_COMMENT,
            # A component of Vue, which takes no import.
            rf"<[A-Z][\w.]*\s+\w[\w:.-]*={_ATTRIBUTES}/>",
            _BLOCK_NAME,
        ]
    ),
    _FLAGS,
)
_SITE_MARK = re.compile(
    r":(?:material|octicons|fontawesome|simple|custom)-|(?m:^[ \t]*(?:\*\[|\{[ \t]*[.#]|-{1,2}8<|<<<))|"
    r"<[A-Z][\w.]*\s+\w[\w:.-]*=|(?i:\[_?to(?:c|sp)_?\])|@<|query-table|"
    r"<==\*\*|picture text -{5}|#\+BEGIN_|"
    r"\{--|\{>>|:: |\(\(|\{\{|:LOGBOOK:|\{%|\{\{[<%]|\{:|%%|(?m:^|[ \t])\^|```[ \t]*(?:dataview|tasks|query|compressed)"
)
_LISTING = re.compile(
    r"\{[%{][<%-]?[ \t]*highlight[ \t]+([\w+-]*)[^\n%>]*[%>]\}\}?\n?"
    r"((?:(?!\{[%{][<%-]?[ \t]*(?:end|/[ \t]*)?highlight\b).)*+)"
    r"\{[%{][<%-]?[ \t]*(?:endhighlight|/[ \t]*highlight)[ \t]*-?[%>]\}\}?",
    re.DOTALL,
)

_TITLE = re.compile(
    r"""\b(?:title|alt|label|header|heading|caption|summary|description|content|text|(?!class|style)\w+(?==\{?["'](?:[^\s"']+\s+){2}))"""
    r"""=\{?(?:"([^"]+)"|'([^']+)')"""
)
_TITLED = re.compile(
    r"""\{\{[<%][ \t]*(?:tab|notice|details|expand|hint|callout|admonition|alert|note|tip|warning|card|step)\b"""
    r"""[^"\n>]*?[ \t]"([^"\n]+)"[ \t]*[>%]\}\}"""
)
"""A shortcode whose last argument, in quotation marks, is a title."""


class PlainPage(NamedTuple):
    """A page as plain Markdown, and the instructions that were removed from it."""

    text: str
    left_out: str = ""


def plain_markdown(text: str, name: str = "") -> PlainPage:
    """A page without the instructions of its program; their titles become paragraphs.

    name : the name of the file; `.mdx` is MDX.
    """
    left_out = list[str]()
    if has_page_marks(text):
        text, left_out = without_page_marks(text)
    if _is_mdx(text, name):
        text = _MDX.sub(_remover(left_out), text)
    for applies, pattern, replacement in _REWRITTEN:
        if applies(text):
            text = pattern.sub(replacement or _remover(left_out), text)
    return PlainPage(text, "\n".join(left_out))


def _has_emoji(text: str) -> bool:
    """Whether a page has names of emoji; options of MyST look like these."""
    return bool(_EMOJI.search(text)) and not _MYST_OPTIONS.search(text)


def _name_of_object(match: re.Match[str]) -> str:
    """The name of an object whose documentation a page shows; a match of code unchanged."""
    if match["code"]:
        return match[0]
    return f"\n\n{match['object'] or match['module']}\n\n"


def _caption(match: re.Match[str]) -> str:
    """The caption of a figure; a match of code unchanged."""
    return match["caption"] or match[0]


def _link_without_computed(match: re.Match[str]) -> str:
    """A link without the computed part of its address; a match of code unchanged."""
    if match["code"]:
        return match[0]
    return f"{match['link']}{match['path']}"


def _picture_without_size(match: re.Match[str]) -> str:
    """The start of a picture or link without its size; a match of code unchanged."""
    return match["picture"] or match[0]


def _fenced_diagram(match: re.Match[str]) -> str:
    """A diagram in a container as one in a fence; a match of code unchanged."""
    if match["code"]:
        return match[0]
    return f"```mermaid\n{match['diagram']}```"


def _names_of_keys(match: re.Match[str]) -> str:
    """The names of keys as a page shows them, such as Ctrl+C; a match of code unchanged."""
    if match["code"]:
        return match[0]
    keys = re.findall(r"\"[^\"]+\"|[^+]+", match["keys"])
    return "+".join(
        key.strip('"') if key.startswith('"') else key.replace("-", " ").title()
        for key in keys
    )


def _marked_words(match: re.Match[str]) -> str:
    """The words between marks; a match of code unchanged."""
    if match["code"]:
        return match[0]
    names = ("inserted", "replaced", "marked", "underlined")
    return next((match[name] for name in names if match[name]), "")


_REWRITTEN: Sequence[
    tuple[
        Callable[[str], object],
        re.Pattern[str],
        str | Callable[[re.Match[str]], str] | None,
    ]
] = (
    (_DRAWING_BANNER.search, _DRAWING_PART, None),
    (_DRAWING_BANNER.search, _DRAWING_BANNER, None),
    (re.compile("highlight").search, _LISTING, r"\n```\1\n\2\n```\n"),
    (_SITE_MARK.search, _SITE, None),
    (_FORUM_END.search, _FORUM_DETAILS, r"\n\n\1\n\n"),
    (_FORUM_END.search, _FORUM_MARK, r"\n\n"),
    (re.compile("#fig-").search, _FIGURE, _caption),
    (re.compile("::: ").search, _OBJECT, _name_of_object),
    (re.compile(r"\]\([^()\s{}]*\{\{").search, _COMPUTED, _link_without_computed),
    (re.compile(" =").search, _PICTURE_SIZE, _picture_without_size),
    (re.compile("mermaid").search, _DIAGRAM, _fenced_diagram),
    (re.compile(r"==|\^\^|~>|\{\+\+").search, _MARKED, _marked_words),
    (re.compile(r"\+\+").search, _KEYS, _names_of_keys),
    (_has_emoji, _EMOJI, None),
    (re.compile(r"\(\d{1,3}\)!|\[!code ").search, _ANNOTATION, None),
)
"""(whether a page may have an instruction, instruction, its replacement; None for its titles), in order."""


def _is_mdx(text: str, name: str) -> bool:
    """Whether a page is MDX: by its ending, or by an import outside its code."""
    if name.lower().endswith(".mdx"):
        return True
    return "import" in text and bool(_IMPORT_LINE.search(_FENCE.sub("", text)))


def _remover(left_out: list[str]) -> Callable[[re.Match[str]], str]:
    """A function that replaces an instruction by its titles, and adds it to `left_out`.

    It returns a match of code unchanged. An instruction on its own line becomes paragraphs.
    """

    def replacement(match: re.Match[str]) -> str:
        groups = match.groupdict()
        if groups.get("code"):
            return match[0]
        left_out.append(match[0])
        titles = _titles(match[0])
        if groups.get("line") is None:
            return " ".join(titles)
        return "".join(f"\n\n{title}\n\n" for title in titles)

    return replacement


def _titles(instruction: str) -> list[str]:
    """The titles in an instruction: its attributes of text, or its only argument in quotation marks."""
    quoted = _TITLED.fullmatch(instruction.strip())
    if quoted and "=" not in instruction:
        return [quoted[1]]
    return [double or single for double, single in _TITLE.findall(instruction)]
