"""A query of a page's marker -> the number, word or sentence that stands there.

A query is the name of a function of page_scores or page_records and its arguments, words parted by spaces; the last
one, where its name has a star in the function, takes the words that are left. `A,B` stands for several folders, sets,
strategies or causes. A function gives a `Number`, which `holds` can compare, or a text.
"""

from __future__ import annotations

import inspect

import page_designs  # noqa: F401  its functions enter QUERIES
import page_processors  # noqa: F401
import page_records  # noqa: F401
import page_scores  # noqa: F401
from page_data import Results, UnknownError, known
from page_values import QUERIES, Number


def answer(results: Results, text: str) -> Number | str:
    """What a query asks for.

    Raises
    ------
    UnknownError : no such function, a wrong number of arguments, or something that the files lack.
    """
    name, *words = text.split() or [""]
    function = QUERIES[known("query", name, QUERIES)]
    given = inspect.signature(function).parameters.values()
    needed = [one.name for one in given if one.kind is one.POSITIONAL_OR_KEYWORD][1:]
    more = any(one.kind is one.VAR_POSITIONAL for one in given)
    if len(words) < len(needed) + more or (len(words) > len(needed) and not more):
        wanted = [*needed, *(f"{one.name} …" for one in given if one.kind is one.VAR_POSITIONAL)]
        raise UnknownError(f"{name} needs: {' '.join(wanted)}. Given: {' '.join(words) or 'nothing'}.")
    return function(results, *words)
