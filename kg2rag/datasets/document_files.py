"""A file -> its title and blocks: headings, prose and code, in the order of the page; one function a kind of file."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from kg2rag.text.records import DataError, existing, read_delimited, read_jsonl

PROSE, CODE = "prose", "code"
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LEFT_OUT = "script style nav header footer aside form noscript template svg math button img".split()
_LEFT_OUT_BY_CLASS = ".headerlink, .sphinxsidebar, .toc, .toctree-wrapper, [class^=footer], [role=navigation], "
_LEFT_OUT_BY_CLASS += "[aria-hidden=true], .admonition-title, .admonitionblock td.icon"  # "Note", which names nothing
_BLOCKS = "p div section article main ul ol li dl dt dd table tr blockquote pre figure figcaption details hr br".split()
_BLOCKS += list(_HEADINGS)
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*\n", re.DOTALL)
_TITLE = re.compile(r"(?m)^title:[ \t]*[\"']?(.+?)[\"']?[ \t]*$")
_ENDS = re.compile(r"[.!?:;][\"”’)]?$")
_DIRECTORY = re.compile(r"(?:\.\s?){4,}\s*\w+$")  # a line of a table of contents
_EDGE = 3  # pages that begin or end with a line from which it is a running head
_BULLET = re.compile(r"[•◦▪–*-]\s|\d+[.)]\s")
_BOLD = re.compile(r"(?i)bold|black|heavy|medi|bx\d")  # in a font's name; the last is TeX's
_NUMBERED = re.compile(r"(?:\d+|[A-Z](?=\.\d))((?:\.\d+)*)\.?\s+[^\W\d]")
_WORD = re.compile(r"[^\W\d_]{3}")
_CONTENTS = ("contents", "tableofcontents")


class Block(NamedTuple):
    """A paragraph, a list item, a row of a table, a listing; or a heading, whose level counts from 1."""

    text: str
    level: int = 0
    kind: str = PROSE


Contents = tuple[str, list[Block]]
"""The title that the file gives itself, "" for none, and its blocks."""


def paragraphs(text: str) -> Iterator[Block]:
    """The paragraphs of a plain text, which blank lines divide."""
    return (Block(one.strip()) for one in re.split(r"\n\s*\n", text) if one.strip())


def plain_text(file: Path) -> Contents:
    """A text file."""
    return "", list(paragraphs(decoded(file.read_bytes())))


def markdown(file: Path) -> Contents:
    """CommonMark with tables, its front matter's title, and whatever HTML is in it."""
    from markdown_it import MarkdownIt

    text = decoded(file.read_bytes())
    front = _FRONT.match(text)
    title = _TITLE.search(front[1]) if front else None
    made = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text[front.end() if front else 0 :])
    return "", [*([Block(title[1], 1)] if title else []), *html_blocks(made)]


def html(file: Path) -> Contents:
    """A page without its navigation, scripts and forms: `main` or `article` where it has one."""
    page = _parsed(file.read_bytes())
    title = page.title.get_text(" ", strip=True) if page.title else ""
    return title, list(html_blocks(page))


def docx(file: Path) -> Contents:
    """A Word document; its styles say what is a heading."""
    import mammoth

    with file.open("rb") as stream:
        return "", list(html_blocks(mammoth.convert_to_html(stream).value))


def pdf(file: Path) -> Contents:
    """The text of a PDF. Its own title is not read: in most files it is another's."""
    import pypdfium2

    with pypdfium2.PdfDocument(file) as document:
        toc = [(one.get_dest(), _key(one.get_title()), one.level + 1) for one in document.get_toc()]
        outline = {(-1 if dest is None else dest.get_index(), key): level for dest, key, level in toc}
        pages = [page.get_textpage() for page in document]
        texts = (page.get_text_bounded() for page in pages)
        plain = (re.sub(r"[\x02\ufffe\xad]\s*", "", text).replace("\r", "").strip("\n") for text in texts)
        outline = outline or _by_fonts(pages)
        return "", pdf_blocks([text.split("\n") for text in plain], outline, by_lines=not toc)


def _by_fonts(pages: Sequence[Any]) -> dict[tuple[int, str], int]:
    """The outline of a PDF that has none, as `pdf_blocks` takes it, from the fonts of its lines' first letters.

    The largest letters of the first page are the title. A heading is larger than most letters, and bold or numbered; or
    bold with a number of several parts. Labels in figures may be large, but are neither.
    """
    from ctypes import create_string_buffer

    from pypdfium2 import raw

    name, matrix, letters = create_string_buffer(128), raw.FS_MATRIX(), Counter[float]()
    lines = list[tuple[int, str, float, bool]]()
    for number, page in enumerate(pages):
        at = 0
        for line in page.get_text_range().split("\r\n"):
            first, at = at + len(line) - len(line.lstrip()), at + len(line) + 2
            raw.FPDFText_GetMatrix(page.raw, first, matrix)
            raw.FPDFText_GetFontInfo(page.raw, first, name, len(name), None)
            size = round(raw.FPDFText_GetFontSize(page.raw, first) * abs(matrix.d), 1)
            letters[size] += len(line)
            if _WORD.search(line):
                lines.append((number, line.strip(), size, bool(_BOLD.search(name.value.decode("latin-1")))))
    usual = max(letters, key=lambda size: letters[size], default=0.0)
    largest = max((size for number, _, size, _ in lines if number == 0), default=0.0)
    found = dict[tuple[int, str], float]()
    for number, line, size, bold in lines:
        numbered = _NUMBERED.match(line)
        title = number == 0 and size == largest > 1.3 * usual
        heading = len(line) < 100 and size > 1.05 * usual and (bold or numbered)
        if title or heading or (bold and numbered and numbered[1] and size == usual):
            found.setdefault((number, _key(line)), float("inf") if title else size)
    sizes = sorted({*found.values(), float("inf")}, reverse=True)
    return {place: 1 + sizes.index(size) for place, size in found.items()}


def pdf_blocks(
    pages: Sequence[Sequence[str]], outline: Mapping[tuple[int, str], int], *, by_lines: bool = False
) -> list[Block]:
    """Lines joined to paragraphs, running heads and tables of contents left out.

    `outline` : (page from 0, or -1 for any; the letters of a line, in lower case) -> its level as a heading.
    `by_lines` : the outline has lines, of which two that follow each other may be one heading; else whole headings.
    """
    edges = Counter(key for lines in pages for key in {*map(_key, lines[:1]), *map(_key, lines[-1:])})
    often = {key for key, count in edges.items() if count >= min(_EDGE, max(2, len(pages)))}
    blocks, open_, contents = list[Block](), "", False
    for number, lines in enumerate(pages):
        levels = [outline.get((number, key), outline.get((-1, key), 0)) for key in map(_key, lines)]
        ends = (0, len(lines) - 1)
        kept = [
            (line, level)
            for at, (line, level) in enumerate(zip(lines, levels, strict=True))
            if level or not ((at in ends and _key(line) in often) or _DIRECTORY.search(line))
        ]
        width = sorted(len(line) for line, _ in kept)[len(kept) * 3 // 4] if kept else 0
        for line, level in kept:
            if open_ and (level or not line or _BULLET.match(line)):
                blocks.append(Block(open_))
                open_ = ""
            if level:
                wrapped = by_lines and bool(blocks) and blocks[-1].level == level and not line[:1].isdigit()
                head = f"{blocks.pop().text} {line}" if wrapped else line  # of two lines
                blocks.append(Block(head, level))
                contents = _key(head) in _CONTENTS
                continue
            if contents and re.search(r"[\s.]\d+$", line):
                continue
            open_ = f"{open_} {line}".strip()
            if _ENDS.search(line) and len(line) < 0.8 * width:  # the last line of a paragraph
                blocks.append(Block(open_))
                open_ = ""
    return [*blocks, Block(open_)] if open_ else blocks


READERS: Mapping[str, Callable[[Path], Contents]] = {
    ".md": markdown,
    ".txt": plain_text,
    ".html": html,
    ".htm": html,
    ".pdf": pdf,
    ".docx": docx,
}
"""Ending of a file's name -> its reader."""


def html_blocks(page: Any) -> Iterator[Block]:
    """The blocks of a page, or of a text with HTML: links by their words, images and navigation left out."""
    tree = _parsed(page) if isinstance(page, str) else page
    for one in [*tree(_LEFT_OUT), *tree.select(_LEFT_OUT_BY_CLASS)]:
        one.decompose()
    return _walked(tree.find("main") or tree.find(attrs={"role": "main"}) or tree.find("article") or tree.body or tree)


def _walked(node: Any) -> Iterator[Block]:
    """The blocks below a node: those of its block elements, and between them the text that runs on."""
    inline = list[str]()
    for child in (*node.children, None):
        name = getattr(child, "name", None)
        if child is None or (name and (name in _BLOCKS or child.find(_BLOCKS))):
            if text := " ".join("".join(inline).split()):
                yield Block(text)
            inline = []
            yield from () if child is None else _blocks_of(child)
        elif name or type(child).__name__ == "NavigableString":  # its subclasses are comments and doctypes
            inline.append(child.get_text())


def _blocks_of(tag: Any) -> Iterator[Block]:
    if level := _HEADINGS.get(tag.name, 0):
        block = Block(" ".join(tag.get_text().split()).strip("¶# "), level)
    elif tag.name == "pre":
        block = Block(tag.get_text().strip("\n"), kind=CODE)
    elif tag.name == "tr":
        cells = (" ".join(cell.get_text(" ").split()) for cell in tag(["td", "th"]))
        block = Block(" | ".join(cells).strip(" |"))
    else:
        yield from _walked(tag)
        return
    if block.text.strip():
        yield block


def _parsed(page: str | bytes) -> Any:
    import warnings

    from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning

    with warnings.catch_warnings():  # XHTML reads well as HTML
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        return BeautifulSoup(page, "lxml")


def _key(line: str) -> str:
    """A line by its letters: numbers differ from page to page, blanks from outline to text."""
    return "".join(filter(str.isalpha, line.casefold()))


def decoded(data: bytes) -> str:
    """A text as UTF-8, else, as no bytes are wrong there, as Windows-1252."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


TABLES = (".jsonl", ".csv")


def read_table(file: Path) -> list[Mapping[str, Any]]:
    """The records of a .jsonl or .csv file; in a .csv, a cell that is a JSON list or object is one."""
    ending, needed = file.suffix.lower(), f"a table: a file {' or '.join(TABLES)}"
    existing(file, needed)
    if ending not in TABLES:
        raise DataError(f"{file} cannot be read as records. Give {needed}.")
    rows = read_jsonl(file) if ending == ".jsonl" else read_delimited(file, ",")
    return [{name: _cell(value) for name, value in row.items() if value not in ("", None)} for _, row in rows]


def _cell(value: Any) -> Any:
    with suppress(ValueError):
        return json.loads(value) if isinstance(value, str) and value[:1] in "[{" else value
    return value
