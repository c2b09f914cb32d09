"""Markdown -> its blocks, by markdown-it-py and its plugins, through HTML.

CommonMark with tables, footnotes, definition lists, task lists, containers (`:::`), MkDocs's
admonitions (`!!!`) and tabs (`===`), MyST's directives, roles and targets, MDX, and wiki links. Front matter is YAML
(`---`), TOML (`+++`) or JSON (`{`). Ours: a tag in prose that is never closed is shown as text, so
that it hides nothing behind it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape, unescape
from itertools import chain
from typing import TYPE_CHECKING, Any

from kg2rag.datasets.documents.blocks import (
    Block,
    FileDocument,
    counted_remark,
    join_remarks,
    one_line,
)
from kg2rag.datasets.documents.markup.dialects import plain_markdown
from kg2rag.datasets.documents.markup.front_matter import split_front_matter
from kg2rag.datasets.documents.markup.rewritten_markup import role_html
from kg2rag.datasets.documents.records.json_values import has_phrase, value_lines
from kg2rag.datasets.documents.web.html import tree_blocks
from kg2rag.datasets.documents.web.page_tree import parse_tree
from kg2rag.text.decoding import decode_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_NESTING = 100
"""Deepest nesting of quotations and lists; deeper text is not read, and counted as lost."""
_CONTAINER_OPTIONS = re.compile(r"(?m)^(:{3,}\{[^\n]*\n)(?:[ \t]*:[\w-]+:[^\n]*\n)+")
_TAB = re.compile(r'(?m)^([ \t]*)===[!+]*[ \t]+(?=")')
_BLOCK_MARK = re.compile(r"(?m)^[ \t]*(?:!!!|\?\?\?\+?|===[!+]*)[ \t]")
_ALERT = re.compile(r"(?m)^([ \t>]*>[ \t]*)\[!\w{2,20}\][+-]?[ \t]*([^\n]*)$")
_EMBEDDED_IMAGE = re.compile(
    r"(?i)!\[\[[^\[\]\n]+\.(?:png|jpe?g|gif|svg|webp|bmp|mp[34])(?:\|[^\[\]\n]*)?\]\]"
)
_ADDRESS = re.compile(r"^/|/$|://|\.html$")
"""An alias in front matter from which a site redirects; it is no name."""
_INCLUSION = re.compile(r"(?m)^[ \t]*(?:-{1,2}8<|<<<)")
_WIKI_LINK = re.compile(r"!?\[\[([^\[\]|\n]{1,300})(?:\\?\|([^\[\]\n]{1,300}))?\]\]")
_DIRECTIVE = re.compile(r"\{([a-zA-Z][\w:-]*)\}[ \t]*(.*)", re.DOTALL)
_RAW = re.compile(r"\{=(\w+)\}")
"""What Pandoc and Quarto write beside a fence whose content is of one format, such as HTML."""
_QUOTED_TITLE = re.compile(r"""\b(?:title|caption|fig\.cap)=["']([^"'\n]*)["']""")
_MYST = re.compile(
    r"(?m)^\([\w.:-]+\)=[ \t]*$|\{[a-z][\w:-]*\}`[^`\n]|^(?:`{3,}|:{3,})\{(?!(?:r|python|julia|bash)\b)[a-z]"
)
"""A target, a role or a directive of MyST."""
_TASK_BOX = re.compile(r"^\[[ xX]\](?:[ \t]+|$)")
_UNSHOWN = ("myst_line_comment", "myst_target", "myst_block_break")
_OPTION = re.compile(r":[\w-]+:.*")
_CAPTION = re.compile(r"(?m)^[ \t]*:caption:[ \t]*(\S[^\n]*)$")
_CODE_DIRECTIVES = """code code-block code-cell sourcecode literalinclude math mermaid graphviz raw eval-rst csv-table
include image figure toctree bibliography autofunction autoclass automodule r python""".split()
_TAG = re.compile(r"<(/?)([a-zA-Z][\w:-]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING_ATTRIBUTES = re.compile(r"(?m)(?<![ \t])[ \t]*\{:?[ \t]*[#.][^{}\n]*\}[ \t]*$")
_HIDDEN = (
    _COMMENT,
    _HEADING_ATTRIBUTES,
    re.compile(r"(?is)<(script|style)\b[^>]*>.*?</\1\s*>"),
    # Images; the description of one may have several lines.
    re.compile(r"!\[[^\]\n]*(?:\n[^\]\n]+){1,20}\]\([^()\n]*\)"),
    re.compile(r"!\[[^\]\n]*\](?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\[[^\]\n]*\])?"),
    # targets of links
    re.compile(
        r"(?<=\])\((?:[^()\s]|\([^()\s]*\))*(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
    ),
    re.compile(r"(?<=\])\[[^\]\n]*\]"),
    re.compile(r"(?<=\])\{[.#][^{}\n]*\}"),
    re.compile(
        r"(?m)^[ \t>]*\[[^\]\n]+\]:[ \t]*\S*(?:[ \t]*(?:\"[^\"\n]*\"|'[^'\n]*'))?"
    ),
    re.compile(r"(?m)^[ \t>]*(?:```+|~~~+)[^\n`]*$"),
    re.compile(r"(?m)^[ \t>]*(?:!!!|\?\?\?\+?|:::+)[ \t]*(?:\{[^}\n]*\}|[\w-]*)"),
    re.compile(r"(?m)^[ \t]*:[\w-]+:[^\n]*$"),
    re.compile(r"(?m)^[ \t>]*>[ \t]*\[!\w{2,20}\][+-]?"),
    _EMBEDDED_IMAGE,
    re.compile(r"\{[a-z][\w:-]*\}(?=`[^`\n])"),
    re.compile(r"\[\[[^\[\]|\n]*\\?\|"),
    re.compile(r"(?m)^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX]\](?=\s)"),
    re.compile(r"(?m)^[ \t>]*(?:[-*+][ \t]+)?\d{1,9}[.)](?=\s)"),
)
"""Parts of the source that a page does not show: comments, images, targets of links, options."""
_ROLE_TARGET = re.compile(r"(\{[a-z][\w:-]*\}`[^`<\n]*)<[^<>`\n]*>(?=`)")
_KEPT_TAGS = frozenset(
    """a abbr b blockquote br caption center cite code col colgroup dd del details dfn div dl dt em figcaption figure
    font h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark math ol p picture pre q rp rt ruby s samp small source span strike
    strong sub summary sup table tbody td tfoot th thead tr tt u ul var video wbr""".split()
)
_UNCLOSED_TAGS = frozenset("br col dd dt hr img li p source td th tr wbr".split())
"""Tags that HTML allows without an end."""
_HTML_TAGS = _KEPT_TAGS | frozenset(
    """address area article aside audio base bdi bdo big body button canvas data datalist dialog embed fieldset footer
    form head header hgroup html iframe input label legend link main map menu meta meter nav noscript object optgroup
    option output param progress script section select slot style svg template textarea time title track""".split()
)


def read_markdown(data: bytes, name: str = "") -> list[FileDocument]:
    """The document of a page; the title in its front matter is its first heading, of level 1."""
    decoded = decode_text(data)
    document = markdown_document(decoded.text, name)
    return [replace(document, remark=join_remarks(decoded.remark, document.remark))]


def markdown_document(text: str, name: str = "") -> FileDocument:
    """The document of a page given as text."""
    front = split_front_matter(text)
    page = plain_markdown(front.body, name)
    title = _title(front.fields)
    tokens = _parse(page.text)
    tree = parse_tree(_markdown().renderer.render(tokens, _markdown().options, {}))
    blocks, navigation = tree_blocks(tree)
    if all(block.level for block in blocks):  # a home page
        blocks = [*blocks, *_phrases(front.fields)]
    unshown = _contents(tokens, _UNSHOWN)
    labels = _contents(tokens, ("myst_target",))
    aliases = _aliases(front.fields)
    document = FileDocument(
        [block for block in (Block(title, 1), *blocks) if block.text],
        source="\n".join([front.text, page.left_out, visible_text(page.text)]),
        left_out="\n".join([front.text, page.left_out, navigation, *unshown]),
        remark=counted_remark(
            "lines that include files, left out",
            len(_INCLUSION.findall(page.left_out)),
        ),
        names=(*aliases, *labels),
    )
    return _with_names(document, [a for a in aliases if not _ADDRESS.search(a)])


def _contents(tokens: Iterable[Token], kinds: Container[str]) -> list[str]:
    """The contents of the tokens of some kinds."""
    return [token.content for token in tokens if token.type in kinds]


def _title(fields: Mapping[str, Any]) -> str:
    """The title in the front matter of a page; "" without one."""
    title = fields.get("title") or ""
    if isinstance(title, list):  # of a title in square brackets
        title = " ".join(map(str, title))
    return one_line(str(title))


def _phrases(fields: Mapping[str, Any]) -> list[Block]:
    """The phrases in the front matter of a page without a text, and the titles beside them."""
    return [
        Block(one_line(text))
        for path, text in value_lines(dict(fields))
        if path != ("title",) and (path[-1] in _SHOWN_FIELDS or has_phrase(text))
    ]


_SHOWN_FIELDS = ("title", "text", "name", "tagline", "details", "description")
"""Fields of the parts of a home page that it shows."""


def _aliases(fields: Mapping[str, Any]) -> list[str]:
    """The other names of a page, from its front matter."""
    aliases = fields.get("aliases") or fields.get("alias")
    if isinstance(aliases, str):
        aliases = aliases.split(",")
    if not isinstance(aliases, list):
        return []
    return [alias.strip() for alias in aliases if isinstance(alias, str)]


def _with_names(document: FileDocument, names: Sequence[str]) -> FileDocument:
    """A page with its other names before the first text, so that a search finds them."""
    if not names:
        return document
    blocks = document.blocks
    index = next((i for i, block in enumerate(blocks) if not block.level), len(blocks))
    return replace(
        document,
        blocks=[*blocks[:index], Block(", ".join(names)), *blocks[index:]],
        metadata={"aliases": list(names)},
    )


@cache
def _markdown(*, is_myst: bool = False) -> MarkdownIt:
    """The parser of Markdown with its plugins, with those of MyST if `is_myst`."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.admon import admon_plugin
    from mdit_py_plugins.attrs import attrs_plugin
    from mdit_py_plugins.container import container_plugin
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin
    from mdit_py_plugins.myst_blocks import myst_block_plugin
    from mdit_py_plugins.myst_role import myst_role_plugin

    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable(
        ["table", "strikethrough"]
    )
    parser.use(footnote_plugin).use(deflist_plugin).use(admon_plugin)
    parser.use(attrs_plugin, spans=True)
    if is_myst:
        parser.use(myst_block_plugin).use(myst_role_plugin)
    parser.add_render_rule("myst_role", _render_role)
    for kind in _UNSHOWN:
        parser.add_render_rule(kind, _render_nothing)
    parser.use(
        container_plugin,
        "any",
        validate=lambda _params, _markup: True,
        render=_render_container,
    )
    return parser


def _render_container(
    _renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any
) -> str:
    """A container as a `div` that begins with its title."""
    if tokens[index].nesting != 1:
        return "</div>\n"
    return f"<div><p>{escape(_container_title(tokens[index].info.strip()))}</p>\n"


def _render_role(_renderer: Any, tokens: Sequence[Token], index: int, *_: Any) -> str:
    """The HTML of a role of MyST."""
    return role_html(tokens[index].meta["name"], escape(tokens[index].content))


def _render_nothing(*_: Any) -> str:
    """No HTML, for comments and targets of MyST."""
    return ""


def _container_title(info: str) -> str:
    """The title of a container from its first line, "Words" in each of four forms.

    These are `tip Words`, `tip[Words]`, `{tip} Words` and `{.tip title="Words"}`.
    """
    quoted = _QUOTED_TITLE.search(info)
    if quoted:
        return quoted[1]
    return re.sub(r"^(?:\{[^}]*\}|[\w-]*)", "", info).strip(" []")


def visible_text(text: str) -> str:
    """The text of a page without targets of links, tags and marks, by regular expressions only.

    It is the second reading against which lost words are counted.
    """
    text = _ROLE_TARGET.sub(r"\1", text)
    for pattern in _HIDDEN:
        text = pattern.sub(" ", text)
    return unescape(_TAG.sub(_hide_tag, text))


def _hide_tag(match: re.Match[str]) -> str:
    """A blank for a tag of HTML; any other text in <> stays."""
    return " " if match[2].lower() in _HTML_TAGS else match[0]


def _parse(text: str) -> list[Token]:
    """The tokens of a page, ready to be rendered."""
    if _BLOCK_MARK.search(text):
        # two blank lines would end an admonition
        text = re.sub(r"\n[ \t]*\n(?:[ \t]*\n)+", "\n\n", text)
        text = _TAB.sub(r"\1!!! tab ", text)
    parser = _markdown(is_myst=bool(_MYST.search(text)))
    tokens = parser.parse(_ALERT.sub(r"\1\2\n\1", _CONTAINER_OPTIONS.sub(r"\1", text)))
    tokens = [part for token in tokens for part in _expand_directive(token)]
    inline = [child for token in tokens for child in token.children or ()]
    _drop_heading_attributes(tokens)
    _drop_task_boxes(tokens)
    _clean_html([*tokens, *inline])
    _show_wiki_links(inline)
    return tokens


def _drop_heading_attributes(tokens: Sequence[Token]) -> None:
    """Take `{#id .class}`, as Pandoc, MkDocs and Docusaurus have it, from the ends of headings and captions."""
    for inline in tokens:
        if inline.type == "inline" and inline.children:
            inline.children[-1].content = _HEADING_ATTRIBUTES.sub(
                "", inline.children[-1].content
            )


def _drop_task_boxes(tokens: Sequence[Token]) -> None:
    """Take the boxes of task lists, `[ ]` and `[x]`, from the beginnings of their items."""
    for opening, item, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_item = opening.type == "list_item_open" and item.type == "paragraph_open"
        if is_item and inline.children and inline.children[0].type == "text":
            text = inline.children[0]
            text.content = _TASK_BOX.sub("", text.content)


def _clean_html(tokens: Iterable[Token]) -> None:
    """Remove the tags from raw HTML that could hide text."""
    raw = [token for token in tokens if token.type in ("html_block", "html_inline")]
    closed = _closed_tags(token.content for token in raw)
    for token in raw:
        token.content = _safe_html(token.content, closed)


def _show_wiki_links(tokens: Iterable[Token]) -> None:
    """Replace wiki links in text by hyperlinks."""
    for token in tokens:
        if token.type == "text" and "[[" in token.content:
            token.type = "html_inline"
            text = _EMBEDDED_IMAGE.sub("", token.content)
            token.content = _WIKI_LINK.sub(_wiki_anchor, escape(text, quote=False))


def _expand_directive(token: Token) -> list[Token]:
    """The tokens of the prose in a directive of MyST; any other token itself.

    The title of a listing is put before its first line.
    """
    if token.type != "fence":
        return [token]
    raw = _RAW.fullmatch(token.info.strip())
    if raw:
        token.type = "html_block"
        token.content = token.content if raw[1].startswith("html") else ""
        return [token]
    directive = _DIRECTIVE.fullmatch(token.info.strip())
    if directive is None or directive[1].lower() in _CODE_DIRECTIVES:
        return _listing(token, "" if directive is None else directive[1].lower())
    lines = token.content.split("\n")
    while lines and _OPTION.fullmatch(lines[0].strip()):
        lines.pop(0)
    return _parse("\n".join([directive[2], "", *lines]))


def _listing(token: Token, directive: str) -> list[Token]:
    """A listing below its title, without the options of a directive; a list of contents is not shown."""
    title = _QUOTED_TITLE.search(token.info)
    titles = [title[1]] if title else []
    lines = token.content.split("\n")
    if directive and _OPTION.match(lines[0].strip()):
        end = next(
            (i for i, line in enumerate(lines) if not _OPTION.match(line.strip())),
            len(lines),
        )
        titles += _CAPTION.findall("\n".join(lines[:end]))
        lines = lines[end:]
    token.content = "\n".join([*titles, *lines])
    if directive == "toctree":
        token.type = _UNSHOWN[0]
    return [token]


def _closed_tags(pieces: Iterable[str]) -> frozenset[str]:
    """The tags of HTML that are closed as often as they are opened."""
    tags = list(
        chain.from_iterable(_TAG.findall(_COMMENT.sub("", piece)) for piece in pieces)
    )
    opened = Counter(
        name.lower()
        for end, name, attributes in tags
        if not end and not attributes.endswith("/")
    )
    ended = Counter(name.lower() for end, name, _ in tags if end)
    names = _HTML_TAGS & {name.lower() for _, name, _ in tags}
    return frozenset(name for name in names if opened[name] == ended[name])


def _safe_html(html: str, closed: frozenset[str]) -> str:
    """Raw HTML without tags that could hide text; unknown names in <> are escaped.

    closed : the tags that the page closes.
    """
    html = _COMMENT.sub("", html)
    if "script" in closed or "style" in closed:
        html = re.sub(r"(?is)<(script|style)\b[^>]*>.*?</\1\s*>", "", html)

    def replace_tag(match: re.Match[str]) -> str:
        name = match[2].lower()
        if name in _KEPT_TAGS and (name in closed or name in _UNCLOSED_TAGS):
            return match[0]
        return "" if name in closed else escape(match[0])

    return _TAG.sub(replace_tag, html)


def _wiki_anchor(match: re.Match[str]) -> str:
    """The hyperlink of a wiki link `[[Page#Part|words]]`; names of blocks (`#^name`) are no words."""
    target = unescape(match[1]).strip()
    words = unescape(match[2] or "").strip()
    words = words or re.sub(r"#\^[\w-]*$", "", target).replace("#", " ").strip()
    return f'<a href="wiki:{escape(target)}">{escape(words)}</a>'
