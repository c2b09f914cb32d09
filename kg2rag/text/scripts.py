"""Text of any script -> its search form; the character classes of words.

Words follow Unicode (UAX 29, UAX 15): combining marks belong to their letter, a text is in one
normal form, and what only lays it out (ligatures, wide letters, soft hyphens, characters of no
width) is undone, as are marks that a text may have or lack (the vowels of Hebrew and Arabic, the
stress of Russian). Scripts without blanks between words are read character by character. The text
that is shown stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import numpy as np


def _character_class(is_member: Callable[[str], bool], *blocks: tuple[int, int]) -> str:
    """The inside of `[…]` for the characters of some Unicode blocks that pass a test.

    `blocks` : the first and the last code point of each.
    """
    codes = np.concatenate([np.arange(first, last + 1) for first, last in blocks])
    codes = codes[[is_member(chr(code)) for code in codes.tolist()]]
    runs = np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1)
    return "".join(
        f"{re.escape(chr(run[0]))}-{re.escape(chr(run[-1]))}" for run in runs
    )


def _is_letter(char: str) -> bool:
    """Whether a character is a letter or a number that is no digit, such as "〇"."""
    return char.isalnum() and not char.isdigit()


MARKS = _character_class(
    lambda char: unicodedata.category(char) in ("Mn", "Mc"), (0x300, 0xFFFF)
)
"""Combining marks: accents, and the vowels of Indic scripts, Thai, Arabic and Hebrew."""
HIRAGANA = _character_class(_is_letter, (0x3041, 0x309F))
KATAKANA = _character_class(_is_letter, (0x30A0, 0x30FF), (0x31F0, 0x31FF))
_HAN = _character_class(
    _is_letter,
    (0x3005, 0x3007),
    (0x3105, 0x312F),
    (0x3400, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)
_HANGUL = _character_class(
    _is_letter, (0x1100, 0x11FF), (0x3131, 0x318E), (0xAC00, 0xD7FB)
)
_SOUTH_EAST_ASIAN = _character_class(
    _is_letter, (0xE01, 0xEDF), (0x1000, 0x109F), (0x1780, 0x17FF)
)
SYLLABLES = HIRAGANA + _HAN + _HANGUL + _SOUTH_EAST_ASIAN
"""Letters of scripts without blanks between words, and of Korean, which has few; no katakana, whose runs are words."""
UNSPACED = SYLLABLES + KATAKANA
CAPITALS = _character_class(
    lambda char: unicodedata.category(char) == "Lu", (0x370, 0x2BFF)
)
"""Greek, Cyrillic, Armenian, Georgian and other capitals, and those of Latin beyond its extensions A and B."""
INVISIBLE = "\u00ad\u034f\u061c\u0640\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
"""Layout characters outside words: soft hyphens, joiners, direction marks, variants, the Arabic tatweel."""
OPTIONAL_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20dc\u20e1\ufe20-\ufe2f"
)
"""Marks that a text may lack: accents that normal form C leaves apart, vowels of Hebrew and Arabic.

The marks of other scripts are vowels, or make another letter.
"""
NUKTAS = "\u093c\u09bc\u0a3c\u0abc\u0b3c"
"""The dots of Indic letters for foreign sounds, which texts have or lack."""
KEYBOARD_CHARACTERS = str.maketrans(
    {"\u02bb": "'", "\u02bc": "'"}
    | {
        chr(code): str(unicodedata.decimal(chr(code)))
        for code in range(0x660, 0x20000)
        if unicodedata.category(chr(code)) == "Nd"
    }
)
"""Apostrophes that Unicode classes as letters, and the digits of all scripts -> the characters of keyboards."""
PICTOGRAPHS = "\U0001f000-\U0001faff"
_CASELESS = re.compile(
    "[\u05d0-\u1095\u1100-\u139f\u1680-\u18af\u2d80-\u2ddf\u3041-\ua4cf\ua800-\uaaff\uabc0-\ud7ff\uf900-\ufaff]"
)


def _is_variant_letter(char: str) -> bool:
    """Whether a letter or digit is a form of others: a ligature, a mathematical font, a subscript."""
    form = unicodedata.decomposition(char).split(" ")[0]
    return char.isalnum() and form in ("<compat>", "<font>", "<sub>")


_FORMS = _character_class(
    _is_variant_letter, (0x80, 0xDFF), (0x2000, 0x21FF), (0x1D400, 0x1D7FF)
)
# and Latin ligatures, Arabic and wide forms
_COMPATIBLE = re.compile(f"[{_FORMS}\ufb00-\ufdff\ufe70-\ufefc\uff01-\uffdc]+")
_CYRILLIC = "\u0400-\u0482\u048a-\u052f"
_LAYOUT = re.compile(
    rf"\u00ad(?:\r?\n[ \t]*)?|[{INVISIBLE}]"
    "|(?<=[lL])[\u00b7\u2022\u2027\u2219](?=[lL])"  # of Catalan's "l·l"
    rf"|(?<=[{_CYRILLIC}])['’](?=[{_CYRILLIC}])"  # of Ukrainian's "об'єкт"
)
_OPTIONAL_MARKS = re.compile(f"[{OPTIONAL_MARKS}]")
# A nasal before a consonant of its class, which Hindi also writes as a dot above: "हिन्दी", "हिंदी".
_NASAL = re.compile(
    "\u0919\u094d(?=[\u0915-\u0918])|\u091e\u094d(?=[\u091a-\u091d])|\u0923\u094d(?=[\u091f-\u0922])"
    "|\u0928\u094d(?=[\u0924-\u0927])|\u092e\u094d(?=[\u092a-\u092d])"
)


def search_text(text: str) -> str:
    r"""The search form of a text; plain text is returned unchanged.

    >>> [search_text(text) for text in ("e\u0301tude", "\ufb01le", "co\u00adop\u200b", "\uff21\uff22")]
    ['étude', 'file', 'coop', 'AB']
    >>> search_text("CO₂ und C₆H₁₂O₆")
    'CO2 und C6H12O6'
    >>> [search_text(text) for text in ("об’єкт", "col·legi", "за\u0301мок", "\u0132muiden", "Hawaiʻi")]
    ['обєкт', 'collegi', 'замок', 'IJmuiden', "Hawai'i"]
    >>> [search_text(text) for text in ("\u06f1\u06f4", "\u0939\u093f\u0928\u094d\u0926\u0940")]
    ['14', 'हिंदी']
    """
    if text.isascii():
        return text
    if _COMPATIBLE.search(text):
        text = _COMPATIBLE.sub(
            lambda match: unicodedata.normalize("NFKC", match[0]), text
        )
    text = _LAYOUT.sub("", text.translate(KEYBOARD_CHARACTERS))
    text = _OPTIONAL_MARKS.sub("", unicodedata.normalize("NFC", text))
    return _NASAL.sub("\u0902", text)


def is_caseless(text: str) -> bool:
    """Whether most letters of a text have no case, so that no capital marks a name.

    >>> is_caseless("長江は中国"), is_caseless("The Yangtze (長江) is a river"), is_caseless("1984")
    (True, False, False)
    """
    if text.isascii():
        return False
    return 2 * len(_CASELESS.findall(text)) > sum(map(str.isalpha, text))


_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]++")
# soft hyphen, zero-width characters
_UNCOUNTED = "\xad\u200b\u200c\u200d\u2060\ufeff\x00"


def words(text: str) -> list[str]:
    r"""The words of a text for counts and comparisons, without case and marks.

    Each ideograph is a word.

    >>> words("Ferry 2's co\xadoperation")
    ['ferry', '2', 's', 'cooperation']
    """
    for character in _UNCOUNTED:
        text = text.replace(character, "")
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _WORD.findall(text.casefold())
