"""Capitalised phrases -> the names at their ends: "Architekten Peter Zumthor" has "Peter Zumthor".

In languages that capitalise nouns, or in which other words stand before a name, a phrase may have
more words than its name. The end of a phrase is a name if it has two words or more and two passages
have it, as a phrase or in different phrases. Ours.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kg2rag.text.inflection import stem_of_name
from kg2rag.text.normalisation import normalise
from kg2rag.types import IntArray

LEAST_WORDS = 2  # of the end of a phrase
_ELISION = re.compile(r"^[a-z]+['’](?=\w)")  # of "Enfer d'Auguste Rodin"


def inner_names(
    names: Sequence[str],
    occurrences: IntArray,
    is_name: NDArray[np.bool_],
    languages: Mapping[str, str],
    titles: Sequence[str],
) -> dict[int, str]:
    """Code of a phrase of one passage -> the name that it is, or that is at its end, the longest one.

    `names` and `is_name`, (n_phrases,), are of each phrase; `occurrences`, (2, n), are the code of a
    phrase and the row of its passage. Forms of a name count as one, under that of
    another name, else the shortest. Keys of `titles` are no such names.
    """
    rows = _rows_of_codes(occurrences)
    ends = {
        code: [(_stem(end, languages), end) for end in _ends(names[code])]
        for code in rows
        if not is_name[code]
    }
    rows_of: defaultdict[str, set[int]] = defaultdict(set)
    spelling: dict[str, str] = {}
    for code, stem, end in _each_end(ends):
        rows_of[stem] |= rows[code]
        if len(end) < len(spelling.get(stem, f"{end} ")):
            spelling[stem] = end
    for code in np.flatnonzero(is_name).tolist():
        rows_of[_stem(names[code], languages)] |= rows.get(code, set())
        spelling[_stem(names[code], languages)] = names[code]
    title_keys = frozenset(titles)
    end_of: dict[int, str] = {}
    for code, stem, _ in _each_end(ends):
        if len(rows_of[stem]) > 1 and normalise(spelling[stem]) not in title_keys:
            end_of.setdefault(code, spelling[stem])
    return end_of


def _each_end(
    ends: Mapping[int, Sequence[tuple[str, str]]],
) -> Iterator[tuple[int, str, str]]:
    """The code of each phrase with the stem and the spelling of each of its ends."""
    for code, stems in ends.items():
        for stem, end in stems:
            yield code, stem, end


def _stem(name: str, languages: Mapping[str, str]) -> str:
    """The stem that the forms of a name have in common."""
    return stem_of_name(normalise(name), languages)


def _ends(name: str) -> list[str]:
    """The ends of a phrase from a capitalised word on, the longest first.

    >>> _ends("Anna Maria von Berg")
    ['Anna Maria von Berg', 'Maria von Berg']
    """
    words = name.split()
    ends = [
        _ELISION.sub("", " ".join(words[start:]))
        for start in range(len(words) - LEAST_WORDS + 1)
    ]
    return [end for end in ends if end[0].isupper()]


def _rows_of_codes(occurrences: IntArray) -> dict[int, set[int]]:
    """Code of a phrase -> the rows of the passages that have it, in the order of their codes."""
    rows: dict[int, set[int]] = {}
    for code, passage in np.unique(occurrences, axis=1).T.tolist():
        rows.setdefault(code, set()).add(passage)
    return rows
