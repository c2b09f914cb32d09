"""Bytes -> text by the byte order mark, as UTF-8, by a declared encoding, or by chardet's guess.

A guess is reported. chardet 7 identified 31 of 33 samples in 15 encodings, charset-normalizer 3.5
identified 23: it takes Western texts for Central European or Macintosh ones.
"""

from __future__ import annotations

import codecs
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import NamedTuple


class DataError(ValueError):
    """Invalid data.

    The message names file, record and field, quotes the value, and states the allowed values.
    """


_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
SAMPLE_BYTES = 200_000
"""Bytes from which an encoding is guessed."""
MAX_GUESSES = 8
"""Guesses of chardet among which one is chosen."""
_FEW_BYTES = 20
"""Non-ASCII bytes up to which only encodings of the web are guessed: fewer do not tell others apart."""
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_WORD_NOT_ASCII = re.compile(rb"[^\s\x80-\xff]*[\x80-\xff]\S*")
_SEVEN_BITS = ("iso-2022", "hz", "utf-7")
"""Encodings whose bytes are ASCII, and so valid UTF-8."""
_CONTROLS = re.compile("[\x80-\x84\x86-\x9f]")
"""Control characters that no text has: letters of Windows or of a Macintosh, read as ISO 8859."""
# Of two scripts in a word, a single ideograph behind a letter, a letter and a line of a table, and
# many letters with accents and signs.
_ODD_LETTERS = re.compile(
    "[A-Za-zÀ-ɏ][Ͱ-ۿﭐ-ﻼ]|[Ͱ-ۿﭐ-ﻼ][A-Za-zÀ-ɏ]|[^\\W\\d_][─-▟]|"
    "[A-Za-z][㐀-鿿](?![㐀-鿿])|[\u0080-ɏ\u2000-⛿]{4}"
)
_ODD_SHARE = 0.1
"""Share of odd neighbours among the characters that are not ASCII above which a guess is unlikely."""
_SEVERAL_BYTES = frozenset(
    "GB18030 GB2312 Big5 CP932 Shift_JIS EUC-JP EUC-KR CP949".casefold().split()
)
"""Encodings of Chinese, Japanese and Korean, which chardet doubts in texts that are mostly English."""
_UNPRINTABLE = re.compile("[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_GUESSES: ContextVar[dict[str, str] | None] = ContextVar("guesses", default=None)
"""File -> guess of its encoding, within `guessed_encodings`."""
NO_TEXT = "its bytes are no text in any encoding: another kind of file?"


class Decoded(NamedTuple):
    """A text, and a remark on its encoding for the report; "" if nothing was guessed."""

    text: str
    remark: str = ""


@contextmanager
def guessed_encodings() -> Iterator[Counter[str]]:
    """A block that reads files: afterwards, the number of files by the guess of their encoding."""
    guesses: dict[str, str] = {}
    notes: Counter[str] = Counter()
    token = _GUESSES.set(guesses)
    try:
        yield notes
    finally:
        _GUESSES.reset(token)
        notes.update(f"files, {guess}" for guess in guesses.values())


def decode(data: bytes, where: object, declared: str = "") -> str:
    """The text of a file: UTF-8 exactly as it is, other encodings by `decode_text`.

    A guess goes to `guessed_encodings`, or is a warning. DataError: the bytes are no text.
    """
    is_utf16 = b"\0" in data[:2] and data.count(b"\0") > len(data) / 4
    if not is_utf16:
        with suppress(UnicodeDecodeError):
            return data.decode("utf-8-sig")
    try:
        text, remark = decode_text(data, declared)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    guesses = _GUESSES.get()
    if remark and guesses is None:
        warnings.warn(f"{where}: {remark}.", stacklevel=2)
    elif remark and guesses is not None:
        guesses[str(where)] = remark
    return text


def decode_text(data: bytes, declared: str = "") -> Decoded:
    """The text of a file, with line feeds as line ends.

    declared : the encoding that the file or its container declares; "" for none.

    DataError: the bytes are no text in any encoding, such as those of a picture.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decode_marked(data, encoding)
    texts = (
        _decode_strictly(data, encoding) for encoding in _encodings(data, declared)
    )
    text = next((text for text in texts if text is not None), None)
    decoded = (
        _guess(data, declared) if text is None else Decoded(_with_line_feeds(text))
    )
    sample = decoded.text[:SAMPLE_BYTES]
    if len(_UNPRINTABLE.findall(sample)) > len(sample) / 100:
        raise DataError(NO_TEXT)
    return decoded


def _decode_marked(data: bytes, encoding: str) -> Decoded:
    """The text of a file that begins with a byte order mark; a remark counts damaged characters."""
    try:
        return Decoded(_with_line_feeds(data.decode(encoding)))
    except UnicodeDecodeError:
        text = _with_line_feeds(data.decode(encoding, "replace"))
    count = text.count("\ufffd")
    return Decoded(text, f"encoding: {encoding} with {count} damaged characters")


def _encodings(data: bytes, declared: str) -> list[str]:
    """The encodings that are tried before a guess, in order; none for bytes with zeros."""
    if b"\0" in data[:SAMPLE_BYTES]:
        return []
    if declared.lower().startswith(_SEVEN_BITS):
        return [declared, "utf-8"]
    if b"\x1b$" in data:  # an escape sequence of ISO 2022
        return ["iso2022_jp_2", "iso2022_kr", "utf-8"]
    return ["utf-8", declared]


def _decode_strictly(data: bytes, encoding: str) -> str | None:
    """The text in an encoding; None if a byte is invalid in it, or stands for a control character."""
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None
    if encoding != "utf-8" and _CONTROLS.search(text):
        return None
    return text


def _guess(data: bytes, declared: str) -> Decoded:
    """The text in UTF-8 if half of its non-ASCII characters are valid, else in chardet's guess."""
    text = data.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    valid = sum(character > "\x7f" for character in text) - damaged
    if "\0" not in text and valid >= damaged:
        return Decoded(
            _with_line_feeds(text),
            f"encoding guessed: UTF-8 with {damaged} damaged characters",
        )
    # chardet trusts a declaration, which was found wrong.
    sample = _sample(data).replace(declared.encode(), b"")
    for encoding in _likely_encodings(sample, of_the_web=damaged <= _FEW_BYTES)[:1]:
        text = data.decode(encoding, "replace")
        if text[:SAMPLE_BYTES].count("\0") <= len(text[:SAMPLE_BYTES]) // 100:
            return Decoded(_with_line_feeds(text), f"encoding guessed: {encoding}")
    raise DataError(NO_TEXT)


def _sample(data: bytes) -> bytes:
    """The first `SAMPLE_BYTES` bytes, or those before and after the first that is not ASCII."""
    first = _NOT_ASCII.search(data)
    if first is None or first.start() < SAMPLE_BYTES:
        return data[:SAMPLE_BYTES]
    start = data.rfind(b"\n", 0, first.start()) + 1
    return data[start : start + SAMPLE_BYTES]


def _likely_encodings(sample: bytes, *, of_the_web: bool) -> list[str]:
    """The encodings that may be those of a sample, the likeliest first.

    Encodings in which the sample has control characters come last. If it has some in each encoding
    of the web, those of DOS and of old Macintoshes are guessed, too.
    """
    likely = [
        encoding
        for number, encoding in enumerate(_guesses(_dense(sample), of_the_web))
        if number < MAX_GUESSES or encoding.casefold() in _SEVERAL_BYTES
    ]
    texts = {encoding: sample.decode(encoding, "replace") for encoding in likely}
    has_controls = {
        encoding: bool(_CONTROLS.search(text)) for encoding, text in texts.items()
    }
    if of_the_web and all(has_controls.values()):
        return _likely_encodings(sample, of_the_web=False)
    return sorted(likely, key=lambda e: (has_controls[e], _is_odd(texts[e])))


def _guesses(sample: bytes, of_the_web: bool) -> list[str]:
    """The encodings that chardet guesses for a sample: those of the web, or all."""
    from chardet import EncodingEra, detect_all

    era = EncodingEra.ALL
    if of_the_web:
        era = EncodingEra.MODERN_WEB | EncodingEra.LEGACY_ISO
    guesses = detect_all(sample, encoding_era=era)
    return [str(guess["encoding"]) for guess in guesses if guess["encoding"]]


def _dense(sample: bytes) -> bytes:
    """The words of a sample that are not ASCII, if these are few: plain English hides the language of others."""
    parts = _WORD_NOT_ASCII.findall(sample)
    if sum(map(len, parts)) > len(sample) / 4:
        return sample
    return b" ".join(parts)


def _is_odd(text: str) -> bool:
    """Whether many of the characters of a text that are not ASCII have neighbours that no word has."""
    n_letters = sum(character > "\x7f" for character in text)
    n_odd = len(_ODD_LETTERS.findall(text)) + text.count("\ufffd")
    return n_odd > _ODD_SHARE * n_letters


def _with_line_feeds(text: str) -> str:
    """A text with line feeds as line ends, and without zeros."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
