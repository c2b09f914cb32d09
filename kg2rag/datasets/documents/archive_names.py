"""Names of files in a ZIP archive -> names in letters; their encoding is guessed if the archive has none.

A name is in UTF-8 or in the encoding of the system that packed it: macOS and Windows do not say
which. Python reads it as that of DOS (CP437).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from zipfile import ZipInfo

_DOS = "cp437"
_UTF8_FLAG = 0x800
_ENCODINGS = frozenset(
    """big5 cp1250 cp1251 cp1252 cp1253 cp1254 cp737 cp850 cp852 cp857 cp858 cp866 cp932 cp949 gb18030""".split()
)
"""Encodings of names in the editions of Windows."""
_SPELLINGS = {"ibm866": "cp866", "shift_jis": "cp932", "euc-kr": "cp949"}
_NOT_IN_NAMES = frozenset("\\|")
_WORD = re.compile(r"[^\W\d_]+")


def parts_by_name(parts: Sequence[ZipInfo]) -> Mapping[str, ZipInfo]:
    """Name -> part of an archive.

    The encoding of the names without one is the first in which each is a name: UTF-8, that of DOS,
    the Russian one, then those that chardet guesses. If it is none of these, Python's names stay.
    """
    others = [part for part in parts if not _has_encoding(part)]
    names = [part.filename.encode(_DOS) for part in others]
    encodings = _likely_encodings(names)
    texts = next(filter(None, (_decoded_names(names, e) for e in encodings)), [])
    name_of = {id(part): text for part, text in zip(others, texts, strict=False)}
    return {name_of.get(id(part), part.filename): part for part in parts}


def _has_encoding(part: ZipInfo) -> bool:
    """Whether the encoding of a part's name is declared, or of no importance."""
    if part.filename.isascii() or part.flag_bits & _UTF8_FLAG:
        return True
    return part.filename != part.orig_filename  # a second name in Unicode was read


def _likely_encodings(names: Sequence[bytes]) -> Iterator[str]:
    """The encodings that are tried for names, in order."""
    yield from ("utf-8", _DOS, "cp866")
    from chardet import EncodingEra, detect_all

    for guess in detect_all(b"\n".join(names), encoding_era=EncodingEra.ALL):
        encoding = str(guess["encoding"]).lower().replace("windows-", "cp")
        encoding = _SPELLINGS.get(encoding, encoding)
        if encoding in _ENCODINGS:
            yield encoding


def _decoded_names(names: Sequence[bytes], encoding: str) -> list[str]:
    """The names in an encoding; [] if a name is invalid in it or is no name of words."""
    try:
        texts = [name.decode(encoding) for name in names]
    except UnicodeDecodeError:
        return []
    return texts if encoding == "utf-8" or all(map(_is_name, texts)) else []


def _is_name(text: str) -> bool:
    """Whether a text has only letters beside ASCII, and words of one script and case.

    The signs that no file of Windows has in its name are second bytes of Chinese and Japanese.
    """
    if not _NOT_IN_NAMES.isdisjoint(text):
        return False
    return all(map(_is_of_names, text)) and all(map(_is_word, _WORD.findall(text)))


def _is_of_names(character: str) -> bool:
    """Whether a character stands in names: ASCII, a letter, or a sign of Chinese or Japanese."""
    width = unicodedata.east_asian_width(character)
    is_wide = width in ("W", "F")
    return character.isascii() or is_wide or (character.isalpha() and width != "H")


def _is_word(word: str) -> bool:
    """Whether the letters of a word are of one script, and either its first or all are large, or none.

    Letters of ASCII are of any case.
    """
    scripts = {unicodedata.name(letter, "").split()[0] for letter in word}
    european = scripts & {"LATIN", "CYRILLIC", "GREEK"}
    if word.isascii() or not european:
        return True
    return len(scripts) == 1 and word[1:] in (word[1:].lower(), word[1:].upper())
