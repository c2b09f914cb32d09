"""Books of text libraries -> their text without the library's header, notation and licence.

Project Gutenberg puts the text between two lines of asterisks. Aozora Bunko writes readings of
characters in 《》 and notes in ［＃］, and explains both above the text. All that is left out is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from kg2rag.datasets.documents.blocks import (
    Block,
    FileDocument,
    counted_remark,
    join_remarks,
    one_line,
    paragraphs,
)

_GUTENBERG_START = re.compile(
    r"(?m)^[ \t]*\*{3} ?START OF (?:THE|THIS) PROJECT GUTENBERG[^*]{0,500}\*{3}[^\n]*\n"
)
_SMALL_PRINT = re.compile(r"(?m)^[ \t]*\*END\*? ?THE SMALL PRINT![^\n]*\n")
"""The last line above a book of the years before 2002."""
_GUTENBERG_END = re.compile(
    r"(?mi)^[ \t]*\*{3} ?END OF (?:THE|THIS) PROJECT GUTENBERG|"
    r"^[ \t]*\**End of (?:the |this )?Project Gutenberg(?:'s|’s| Etext| EBook)"
)
_GUTENBERG_TITLES = (
    re.compile(r"(?m)^Title:[ \t]*(\S[^\n]*(?:\n[ \t]+\S[^\n]*)*)"),
    re.compile(r"(?mi)^\**(?:The )?Project Gutenberg(?:'s)? Etext of ([^,*\n]+)"),
)
_AOZORA_LEGEND = re.compile(
    r"(?ms)^-{20,}[ \t]*\n【テキスト中に現れる記号について】.*?^-{20,}[ \t]*\n"
)
_AOZORA_COLOPHON = re.compile(r"(?m)^底本[：:]")
_AOZORA_HEADING = re.compile(
    r"［＃「([^「」\n]+)」は(?:同行|窓)?([大中小])見出し］"
    r"|［＃(?:同行|窓)?([大中小])見出し］(.+?)［＃(?:同行|窓)?[大中小]見出し終わり］"
)
_AOZORA_LEVELS = {"大": 2, "中": 3, "小": 4}
_AOZORA_LETTER = re.compile(r"※［＃([^［］\n]+)］")
_JIS_PLACE = re.compile(r"(?<![\d-])([12])-(\d{1,2})-(\d{1,2})(?![\d-])")
_CODE_POINT = re.compile(r"U\+([0-9A-Fa-f]{4,6})")
_AOZORA_MARKS = re.compile(r"《[^《》\n]*》|［＃[^［］\n]*］|｜")


def is_library_text(text: str) -> bool:
    """Whether a text has the lines that Project Gutenberg or Aozora Bunko puts around books."""
    has_legend = _AOZORA_LEGEND.search(text) is not None
    has_notes = _AOZORA_COLOPHON.search(text) is not None and "［＃" in text
    return has_legend or has_notes or bool(_starts_of_books(text))


def library_documents(text: str, remark: str = "") -> Iterator[FileDocument]:
    """The documents of a text of Project Gutenberg or Aozora Bunko."""
    starts = _starts_of_books(text)
    if starts:
        yield from _gutenberg_documents(text, starts, remark)
    else:
        yield _aozora_document(text, remark)


def _starts_of_books(text: str) -> list[re.Match[str]]:
    """The lines above the books of Project Gutenberg."""
    return list(_GUTENBERG_START.finditer(text)) or list(_SMALL_PRINT.finditer(text))


def _gutenberg_documents(
    text: str, starts: Sequence[re.Match[str]], remark: str
) -> Iterator[FileDocument]:
    """A document for each book of a file of Project Gutenberg; `starts` are the lines above books."""
    next_starts = [*(start.start() for start in starts[1:]), len(text)]
    end_of_former = 0
    for number, (start, next_start) in enumerate(zip(starts, next_starts, strict=True)):
        end = _GUTENBERG_END.search(text, start.end(), next_start)
        stop = next_start
        if end:
            stop = end.start()
        header = text[end_of_former : start.end()]
        footer = ""
        if next_start == len(text):
            footer = text[stop:]
        key = ""
        if len(starts) > 1:
            key = str(number)
        titles = filter(None, (form.search(header) for form in _GUTENBERG_TITLES))
        yield FileDocument(
            list(paragraphs(text[start.end() : stop])),
            title=next((one_line(title[1]) for title in titles), ""),
            key=key,
            source=text[end_of_former:stop] + footer,
            left_out=f"{header}\n{footer}",
            remark=join_remarks(
                remark, "the header and licence of Project Gutenberg are left out"
            ),
        )
        end_of_former = stop


def _aozora_document(text: str, remark: str) -> FileDocument:
    """The document of a text of Aozora Bunko: its first line is the title, each line a paragraph."""
    colophon = _AOZORA_COLOPHON.search(text)
    stop = colophon.start() if colophon else len(text)
    body = _AOZORA_LEGEND.sub("\n", text[:stop])
    body = _AOZORA_LETTER.sub(_letter, body)
    title, _, body = body.lstrip("\ufeff\n").partition("\n")
    blocks = [_aozora_block(line) for line in body.split("\n")]
    n_described = body.count("※［＃")

    return FileDocument(
        [block for block in blocks if block.text],
        title=_without_marks(title),
        source=_AOZORA_LETTER.sub(_letter, text),
        left_out="\n".join(
            [*_AOZORA_MARKS.findall(body), *_legends(text), text[stop:]]
        ),
        remark=join_remarks(
            remark,
            "readings and notes of Aozora Bunko are left out",
            counted_remark("letters that are only described", n_described),
        ),
    )


def _legends(text: str) -> list[str]:
    """The explanations of the notation."""
    return [match[0] for match in _AOZORA_LEGEND.finditer(text)]


def _aozora_block(line: str) -> Block:
    """The paragraph or heading of a line."""
    heading = _AOZORA_HEADING.search(line)
    if heading is None:
        return Block(_without_marks(line))
    level = _AOZORA_LEVELS[heading[2] or heading[3]]
    return Block(_without_marks(line), level)


def _without_marks(line: str) -> str:
    """A line without readings and notes."""
    return one_line(_AOZORA_MARKS.sub("", line))


def _letter(match: re.Match[str]) -> str:
    """The letter that a note describes by its place in JIS X 0213 or Unicode; else the note."""
    place = _JIS_PLACE.search(match[1])
    code_point = _CODE_POINT.search(match[1])
    with suppress(UnicodeDecodeError, ValueError, OverflowError):
        if place:
            plane, row, cell = map(int, place.groups())
            prefix = b"\x8f" if plane == 2 else b""
            return (prefix + bytes((0xA0 + row, 0xA0 + cell))).decode("euc_jis_2004")
        if code_point:
            return chr(int(code_point[1], 16))
    return match[0]
