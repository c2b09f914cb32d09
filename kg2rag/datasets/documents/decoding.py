"""Bytes -> text: by byte order mark, as UTF-8, by a declaration in the file, else by chardet's guess, which is named.

chardet 7 told 31 of 33 samples in 15 encodings apart, charset-normalizer 3.5 told 23: it takes
Western texts for Central European or Macintosh ones.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from kg2rag.text.records import DataError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
SAMPLE_BYTES, MOST_GUESSES = 200_000, 5
"""Bytes that the guess reads, and encodings among which it chooses."""


_FEW_BYTES = 20
"""Bytes beyond ASCII up to which those of DOS and of old Macintoshes cannot be told from those of the web."""
_SEVEN_BITS = ("iso-2022", "hz", "utf-7")
"""Encodings whose bytes are ASCII, and so valid UTF-8; files in ISO 2022 have escape sequences."""
_CONTROLS = re.compile("[\x80-\x84\x86-\x9f]")
"""Characters that no text has: letters of Windows or of a Macintosh, read as ISO 8859."""


_UNPRINTABLE = re.compile("[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
NO_TEXT = "its bytes are no text in any encoding: another kind of file?"


class Decoded(NamedTuple):
    """A text, and the remark of a report on its encoding; "" where nothing was guessed."""

    text: str
    remark: str = ""


def decode_text(data: bytes, declared: str = "") -> Decoded:
    """The text of a file, with line feeds as line ends.

    DataError: the bytes are no text in any encoding, as those of a picture.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return Decoded(_plain_lines(data.decode(encoding, "replace")))
    for encoding in _encodings(data, declared):
        text = _strictly(data, encoding)
        if text is not None:
            return _checked(Decoded(_plain_lines(text)))
    return _checked(_guess(data, declared))


def _checked(decoded: Decoded) -> Decoded:
    """The text; DataError where more than one character in a hundred is a control character."""
    sample = decoded.text[:SAMPLE_BYTES]
    if len(_UNPRINTABLE.findall(sample)) > len(sample) / 100:
        raise DataError(NO_TEXT)
    return decoded


def _encodings(data: bytes, declared: str) -> list[str]:
    """The encodings that are tried before a guess."""
    if b"\0" in data[:SAMPLE_BYTES]:
        return []
    if declared.lower().startswith(_SEVEN_BITS):
        return [declared, "utf-8"]
    if b"\x1b$" in data:
        return ["iso2022_jp_2", "iso2022_kr", "utf-8"]
    return ["utf-8", declared]


def _strictly(data: bytes, encoding: str) -> str | None:
    """The text in an encoding; None where it has other bytes, or letters that the encoding lacks."""
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None
    if encoding != "utf-8" and _CONTROLS.search(text):
        return None
    return text


def _guess(data: bytes, declared: str) -> Decoded:
    text = data.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    valid = sum(sign > "\x7f" for sign in text) - damaged
    if "\0" not in text and valid >= damaged:
        return Decoded(
            _plain_lines(text),
            f"encoding guessed: UTF-8 with {damaged} damaged characters",
        )
    # chardet trusts what a page declares
    sample = data[:SAMPLE_BYTES].replace(declared.encode(), b"")
    for encoding in _likely_encodings(sample, of_the_web=damaged <= _FEW_BYTES)[:1]:
        text = data.decode(encoding, "replace")
        if text[:SAMPLE_BYTES].count("\0") <= len(text[:SAMPLE_BYTES]) // 100:
            return Decoded(_plain_lines(text), f"encoding guessed: {encoding}")
    raise DataError(NO_TEXT)


def _likely_encodings(sample: bytes, *, of_the_web: bool) -> list[str]:
    """The encodings of a sample, the likeliest first: by chardet, those in which no control characters stand first.

    Where each encoding of the web gives control characters, a text is of DOS or of an old
    Macintosh.
    """
    from chardet import EncodingEra, detect_all

    era = EncodingEra.ALL
    if of_the_web:
        era = EncodingEra.MODERN_WEB | EncodingEra.LEGACY_ISO
    encodings = [
        str(guess["encoding"])
        for guess in detect_all(sample, encoding_era=era)
        if guess["encoding"]
    ]
    has_controls = {
        e: bool(_CONTROLS.search(sample.decode(e, "replace")))
        for e in encodings[:MOST_GUESSES]
    }
    if of_the_web and all(has_controls.values()):
        return _likely_encodings(sample, of_the_web=False)
    return sorted(has_controls, key=has_controls.__getitem__)


def _plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
