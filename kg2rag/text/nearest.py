"""A name that is not known -> the known name it most resembles, and the error message that lists the known ones."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to `name`, whatever the case, or None where none is similar.

    >>> nearest("hotpot", ["hotpotqa", "musique"])
    'hotpotqa'
    """
    by_folded = {one.casefold(): one for one in sorted(known, reverse=True)}
    found = get_close_matches(name.casefold(), by_folded, n=1)
    return by_folded[found[0]] if found else None


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """The message of an error about an unknown name: all known ones, sorted, and the nearest.

    >>> unknown("dataset", "hotpot", ["musique", "hotpotqa"])
    "Unknown dataset 'hotpot'. Known: hotpotqa, musique. Did you mean 'hotpotqa'?"
    """
    known = sorted(known)
    close = nearest(name, known)
    listed = f"Unknown {kind} {name!r}. Known: {', '.join(known) or 'none'}."
    return listed if close is None else f"{listed} Did you mean {close!r}?"
