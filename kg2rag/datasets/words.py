"""A text -> its words for counts and comparisons: letters and digits without case and marks, an ideograph each."""

from __future__ import annotations

import re
import unicodedata

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]++")
_INVISIBLE = dict.fromkeys(map(ord, "\xad\u200b\u200c\u200d\u2060\ufeff\x00"))  # soft hyphen, zero-width characters


def words(text: str) -> list[str]:
    r"""The words of a text.

    >>> words("Ferry 2's co\xadoperation")
    ['ferry', '2', 's', 'cooperation']
    """
    text = text.translate(_INVISIBLE)
    return _WORD.findall((text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold())
