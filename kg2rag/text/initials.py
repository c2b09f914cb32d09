"""Names with initials -> their keys with the initials as one word and as several.

"J. R. R. Tolkien", "J.R.R. Tolkien" and "JRR Tolkien" are one name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kg2rag.text.normalisation import normalise

_LETTERS = re.compile(r"\b[^\W\d_](?: [^\W\d_])+\b")
_INITIALS = re.compile(r"(?<![\w'’.\-])[^\W\d_]{2,4}(?![\w'’.\-])")


def spellings_of_initials(name: str) -> list[str]:
    """The other keys of a name of several words with initials; none for other names.

    >>> spellings_of_initials("J.R.R. Tolkien"), spellings_of_initials("JRR Tolkien")
    (['jrr tolkien'], ['j r r tolkien'])
    >>> spellings_of_initials("John Tolkien"), spellings_of_initials("NATO")
    ([], [])
    """
    # A script without capitals has no initials.
    if not any(map(str.isupper, name)) or name.isupper():
        return []
    key = normalise(name)
    keys = [
        _LETTERS.sub(lambda match: match[0].replace(" ", ""), key),
        normalise(_INITIALS.sub(_divided, name)),
    ]
    return [other for other in dict.fromkeys(keys) if other != key and " " in other]


def _divided(match: re.Match[str]) -> str:
    """The letters of a word of capitals with blanks between them; any other word as it is."""
    return " ".join(match[0]) if match[0].isupper() else match[0]


def further_spellings(keys: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Key of another spelling -> the index of the name, for spellings that are not among `keys`."""
    indices = dict.fromkeys(keys, -1)
    for index, name in enumerate(names):
        for key in spellings_of_initials(name):
            indices.setdefault(key, index)
    return {key: index for key, index in indices.items() if index >= 0}
