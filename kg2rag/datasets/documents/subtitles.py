"""Subtitles (SubRip, WebVTT) -> the sentences that are spoken; numbers, times, styles and remarks are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kg2rag.datasets.documents.blocks import Block, FileDocument, one_line
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.datasets.documents.html import visible_text
from kg2rag.text.records import DataError

_TIME = r"(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMES = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}[^\n]*")
_POSITION = re.compile(r"\{\\an?\d+\}")
_SPEAKER = re.compile(r"<v(?:\.[\w.]+)?\s+([^>]+)>")
_SENTENCE_END = re.compile(r"""[.!?…。！？]["'”’)\]]*$""")


def read_subtitles(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a file of subtitles: a paragraph for each sentence, whose cues are joined.

    DataError: no line has the times of a cue.
    """
    decoded = decode_text(data)
    cues = list[str]()
    left_out = list[str]()
    for part in re.split(r"\n[ \t]*\n", decoded.text):
        times = _TIMES.search(part)
        if times is None:
            left_out.append(part)
        else:
            left_out.append(part[: times.end()])
            cues.append(_spoken_text(part[times.end() :]))
    if not cues:
        raise DataError(
            "it has no subtitles: no line such as 00:00:01,000 --> 00:00:02,500."
        )
    source = "\n".join([*cues, *left_out])
    return [
        FileDocument(
            list(_sentences(cues)),
            source=source,
            left_out="\n".join(left_out),
            remark=decoded.remark,
        )
    ]


def _spoken_text(cue: str) -> str:
    """The words of a cue without its tags, behind the name of their speaker."""
    cue = _SPEAKER.sub(r"\1: ", _POSITION.sub("", cue))
    return one_line(visible_text(cue))


def _sentences(cues: list[str]) -> Iterator[Block]:
    """The cues up to each end of a sentence as one block."""
    sentence = list[str]()
    for cue in filter(None, cues):
        sentence.append(cue)
        if _SENTENCE_END.search(cue):
            yield Block(" ".join(sentence))
            sentence = []
    if sentence:
        yield Block(" ".join(sentence))
