"""Messages -> their documents without signatures, and without words that they quote from earlier ones.

A quotation is left out only if its words stand in an earlier message of the mailbox, so that each
word stays in a passage. Quotations are lines that begin with `>`, and what follows the line that
names the writer ("On … wrote:") or the header of the quoted message, as Outlook puts it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

from kg2rag.datasets.documents.blocks import FileDocument
from kg2rag.text.scripts import words

SIGNATURE_LINES = 20
"""Most lines of a signature; more lines below "-- " are text."""
THREAD_MESSAGES = 50
"""Most earlier messages of the same subject in which quoted words are looked for."""
SHORT_WORDS = 4
"""Words from which a line without a mark is no answer if an earlier message has it."""
_MARK = re.compile(r"^(?:[ \t]*>)+[ \t]?")
_SIGNATURE = re.compile(r"--[ \t\xa0]?")
_WRITER = re.compile(
    r"(?=.*\d).{0,300}(?:wrote|writes|schrieb|écrit|escribió|escreveu|scritto|schreef|skrev|kirjoitti|napsal\w*|"
    r"napisał\w*|írta|yazdı|scris|пише\w*|написа\w*|写道|寫道|のメール|작성)[^\n]{0,100}[:：]",
    re.IGNORECASE,
)
_RULE = re.compile(r"-{3,}[ \t]*[^-\d\n]{3,40}?[ \t]*-{3,}|_{20,}")
_FIELD = re.compile(r"[^:：\n]{1,20}[:：]")
_SENDER = re.compile(
    r"(?m)^\*?(?:From|Von|De|Da|Van|Fra|Från|Od|От|发件人|寄件者|差出人|보낸 사람)\*?[ \xa0]*[:：]",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?<!\w)\*?(?:Sent|Date|Gesendet|Datum|Envoyé|Enviado|Fecha|Data|Inviato|Verzonden|Sendt|Skickat|Wysłano|Odesláno|"
    r"Отправлено|Дата|发送时间|日期|送信日時|日付|보낸 날짜)\*?[ \xa0]*[:：]",
    re.IGNORECASE,
)
_REPLY = re.compile(r"(?:\w{1,5}(?:\[\d+\])?[ ]*[:：][ ]*)+")


class Letter(NamedTuple):
    """The document of a message, and what tells which earlier messages it may quote.

    `seconds` is the time at which it was sent, from 1970; 0 for an unknown one.
    """

    document: FileDocument
    id: str
    references: tuple[str, ...]
    subject: str
    seconds: float


class Line(NamedTuple):
    """A line of a document.

    `block` is the position of its block; `text` is the line without the marks `>` before it, `raw`
    is the line with them.
    """

    block: int
    is_marked: bool
    text: str
    raw: str


class Quotation(NamedTuple):
    """The lines of a quotation, and those above it that name its writer, by their positions."""

    introduction: list[int]
    lines: list[int]


def without_signature(document: FileDocument) -> FileDocument:
    """The document of a text without the signature below its line "-- "."""
    lines = lines_of(document)
    start = next(
        (
            position
            for position, line in enumerate(lines)
            if _SIGNATURE.fullmatch(line.text) and not line.is_marked
        ),
        None,
    )
    if start is None:
        return document
    quotations = [min([*part.introduction, *part.lines]) for part in _quotations(lines)]
    stop = min(
        [position for position in quotations if position > start] or [len(lines)]
    )
    if stop - start > SIGNATURE_LINES:
        return document
    return without_lines(document, lines, range(start, stop))


def without_quotations(letters: Sequence[Letter]) -> list[FileDocument]:
    """The documents of messages without the lines that they quote from earlier ones."""
    texts = [f" {' '.join(words(letter.document.source))} " for letter in letters]
    return [
        _without_quoted_lines(letter.document, [texts[i] for i in earlier])
        for letter, earlier in zip(letters, earlier_letters(letters), strict=True)
    ]


def earlier_letters(letters: Sequence[Letter]) -> Iterator[list[int]]:
    """For each message the positions of earlier ones that it may quote, the likeliest first.

    It answers these, or has their subject.
    """
    times = [(letter.seconds, position) for position, letter in enumerate(letters)]
    position_of = {letter.id: position for position, letter in enumerate(letters)}
    latest = defaultdict[str, list[int]](list)
    earlier = dict[int, list[int]]()
    for _, position in sorted(times):
        subject = _subject(letters[position])
        references = letters[position].references
        answered = [position_of[id_] for id_ in references if id_ in position_of]
        likeliest = dict.fromkeys(reversed([*latest[subject], *answered]))
        earlier[position] = [o for o in likeliest if times[o] < times[position]]
        if subject:
            latest[subject] = [*latest[subject], position][-THREAD_MESSAGES:]
    for position in range(len(letters)):
        yield earlier[position]


def _subject(letter: Letter) -> str:
    """The subject of a message without marks of answers, such as "Re:"."""
    return _REPLY.sub("", letter.subject, count=1).casefold()


def _without_quoted_lines(document: FileDocument, texts: Sequence[str]) -> FileDocument:
    """A document without the lines of quotations whose words stand in one of some texts.

    A short line without a mark may be an answer: it is left out only behind a line that is.

    texts : the words of earlier messages, with blanks between and around them.
    """
    lines = lines_of(document) if texts else []
    removed = list[int]()
    for quotation in _quotations(lines):
        positions = _positions_in_texts(quotation, lines, texts)
        removed += positions
        if any(words(lines[position].text) for position in positions):
            removed += quotation.introduction
    return without_lines(document, lines, removed)


def _positions_in_texts(
    quotation: Quotation, lines: Sequence[Line], texts: Sequence[str]
) -> list[int]:
    """The positions of the lines of a quotation whose words stand in one of some texts."""
    positions = list[int]()
    for position in quotation.lines:
        line = lines[position]
        line_words = words(line.text)
        is_short = len(line_words) < SHORT_WORDS and not line.is_marked
        if is_short and position - 1 not in (*positions, *quotation.introduction):
            continue
        run = f" {' '.join(line_words)} "
        if not line_words or any(run in text for text in texts):
            positions.append(position)
    return positions


def lines_of(document: FileDocument) -> list[Line]:
    """The lines of a document without the marks of quotations."""
    return [
        Line(
            number, bool(_MARK.match(text)), _MARK.sub("", text, count=1).strip(), text
        )
        for number, block in enumerate(document.blocks)
        for text in block.text.split("\n")
    ]


def without_lines(
    document: FileDocument, lines: Sequence[Line], positions: Iterable[int]
) -> FileDocument:
    """A document without some of its lines, which are counted as left out."""
    removed = set(positions)
    if not removed:
        return document
    texts = defaultdict[int, list[str]](list)
    for position, line in enumerate(lines):
        if position not in removed:
            texts[line.block].append(line.raw)
    blocks = [
        block._replace(text="\n".join(texts[number]).strip("\n"))
        for number, block in enumerate(document.blocks)
    ]
    left_out = [lines[position].text for position in sorted(removed)]
    return replace(
        document,
        blocks=[block for block in blocks if block.text.strip()],
        left_out="\n".join([document.left_out, *left_out]),
    )


def _quotations(lines: Sequence[Line]) -> list[Quotation]:
    """The quotations of a text in their order.

    Without a mark before its lines, a quotation reaches to the next one, or to the end.
    """
    quotations = [Quotation([], [])]
    position = 0
    is_open = False
    while position < len(lines):
        n_lines = _introduction_length(lines, position)
        if n_lines:
            introduction = list(range(position, position + n_lines))
            quotations.append(Quotation(introduction, []))
            position += n_lines
            is_open = position < len(lines) and not lines[position].is_marked
            continue
        if is_open or lines[position].is_marked:
            quotations[-1].lines.append(position)
        elif lines[position].text:
            quotations.append(Quotation([], []))
        position += 1
    return [quotation for quotation in quotations if any(quotation)]


def _introduction_length(lines: Sequence[Line], start: int) -> int:
    """The number of lines from `start` on that introduce a quotation; 0 if they do not.

    They name the writer, in up to three lines, or are the header of the quoted message.
    """
    block = [
        line for line in lines[start : start + 8] if line.block == lines[start].block
    ]
    for stop in range(1, min(3, len(block)) + 1):
        follower = lines[start + stop] if start + stop < len(lines) else None
        if _name_the_writer(block[:stop], follower):
            return stop
    return _header_length(lines[start : start + 9])


def _name_the_writer(lines: Sequence[Line], follower: Line | None) -> bool:
    """Whether lines such as "On Monday, Ida wrote:" stand before a quotation.

    In an unknown language, they have a number, and the quotation is marked.

    follower : the line behind them; None for none.
    """
    if not lines[-1].text.endswith((":", "：")):
        return False
    text = " ".join(line.text for line in lines)
    if _WRITER.fullmatch(text):
        return True
    is_before_mark = follower is not None and follower.is_marked
    has_number = re.search(r"\d", text) is not None
    return is_before_mark and has_number and not lines[0].is_marked


def _header_length(lines: Sequence[Line]) -> int:
    """The number of lines of a message's header at the start of some lines; 0 if there is none."""
    rule = int(bool(_RULE.fullmatch(lines[0].text)))
    header = list(
        takewhile(lambda line: _FIELD.match(line.text), lines[rule : rule + 8])
    )
    text = "\n".join(line.text for line in header)
    if _SENDER.search(text) and _TIME.search(text):
        return rule + len(header)
    return 0
