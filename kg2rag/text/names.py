"""Names in running text, as capitalised phrases, and the dates and numbers that are none."""

from __future__ import annotations

import re

_LINK_WORDS = "of|the|de|da|di|del|der|des|du|van|von|la|le|al|el|bin|ibn|y"
_CAPITAL = "[" + "".join(chr(code) for code in range(0x250) if chr(code).isupper()) + "]"  # Latin, accents included
NAME = re.compile(rf"\b{_CAPITAL}[\w'’\-]*(?:\s+(?:(?:{_LINK_WORDS})\s+){{0,2}}{_CAPITAL}[\w'’\-]*)*")
CALENDAR = frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday""".split()
)
_NUMBER = re.compile(r"\d+(?:st|nd|rd|th|s)?")


def is_date_or_number(key: str) -> bool:
    """Whether a normalised name consists of numbers, months and weekdays.

    >>> [is_date_or_number(key) for key in ("1984", "may 5th", "1980s", "june smith", "apollo 11")]
    [True, True, True, False, False]
    """
    return all(word in CALENDAR or _NUMBER.fullmatch(word) for word in key.split())
