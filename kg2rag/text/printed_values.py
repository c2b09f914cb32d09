"""The values in cells: those that JSON, Python or numpy printed, as CSV files have them, and lists."""

from __future__ import annotations

import ast
import json
import re
import tokenize
from collections.abc import Collection, Iterator
from contextlib import suppress
from io import StringIO
from itertools import pairwise
from typing import Any

from kg2rag.text.records import DataError, parse_json, quote

_BRACKETS = re.compile(r"\s*(\[.*\]|\{.*\})\s*", re.DOTALL)
_ARRAYS = frozenset({"array", "list"})
_VALUES = (tokenize.STRING, tokenize.NUMBER)


def parsed_literal(value: object) -> object:
    """The list or mapping in a text that JSON, Python or numpy printed; any other value itself.

    >>> parsed_literal("['a' 'b']"), parsed_literal("{'title': array(['a'], dtype=object)}")
    (['a', 'b'], {'title': ['a']})
    """
    if isinstance(value, str) and _BRACKETS.fullmatch(value):
        for read in (json.loads, _python_value):
            with suppress(ValueError):
                return read(value)
    return value


def parsed_column(value: object) -> object:
    """The list or mapping in a text that begins as one; any other value itself.

    DataError: the text is neither JSON nor what Python or numpy print, or numpy shortened it.
    """
    if not isinstance(value, str) or value[:1] not in ("[", "{"):
        return value
    try:
        return parse_json(value, "a column of JSON")
    except DataError as fault:
        if not _BRACKETS.fullmatch(value):
            raise
        try:
            return _python_value(value)
        except DataError:
            raise
        except ValueError:
            raise fault from None


def flattened(gold: object) -> list[Any]:
    """The pieces of gold, which may be one piece, a list, or nested lists (AutoRAG)."""
    if not isinstance(gold, Collection) or isinstance(gold, str):
        return [gold]
    pieces = list[Any]()
    for piece in gold:
        if isinstance(piece, list | tuple | set):
            pieces += flattened(piece)
        else:
            pieces.append(piece)
    return pieces


def _python_value(text: str) -> Any:
    """The value that Python or numpy printed.

    ValueError: the text is none. DataError: numpy shortened it.
    """
    try:
        tree = ast.parse("".join(_with_commas(text.strip())), mode="eval")
        value = ast.literal_eval(_WithoutArrays().visit(tree))
        json.dumps(value, ensure_ascii=False, default=str).encode()  # no half pairs
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(str(error)) from None
    if any(isinstance(n, ast.Constant) and n.value is ... for n in ast.walk(tree)):
        raise DataError(
            f"numpy shortened {quote(text)} by '...'. Save the set as JSON or Parquet."
        )
    return value


def _with_commas(text: str) -> Iterator[str]:
    """The tokens of a printed value with commas between values, which numpy divides by blanks."""
    all_tokens = tokenize.generate_tokens(StringIO(text).readline)
    tokens = [token for token in all_tokens if token.type != tokenize.NL]
    yield tokens[0].string
    for before, token in pairwise(tokens):
        is_end = before.type in _VALUES or before.string in (")", "]", "}")
        is_start = token.type in _VALUES or token.string in ("(", "[", "{", *_ARRAYS)
        yield "," if is_end and is_start else " "
        yield token.string


class _WithoutArrays(ast.NodeTransformer):
    """Replaces arrays and lists that are called by name, as `array(['a'], dtype=object)`, by their values."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        is_array = isinstance(node.func, ast.Name) and node.func.id in _ARRAYS
        return node.args[0] if is_array and node.args else node
