"""Subtitles (SubRip, WebVTT, SubViewer, SubStation Alpha) -> the spoken sentences, without times and styles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from kg2rag.datasets.documents.blocks import Block, FileDocument, one_line
from kg2rag.datasets.documents.web.html import visible_text
from kg2rag.text.decoding import decode_text
from kg2rag.text.records import DataError

_TIME = r"(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMES = re.compile(rf"(?m)^[ \t]*{_TIME}[ \t]*(?:-->|,)[ \t]*{_TIME}[^\n]*")
SUBTITLE_ENDINGS = (".srt", ".vtt", ".sbv", ".ass", ".ssa")
# The name or number of the next cue, and blocks of WebVTT that are no cues.
_UNSPOKEN = re.compile(
    r"(?s)(?:\n[ \t]*\n[^\n]*|\n\d+[ \t]*)\n\Z|(?<=\n\n)(?:NOTE|STYLE|REGION)\b.*?(?:\n\n|\Z)"
)
_EVENTS = re.compile(r"(?mi)^\[Events\][ \t]*\n+Format:([^\n]*)$")
_DIALOGUE = re.compile(r"(?m)^Dialogue:[ \t]*([^\n]*)$")
_MARKS = re.compile(r"\{\\[^{}\n]*\}|<[\d:.]+>")
_SPEAKER = re.compile(r"<v(?:\.[\w.]+)?\s+([^>]+)>")
_SENTENCE_END = re.compile(r"""[.!?…。！？]["'”’)\]]*$""")


def read_subtitles(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a file of subtitles, with one paragraph per sentence.

    DataError: no line has the times of a cue.
    """
    text, remark = decode_text(data)
    text, settings = _as_webvtt(text)
    times = list(_TIMES.finditer(text))
    if not times:
        raise DataError(
            "it has no subtitles: no line such as 00:00:01,000 --> 00:00:02,500."
        )
    stops = [*(match.start() for match in times[1:]), len(text)]
    parts = [text[m.end() : stop] for m, stop in zip(times, stops, strict=True)]
    left_out = [settings, text[: times[0].start()], *(match[0] for match in times)]
    for part in parts:
        left_out += _UNSPOKEN.findall(part)
    cues = [_spoken_lines(_UNSPOKEN.sub("", part)) for part in parts]
    if _repeats_lines(cues):
        left_out += _repeated_lines(cues)
        cues = list(_without_repeated_lines(cues))
    return [
        FileDocument(
            list(_sentences([" ".join(lines) for lines in cues])),
            source=visible_text(_MARKS.sub("", text)),
            left_out="\n".join(left_out),
            remark=remark,
        )
    ]


def _as_webvtt(text: str) -> tuple[str, str]:
    """The cues of SubStation Alpha as WebVTT, and its settings; any other text as it is, and ""."""
    events = _EVENTS.search(text)
    if events is None:
        return text, ""
    names = [name.strip() for name in events[1].split(",")]
    cues = list[str]()
    for line in _DIALOGUE.findall(text):
        cells = line.split(",", len(names) - 1)
        fields = dict(zip(names, cells, strict=False))
        name = fields.get("Name", "").strip()
        speaker = f"<v {name}>" if name else ""
        spoken = re.sub(r"\\[Nnh]", " ", fields.get("Text", ""))
        cues.append(f"{fields['Start']} --> {fields['End']}\n{speaker}{spoken}\n")
    return "\n".join(cues), _DIALOGUE.sub("", text)


def _spoken_lines(cue: str) -> list[str]:
    """The non-empty lines of a cue without tags; the name of a speaker precedes the words."""
    cue = _SPEAKER.sub(r"\1: ", _MARKS.sub("", cue))
    return list(filter(None, map(one_line, visible_text(cue).split("\n"))))


def _repeats_lines(cues: list[list[str]]) -> bool:
    """Whether over a quarter of the cues begin with the last line of the previous one.

    Automatic captions do so, to scroll line by line.
    """
    repeated = sum(
        former[-1:] == cue[:1] for former, cue in pairwise(cues) if former and cue
    )
    return repeated > len(cues) / 4


def _repeated_lines(cues: list[list[str]]) -> Iterator[str]:
    """The lines of each cue that the previous cue has."""
    for former, cue in pairwise(cues):
        yield from filter(former.__contains__, cue)


def _without_repeated_lines(cues: list[list[str]]) -> Iterator[list[str]]:
    """The lines of each cue that the previous cue does not have."""
    for former, cue in pairwise([[], *cues]):
        yield [line for line in cue if line not in former]


def _sentences(cues: list[str]) -> Iterator[Block]:
    """One block per sentence: the cues up to one that ends with a full stop."""
    sentence = list[str]()
    for cue in filter(None, cues):
        sentence.append(cue)
        if _SENTENCE_END.search(cue):
            yield Block(" ".join(sentence))
            sentence = []
    if sentence:
        yield Block(" ".join(sentence))
