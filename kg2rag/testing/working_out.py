"""Works a score out of its formula and the parts of a hit, as `kg2rag.types.notes` promises, on its own."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping
from functools import cache

from kg2rag.types import Hit, Ranking

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def worked_out(ranking: Ranking, hit: Hit) -> float:
    """The sum of the terms whose parts the hit has; KeyError where the ranking has no formula for the hit's stage."""
    given = ranking.notes.formula
    formula = given[hit.stage] if isinstance(given, Mapping) else given
    names = tuple(sorted(ranking.score_parts))
    values = {f"part{at}": hit.score_parts[name] for at, name in enumerate(names) if name in hit.score_parts}
    terms = [term for term, needs in _terms(str(formula), names) if needs <= values.keys()]
    if not terms:
        raise ValueError(f"no term of {formula!r} can be worked out from {dict(hit.score_parts)}")
    return sum(_value(term, values) for term in terms)


@cache
def _terms(formula: str, names: tuple[str, ...]) -> list[tuple[ast.expr, set[str]]]:
    """The terms of a formula and the parts that each needs; SyntaxError or ValueError where it is no arithmetic."""
    longest = sorted(range(len(names)), key=lambda at: -len(names[at]))
    found = re.compile("|".join(rf"(?<![\w.])(?:{re.escape(names[at])})(?!\w)" for at in longest))
    text = found.sub(lambda match: f"part{names.index(match.group())}", formula) if names else formula
    terms = _summands(ast.parse(text.replace("·", "*"), mode="eval").body)
    return [(term, {node.id for node in ast.walk(term) if isinstance(node, ast.Name)}) for term in terms]


def _summands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_summands(node.left), *_summands(node.right)]
    return [node]


def _value(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return values[name]
        case ast.BinOp(left, sign, right):
            return float(OPERATORS[type(sign)](_value(left, values), _value(right, values)))
    raise ValueError(f"{ast.unparse(node)} is no arithmetic.")
